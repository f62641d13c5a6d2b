package alert

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/index"
)

// world returns a set of alerts by turns of each mode, and passages.
func world(t testing.TB, metric index.Metric, alerts, passages, dimension int) (*Set, []row, []Passage) {
	t.Helper()
	random := rand.New(rand.NewPCG(11, 3))
	of := index.Index{Name: "docs", Dimension: dimension, Metric: metric, TextLanguage: "english", EmbeddingModel: "builtin/x"}
	words := rand.NewZipf(random, 1.1, 30, 20_000)
	text := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "term%d ", words.Uint64())
		}
		return b.String()
	}
	vector := func() []float32 {
		v := make([]float32, dimension)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	rows := make([]row, alerts)
	for n := range rows {
		mode := []Mode{Hybrid, Vector, Keyword}[n%3]
		rows[n] = row{AlertID: fmt.Sprint(n), Namespace: "default", Question: text(5), Mode: mode, MinScore: 0.1, Access: json.RawMessage(`{}`)}
		if mode != Keyword {
			rows[n].Embedding = vector()
		}
	}
	given := make([]row, len(rows))
	copy(given, rows)
	set, err := compile(t.Context(), nil, of, given)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]Passage, passages)
	texts := make([]index.Text, passages)
	for n := range all {
		texts[n].Body = text(120)
		all[n] = Passage{DocumentID: "d", Namespace: "default", Text: texts[n].Body, Embedding: vector()}
	}
	terms, err := of.TermsOf(t.Context(), nil, texts)
	if err != nil {
		t.Fatal(err)
	}
	for n := range all {
		all[n].Terms = terms[n]
	}
	return set, rows, all
}

// The matrix and the map find what comparing each pair finds.
func TestMatchFindsEveryPair(t *testing.T) {
	t.Parallel()
	for _, metric := range []index.Metric{index.Cosine, index.Euclidean, index.DotProduct} {
		t.Run(string(metric), func(t *testing.T) {
			t.Parallel()
			set, rows, passages := world(t, metric, 100, 50, 19)
			found, err := set.Match(nil, passages)
			if err != nil {
				t.Fatal(err)
			}
			type pair struct{ alert, text string }
			got := map[pair]float64{}
			for _, m := range found {
				got[pair{m.alert.AlertID, m.passage.Text}] = m.score
			}
			pairs := 0
			for _, r := range rows {
				words := strings.Fields(r.Question)
				for _, p := range passages {
					some, all := false, true
					for _, word := range words {
						has := strings.Contains(" "+p.Text, " "+word+" ")
						some, all = some || has, all && has
					}
					score := similarity(set.of, r.Embedding, p.Embedding)
					want := r.Mode == Keyword && all || r.Mode == Vector && score >= r.MinScore || r.Mode == Hybrid && some && score >= r.MinScore
					stored, ok := got[pair{r.AlertID, p.Text}]
					if ok != want && math.Abs(score-r.MinScore) > 1e-4 {
						t.Errorf("%s alert %q, similarity %.4f: match %v, want %v", r.Mode, r.Question, score, ok, want)
					}
					if ok && r.Mode != Keyword && math.Abs(stored-score) > 1e-4 {
						t.Errorf("similarity %.6f, want %.6f", stored, score)
					}
					if want {
						pairs++
					}
				}
			}
			if pairs < 20 || len(found) != len(got) {
				t.Errorf("%d matches of %d pairs", len(found), pairs)
			}
		})
	}
}

// similarity is the score of the index, computed plainly.
func similarity(of index.Index, a, b []float32) float64 {
	if a == nil {
		return 0
	}
	dot, aa, bb, between := 0.0, 0.0, 0.0, 0.0
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb, between = dot+x*y, aa+x*x, bb+y*y, between+(x-y)*(x-y)
	}
	switch of.Metric {
	case index.Euclidean:
		return of.Score(math.Sqrt(between))
	case index.DotProduct:
		return of.Score(-dot)
	}
	return of.Score(1 - dot/math.Sqrt(aa*bb))
}

func BenchmarkMatch(b *testing.B) {
	for _, alerts := range []int{100, 1_000, 5_000} {
		b.Run(fmt.Sprintf("alerts=%d/dimension=384", alerts), func(b *testing.B) {
			set, _, passages := world(b, index.Cosine, alerts, 256, 384)
			for b.Loop() {
				if _, err := set.Match(nil, passages); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N*len(passages)), "us/passage")
		})
	}
}
