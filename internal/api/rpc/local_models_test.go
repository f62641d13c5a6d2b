package rpc_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/localmodel"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

const localModels = "../../model/localmodel/testdata/models"

// expectedVectors are those that PyTorch computes for the texts of a model.
type expectedVectors struct {
	Texts              []string
	Document, Question [][]float64
	Pairs              [][2]string
	Scores             []float64
}

func readExpected(t *testing.T, model string) (e expectedVectors) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(localModels, model, "expected.json"))
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAnIndexIsSearchedWithALocalModel(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{ModelsDir: localModels, LocalModelThreads: 1, LocalModelPrecision: localmodel.Float32})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	want := readExpected(t, "bert-cls-dense")
	created, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "local/bert-cls-dense"})
	if err != nil {
		t.Fatal(err)
	}
	if created.Dimension != 20 {
		t.Errorf("the dimension is %d, want that of the model's last layer, 20", created.Dimension)
	}
	for _, text := range want.Texts[:3] {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text(text)})
	}
	res, err := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: want.Texts[0], TopK: proto.Int32(3), SearchMode: "vector"})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Sources) != 3 {
		t.Fatalf("%d sources, want 3", len(res.Sources))
	}
	for _, source := range res.Sources {
		for i, text := range want.Texts[:3] {
			if source.Document == text {
				if score := cosine(want.Question[0], want.Document[i]); math.Abs(source.Score-score) > 1e-4 {
					t.Errorf("the score of %q is %v, by PyTorch's vectors %v", text, source.Score, score)
				}
			}
		}
	}
}

func cosine(a, b []float64) float64 {
	var product, x, y float64
	for i := range a {
		product, x, y = product+a[i]*b[i], x+a[i]*a[i], y+b[i]*b[i]
	}
	return product / math.Sqrt(x*y)
}

func TestResultsAreRerankedByALocalCrossEncoder(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, ModelsDir: localModels, LocalModelPrecision: localmodel.Float32})
	acme := s.Tenant(t, "acme")
	want := readExpected(t, "cross-xlm-roberta")
	var texts []string
	for _, pair := range want.Pairs[:4] {
		texts = append(texts, pair[1])
	}
	res, err := acme.Rerank(t.Context(), &ragdv1.RerankRequest{
		QueryText: want.Pairs[0][0], Results: results(texts...), Reranker: &ragdv1.Reranker{Model: "local/cross-xlm-roberta", TopK: proto.Int32(4)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Results) != 4 {
		t.Fatalf("%d results", len(res.Results))
	}
	for _, r := range res.Results {
		for i, text := range texts {
			if r.Result.Document == text && math.Abs(r.Details.Semantic-want.Scores[i]) > 1e-5 {
				t.Errorf("the score of %.30q is %v, PyTorch's is %v", text, r.Details.Semantic, want.Scores[i])
			}
		}
	}
}

func TestATenantNamesOnlyModelsInTheModelsFolder(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, ModelsDir: filepath.Join(localModels, "bert-cls-dense")})
	acme := s.Tenant(t, "acme")
	for _, name := range []string{"local/../bert-mean", "local/..", "local//etc", "local/", "local/none", "local/bert-mean"} {
		_, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: name})
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
		_, err = acme.Rerank(t.Context(), &ragdv1.RerankRequest{QueryText: "x", Results: results("y"), Reranker: &ragdv1.Reranker{Model: name}})
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
	}
	// 2_Dense has a config.json, but is no model: the operator learns why, the tenant does not.
	_, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "local/2_Dense"})
	servicetest.WantCode(t, "a folder that is no model", err, connect.CodeFailedPrecondition)
	if strings.Contains(err.Error(), "testdata") {
		t.Errorf("the error shows a path of the server: %v", err)
	}
}

func TestNewIndexesHaveTheLocalModelAndOldOnesKeepTheirs(t *testing.T) {
	t.Parallel()
	models := t.TempDir()
	s := servicetest.New(t, service.Config{ModelsDir: models, EmbeddingModel: "auto"})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	create := func(name, model string) string {
		t.Helper()
		made, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: name, EmbeddingModel: model})
		if err != nil {
			t.Fatal(err)
		}
		return made.EmbeddingModel
	}
	if got := create("before", ""); got != "builtin/hash-512" {
		t.Errorf("without a folder the model is %s", got)
	}
	if err := os.CopyFS(filepath.Join(models, "tiny"), os.DirFS(filepath.Join(localModels, "bert-mean"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"after", "", "local/tiny"}, {"named", "auto", "local/tiny"},
		{"before", "", "builtin/hash-512"}, {"before", "auto", "builtin/hash-512"}, {"after", "", "local/tiny"},
	} {
		if got := create(c[0], c[1]); got != c[2] {
			t.Errorf("the index %s with the model %q has %s, want %s", c[0], c[1], got, c[2])
		}
	}
	_, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "before", EmbeddingModel: "local/tiny"})
	if connect.CodeOf(err) != connect.CodeAlreadyExists {
		t.Errorf("an index with another model that is named: %v", err)
	}
	embedded, err := acme.Embed(ctx, &ragdv1.EmbedRequest{Texts: []string{"text"}})
	if err != nil || embedded.Model != "local/tiny" {
		t.Errorf("texts are embedded with %s: %v", embedded.GetModel(), err)
	}
}
