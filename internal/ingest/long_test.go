package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// In a document with more chunks than are held in memory, each chunk has its own
// embedding, and only the changed chunks of a new version are embedded.
func TestALongDocumentIsEmbeddedInWindows(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const lines = 2500
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "Berth %d is dry today.\n\n", i)
	}
	chunking := &ragdv1.Chunking{MaxSize: new(int32(30)), Overlap: new(int32(0))}
	long := upload("a", text.String())
	long.Chunking = chunking
	if d := f.Upload(t, long); d.Status != "ready" || d.ChunkCount != lines {
		t.Fatalf("the document = %v", d)
	}
	f.nearestIsItself(t, "Berth 7 is dry today.", "Berth 2100 is dry today.")

	before := f.embedded()
	changed := upload("a", strings.Replace(text.String(), "Berth 2200 is dry", "Berth 2200 is wet", 1))
	changed.Chunking = chunking
	if d := f.Upload(t, changed); d.Status != "ready" || d.Version != 2 || d.ChunkCount != lines {
		t.Fatalf("the new version = %v", d)
	}
	if n := f.embedded() - before; n != 1 {
		t.Errorf("%d chunks were embedded again, want 1", n)
	}
	f.nearestIsItself(t, "Berth 7 is dry today.", "Berth 2100 is dry today.", "Berth 2200 is wet today.")
}

// nearestIsItself checks that a search for the text of a chunk finds that chunk first.
func (f fixture) nearestIsItself(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		res, err := f.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: text, SearchMode: "vector"})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Sources) == 0 || res.Sources[0].Document != text {
			t.Errorf("nearest to %q = %v", text, res.Sources)
		}
	}
}
