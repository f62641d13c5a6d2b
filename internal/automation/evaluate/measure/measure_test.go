package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestMeasuresAgreeWithValuesComputedByHand(t *testing.T) {
	t.Parallel()
	graded := Judgements{"a": 3, "b": 2, "c": 1, "z": 0}
	pair := Judgements{"a": 1, "b": 1}
	for _, c := range []struct {
		name                        string
		ranking                     string
		judged                      Judgements
		k                           int
		recall, ndcg, allIn, recipr float64
	}{
		{"perfect", "a b x y", pair, 2, 1, 1, 1, 1},
		{"one of two, second", "x a y b", pair, 2, 0.5, (1 / math.Log2(3)) / (1 + 1/math.Log2(3)), 0, 0.5},
		{"both, late", "x a y b", pair, 4, 1, (1/math.Log2(3) + 1/math.Log2(5)) / (1 + 1/math.Log2(3)), 1, 0.5},
		{"none", "x y z", pair, 3, 0, 0, 0, 0},
		{"beyond k counts for the reciprocal rank alone", "x y a", pair, 2, 0, 0, 0, 1.0 / 3},
		{"empty ranking", "", pair, 5, 0, 0, 0, 0},
		{"k beyond the ranking", "a", pair, 10, 0.5, 1 / (1 + 1/math.Log2(3)), 0, 1},
		{
			"graded", "b z a c", graded, 3, 2.0 / 3,
			(2 + 3/math.Log2(4)) / (3 + 2/math.Log2(3) + 1/math.Log2(4)), 0, 1,
		},
		{"graded in the best order", "a b c", graded, 2, 2.0 / 3, 1, 0, 1},
		{"chunks of one document count once", "x x a a b", pair, 3, 1, (1/math.Log2(3) + 1/math.Log2(4)) / (1 + 1/math.Log2(3)), 1, 0.5},
		{"nothing is relevant", "a b", Judgements{"a": 0}, 2, 0, 0, 0, 0},
		{"nothing was judged", "a b", nil, 2, 0, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ranking := Documents(strings.Fields(c.ranking))
			for _, m := range []struct {
				name      string
				got, want float64
			}{
				{"recall", Recall(ranking, c.judged, c.k), c.recall},
				{"ndcg", NDCG(ranking, c.judged, c.k), c.ndcg},
				{"all in", AllIn(ranking, c.judged, c.k), c.allIn},
				{"reciprocal rank", ReciprocalRank(ranking, c.judged), c.recipr},
			} {
				if !near(m.got, m.want) {
					t.Errorf("%s is %v, want %v", m.name, m.got, m.want)
				}
			}
		})
	}
}

func TestSummarizeTakesMeans(t *testing.T) {
	t.Parallel()
	j := Judgements{"a": 1}
	got := Summarize([]Answer{
		{j, Documents([]string{"a", "b"}), 3 * time.Millisecond},
		{j, Documents([]string{"b", "a"}), time.Millisecond},
		{j, Documents([]string{"b", "c"}), 2 * time.Millisecond},
		{j, nil, 9 * time.Millisecond},
	}, []int{1, 2})
	want := Summary{
		Questions: 4,
		Cuts: []Cut{
			{K: 1, Recall: 0.25, NDCG: 0.25, AllIn: 0.25},
			{K: 2, Recall: 0.5, NDCG: (1 + 1/math.Log2(3)) / 4, AllIn: 0.5},
		},
		MRR: 1.5 / 4,
		P50: 2 * time.Millisecond, P99: 9 * time.Millisecond,
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(near)); diff != "" {
		t.Error(diff)
	}
	if none := Summarize(nil, []int{5}); none.MRR != 0 || none.P99 != 0 || none.Cuts[0].Recall != 0 {
		t.Errorf("no answers give %+v", none)
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	values := make([]time.Duration, 200)
	for i := range values {
		values[i] = time.Duration(200 - i)
	}
	for p, want := range map[float64]time.Duration{0.1: 1, 1: 2, 50: 100, 99: 198, 99.9: 200, 100: 200} {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			t.Parallel()
			if got := Percentile(values, p); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

// A chunk may hold several spans, and a span may be in several chunks.
func TestAPositionMayHaveSeveralItems(t *testing.T) {
	t.Parallel()
	j := Judgements{"a": 1, "b": 1, "c": 1}
	r := Ranking{nil, {"a", "b"}, {"a"}, {"c"}}
	for k, want := range map[int]float64{1: 0, 2: 2.0 / 3, 3: 2.0 / 3, 4: 1, 9: 1} {
		if got := Recall(r, j, k); !near(got, want) {
			t.Errorf("recall@%d is %v, want %v", k, got, want)
		}
	}
	ideal := 1 + 1/math.Log2(3) + 1/math.Log2(4)
	if got, want := NDCG(r, j, 4), (2/math.Log2(3)+1/math.Log2(5))/ideal; !near(got, want) {
		t.Errorf("nDCG is %v, want %v", got, want)
	}
	if got := NDCG(Ranking{{"a", "b", "c"}}, j, 4); got != 1 {
		t.Errorf("nDCG of all items at the first position is %v", got)
	}
	if got := Missing(r, j, 2); !slices.Equal(got, []string{"c"}) {
		t.Errorf("missing %v", got)
	}
}
