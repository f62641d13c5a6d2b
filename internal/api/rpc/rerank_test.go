package rpc_test

import (
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func results(texts ...string) []*ragdv1.Source {
	out := make([]*ragdv1.Source, len(texts))
	for i, s := range texts {
		out[i] = &ragdv1.Source{Id: s, Document: s, Score: 0.5}
	}
	return out
}

func TestRerank(t *testing.T) {
	t.Parallel()
	fake := modelserver.New(t)
	s := servicetest.New(t, service.Config{NoWorkers: true, Providers: service.Providers{
		Cohere: endpoint.Config{BaseURL: fake.URL, APIKey: modelserver.Key, MaxAttempts: 1},
	}})
	acme := s.Tenant(t, "acme")
	ctx := t.Context()
	texts := results("A tale of rivers.", "The harbour gate opens at dawn.", "Bread.", "When the gate of the harbour opens, boats leave.")

	t.Run("without a model, by shared terms", func(t *testing.T) {
		res, err := acme.Rerank(ctx, &ragdv1.RerankRequest{QueryText: "when does the harbour gate open", Results: texts})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Results) != 3 || res.Results[0].Result.Id != texts[3].Id && res.Results[0].Result.Id != texts[1].Id {
			t.Errorf("results = %v", res.Results)
		}
		first := res.Results[0]
		if want := 0.4*first.Details.Semantic + 0.4*first.Details.Vector + 0.2*first.Details.Position; first.Score-want > 1e-9 || want-first.Score > 1e-9 {
			t.Errorf("score %v, but its components give %v", first.Score, want)
		}
	})
	t.Run("the text may be in metadata", func(t *testing.T) {
		metadata, err := structpb.NewStruct(map[string]any{"text": "the harbour gate"})
		if err != nil {
			t.Fatal(err)
		}
		res, err := acme.Rerank(ctx, &ragdv1.RerankRequest{QueryText: "harbour gate", Results: append(results("Bread."), &ragdv1.Source{Id: "m", Metadata: metadata, Score: 0.5})})
		if err != nil || res.Results[0].Result.Id != "m" {
			t.Errorf("results = %v, %v", res, err)
		}
	})
	model := &ragdv1.Reranker{Model: "cohere/rerank-v3.5"}
	t.Run("by a provider", func(t *testing.T) {
		res, err := acme.Rerank(ctx, &ragdv1.RerankRequest{QueryText: "harbour gate", Results: texts, Reranker: model})
		if err != nil || len(res.Warnings) != 0 || len(fake.Requests()) == 0 {
			t.Errorf("answer = %v, %v", res, err)
		}
	})
	t.Run("a failing provider does not fail the call", func(t *testing.T) {
		fake.Set(modelserver.Fault{Status: http.StatusInternalServerError})
		defer fake.Set(modelserver.Fault{})
		res, err := acme.Rerank(ctx, &ragdv1.RerankRequest{QueryText: "another question", Results: texts, Reranker: model})
		if err != nil || len(res.Warnings) == 0 || len(res.Results) != 3 || res.Results[0].Result.Id != texts[0].Id {
			t.Errorf("answer = %v, %v", res, err)
		}
		_, err = acme.Rerank(ctx, &ragdv1.RerankRequest{QueryText: "another question", Results: texts, Reranker: &ragdv1.Reranker{Model: model.Model, Required: true}})
		servicetest.WantCode(t, "required", err, connect.CodeUnavailable)
	})
	third, minus := 1.0/3, int32(-1)
	for name, tc := range map[string]struct {
		req   *ragdv1.RerankRequest
		code  connect.Code
		field string
	}{
		"a blank question": {&ragdv1.RerankRequest{QueryText: " ", Results: texts}, connect.CodeInvalidArgument, "queryText"},
		"weights that do not add up": {&ragdv1.RerankRequest{QueryText: "a", Results: texts, Reranker: &ragdv1.Reranker{
			Weights: &ragdv1.RerankerWeights{Semantic: &third, Vector: &third, Position: &third},
		}}, connect.CodeInvalidArgument, "reranker.weights"},
		"an unknown kind":          {&ragdv1.RerankRequest{QueryText: "a", Results: texts, Reranker: &ragdv1.Reranker{Kind: "magic"}}, connect.CodeInvalidArgument, "reranker.kind"},
		"a topK below nothing":     {&ragdv1.RerankRequest{QueryText: "a", Results: texts, Reranker: &ragdv1.Reranker{TopK: &minus}}, connect.CodeInvalidArgument, "reranker.topK"},
		"too many results":         {&ragdv1.RerankRequest{QueryText: "a", Results: make([]*ragdv1.Source, 1001)}, connect.CodeInvalidArgument, "results"},
		"an unconfigured provider": {&ragdv1.RerankRequest{QueryText: "a", Results: texts, Reranker: &ragdv1.Reranker{Model: "jina/x"}}, connect.CodeFailedPrecondition, ""},
	} {
		_, err := acme.Rerank(ctx, tc.req)
		servicetest.WantCode(t, name, err, tc.code)
		if tc.field != "" && fieldOf(err) != tc.field {
			t.Errorf("%s blames %q, want %q: %v", name, fieldOf(err), tc.field, err)
		}
	}
}
