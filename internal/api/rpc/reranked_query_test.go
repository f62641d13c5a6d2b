package rpc_test

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// ferries returns an index of 20 documents on ferries, of which a search ranks the
// shorter ones first, and a cross-encoder that prefers the longest one.
func ferries(t *testing.T, log *slog.Logger) (*servicetest.Service, servicetest.Client, *modelserver.Server) {
	t.Helper()
	fake := modelserver.New(t)
	fake.Score = func(_, text string) float64 {
		if strings.Contains(text, "lighthouse") {
			return 1
		}
		return 0.1
	}
	config := endpoint.Config{BaseURL: fake.URL, APIKey: modelserver.Key, MaxAttempts: 1}
	chat := config
	chat.BaseURL += "/v1"
	s := servicetest.New(t, service.Config{Logger: log, Providers: service.Providers{Cohere: config, OpenAI: chat}})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	for n := range 20 {
		body := fmt.Sprintf("The ferry number %d. %s", n, strings.Repeat("It is painted blue. ", n))
		metadata := map[string]any{"level": "open"}
		if n == 19 {
			body, metadata = body+"It passes the lighthouse.", map[string]any{"level": "secret"}
		}
		c.Upload(t, &ragdv1.UploadDocumentRequest{Uri: fmt.Sprintf("ferry-%d", n), Source: servicetest.Text(body), Metadata: servicetest.Object(t, metadata)})
	}
	return s, c, fake
}

// lines is a log writer that keeps its lines.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(line))
	return len(line), nil
}

// await waits until a line contains part, because the request's line is written after the
// answer.
func (l *lines) await(t *testing.T, part string) {
	t.Helper()
	wait.For(t, "a line of the log with "+part, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.ContainsFunc(l.all, func(line string) bool { return strings.Contains(line, part) })
	})
}

// best returns a reranker that uses the model's score alone.
func best() *ragdv1.Reranker {
	one, zero := 1.0, 0.0
	return &ragdv1.Reranker{Model: "cohere/rerank-v3.5", Weights: &ragdv1.RerankerWeights{Semantic: &one, Vector: &zero, Position: &zero}}
}

func stageNames(stages []*ragdv1.Stage) (names []string) {
	for _, stage := range stages {
		names = append(names, stage.Name)
	}
	return names
}

