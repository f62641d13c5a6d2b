package query_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// TestWordsAreFoundHoweverTheyAreWritten asks the questions of testdata/analysis: identifiers and their
// parts in other spellings, and words inside texts of languages that do not part them by spaces, or that
// inflect them. The document of each is to come first.
func TestWordsAreFoundHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "words")
	for name, contentType := range map[string]string{"identifiers": "text/markdown", "languages": "text/plain"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join("testdata/analysis", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var set struct {
				Documents map[string]string
				Questions []struct{ Question, First string }
			}
			if err := json.Unmarshal(content, &set); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: name}); err != nil {
				t.Fatal(err)
			}
			for uri, text := range set.Documents {
				c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: name, Uri: uri, ContentType: contentType, Source: &ragdv1.UploadDocumentRequest_Text{Text: text}})
			}
			for _, q := range set.Questions {
				for _, mode := range []string{"keyword", "hybrid"} {
					found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: name, QueryText: q.Question, SearchMode: mode})
					if err != nil {
						t.Fatal(err)
					}
					if len(found.Sources) == 0 {
						t.Errorf("%s, %s: nothing, want %s", q.Question, mode, q.First)
					} else if first := found.Sources[0]; first.Uri != q.First {
						t.Errorf("%s, %s: %s, want %s", q.Question, mode, first.Uri, q.First)
					}
				}
			}
		})
	}
}
