package rerank_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// setup returns a fake of all providers, whose language model gives the same scores as
// its rerank APIs, and a reranker that uses it and does not wait between attempts.
func setup(t testing.TB) (*modelserver.Server, *rerank.Reranker) {
	t.Helper()
	return setupWithin(t, 20*time.Second)
}

// setupWithin is setup with this timeout for a call.
func setupWithin(t testing.TB, timeout time.Duration) (*modelserver.Server, *rerank.Reranker) {
	t.Helper()
	ai := modelserver.New(t)
	ai.Chat = func(c modelserver.Chat) string { return rate(t, c, ai.Score) }
	at := func(path string) endpoint.Config {
		return endpoint.Config{BaseURL: ai.URL + path, APIKey: modelserver.Key, MinWait: time.Millisecond, MaxWait: time.Second, Timeout: timeout, MaxAttempts: 2}
	}
	endpoints := endpoint.NewDirectory(nil,
		endpoint.NewEndpoint("openai", endpoint.OpenAI, at("/v1")), endpoint.NewEndpoint("cohere", endpoint.Cohere, at("")),
		endpoint.NewEndpoint("jina", endpoint.Jina, at("/v1")), endpoint.NewEndpoint("voyage", endpoint.Voyage, at("/v1/")),
		endpoint.NewEndpoint("tei", endpoint.TEI, at("")))
	return ai, rerank.New(rerank.Config{LLM: llm.New(llm.Config{Endpoints: endpoints}), Endpoints: endpoints, Timeout: 20 * time.Second})
}

// prompt is the user message to a language model.
type prompt struct {
	Query    string
	Passage  string
	Passages []struct{ ID, Text string }
}

func shown(t testing.TB, c modelserver.Chat) prompt {
	var p prompt
	if err := json.Unmarshal([]byte(c.User), &p); err != nil {
		t.Errorf("the user message is not JSON: %v: %s", err, c.User)
	}
	return p
}

// rate returns the answer of a language model that follows its instructions.
func rate(t testing.TB, c modelserver.Chat, score func(query, text string) float64) string {
	p := shown(t, c)
	if strings.Contains(c.System, `"order"`) {
		return `{"order":` + marshal(sorted(p, score)) + `}`
	}
	if p.Passages == nil {
		return fmt.Sprintf(`{"score":%v}`, score(p.Query, p.Passage))
	}
	type rated struct {
		ID    string  `json:"id"`
		Score float64 `json:"score"`
	}
	var scores []rated
	for _, passage := range p.Passages {
		scores = append(scores, rated{passage.ID, score(p.Query, passage.Text)})
	}
	return `{"scores":` + marshal(scores) + `}`
}

