package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Callers run only the models that the operator allows on the operator's account. Indexes
// keep a model that is no longer allowed.
func TestOnlyAllowedModelsAreCalled(t *testing.T) {
	t.Parallel()
	fake := modelserver.New(t)
	providers := func(openAI, cohere []string) service.Providers {
		return service.Providers{
			OpenAI: endpoint.Config{BaseURL: fake.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, Models: openAI},
			Cohere: endpoint.Config{BaseURL: fake.URL, APIKey: modelserver.Key, MaxAttempts: 1, Models: cohere},
		}
	}
	wide := servicetest.New(t, service.Config{NoWorkers: true, Providers: providers([]string{"*"}, nil)})
	acme := wide.Tenant(t, "acme")
	ctx := t.Context()
	if _, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "old", EmbeddingModel: "openai/old", Dimension: int32(fake.Dimension)}); err != nil {
		t.Fatal(err)
	}
	narrow := servicetest.New(t, service.Config{
		NoWorkers: true, AdminPool: wide.Pool, Providers: providers([]string{"text-embedding-3-*", "gpt-*-mini"}, []string{"rerank-*"}),
	})
	before := len(fake.Requests())
	c := narrow.Client(acme.Secret)
	sources := []*ragdv1.Source{{Id: "a", Document: "a text", Score: 1}}
	for _, model := range []string{"openai/gpt-5-pro", "openai/gpt-5-mini-search", "cohere/command-a", "openai/" + strings.Repeat("x", 300), "openai/a b", "openai/a\nb"} {
		for name, call := range map[string]func() error{
			"Embed": func() error {
				_, err := c.Embed(ctx, &ragdv1.EmbedRequest{Model: model, Texts: []string{"a"}})
				return err
			},
			"CreateIndex": func() error {
				_, err := c.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "new", EmbeddingModel: model})
				return err
			},
			"Rerank": func() error {
				_, err := c.Rerank(ctx, &ragdv1.RerankRequest{QueryText: "a", Results: sources, Reranker: &ragdv1.Reranker{Model: model}})
				return err
			},
			"UploadDocument": func() error {
				_, err := c.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{
					IndexName: "old", Source: servicetest.Text("a"), Extract: servicetest.Object(t, map[string]any{"summary": map[string]any{"model": model}}),
				})
				return err
			},
		} {
			servicetest.WantCode(t, name+" with "+model, call(), connect.CodeInvalidArgument)
		}
	}
	_, err := c.Embed(ctx, &ragdv1.EmbedRequest{Model: "openai/gpt-5-pro", Texts: []string{"a"}})
	if err == nil || !strings.Contains(err.Error(), "text-embedding-3-*, gpt-*-mini") {
		t.Errorf("the error does not name the allowed models: %v", err)
	}
	if n := len(fake.Requests()) - before; n != 0 {
		t.Errorf("the provider got %d requests", n)
	}
	if _, err := c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "a question", IndexName: "old"}); err != nil {
		t.Errorf("an index with a model that is no longer allowed: %v", err)
	}
	if _, err := c.Rerank(ctx, &ragdv1.RerankRequest{QueryText: "a", Results: sources, Reranker: &ragdv1.Reranker{Model: "cohere/rerank-v3.5"}}); err != nil {
		t.Errorf("an allowed reranker: %v", err)
	}
}
