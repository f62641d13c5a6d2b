package upload

import (
	"fmt"
	"testing"
	"time"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
)

func TestTimeOfAFileIsMetadataAndNoChange(t *testing.T) {
	t.Parallel()
	r := &run{cfg: Config{Index: "docs", Metadata: map[string]any{"team": "legal"}}}
	doc := localfiles.Document{URI: "a.txt", Content: []byte("a"), Modified: time.Date(2026, 3, 1, 11, 0, 0, 0, time.FixedZone("", 3600))}
	first, err := r.item(doc)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(first.header.GetMetadata().AsMap()); got != "map[file:map[modified:2026-03-01T10:00:00Z] team:legal]" {
		t.Errorf("metadata %s", got)
	}
	doc.Modified = time.Time{}
	second, err := r.item(doc)
	if err != nil || second.header.GetFingerprint() != first.header.GetFingerprint() {
		t.Errorf("fingerprint %s, of the file with a time %s, %v", second.header.GetFingerprint(), first.header.GetFingerprint(), err)
	}
	doc.Modified, doc.Metadata = time.Now(), map[string]any{"file": "own"}
	own, err := r.item(doc)
	if err != nil || own.header.GetMetadata().AsMap()["file"] != "own" {
		t.Errorf("the document's own field: %v, %v", own.header.GetMetadata(), err)
	}
}