func marshal(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func sorted(p prompt, score func(query, text string) float64) []string {
	var ids []string
	left := p.Passages
	for len(left) > 0 {
		best := 0
		for i := range left {
			if score(p.Query, left[i].Text) > score(p.Query, left[best].Text) {
				best = i
			}
		}
		ids = append(ids, left[best].ID)
		left = append(left[:best:best], left[best+1:]...)
	}
	return ids
}

// numbered returns n candidates that the fake providers score by their number, in the
// reverse order of the first stage.
func numbered(n int) []rerank.Candidate {
	out := make([]rerank.Candidate, n)
	for i := range out {
		out[i] = rerank.Candidate{Text: fmt.Sprintf("passage %d", i), Score: 1 - float64(i)/float64(n)}
	}
	return out
}

func byNumber(n int) func(query, text string) float64 {
	return func(_, text string) float64 {
		var i int
		_, _ = fmt.Sscanf(text, "passage %d", &i)
		return float64(i) / float64(n)
	}
}

func order(ranked []rerank.Ranked) []int {
	out := []int{}
	for _, r := range ranked {
		out = append(out, r.Index)
	}
	return out
}

func semanticOnly() rerank.Weights {
	return rerank.Weights{Semantic: new(1.0), Vector: new(0.0), Position: new(0.0)}
}

// models holds a model for every kind.
var models = []struct {
	kind  rerank.Kind
	model string
	path  string
}{
	{rerank.LLM, "openai/m", "/v1/chat/completions"},
	{rerank.LLMPassage, "openai/m", "/v1/chat/completions"},
	{rerank.LLMListwise, "openai/m", "/v1/chat/completions"},
	{"", "cohere/rerank-v3.5", "/v2/rerank"},
	{"", "rerank-v3.5", "/v2/rerank"},
	{"", "jina/jina-reranker-v2-base-multilingual", "/v1/rerank"},
	{"", "voyage/rerank-2.5", "/v1/rerank"},
	{"", "tei/", "/rerank"},
	{rerank.CrossEncoder, "tei/bge-reranker-v2-m3", "/rerank"},
}

func TestEveryKindCanRescueTheLastCandidate(t *testing.T) {
	t.Parallel()
	for _, tc := range models {
		t.Run(string(tc.kind)+" "+tc.model, func(t *testing.T) {
			t.Parallel()
			ai, reranker := setup(t)
			ai.Score = byNumber(50)
			result, err := reranker.Rerank(t.Context(), rerank.Request{
				Tenant: "acme", Query: "q", Candidates: numbered(50), Kind: tc.kind, Model: tc.model, Weights: semanticOnly(), TopK: 3,
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]int{49, 48, 47}, order(result.Ranked)); diff != "" || !result.Reranked || result.Warnings != nil {
				t.Errorf("%v %s", result.Warnings, diff)
			}
			requests := ai.Requests()
			if result.Usage.Calls != len(requests) || tc.path != requests[0].Path {
				t.Errorf("usage %+v after %d requests to %s", result.Usage, len(requests), requests[0].Path)
			}
			if requests[0].Header.Get("Authorization") != "Bearer "+modelserver.Key {
				t.Error("no key was sent")
			}
		})
	}
}

func TestFewCallsForManyCandidates(t *testing.T) {
	t.Parallel()
	want := map[string]int{"llm openai/m": 5, "llm-passage openai/m": 50, "llm-listwise openai/m": 4, " cohere/rerank-v3.5": 1, " tei/": 2}
	for _, tc := range models {
		calls, ok := want[string(tc.kind)+" "+tc.model]
		if !ok {
			continue
		}
		ai, reranker := setup(t)
		ai.Score = byNumber(50)
		if _, err := reranker.Rerank(t.Context(), rerank.Request{Query: "q", Candidates: numbered(50), Kind: tc.kind, Model: tc.model, TopK: 3}); err != nil {
			t.Fatal(err)
		}
		if n := len(ai.Requests()); n != calls {
			t.Errorf("%s %s: %d calls, want %d", tc.kind, tc.model, n, calls)
		}
	}
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	_, reranker := setup(t)
	bare := rerank.New(rerank.Config{})
	for _, tc := range []struct {
		name     string
		reranker *rerank.Reranker
		change   func(*rerank.Request)
		kind     fault.Kind
		message  string
	}{
		{"blank query", reranker, func(r *rerank.Request) { r.Query = " " }, fault.Invalid, "queryText: must not be blank"},
		{"negative topK", reranker, func(r *rerank.Request) { r.TopK = -1 }, fault.Invalid, "topK: must be 0 or more, got -1"},
		{"too many candidates", reranker, func(r *rerank.Request) { r.Candidates = numbered(1001) }, fault.Invalid, "candidates: at most 1000 can be reranked at once, got 1001"},
		{"weights that add up to less", reranker, func(r *rerank.Request) { r.Weights.Semantic = new(0.1) }, fault.Invalid, "weights: must add up to 1, got 0.7 (defaults fill in what is left out: semantic 0.4, vector 0.4, position 0.2)"},
		{"a weight that is none", reranker, func(r *rerank.Request) { r.Weights.Vector = new(math.NaN()) }, fault.Invalid, "weights.vector: must be between 0 and 1, got NaN"},
		{"no weight at all", reranker, func(r *rerank.Request) {
			r.NormalizeWeights = true
			r.Weights = rerank.Weights{Semantic: new(0.0), Vector: new(0.0), Position: new(0.0)}
		}, fault.Invalid, "weights: must add up to 1, got 0 (defaults fill in what is left out: semantic 0.4, vector 0.4, position 0.2)"},
		{"unknown kind", reranker, func(r *rerank.Request) { r.Kind = "psychic" }, fault.Invalid, `kind: must be lexical, llm, llm-passage, llm-listwise or cross-encoder, got "psychic"`},
		{"a model that lexical does not have", reranker, func(r *rerank.Request) { r.Model = "builtin/other" }, fault.Invalid, `model: lexical has no model "builtin/other", only builtin/lexical`},
		{"an unknown provider", reranker, func(r *rerank.Request) { r.Model = "acme/x" }, fault.Invalid, `model: there is no endpoint "acme"; the operator of this server provides cohere, jina, openai, tei, voyage, and a tenant may make its own`},
		{"a cross-encoder without a model", reranker, func(r *rerank.Request) { r.Kind, r.Model = rerank.CrossEncoder, "" }, fault.Invalid, `model: is needed for the kind cross-encoder, such as cohere/rerank-v3.5`},
		{"a provider without a rerank API", reranker, func(r *rerank.Request) { r.Kind, r.Model = rerank.CrossEncoder, "openai/x" }, fault.Invalid, `model: the endpoint "openai", of the kind openai-compatible, has no models for reranking; those of cohere, voyage, jina and tei have`},
		{"a provider without a model", reranker, func(r *rerank.Request) { r.Model = "jina" }, fault.Invalid, `model: must be endpoint/model, such as cohere/rerank-v3.5, got "jina"`},
		{"a language model that is not configured", bare, func(r *rerank.Request) { r.Model = "openai/m" }, fault.Precondition, "model: the endpoint openai is not configured on this server; its operator sets RAGD_OPENAI_API_KEY or RAGD_OPENAI_BASE_URL, or the tenant makes an endpoint of this name"},
		{"a rerank API that is not configured", bare, func(r *rerank.Request) { r.Model = "jina/m" }, fault.Precondition, "model: the endpoint jina is not configured on this server; its operator sets RAGD_JINA_API_KEY or RAGD_JINA_BASE_URL, or the tenant makes an endpoint of this name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request := rerank.Request{Query: "q", Candidates: numbered(2), TopK: 2}
			tc.change(&request)
			_, err := tc.reranker.Rerank(t.Context(), request)
			if fault.KindOf(err) != tc.kind || fault.Public(err) != tc.message {
				t.Errorf("%v %q", fault.KindOf(err), fault.Public(err))
			}
		})
	}
}

