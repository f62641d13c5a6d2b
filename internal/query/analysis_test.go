package query_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestAnIndexWithTermsOfPostgreSQLGoesOn makes an index as it was before there was an analyzer: PostgreSQL's
// parser made the terms of one document, and the analyzer those of another.
func TestAnIndexWithTermsOfPostgreSQLGoesOn(t *testing.T) {
	t.Parallel()
	running := servicetest.New(t, service.Config{})
	c := running.Tenant(t, "old")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", TextLanguage: "english"}); err != nil {
		t.Fatal(err)
	}
	upload := func(uri, text string) {
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: &ragdv1.UploadDocumentRequest_Text{Text: text}})
	}
	upload("old", "The harbours' gates open for ships; error DEC-0045 closes them.")
	h := running.DB.Handle("old")
	for _, statement := range []string{
		`UPDATE tenant.indexes SET text_analysis = 0`,
		`CREATE TRIGGER weigh_terms BEFORE UPDATE OF metadata ON tenant.chunk FOR EACH ROW EXECUTE FUNCTION ragd_shared.weigh_terms('english')`,
		`UPDATE tenant.chunk SET terms = NULL, term_weights = NULL, metadata = metadata`,
	} {
		on := h
		if strings.Contains(statement, "chunk") {
			on = h.OfIndex(1, 0)
		}
		if _, err := on.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	upload("new", "A harbour gate opens; error DEC-0045 is over.")
	for question, want := range map[string][]string{
		"opening of a gate": {"new", "old"}, `"harbour gates"`: {"new", "old"}, "DEC-0045": {"new", "old"}, "0045": {"new"}, "ships": {"old"},
	} {
		found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: question, SearchMode: "keyword"})
		if err != nil {
			t.Fatal(err)
		}
		var uris []string
		for _, source := range found.Sources {
			uris = append(uris, source.Uri)
		}
		slices.Sort(uris)
		if !slices.Equal(uris, want) {
			t.Errorf("%s: %v, want %v", question, uris, want)
		}
	}
}

// TestWordsSideBySideComeFirst asks for words that many chunks have, and one side by side.
func TestWordsSideBySideComeFirst(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "pairs")
	c.Index(t, "notes")
	var documents []*ragdv1.UploadDocumentRequest
	for uri, text := range map[string]string{
		"apart.txt":   "The valve was open. Cooling began, and a water pump was heard. Pressure of the pump: valve open, water cooling.",
		"beside.txt":  "Before a start, look at the cooling water pump valve. It must be shut, or else the level in the upper tank falls in an hour.",
		"another.txt": "Pump, valve, cooling: water is short in summer.",
	} {
		documents = append(documents, &ragdv1.UploadDocumentRequest{Uri: uri, ContentType: "text/plain", Source: &ragdv1.UploadDocumentRequest_Text{Text: text}})
	}
	c.UploadAll(t, documents)
	c.AwaitAll(t, "notes")
	for _, mode := range []string{"keyword", "hybrid"} {
		res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "cooling water pump valve", SearchMode: mode})
		if err != nil {
			t.Fatal(err)
		}
		if first := res.Sources[0]; first.Uri != "beside.txt" || first.GetKeywordScore() <= res.Sources[1].GetKeywordScore() {
			t.Errorf("%s: the first is %s with %g before %g", mode, first.Uri, first.GetKeywordScore(), res.Sources[1].GetKeywordScore())
		}
	}
}