func TestVectorQueryReranks(t *testing.T) {
	t.Parallel()
	log := &lines{}
	s, acme, fake := ferries(t, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	ctx := t.Context()
	four := int32(4)
	ask := func(reranker *ragdv1.Reranker) *ragdv1.VectorQueryRequest {
		return &ragdv1.VectorQueryRequest{QueryText: "ferry number", SearchMode: "keyword", TopK: &four, Reranker: reranker, Explain: true}
	}
	first, _ := found(t, acme, ask(nil))
	if len(first) != 4 || slices.Contains(first, "ferry-19") {
		t.Fatalf("the search finds %v", first)
	}

	t.Run("candidates of low rank can become the first", func(t *testing.T) {
		names, res := found(t, acme, ask(best()))
		if len(names) != 4 || names[0] != "ferry-19" || len(res.Warnings) > 0 {
			t.Fatalf("found %v, warnings %v", names, res.Warnings)
		}
		if !strings.HasPrefix(res.RelevantContext, "[1]\nThe ferry number 19.") && !strings.HasPrefix(res.RelevantContext, "[1] ") {
			t.Errorf("the context is %.80q", res.RelevantContext)
		}
		d := res.Sources[0].Details
		if d.GetSemantic() != 1 || d.GetEstimated() || res.Sources[0].Score != 1 {
			t.Errorf("score %v, details %v", res.Sources[0].Score, d)
		}
		if got := stageNames(res.Explain.Stages); !slices.Contains(got, "rerank") || res.Explain.Stages[len(got)-1].Candidates != 20 {
			t.Errorf("stages %v", res.Explain.Stages)
		}
		r := res.Explain.Reranking
		if r.GetKind() != "cross-encoder" || r.GetModel() != "cohere/rerank-v3.5" || r.GetCandidates() != 20 || r.GetFailed() != 0 || r.GetCalls() != 1 || r.GetDurationMs() <= 0 {
			t.Errorf("reranking %v", r)
		}
	})
	t.Run("the request's line in the log", func(t *testing.T) {
		found(t, acme, ask(best()))
		log.await(t, "rerank_kind=cross-encoder rerank_candidates=20 rerank_failed=0 rerank_cached=20 rerank_calls=0 rerank_ms=")
	})
	t.Run("scores without bounds are mapped to 0..1", func(t *testing.T) {
		_, res := found(t, acme, ask(&ragdv1.Reranker{}))
		for _, source := range res.Sources {
			d := source.Details
			if d.Vector < 0 || d.Vector > 1 || math.Abs(source.Score-(0.4*d.Semantic+0.4*d.Vector+0.2*d.Position)) > 1e-9 {
				t.Errorf("%s: score %v, details %v", source.Uri, source.Score, d)
			}
		}
		if res.Explain.Reranking.GetKind() != "lexical" || res.Explain.Reranking.GetModel() != "builtin/lexical" {
			t.Errorf("reranking %v", res.Explain.Reranking)
		}
	})
	t.Run("candidates and topK of the reranker", func(t *testing.T) {
		few := best()
		few.Candidates = 6
		if names, res := found(t, acme, ask(few)); len(names) != 4 || slices.Contains(names, "ferry-19") || res.Explain.Reranking.GetCandidates() != 6 {
			t.Errorf("of 6 candidates: %v, %v", names, res.Explain.Reranking)
		}
		one := int32(1)
		short := best()
		short.TopK = &one
		if names, _ := found(t, acme, ask(short)); !slices.Equal(names, []string{"ferry-19"}) {
			t.Errorf("topK 1: %v", names)
		}
	})
	t.Run("with diversity, maxPerDocument and neighbours", func(t *testing.T) {
		req := ask(best())
		req.Diversity, req.MaxPerDocument, req.Neighbours = 0.1, 1, 1
		if names, _ := found(t, acme, req); len(names) != 4 || names[0] != "ferry-19" {
			t.Errorf("found %v", names)
		}
	})
	t.Run("the mandatory filter applies", func(t *testing.T) {
		limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})}))
		before := len(fake.Requests())
		names, _ := found(t, limited, ask(&ragdv1.Reranker{Model: "cohere/other", Candidates: 1000}))
		if len(names) != 4 || slices.Contains(names, "ferry-19") {
			t.Errorf("the key's filter lets %v through", names)
		}
		for _, asked := range fake.Requests()[before:] {
			if strings.Contains(asked.Raw, "lighthouse") {
				t.Error("the provider was sent a text that the caller may not see")
			}
		}
		req := ask(best())
		req.Filter = structpb.NewStructValue(servicetest.Object(t, map[string]any{"level": "open"}))
		if names, _ := found(t, acme, req); len(names) != 4 || slices.Contains(names, "ferry-19") {
			t.Errorf("the request's filter lets %v through", names)
		}
	})
	t.Run("options nest weights and topK", func(t *testing.T) {
		two := int32(2)
		nested := best()
		nested.Options = &ragdv1.RerankerOptions{Weights: nested.Weights, TopK: &two}
		nested.Weights = nil
		if names, _ := found(t, acme, ask(nested)); len(names) != 2 || names[0] != "ferry-19" {
			t.Errorf("%v", names)
		}
		three := int32(3)
		nested.TopK = &three
		if names, _ := found(t, acme, ask(nested)); len(names) != 3 {
			t.Errorf("topK itself takes precedence: %v", names)
		}
	})
	t.Run("the request context overrides the reranker", func(t *testing.T) {
		override := s.Client(acme.Secret, "Ragd-Context", `{"reranker": {"model": "cohere/rerank-v3.5", "weights": {"semantic": 1, "vector": 0, "position": 0}, "topK": 2}}`)
		nested := s.Client(acme.Secret, "Ragd-Context", `{"reranker": {"model": "cohere/rerank-v3.5", "options": {"weights": {"semantic": 1, "vector": 0, "position": 0}, "topK": 2}}}`)
		if names, _ := found(t, nested, ask(nil)); len(names) != 2 || names[0] != "ferry-19" {
			t.Errorf("with options: %v", names)
		}
		for _, body := range []*ragdv1.Reranker{nil, {Kind: "lexical"}} {
			if names, _ := found(t, override, ask(body)); len(names) != 2 || names[0] != "ferry-19" {
				t.Errorf("over %v: %v", body, names)
			}
		}
		res, err := override.Rerank(ctx, &ragdv1.RerankRequest{QueryText: "ferry", Results: results("a", "b", "the lighthouse")})
		if err != nil || len(res.Results) != 2 || res.Results[0].Result.Id != "the lighthouse" || res.Reranking.GetCandidates() != 3 {
			t.Errorf("Rerank: %v, %v", res, err)
		}
		for _, bad := range []string{`{"reranker": 5}`, `{"reranker": {"scorer": "x"}}`} {
			_, err := s.Client(acme.Secret, "Ragd-Context", bad).VectorQuery(ctx, ask(nil))
			servicetest.WantCode(t, bad, err, connect.CodeInvalidArgument)
		}
		if names, _ := found(t, s.Client(acme.Secret, "Ragd-Context", `{"reranker": null}`), ask(best())); !slices.Equal(names, first) {
			t.Errorf("null is %v, want no reranking", names)
		}
		if _, err := override.Query(ctx, &ragdv1.QueryRequest{IndexName: "main", QueryVector: make([]float32, 512)}); err != nil {
			t.Errorf("a query without a question: %v", err)
		}
	})
	t.Run("a failing provider does not fail the call", func(t *testing.T) {
		fake.Set(modelserver.Fault{Status: http.StatusInternalServerError})
		defer fake.Set(modelserver.Fault{})
		req := ask(best())
		req.QueryText = "number of a ferry"
		names, res := found(t, acme, req)
		plain := ask(nil)
		plain.QueryText = req.QueryText
		want, unranked := found(t, acme, plain)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
		if len(res.Warnings) != 1 || !strings.HasPrefix(res.Warnings[0], "rerank: ") || res.Sources[0].Details != nil || res.Sources[0].Score != unranked.Sources[0].Score {
			t.Errorf("warnings %v, first %v", res.Warnings, res.Sources[0])
		}
		if r := res.Explain.Reranking; r.GetFailed() != 20 {
			t.Errorf("reranking %v", r)
		}
		req.Reranker.Required = true
		_, err := acme.VectorQuery(ctx, req)
		servicetest.WantCode(t, "required", err, connect.CodeUnavailable)
	})
	t.Run("candidates that the model cannot score", func(t *testing.T) {
		fake.Chat = func(asked modelserver.Chat) string {
			if strings.Contains(asked.User, "number 3") {
				return "no idea"
			}
			return `{"score": 0.5}`
		}
		req := ask(&ragdv1.Reranker{Kind: "llm-passage", Model: "openai/judge"})
		_, res := found(t, acme, req)
		if r := res.Explain.Reranking; len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "1 of 20 candidates") || r.GetFailed() != 1 || r.GetInputTokens() == 0 || r.GetOutputTokens() == 0 {
			t.Errorf("warnings %v, reranking %v", res.Warnings, r)
		}
		if _, res = found(t, acme, req); res.Explain.Reranking.GetCached() != 19 {
			t.Errorf("asked again: %v", res.Explain.Reranking)
		}
	})

	zero, many := int32(0), int32(1001)
	for name, tc := range map[string]struct {
		req   *ragdv1.VectorQueryRequest
		code  connect.Code
		field string
	}{
		"no question":              {&ragdv1.VectorQueryRequest{QueryVector: make([]float32, 512), Reranker: &ragdv1.Reranker{}}, connect.CodeInvalidArgument, "queryText"},
		"no results":               {ask(&ragdv1.Reranker{TopK: &zero}), connect.CodeInvalidArgument, "reranker.topK"},
		"too many results":         {ask(&ragdv1.Reranker{TopK: &many}), connect.CodeInvalidArgument, "reranker.topK"},
		"too many candidates":      {ask(&ragdv1.Reranker{Candidates: 1001}), connect.CodeInvalidArgument, "reranker.candidates"},
		"fewer than none":          {ask(&ragdv1.Reranker{Candidates: -1}), connect.CodeInvalidArgument, "reranker.candidates"},
		"an unknown kind":          {ask(&ragdv1.Reranker{Kind: "magic"}), connect.CodeInvalidArgument, "reranker.kind"},
		"an unconfigured provider": {ask(&ragdv1.Reranker{Model: "jina/x"}), connect.CodeFailedPrecondition, ""},
	} {
		_, err := acme.VectorQuery(ctx, tc.req)
		servicetest.WantCode(t, name, err, tc.code)
		if tc.field != "" && fieldOf(err) != tc.field {
			t.Errorf("%s blames %q, want %q: %v", name, fieldOf(err), tc.field, err)
		}
	}
}