func TestScoresAndWeightsNormalisedOnRequest(t *testing.T) {
	t.Parallel()
	_, reranker := setup(t)
	third := 1.0 / 3
	result, err := reranker.Rerank(t.Context(), rerank.Request{
		Query: "tide", TopK: 4, NormalizeScores: true, NormalizeWeights: true,
		Weights:    rerank.Weights{Semantic: &third, Vector: &third, Position: &third},
		Candidates: []rerank.Candidate{{Text: "a", Score: 50}, {Text: "b", Score: 30}, {Text: "c", Score: math.Inf(-1)}, {Text: "d", Score: -50}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var vectors []float64
	for _, r := range result.Ranked {
		vectors = append(vectors, r.Details.Vector)
		if r.Score < 0 || r.Score > 1 {
			t.Errorf("score %v", r.Score)
		}
	}
	if diff := cmp.Diff([]float64{1, 0.8, 0.5, 0}, vectors); diff != "" {
		t.Error(diff)
	}
}

func TestEqualTextsAreScoredOnceAndBlankOnesNever(t *testing.T) {
	t.Parallel()
	ai, reranker := setup(t)
	result, err := reranker.Rerank(t.Context(), rerank.Request{
		Query: "tide", Kind: rerank.LLMPassage, Model: "openai/m", TopK: 9, Weights: semanticOnly(),
		Candidates: []rerank.Candidate{{Text: " "}, {Text: "low tide"}, {Text: ""}, {Text: "low tide"}, {Text: "low tide"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 3, 4, 0, 2}, order(result.Ranked)); diff != "" {
		t.Error(diff)
	}
	if n := len(ai.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestScoresAreCachedByTenant(t *testing.T) {
	t.Parallel()
	ai, reranker := setup(t)
	for _, tc := range []struct {
		tenant, query string
		kind          rerank.Kind
		candidates    int
		calls, cached int
	}{
		{"acme", "q", rerank.LLM, 10, 1, 0},
		{"acme", "q", rerank.LLM, 10, 0, 10},
		{"acme", "q", rerank.LLM, 12, 1, 10},
		{"globex", "q", rerank.LLM, 10, 1, 0},
		{"acme", "p", rerank.LLM, 10, 1, 0},
		{"acme", "q", rerank.LLMPassage, 2, 2, 0},
		{"acme", "q", rerank.LLMListwise, 2, 1, 0},
		{"acme", "q", rerank.LLMListwise, 2, 1, 0},
	} {
		before := len(ai.Requests())
		result, err := reranker.Rerank(t.Context(), rerank.Request{Tenant: tc.tenant, Query: tc.query, Kind: tc.kind, Model: "openai/m", Candidates: numbered(tc.candidates), TopK: 3})
		if err != nil {
			t.Fatal(err)
		}
		if calls := len(ai.Requests()) - before; calls != tc.calls || result.Cached != tc.cached || result.Usage.Calls != calls {
			t.Errorf("%+v: %d calls, %d cached", tc, calls, result.Cached)
		}
	}
}

func TestFailuresAreNotCached(t *testing.T) {
	t.Parallel()
	ai, reranker := setup(t)
	ai.Set(modelserver.Fault{Status: 503})
	request := rerank.Request{Query: "q", Model: "cohere/m", Candidates: numbered(3), TopK: 3}
	if result, err := reranker.Rerank(t.Context(), request); err != nil || result.Reranked {
		t.Fatalf("%+v, %v", result, err)
	}
	ai.Set(modelserver.Fault{})
	if result, err := reranker.Rerank(t.Context(), request); err != nil || !result.Reranked {
		t.Errorf("%+v, %v", result, err)
	}
}

// Calls run in parallel up to the limit of concurrency: 50 candidates at 100 ms an
// answer are one round of five calls, or four rounds of the sixteen calls that one tenant may have.
func TestCallsRunInParallel(t *testing.T) {
	t.Parallel()
	for kind, want := range map[rerank.Kind]int{rerank.LLM: 5, rerank.LLMPassage: 16} {
		ai := modelserver.New(t)
		ai.Chat = func(c modelserver.Chat) string {
			wait.For(t, "all calls, before the first is answered", func() bool { return ai.Peak() >= want })
			return rate(t, c, byNumber(50))
		}
		reranker := rerank.New(rerank.Config{LLM: llm.New(llm.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{BaseURL: ai.URL + "/v1"}))})})
		if _, err := reranker.Rerank(t.Context(), rerank.Request{Query: "q", Kind: kind, Model: "openai/m", Candidates: numbered(50), TopK: 10}); err != nil {
			t.Fatal(err)
		}
		if ai.Peak() != want {
			t.Errorf("%s: %d calls at once, want %d", kind, ai.Peak(), want)
		}
	}
}

// 50 candidates take one round of the sixteen calls that may run at once: the model rates several
// candidates in a call.
func TestFiftyCandidatesInTime(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	ai.Set(modelserver.Fault{Delay: 100 * time.Millisecond})
	ai.Chat = func(c modelserver.Chat) string { return rate(t, c, byNumber(50)) }
	reranker := rerank.New(rerank.Config{LLM: llm.New(llm.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{BaseURL: ai.URL + "/v1", MaxConcurrent: 16}))})})
	result, err := reranker.Rerank(t.Context(), rerank.Request{Query: "q", Kind: rerank.LLM, Model: "openai/m", Candidates: numbered(50), TopK: 10})
	if n := len(ai.Requests()); err != nil || result.Failed > 0 || n > 16 {
		t.Errorf("%d failed of %d calls, took %v, %v", result.Failed, n, result.Took, err)
	}
}

func TestTitlesAreJudged(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	var mu sync.Mutex
	var judged []string
	ai.Chat = func(c modelserver.Chat) string {
		mu.Lock()
		defer mu.Unlock()
		judged = append(judged, shown(t, c).Passage)
		return `{"score":0.5}`
	}
	reranker := rerank.New(rerank.Config{LLM: llm.New(llm.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{BaseURL: ai.URL + "/v1"}))})})
	candidates := []rerank.Candidate{{Title: "Clio", Text: "She paints."}, {Title: "Ropes", Text: "Ropes are spliced."}, {Title: "Blank", Text: " "}}
	if _, err := reranker.Rerank(t.Context(), rerank.Request{Query: "q", Kind: rerank.LLMPassage, Model: "openai/m", Candidates: candidates, TopK: 2}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(judged)
	if want := []string{"Clio\nShe paints.", "Ropes are spliced."}; !slices.Equal(judged, want) {
		t.Errorf("judged %q, want %q", judged, want)
	}
}

