package rerank_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ragdhq/ragd/internal/rerank"
)

// local scores with functions.
type local struct {
	name  string
	score func(ctx context.Context, texts []string) ([]float64, error)
}

func (l local) CrossEncoder() (string, error) { return l.name, nil }

func (l local) Check(string) error { return nil }

func (l local) Score(ctx context.Context, _, _, _ string, texts []string) ([]float64, error) {
	return l.score(ctx, texts)
}

// scored returns a reranker whose local model scores texts by their number, and those that it has scored.
func scored(score func(number int) float64) (*rerank.Reranker, *[]int) {
	var asked []int
	return rerank.New(rerank.Config{Local: local{name: "cross", score: func(_ context.Context, texts []string) ([]float64, error) {
		var out []float64
		for _, text := range texts {
			var n int
			if _, err := fmt.Sscanf(text, "passage %d", &n); err != nil {
				return nil, err
			}
			asked, out = append(asked, n), append(out, score(n))
		}
		return out, nil
	}}}), &asked
}

func TestTheLocalCrossEncoderIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		kind        rerank.Kind
		model, want string
	}{
		{"cross", "", "", "local/cross"},
		{"cross", rerank.CrossEncoder, "", "local/cross"},
		{"cross", rerank.Lexical, "", "builtin/lexical"},
		{"cross", "", "builtin/lexical", "builtin/lexical"},
		{"", "", "", "builtin/lexical"},
	} {
		reranker := rerank.New(rerank.Config{Local: local{name: c.name, score: func(_ context.Context, texts []string) ([]float64, error) {
			return make([]float64, len(texts)), nil
		}}})
		result, err := reranker.Rerank(t.Context(), rerank.Request{Tenant: "acme", Query: "q", Candidates: numbered(3), Kind: c.kind, Model: c.model, TopK: 2})
		if err != nil || result.Model != c.want {
			t.Errorf("kind %q and model %q with the folder %q use %q, want %q: %v", c.kind, c.model, c.name, result.Model, c.want, err)
		}
	}
}

func TestALocalModelStopsWhereNoPassageIsAmongTheBest(t *testing.T) {
	t.Parallel()
	reranker, asked := scored(func(n int) float64 { return 1 / float64(n+2) })
	result, err := reranker.Rerank(t.Context(), rerank.Request{Tenant: "acme", Query: "q", Candidates: numbered(100), TopK: 5, Weights: semanticOnly()})
	if err != nil {
		t.Fatal(err)
	}
	if got := order(result.Ranked); !slices.Equal(got, []int{0, 1, 2, 3, 4}) || result.Failed != 0 || result.Warnings != nil {
		t.Errorf("the order is %v with %d failures and the warnings %q", got, result.Failed, result.Warnings)
	}
	if len(*asked) != 30 {
		t.Errorf("%d passages were scored, want 30", len(*asked))
	}

	reranker, asked = scored(func(n int) float64 { return float64(n) / 100 }) // the last is the best
	result, err = reranker.Rerank(t.Context(), rerank.Request{Tenant: "acme", Query: "q", Candidates: numbered(100), TopK: 5, Weights: semanticOnly()})
	if err != nil {
		t.Fatal(err)
	}
	if got := order(result.Ranked); !slices.Equal(got, []int{99, 98, 97, 96, 95}) || len(*asked) != 100 {
		t.Errorf("the order is %v of %d passages", got, len(*asked))
	}
}

// The passages that a request leaves out are left out when their neighbours are in the cache.
func TestTheSameQuestionGivesTheSameScoresOfALocalModel(t *testing.T) {
	t.Parallel()
	calls := 0
	reranker := rerank.New(rerank.Config{Local: local{name: "cross", score: func(_ context.Context, texts []string) ([]float64, error) {
		calls++
		return slices.Repeat([]float64{0.5}, len(texts)), nil
	}}})
	for _, cached := range []int{0, 30} {
		result, err := reranker.Rerank(t.Context(), rerank.Request{Tenant: "acme", Query: "q", Candidates: numbered(50), TopK: 50, Best: 3, Weights: semanticOnly()})
		if err != nil {
			t.Fatal(err)
		}
		estimated := 0
		for _, r := range result.Ranked {
			if r.Details.Estimated {
				estimated++
			}
		}
		if result.Cached != cached || calls != 3 || estimated != 20 {
			t.Errorf("%d scores came from the cache, %d were estimated, after %d calls", result.Cached, estimated, calls)
		}
	}
}

// The second batch never ends: its passages count as those that could not be scored.
func TestALocalModelHasATimeForEachRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		batches := 0
		reranker := rerank.New(rerank.Config{Local: local{name: "cross", score: func(ctx context.Context, texts []string) ([]float64, error) {
			if batches++; batches > 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return slices.Repeat([]float64{0.9}, len(texts)), nil
		}}})
		start := time.Now()
		result, err := reranker.Rerank(t.Context(), rerank.Request{Tenant: "acme", Query: "q", Candidates: numbered(20), TopK: 5})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 2*time.Second || result.Failed != 10 || len(result.Warnings) != 1 || !result.Reranked {
			t.Errorf("after %v %d passages had no score, with the warnings %q", took, result.Failed, result.Warnings)
		}
	})
}
