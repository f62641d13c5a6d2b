package rerank_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

const (
	inFirstOrder = "rerank: the results are in the order of the first stage, because "
	languageAPI  = "the language model provider openai "
	rerankAPI    = "the rerank provider cohere "
)

// failureCases are the rows of the table in docs/explanation/reranking.md: how a provider fails
// for ten candidates, and what the caller gets.
var failureCases = []struct {
	name  string
	fault modelserver.Fault
	chat  func(prompt) string // replaces the model's answer

	kind     fault.Kind // of the error with Required
	warning  string     // without Required, after the provider's name; "" for no warning
	partial  int        // how many candidates could not be scored, if not all
	notCross bool       // cannot happen with a rerank API
}{
	{name: "slow, but in time", fault: modelserver.Fault{Delay: 100 * time.Millisecond}},
	{name: "429 once, with Retry-After", fault: modelserver.Fault{Status: 429, RetryAfter: "0.05", Times: 1}},
	{name: "429 for longer than there is time", fault: modelserver.Fault{Status: 429, RetryAfter: "60"}, kind: fault.Exhausted, warning: "limits how often it may be called"},
	{name: "out of quota", fault: modelserver.Fault{Status: 429, Code: "insufficient_quota"}, kind: fault.Exhausted, warning: "has no quota left"},
	{name: "500 once", fault: modelserver.Fault{Status: 500, Times: 1}},
	{name: "500 for ever", fault: modelserver.Fault{Status: 500}, kind: fault.Unavailable, warning: "is failing"},
	{name: "401 or 403", fault: modelserver.Fault{Status: 401}, kind: fault.Precondition, warning: "refused its API key"},
	{name: "404", fault: modelserver.Fault{Status: 404}, kind: fault.Precondition, warning: "does not have this model, or not at this address"},
	{name: "400", fault: modelserver.Fault{Status: 400}, kind: fault.Invalid, warning: "refused the request"},
	{name: "hangs", fault: modelserver.Fault{Hang: true}, kind: fault.Unavailable, warning: "did not answer within 500ms"},
	{name: "breaks off", fault: modelserver.Fault{Half: true}, kind: fault.Unavailable, warning: "broke off in the middle of its answer"},
	{name: "malformed JSON", fault: modelserver.Fault{Body: `{"results":[{`}, kind: fault.Unavailable, warning: "gave an answer that makes no sense"},
	{name: "prose around the number", chat: func(prompt) string { return "I would say 0.8." }, kind: fault.Unavailable, warning: "gave an answer that makes no sense", notCross: true},
	{name: "a score out of range", chat: func(prompt) string { return `{"score":1.2}` }, kind: fault.Unavailable, warning: "gave an answer that makes no sense", notCross: true},
	{name: "an empty answer", chat: func(prompt) string { return "" }, kind: fault.Unavailable, warning: "gave an answer that makes no sense", notCross: true},
	{name: "refuses some of the passages", fault: modelserver.Fault{Status: 400, When: func(r modelserver.Request) bool {
		return strings.Contains(r.Raw, "passage 3") || strings.Contains(r.Raw, "passage 7")
	}}, warning: "refused the request", partial: 2, notCross: true},
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range failureCases {
		for _, kind := range []rerank.Kind{rerank.LLMPassage, rerank.CrossEncoder} {
			if kind == rerank.CrossEncoder && tc.notCross {
				continue
			}
			t.Run(tc.name+", "+string(kind), func(t *testing.T) {
				t.Parallel()
				timeout := 20 * time.Second
				if tc.fault.Hang {
					timeout = 500 * time.Millisecond
				}
				ai, reranker := setupWithin(t, timeout)
				ai.Score = byNumber(10)
				if tc.chat != nil {
					ai.Chat = func(c modelserver.Chat) string { return tc.chat(shown(t, c)) }
				}
				ai.Set(tc.fault)
				request := rerank.Request{Query: "q", Kind: kind, Model: "openai/m", Candidates: numbered(10), Weights: semanticOnly(), TopK: 10}
				name := languageAPI
				if kind == rerank.CrossEncoder {
					request.Model, name = "cohere/m", rerankAPI
				}
				want := []string(nil)
				switch {
				case tc.partial > 0:
					want = []string{fmt.Sprintf("rerank: %d of 10 candidates could not be scored and count with the mean score of the others, because %s%s", tc.partial, name, tc.warning)}
				case tc.warning != "":
					want = []string{inFirstOrder + name + tc.warning}
				}

				result, err := reranker.Rerank(t.Context(), request)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, result.Warnings); diff != "" {
					t.Error(diff)
				}
				if len(result.Ranked) != 10 || result.Reranked != (tc.warning == "" || tc.partial > 0) {
					t.Errorf("%d results, reranked: %v", len(result.Ranked), result.Reranked)
				}
				if !result.Reranked {
					for i, r := range result.Ranked {
						if r.Index != i || r.Score != request.Candidates[i].Score {
							t.Errorf("place %d: %+v", i, r)
						}
					}
				}

				if tc.fault.Times > 0 {
					return
				}
				request.Required = true
				_, err = reranker.Rerank(t.Context(), request)
				if fails := tc.warning != "" && tc.partial == 0; (err != nil) != fails || fails && fault.KindOf(err) != tc.kind {
					t.Errorf("required: %v", err)
				}
				if err != nil && strings.Contains(err.Error(), modelserver.Key) {
					t.Errorf("the error shows the key: %v", err)
				}
			})
		}
	}
}

