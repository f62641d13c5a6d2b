package index_test

import (
	"slices"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// TestWordsFollowTheChunks writes the same new word in two transactions at once, and deletes and writes chunks between counts.
func TestWordsFollowTheChunks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	i, h := resolve(t, s, "docs")
	words := func(want ...string) {
		t.Helper()
		got := texts(t, s, `SELECT word || ' ' || chunks FROM tenant_acme.word_1 ORDER BY 1`)
		if !slices.Equal(got, want) {
			t.Errorf("words %q, want %q", got, want)
		}
	}
	upload := func(text string) *ragdv1.Document {
		return c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text(text)})
	}
	words(" 0")
	other, err := s.Pool.Begin(t.Context())
	must(t, err)
	defer other.Rollback(t.Context())
	_, err = other.Exec(t.Context(), `INSERT INTO tenant_acme.word_1 (word, chunks) VALUES ('lighthous', 0)`)
	must(t, err)
	lighthouse := upload("lighthouse 2024 x200 護照") // does not wait for the other transaction
	must(t, other.Commit(t.Context()))
	windmill := upload("windmill")
	words(" 0", "lighthous 0", "lighthous 0", "windmil 0", "x200 0")
	must(t, index.ForgetWords(t.Context(), h, i))
	words(" 0", "lighthous 1", "windmil 1", "x200 1")
	for _, d := range []*ragdv1.Document{lighthouse, windmill} {
		_, err = c.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{DocumentId: d.DocumentId})
		must(t, err)
	}
	must(t, index.ForgetWords(t.Context(), h, i))
	words(" 0", "lighthous -1", "windmil -1", "x200 -1")
	upload("windmill")
	words(" 0", "lighthous -1", "windmil -1", "windmil 0", "x200 -1")
	must(t, index.ForgetWords(t.Context(), h, i))
	words(" 0", "windmil 1")
}
