package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// Calls of model providers, which are slow, limited in number and paid by the operator.

// providerAttacks returns the attacks on model providers.
func providerAttacks() []attack {
	return []attack{
		{name: "provider-slots", what: "16x Embed of 2048 texts with a provider that takes 0.2 s a call, with a read key", settings: allowModel, run: occupyProvider},
		{name: "provider-memory", what: "16x Embed of 2048 texts with a model of 1,536 dimensions, with a read key", settings: allowModel, run: largeAnswers},
		{name: "provider-models", what: "Embed, Rerank and VectorQuery with made-up models of the operator's provider, with a read key", settings: allowModel, run: madeUpModels},
	}
}

// model is a model of the provider that the operator allows.
const model = "openai/text-embedding-of-the-operator"

// allowModel lets every tenant use the model, as a variable, which older binaries ignore.
func allowModel(*arena) (args, env []string) {
	return nil, []string{"RAGD_OPENAI_MODELS=" + strings.TrimPrefix(model, "openai/")}
}

// occupyProvider wants to use all concurrent calls of the provider.
func occupyProvider(ctx context.Context, s *arena) (result, error) {
	const provided = 200 * time.Millisecond
	s.models.Set(modelserver.Fault{Delay: provided})
	embed := func(ctx context.Context, key string, texts []string) answer {
		return s.rpc(ctx, key, "QueryService/Embed", object{"model": model, "texts": texts})
	}
	return fairness{
		service: s, clients: 16,
		attack: func(ctx context.Context, client, n int) answer {
			texts := make([]string, 2048)
			for i := range texts {
				texts[i] = fmt.Sprintf("text %d of call %d of client %d", i, n, client)
			}
			return embed(ctx, s.attacker.read, texts)
		},
		victim: []question{s.question("QueryService/Embed", object{"model": model, "texts": []string{"question $N"}})},
	}.run(ctx)
}

// largeAnswers asks for many embeddings at once, each call of which is within its limits.
func largeAnswers(ctx context.Context, s *arena) (result, error) {
	s.models.Dimension = 1536
	return reject(times(16, func(n int) answer {
		texts := make([]string, 2048)
		for i := range texts {
			texts[i] = fmt.Sprintf("text %d of call %d", i, n)
		}
		return s.rpc(ctx, s.attacker.read, "QueryService/Embed", object{"model": model, "texts": texts})
	})), nil
}

// madeUpModels asks for models that the operator has not chosen.
func madeUpModels(ctx context.Context, s *arena) (result, error) {
	const unknown = "made-up-and-expensive"
	results := []object{{"id": "1", "document": "harbour"}, {"id": "2", "document": "quarry"}}
	answers := []answer{
		s.rpc(ctx, s.attacker.read, "QueryService/Embed", object{"model": "openai/" + unknown, "texts": []string{"a"}}),
		s.rpc(ctx, s.attacker.read, "QueryService/Rerank", object{"queryText": "a", "results": results, "reranker": object{"model": "openai/" + unknown}}),
		s.rpc(ctx, s.attacker.read, "QueryService/VectorQuery", object{"indexName": "docs", "queryText": "a", "reranker": object{"model": "openai/" + unknown}}),
		s.rpc(ctx, s.attacker.read, "QueryService/Embed", object{"model": "openai/../../" + unknown, "texts": []string{"a"}}),
	}
	r := reject(answers)
	if calls := s.models.Requests(); slices.ContainsFunc(calls, func(c modelserver.Request) bool { return c.Body["model"] == unknown }) {
		r.breaks("the provider was called %d times on the operator's account", len(calls))
	}
	return r, nil
}