// The table in docs/explanation/reranking.md lists exactly the cases tested here.
func TestDocsTableListsAllFailureCases(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/explanation/reranking.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(string(page), -1) {
		rows[row[1]] = row[2] + " " + row[3]
	}
	for _, tc := range failureCases {
		row, ok := rows[tc.name]
		if !ok {
			t.Errorf("no row for %q", tc.name)
		}
		if tc.warning != "" && !strings.Contains(row, strings.TrimSuffix(tc.warning, " 500ms")) {
			t.Errorf("the row for %q does not say %q", tc.name, tc.warning)
		}
		if tc.warning != "" && tc.partial == 0 && !strings.Contains(row, tc.kind.String()) {
			t.Errorf("the row for %q does not say %q", tc.name, tc.kind)
		}
	}
}

// Candidates that failed get the mean score of the others, so that they land in the
// middle, and keep the first stage's order among themselves.
func TestPartialFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind  rerank.Kind
		model string
	}{{rerank.LLM, "openai/m"}, {rerank.CrossEncoder, "jina/m"}} {
		t.Run(string(tc.kind), func(t *testing.T) {
			t.Parallel()
			ai, reranker := setup(t)
			ai.Score = byNumber(10)
			bad := map[string]any{"passage 2": nil, "passage 5": 7.5, "passage 8": "high"}
			ai.Set(modelserver.Fault{Mangle: func(answer map[string]any) {
				for _, r := range list(answer["results"]) {
					if x, ok := bad[fmt.Sprintf("passage %v", r["index"])]; ok {
						r["relevance_score"] = x
						if r["relevance_score"] == "high" {
							delete(r, "relevance_score")
						}
					}
				}
			}})
			ai.Chat = func(c modelserver.Chat) string {
				p := shown(t, c)
				if p.Passages == nil {
					return "no idea"
				}
				var scores []map[string]any
				for _, passage := range p.Passages {
					score := any(ai.Score("", passage.Text))
					if x, ok := bad[passage.Text]; ok {
						score = x
					}
					scores = append(scores, map[string]any{"id": passage.ID, "score": score})
				}
				return `{"scores":` + marshal(scores) + `}`
			}
			result, err := reranker.Rerank(t.Context(), rerank.Request{Query: "q", Kind: tc.kind, Model: tc.model, Candidates: numbered(10), Weights: semanticOnly(), TopK: 10, Required: true})
			if err != nil {
				t.Fatal(err)
			}
			// The mean of 0 1 3 4 6 7 9, in tenths, is 0.43.
			if diff := cmp.Diff([]int{9, 7, 6, 2, 5, 8, 4, 3, 1, 0}, order(result.Ranked)); diff != "" {
				t.Error(diff)
			}
			for _, r := range result.Ranked {
				_, failed := bad[fmt.Sprintf("passage %d", r.Index)]
				if r.Details.Estimated != failed {
					t.Errorf("candidate %d: %+v", r.Index, r.Details)
				}
			}
			if len(result.Warnings) != 1 || !strings.HasPrefix(result.Warnings[0], "rerank: 3 of 10 candidates could not be scored") {
				t.Errorf("%q", result.Warnings)
			}
		})
	}
}

