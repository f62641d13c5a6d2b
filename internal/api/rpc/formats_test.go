package rpc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func sample(t *testing.T, name string) *ragdv1.UploadDocumentRequest_Content {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../ingest/parse/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return &ragdv1.UploadDocumentRequest_Content{Content: content}
}

func TestChunksOfFilesHaveTheirPositionInTheFile(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	for _, tc := range []struct {
		name, contentType, title string
		metadata                 map[string]any // of the last chunk
	}{
		{"handbook.pdf", "application/pdf", "Harbour handbook", map[string]any{"page": 1., "pageEnd": 2., "section": "Harbour handbook"}},
		{"intro.pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", "Harbour in five minutes", map[string]any{"slide": 1., "slideEnd": 3., "section": "Harbour"}},
		{"berths.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "Berths", map[string]any{"sheet": "Fees", "section": "Fees", "range": "A2:D3"}},
		{"tides.html", "text/html", "Tides – Harbour", map[string]any{"section": "Tides"}},
		{"berths.rst", "text/x-rst", "Berths", map[string]any{"section": "Berths"}},
		{"rules.adoc", "text/asciidoc", "Rules of the harbour", map[string]any{"section": "Rules of the harbour"}},
		{"tides.org", "text/org", "Tides", map[string]any{"section": "Tides"}},
		{"harbour.mediawiki", "text/x-wiki", "Westhaven", map[string]any{"section": "Westhaven"}},
		{"gate.8", "text/troff", "gate(8)", map[string]any{"section": "gate(8)"}},
		{"log.xml", "application/xml", "", map[string]any{"line": 3., "lineEnd": 6.}},
		{"berths.csv.zst", "application/zstd", "berths", map[string]any{"line": 2., "lineEnd": 3.}},
		{"notes.txt", "text/plain", "notes", map[string]any{"line": 1.}},
		{"berths.csv", "text/csv", "berths", map[string]any{"line": 2., "lineEnd": 3.}},
	} {
		d := c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: tc.name, Source: sample(t, "files/"+tc.name)})
		if d.Status != ingest.DocumentReady || d.ContentType != tc.contentType || d.Title != tc.title {
			t.Errorf("%s is %v", tc.name, d)
			continue
		}
		res, err := c.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
		if err != nil || len(res.Chunks) != 1 {
			t.Fatalf("%s has the chunks %v, %v", tc.name, res, err)
		}
		got, _ := res.Chunks[0].Metadata.AsMap()["position"].(map[string]any)
		if diff := cmp.Diff(tc.metadata, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tc.name, diff)
		}
	}
}

// Of every format, the text of a chunk is what ReadDocument returns for its range.
func TestChunksPointIntoTheTextThatIsStored(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	size := int32(60)
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "small", Chunking: &ragdv1.Chunking{MaxSize: &size, Overlap: new(int32)}})
	if err != nil {
		t.Fatal(err)
	}
	c.Index(t, "docs")
	files, err := os.ReadDir("../../ingest/parse/testdata/files")
	if err != nil {
		t.Fatal(err)
	}
	for _, into := range []string{"docs", "small"} {
		for _, file := range files {
			d := c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: into, Uri: file.Name(), Source: sample(t, "files/"+file.Name())})
			res, err := c.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: into, DocumentId: d.DocumentId})
			if err != nil || len(res.Chunks) == 0 {
				t.Fatalf("%s has the chunks %v, %v", file.Name(), res, err)
			}
			if filepath.Ext(file.Name()) == ".json" { // chunks of JSON are written anew, as documents of their own
				continue
			}
			for _, chunk := range res.Chunks {
				read, err := c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{IndexName: into, Uri: file.Name(), StartByte: chunk.StartByte, EndByte: chunk.EndByte})
				// A chunk within a table begins with the table's header.
				if err != nil || !strings.HasSuffix(chunk.Text, strings.TrimSpace(read.GetText())) {
					t.Errorf("%s: the chunk %q is stored as %q, %v", file.Name(), chunk.Text, read.GetText(), err)
				}
				if _, ok := chunk.Metadata.AsMap()["position"].(map[string]any); !ok && !slices.Contains([]string{".eml", ".msg"}, filepath.Ext(file.Name())) {
					t.Errorf("%s: a chunk has no position: %v", file.Name(), chunk.Metadata)
				}
			}
		}
	}
}

// Metadata that a file declares never overrides metadata of its uploader.
func TestMetadataOfFilesDoesNotOverrideTheUploaders(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	upload := func(metadata map[string]any) map[string]any {
		d := c.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: "plan.docx", Source: sample(t, "files/plan.docx"), Metadata: servicetest.Object(t, metadata),
		})
		res, err := c.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
		if err != nil || len(res.Chunks) == 0 {
			t.Fatalf("chunks %v, %v", res, err)
		}
		return res.Chunks[0].Metadata.AsMap()
	}
	own := map[string]any{"author": "me", "file": "x", "position": "y"}
	if diff := cmp.Diff(own, upload(own)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got := upload(nil)
	if file, _ := got["file"].(map[string]any); file["author"] != "R. Keel" || got["author"] != nil {
		t.Errorf("metadata %v", got)
	}
}

func TestUnreadableFilesAreRejectedOrFail(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	for _, name := range []string{"cyrillic.txt", "picture.pdf", "truncated.docx"} {
		_, err := c.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: name, Source: sample(t, "hostile/"+name)})
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
		if fieldOf(err) != "content" {
			t.Errorf("%s: blames %q: %v", name, fieldOf(err), err)
		}
	}
	for name, want := range map[string]string{
		"truncated.md.xz": "content: is a broken xz file: open it in the program that made it and save it again",
		"encrypted.pdf":   "content: is an encrypted PDF file: remove its password and upload it again",
		"no-text.pdf":     "content: is a PDF file without a text layer: run character recognition over it and upload the result",
	} {
		d := c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: name, Source: sample(t, "hostile/"+name)})
		if d.Status != ingest.DocumentFailed || d.Error != want {
			t.Errorf("%s is %s: %q", name, d.Status, d.Error)
		}
	}
}

func TestChunkTextSplitsHTMLAsAnUploadDoes(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	res, err := c.ChunkText(t.Context(), &ragdv1.ChunkTextRequest{
		Source:      &ragdv1.ChunkTextRequest_Text{Text: "<title>T</title><nav>menu</nav><h1>Tides</h1><p>High <b>water</b>."},
		ContentType: "text/html",
	})
	if err != nil || len(res.Chunks) != 1 || res.Chunks[0].Text != "# Tides\n\nHigh water." {
		t.Errorf("chunks %v, %v", res, err)
	}
}
