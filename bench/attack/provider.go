package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/testing/modelserver"
)

// Calls of model providers, which are slow, limited in number and paid by the operator.

// providerAttacks returns the attacks on model providers.
func providerAttacks() []attack {
	return []attack{
		{name: "provider-slots", what: "16x Embed of 2048 texts with a provider that takes 0.2 s a call, with a read key", run: occupyProvider},
		{name: "provider-models", what: "Embed, Rerank and VectorQuery with made-up models of the operator's provider, with a read key", run: madeUpModels},
	}
}

// occupyProvider wants to use all concurrent calls of the provider.
func occupyProvider(ctx context.Context, s *arena) (result, error) {
	const provided = 200 * time.Millisecond
	s.models.Dimension = 1536 // of the model below
	s.models.Set(modelserver.Fault{Delay: provided})
	embed := func(ctx context.Context, key string, texts []string) answer {
		return s.rpc(ctx, key, "QueryService/Embed", object{"model": "openai/text-embedding-3-small", "texts": texts})
	}
	asked := 0
	return fairness{
		service: s, clients: 16,
		attack: func(ctx context.Context, client, n int) answer {
			texts := make([]string, 2048)
			for i := range texts {
				texts[i] = fmt.Sprintf("text %d of call %d of client %d", i, n, client)
			}
			return embed(ctx, s.attacker.read, texts)
		},
		victim: func(ctx context.Context) answer {
			asked++
			return embed(ctx, s.victim.read, []string{fmt.Sprint("question ", asked)})
		},
	}.run(ctx)
}

// madeUpModels asks for models that the operator has not chosen.
func madeUpModels(ctx context.Context, s *arena) (result, error) {
	const model = "made-up-and-expensive"
	results := []object{{"id": "1", "document": "harbour"}, {"id": "2", "document": "quarry"}}
	answers := []answer{
		s.rpc(ctx, s.attacker.read, "QueryService/Embed", object{"model": "openai/" + model, "texts": []string{"a"}}),
		s.rpc(ctx, s.attacker.read, "QueryService/Rerank", object{"queryText": "a", "results": results, "reranker": object{"model": "openai/" + model}}),
		s.rpc(ctx, s.attacker.read, "QueryService/VectorQuery", object{"indexName": "docs", "queryText": "a", "reranker": object{"model": "openai/" + model}}),
		s.rpc(ctx, s.attacker.read, "QueryService/Embed", object{"model": "openai/../../" + model, "texts": []string{"a"}}),
	}
	r := reject(answers)
	if calls := s.models.Requests(); slices.ContainsFunc(calls, func(c modelserver.Request) bool { return c.Body["model"] == model }) {
		r.breaks("the provider was called %d times on the operator's account", len(calls))
	}
	return r, nil
}
