package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestPDFiumIsThatOfTheModule(t *testing.T) {
	t.Parallel()
	want, err := wasm()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile("../../internal/ingest/parse/pdftext/pdfium.wasm.zst")
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	got, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("internal/ingest/parse/pdftext/pdfium.wasm.zst is not that of the module: go run ./hack/pdfium")
	}
}
