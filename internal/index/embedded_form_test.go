package index_test

import (
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// old describes the index and returns whether its embeddings are old.
func (f fixture) old(t *testing.T, c servicetest.Client) bool {
	t.Helper()
	i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	return i.OldEmbeddings
}

func TestEmbeddingsOfAnEarlierFormAreToldAndMadeAnew(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const earlier = `UPDATE tenant_acme.indexes SET embedded_form = 0`
	f.upload(t, "plain", "nothing stands above this text")
	exec(t, f.service, earlier)
	if f.old(t, f.Client) {
		t.Error("the embeddings of texts without headings are told to be old")
	}
	f.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "headed", Title: "Manual", ContentType: "text/markdown", Source: servicetest.Text("# Pumps\n\n## Care\n\nOil them once a month.")})
	if !f.old(t, f.Client) {
		t.Fatal("old embeddings are not told")
	}
	key := f.service.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "a"})})
	if f.old(t, f.service.Client(key)) {
		t.Error("a credential with a mandatory filter learns of headings of all chunks")
	}
	other := f.service.Tenant(t, "other")
	if _, err := other.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"}); err != nil {
		t.Fatal(err)
	}
	other.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "headed", Title: "Manual", ContentType: "text/markdown", Source: servicetest.Text("# Pumps\n\n## Care\n\nOil them.")})
	if f.old(t, other) {
		t.Error("a new index of another tenant is told to have old embeddings")
	}
	same := &ragdv1.UpdateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/some-model"}
	if _, err := f.UpdateIndex(t.Context(), same); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the embeddings to be made anew", func() bool {
		i := f.describe(t)
		return !i.OldEmbeddings && i.ReembedJobId == ""
	})
	if i, err := f.UpdateIndex(t.Context(), same); err != nil || i.ReembedJobId != "" {
		t.Errorf("the model of present embeddings again: %v, %v", i, err)
	}
}
