// Command pdfium writes the compressed PDFium that internal/ingest/parse/pdftext embeds: the WebAssembly of
// github.com/klippa-app/go-pdfium, compressed with zstd to two fifths of its size. `make generate` runs it
// at the top of the repository.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

func main() {
	out := flag.String("o", "internal/ingest/parse/pdftext/pdfium.wasm.zst", "the `file` to write")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "pdfium:", err)
		os.Exit(1)
	}
}

func write(out string) error {
	plain, err := wasm()
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	return os.WriteFile(out, encoder.EncodeAll(plain, nil), 0o644) //nolint:gosec // G306: everybody may read it
}

// wasm returns PDFium from the module, in the version of go.mod.
func wasm() ([]byte, error) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/klippa-app/go-pdfium").Output()
	if err != nil {
		return nil, fmt.Errorf("look for the module: %w", err)
	}
	return os.ReadFile(filepath.Join(string(bytes.TrimSpace(folder)), "webassembly", "pdfium.wasm"))
}