func TestGraphRagReranks(t *testing.T) {
	t.Parallel()
	s, acme, fake := ferries(t, nil)
	four := int32(4)
	for name, options := range map[string]*ragdv1.GraphOptions{"the stored graph": nil, "candidates": {Candidates: 20}} {
		req := &ragdv1.GraphRagRequest{QueryText: "ferry number", TopK: &four, GraphOptions: options, Explain: true}
		plain, err := acme.GraphRag(t.Context(), req)
		if err != nil || len(plain.Sources) != 4 || slices.Contains(uris(plain.Sources), "ferry-19") {
			t.Fatalf("%s without a reranker: %v, %v", name, uris(plain.GetSources()), err)
		}
		req.Reranker = best()
		res, err := acme.GraphRag(t.Context(), req)
		if err != nil || len(res.Sources) != 4 || res.Sources[0].Uri != "ferry-19" || res.Sources[0].Details.GetSemantic() != 1 {
			t.Fatalf("%s: %v, %v", name, res, err)
		}
		if !slices.Contains(stageNames(res.Explain.Stages), "rerank") || res.Explain.Reranking.GetCandidates() != 20 || len(res.Warnings) > 0 {
			t.Errorf("%s: explain %v, warnings %v", name, res.Explain.Reranking, res.Warnings)
		}
		override := s.Client(acme.Secret, "Ragd-Context", `{"reranker": {"topK": 1}}`)
		if res, err := override.GraphRag(t.Context(), req); err != nil || len(res.Sources) != 1 || res.Explain.Reranking.GetKind() != "lexical" {
			t.Errorf("%s by the request context: %v, %v", name, res, err)
		}
		limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})}))
		if res, err := limited.GraphRag(t.Context(), req); err != nil || slices.Contains(uris(res.Sources), "ferry-19") {
			t.Errorf("%s: the key's filter lets %v through, %v", name, uris(res.GetSources()), err)
		}

		fake.Set(modelserver.Fault{Status: http.StatusInternalServerError})
		req.Reranker.Model = "cohere/another"
		res, err = acme.GraphRag(t.Context(), req)
		if err != nil || !slices.Equal(uris(res.Sources), uris(plain.Sources)) || len(res.Warnings) != 1 {
			t.Errorf("%s with a failing provider: %v, %v", name, res, err)
		}
		req.Reranker.Required = true
		_, err = acme.GraphRag(t.Context(), req)
		servicetest.WantCode(t, name+" required", err, connect.CodeUnavailable)
		fake.Set(modelserver.Fault{})
	}
	_, err := acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryVector: make([]float32, 512), Reranker: best()})
	servicetest.WantCode(t, "no question", err, connect.CodeInvalidArgument)
}

// Invalid rerankers are rejected before the search runs.
func TestInvalidRerankersAreRejectedBeforeTheSearch(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	heavy := 2.0
	for _, tc := range []struct {
		by    *ragdv1.Reranker
		field string
	}{
		{&ragdv1.Reranker{Weights: &ragdv1.RerankerWeights{Semantic: &heavy}}, "reranker.weights.semantic"},
		{&ragdv1.Reranker{Kind: "oracle"}, "reranker.kind"},
	} {
		_, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "none", QueryText: "ferry", Reranker: tc.by})
		if fieldOf(err) != tc.field {
			t.Errorf("VectorQuery: %v, want an error about %s", err, tc.field)
		}
		_, err = c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "none", QueryText: "ferry", Reranker: tc.by})
		if fieldOf(err) != tc.field {
			t.Errorf("GraphRag: %v, want an error about %s", err, tc.field)
		}
	}
}