func TestNothingStaysBehindAfterCancellation(t *testing.T) {
	for _, tc := range models {
		ai, reranker := setup(t)
		ai.Set(modelserver.Fault{Hang: true})
		ai.NoLeaks(t, func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			_, err := reranker.Rerank(ctx, rerank.Request{Query: "q", Kind: tc.kind, Model: tc.model, Candidates: numbered(50), TopK: 3})
			if fault.KindOf(err) != fault.Canceled {
				t.Errorf("%s %s: %v", tc.kind, tc.model, err)
			}
		})
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ topK, asked, want int }{{10, 0, 50}, {10, 30, 30}, {10, 5, 10}, {500, 0, 1000}, {0, 0, 0}} {
		if got := rerank.Fetch(tc.topK, tc.asked); got != tc.want {
			t.Errorf("Fetch(%d, %d) = %d, want %d", tc.topK, tc.asked, got, tc.want)
		}
	}
}

func BenchmarkRerank(b *testing.B) {
	for _, kind := range []rerank.Kind{rerank.LLM, rerank.LLMPassage, rerank.Lexical} {
		b.Run(fmt.Sprintf("kind=%s/candidates=50", kind), func(b *testing.B) {
			ai, _ := setup(b)
			ai.Set(modelserver.Fault{Delay: 100 * time.Millisecond})
			request := rerank.Request{Query: "which passage is best", Kind: kind, Model: "openai/m", Candidates: numbered(50), TopK: 10}
			if kind == rerank.Lexical {
				request.Model = ""
				for i := range request.Candidates {
					request.Candidates[i].Text += strings.Repeat(" and some ninety words more of the kind that passages are made of", 8)
				}
			}
			reranker := rerank.New(rerank.Config{LLM: llm.New(llm.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{BaseURL: ai.URL + "/v1"}))}), CacheBytes: -1})
			for b.Loop() {
				if _, err := reranker.Rerank(b.Context(), request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
