package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// In every format, what ReadDocument returns for the offsets of a chunk is the chunk. Rows
// of a table have its header row before them, and values of JSON text the keys above them.
func TestOffsetsPointIntoTheStoredText(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	found, err := filepath.Glob("parse/testdata/files/*")
	if err != nil || len(found) == 0 {
		t.Fatalf("no files: %v", err)
	}
	contents := map[string][]byte{"table.md": []byte("| Berth | Fee |\n|---|---|\n" + strings.Repeat("| the north quay | 12 |\n", 40))}
	for _, path := range found {
		if contents[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	repeated := 0
	spaces := strings.NewReplacer(" ", "", "\n", "")
	for name, content := range contents {
		size, overlap := int32(200), int32(20)
		d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: name, Source: &ragdv1.UploadDocumentRequest_Content{Content: content},
			Chunking: &ragdv1.Chunking{MaxSize: &size, Overlap: &overlap},
		})
		if d.Status != "ready" {
			t.Errorf("%s: %s %s", name, d.Status, d.Error)
			continue
		}
		listed, err := acme.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId, PageSize: 1000})
		if err != nil || len(listed.Chunks) == 0 {
			t.Fatalf("%s: %d chunks, %v", name, len(listed.GetChunks()), err)
		}
		whole, err := acme.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{IndexName: "docs", Uri: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range listed.Chunks {
			part, err := acme.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{IndexName: "docs", Uri: name, StartByte: c.StartByte, EndByte: c.EndByte})
			if err != nil {
				t.Fatal(err)
			}
			if whole.Text[c.StartByte:c.EndByte] != part.Text {
				t.Errorf("%s: two reads of bytes %d to %d differ", name, c.StartByte, c.EndByte)
			}
			header, ends := strings.CutSuffix(c.Text, part.Text)
			switch {
			case name == "gate.json":
				if part.Text == "" || !strings.Contains(spaces.Replace(c.Text), spaces.Replace(part.Text)) {
					t.Errorf("%s: chunk %d is %q, its range %q", name, c.Ordinal, c.Text, part.Text)
				}
			case !ends || part.Text == "":
				t.Errorf("%s: chunk %d is %q, its range %q", name, c.Ordinal, c.Text, part.Text)
			case header != "":
				repeated++
				if !strings.HasPrefix(header, "|") || !strings.Contains(whole.Text[:c.StartByte], header) {
					t.Errorf("%s: chunk %d has %q before its range", name, c.Ordinal, header)
				}
			}
		}
	}
	if repeated == 0 {
		t.Error("no chunk has the header row of its table before it")
	}
}
