package query_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// TestMisspeltAndBegunWordsAreFound asks the questions of testdata/analysis/typos.json. The document of each is to come
// first, and only words that no document has are corrected.
func TestMisspeltAndBegunWordsAreFound(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/analysis/typos.json")
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Documents map[string]string
		Questions []struct {
			Question, First string
			Corrected       map[string]string
			Prefix          bool
		}
	}
	if err := json.Unmarshal(content, &set); err != nil {
		t.Fatal(err)
	}
	c := servicetest.New(t, service.Config{}).Tenant(t, "typos")
	c.Index(t, "docs")
	var documents []*ragdv1.UploadDocumentRequest
	for uri, text := range set.Documents {
		documents = append(documents, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, ContentType: "text/plain", Source: servicetest.Text(text)})
	}
	c.UploadAll(t, documents)
	c.AwaitAll(t, "docs")
	for _, q := range set.Questions {
		for _, mode := range []string{"keyword", "hybrid"} {
			found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: q.Question, SearchMode: mode, Prefix: q.Prefix, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Sources) == 0 || found.Sources[0].Uri != q.First {
				t.Errorf("%s, %s: %s, want %s: %v", q.Question, mode, urisOf(found.Sources), q.First, found.Sources[:min(len(found.Sources), 2)])
			}
			if len(found.Explain.Corrections) != len(q.Corrected) || len(found.Warnings) != len(q.Corrected) {
				t.Errorf("%s, %s: corrections %v, warnings %q, want %v", q.Question, mode, found.Explain.Corrections, found.Warnings, q.Corrected)
			}
			for _, correction := range found.Explain.Corrections {
				if want := q.Corrected[correction.Word]; correction.Searched[0] != want {
					t.Errorf("%s, %s: %q is corrected to %q, want %q", q.Question, mode, correction.Word, correction.Searched, want)
				}
				if !strings.Contains(found.Warnings[0], correction.Searched[0]) {
					t.Errorf("%s: the warning %q does not name %q", q.Question, found.Warnings[0], correction.Searched)
				}
			}
		}
	}
}

func urisOf(sources []*ragdv1.Source) (uris []string) {
	for _, s := range sources {
		uris = append(uris, s.Uri)
	}
	return uris
}

// TestWordsAreThoseOfVisibleChunks corrects no word to one of another tenant, of a chunk that the credential does not
// see, or of a deleted document.
func TestWordsAreThoseOfVisibleChunks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	narrow := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
	c.Index(t, "docs")
	other.Index(t, "docs")
	upload := func(c servicetest.Client, uri, team, text string) *ragdv1.Document {
		return c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Metadata: servicetest.Object(t, map[string]any{"team": team}), Source: servicetest.Text(text)})
	}
	upload(c, "red", "red", "A lighthouse stands on the island.")
	blue := upload(c, "blue", "blue", "A windmill stands on the hill.")
	upload(other, "other", "red", "A telescope stands on the mountain.")
	searched := func(c servicetest.Client, text string, prefix bool) []string {
		found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: text, SearchMode: "keyword", Explain: true, Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, correction := range found.Explain.Corrections {
			words = append(words, correction.Searched...)
		}
		return append(words, urisOf(found.Sources)...)
	}
	check := func(what string, c servicetest.Client, text string, prefix bool, want ...string) {
		t.Helper()
		if got := searched(c, text, prefix); !slices.Equal(got, want) {
			t.Errorf("%s, %s: %q, want %q", what, text, got, want)
		}
	}
	check("all of the tenant", c, "windmlil", false, "windmill", "blue")
	check("all of the tenant", c, "windm", true, "blue")
	check("a mandatory filter", narrow, "lighthuose", false, "lighthouse", "red")
	check("a mandatory filter", narrow, "windmlil", false)
	check("a mandatory filter", narrow, "windm", true)
	check("another tenant", c, "telescpoe", false)
	check("another tenant", c, "telesc", true)
	check("the other tenant", other, "telescpoe", false, "telescope", "other")
	if _, err := c.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{DocumentId: blue.DocumentId}); err != nil {
		t.Fatal(err)
	}
	check("a deleted document", c, "windmlil", false)
	upload(c, "slip", "red", "A lighthuose is a misspelt word.")
	check("a word that a document has", c, "lighthuose", false, "slip")
}

// TestWordsOfAnOldIndexAreFound finds the words of an index that was made before there was a table of them.
func TestWordsOfAnOldIndexAreFound(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text("A lighthouse stands on the island.")})
	if _, err := s.Pool.Exec(t.Context(), `DROP TABLE tenant_acme.word_1`); err != nil {
		t.Fatal(err)
	}
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text("A windmill stands on the hill.")})
	restarted := servicetest.New(t, service.Config{AdminPool: s.Pool}).Client(c.Secret)
	for _, word := range []string{"lighthuose", "windmlil"} {
		wait.For(t, "the correction of "+word, func() bool {
			found, err := restarted.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: word, SearchMode: "keyword"})
			if err != nil {
				t.Fatal(err)
			}
			return len(found.Sources) == 1
		})
	}
}