func list(v any) []map[string]any {
	var out []map[string]any
	items, _ := v.([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		out = append(out, m)
	}
	return out
}

// A model that cannot rate several passages in one answer is asked about each alone.
func TestBatchesFallBackToSinglePassages(t *testing.T) {
	t.Parallel()
	ai, reranker := setup(t)
	ai.Chat = func(c modelserver.Chat) string {
		p := shown(t, c)
		if p.Passages != nil {
			return "The best one is the last one."
		}
		return fmt.Sprint(byNumber(10)("", p.Passage))
	}
	result, err := reranker.Rerank(t.Context(), rerank.Request{Query: "q", Kind: rerank.LLM, Model: "openai/m", Candidates: numbered(10), Weights: semanticOnly(), TopK: 2})
	if err != nil || result.Warnings != nil {
		t.Fatalf("%v %v", result.Warnings, err)
	}
	if diff := cmp.Diff([]int{9, 8}, order(result.Ranked)); diff != "" {
		t.Error(diff)
	}
	if result.Usage.Calls != 12 || result.Usage.InputTokens == 0 || result.Usage.OutputTokens == 0 {
		t.Errorf("usage %+v, want two calls for all and ten for each", result.Usage)
	}
}

func TestListwiseKeepsWindowsThatCouldNotBeOrdered(t *testing.T) {
	t.Parallel()
	ai, reranker := setup(t)
	ai.Score = byNumber(50)
	ai.Set(modelserver.Fault{Status: 400, When: func(r modelserver.Request) bool {
		return strings.Contains(r.Raw, `passage 0\"`) || strings.Contains(r.Raw, `passage 12\"`)
	}})
	result, err := reranker.Rerank(t.Context(), rerank.Request{Query: "q", Kind: rerank.LLMListwise, Model: "openai/m", Candidates: numbered(50), Weights: semanticOnly(), TopK: 50})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Ranked) != 50 || len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "refused the request") {
		t.Errorf("%d results, %q", len(result.Ranked), result.Warnings)
	}
	estimated := 0
	for _, r := range result.Ranked {
		if r.Details.Estimated {
			estimated++
		}
	}
	if estimated == 0 || estimated == 50 {
		t.Errorf("%d of 50 estimated", estimated)
	}
}

func TestScoringEndsBeforeTheCallersDeadline(t *testing.T) {
	t.Parallel()
	ai, _ := setup(t)
	ai.Score = byNumber(10)
	ai.Set(modelserver.Fault{Hang: true, When: func(r modelserver.Request) bool { return strings.Contains(r.Raw, "passage 4") }})
	patient := rerank.New(rerank.Config{
		LLM:     llm.New(llm.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{BaseURL: ai.URL + "/v1"}))}), // waits 30 s
		Timeout: time.Second,
	})
	result, err := patient.Rerank(t.Context(), rerank.Request{Query: "q", Kind: rerank.LLMPassage, Model: "openai/m", Candidates: numbered(10), Weights: semanticOnly(), TopK: 10})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"rerank: 1 of 10 candidates could not be scored and count with the mean score of the others, because there was no time left for it"}
	if diff := cmp.Diff(want, result.Warnings); diff != "" {
		t.Error(diff)
	}
}
