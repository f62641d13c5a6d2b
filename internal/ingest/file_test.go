package ingest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// fileOf returns the metadata below file of the first chunk of a document.
func (f fixture) fileOf(t *testing.T, d *ragdv1.Document) any {
	t.Helper()
	res, err := f.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
	if err != nil || len(res.Chunks) == 0 {
		t.Fatal(res, err)
	}
	return res.Chunks[0].Metadata.AsMap()["file"]
}

func page(modified string) *ragdv1.UploadDocumentRequest {
	req := upload("a.html", `<html lang="en"><head><title>Fees</title><meta name="author" content="Jonas"></head><body><p>The harbour takes thirty.</p></body></html>`)
	req.Metadata, _ = structpb.NewStruct(map[string]any{"file": map[string]any{"author": "Ana", "modified": modified}})
	return req
}

func TestPropertiesOfAFileJoinThoseThatTheUploaderGave(t *testing.T) {
	t.Parallel()
	f := setup(t)
	d := f.Upload(t, page("2026-03-01T10:00:00Z"))
	want := map[string]any{"author": "Ana", "language": "en", "modified": "2026-03-01T10:00:00Z"}
	if diff := cmp.Diff(want, f.fileOf(t, d)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	req := page("")
	req.Uri, req.Metadata = "b.html", nil
	if diff := cmp.Diff(map[string]any{"author": "Jonas", "language": "en"}, f.fileOf(t, f.Upload(t, req))); diff != "" {
		t.Errorf("without metadata: (-want +got)\n%s", diff)
	}
	req.Uri = "c.html"
	req.Metadata, _ = structpb.NewStruct(map[string]any{"file": "own"})
	if got := f.fileOf(t, f.Upload(t, req)); got != "own" {
		t.Errorf("a text of the uploader became %v", got)
	}
}

func TestAFileThatWasOnlyTouchedIsUnchanged(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Upload(t, page("2026-03-01T10:00:00Z"))
	if d := f.Upload(t, page("2026-03-02T10:00:00Z")); d.Version != 1 {
		t.Errorf("its version is %d", d.Version)
	}
}

func TestASchemaForbidsNoTimeOfAFile(t *testing.T) {
	t.Parallel()
	f := setup(t)
	schema, err := structpb.NewStruct(map[string]any{"type": "object", "additionalProperties": false})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", MetadataSchema: schema}); err != nil {
		t.Fatal(err)
	}
	req := page("")
	req.Metadata, _ = structpb.NewStruct(map[string]any{"file": map[string]any{"modified": "2026-03-01T10:00:00Z"}})
	f.Upload(t, req)
	if _, err := f.UploadDocument(t.Context(), page("2026-03-01T10:00:00Z")); err == nil {
		t.Error("another field that the schema forbids was accepted")
	}
}

func TestWhatIsNotShownIsReadIfAskedFor(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const text = "---\nteam: legal\n---\n# Fees\n\n<!-- comment -->\n\nThirty.\n"
	size := int32(400)
	if _, err := f.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", Chunking: &ragdv1.Chunking{MaxSize: &size, IncludeHidden: new(true)}}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		chunking *ragdv1.Chunking
		want     string
	}{
		"index.md":  {nil, strings.TrimSpace(text)},
		"upload.md": {&ragdv1.Chunking{IncludeHidden: new(false)}, "# Fees\n\n\nThirty."},
		"other.md":  {&ragdv1.Chunking{Strategy: "recursive"}, strings.TrimSpace(text)},
	} {
		req := upload(name, text)
		req.Chunking = tc.chunking
		d := f.Upload(t, req)
		res, err := f.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
		if err != nil || len(res.Chunks) != 1 || res.Chunks[0].Text != tc.want || res.Chunks[0].Metadata.AsMap()["team"] != "legal" {
			t.Errorf("%s: %v, %v", name, res.GetChunks(), err)
		}
	}
}

func TestOffsetsOfATextAreThoseOfTheCaller(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const text = "<!-- comment -->\n\n# Fees\n\nThirty.\n"
	res, err := f.ChunkText(t.Context(), &ragdv1.ChunkTextRequest{ContentType: "text/markdown", Source: &ragdv1.ChunkTextRequest_Text{Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Chunks {
		if strings.TrimSpace(text[c.StartByte:c.EndByte]) != c.Text {
			t.Errorf("%q is not %q", text[c.StartByte:c.EndByte], c.Text)
		}
	}
}

func TestTimesInMetadataAreFilteredAsTimes(t *testing.T) {
	t.Parallel()
	f := setup(t)
	req := upload("a", "one harbour")
	req.Metadata, _ = structpb.NewStruct(map[string]any{"when": map[string]any{"$date": 1772353800000.0}, "tags": []any{"x"}})
	if when := f.Upload(t, req).Metadata.AsMap()["when"]; when != "2026-03-01T08:30:00Z" {
		t.Errorf("stored as %v", when)
	}
	only, err := structpb.NewValue(map[string]any{"when": map[string]any{"$gte": "2026-03-01T10:00:00+02:00"}, "tags": map[string]any{"$ne": "y"}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := f.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour", SearchMode: "keyword", Filter: only, Explain: true})
	if err != nil || len(found.Sources) != 1 || len(found.Explain.GetFilterNotes()) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	req.Metadata, _ = structpb.NewStruct(map[string]any{"when": map[string]any{"$date": "soon"}})
	if _, err := f.UploadDocument(t.Context(), req); err == nil || !strings.Contains(err.Error(), "metadata.when") {
		t.Errorf("a time that is none: %v", err)
	}
}

func TestPiecesOfALongRowOfATableNameTheirColumn(t *testing.T) {
	t.Parallel()
	f := setup(t)
	req := upload("fees.csv", "Berth,Fee,Remark\nSouth,30,none\nNorth,31,"+strings.Repeat("quiet but far ", 200)+"\nWest,32,none\n")
	d := f.Upload(t, req)
	res, err := f.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
	if err != nil || len(res.Chunks) < 5 {
		t.Fatal(res, err)
	}
	for _, c := range res.Chunks {
		if strings.Contains(c.Text, "quiet") && (!strings.HasPrefix(c.Text, "Berth: North; ") || !strings.Contains(c.Text, "Remark: ")) || len(c.Text) > 800 {
			t.Errorf("%q", c.Text)
		}
	}
}
