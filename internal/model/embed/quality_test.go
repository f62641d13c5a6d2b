package embed

import (
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/dataset"
)

// This test measures the recall of the builtin model, alone and fused with BM25, by
// brute force. Run it with
//
//	RAGD_TEST_DATASETS=... go test ./internal/model/embed -run Quality -v
func TestBuiltinQuality(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		set           string
		alone, hybrid float64 // least recall@5
	}{
		{"squad-xquad-en", 0.84, 0.91},
		{"2wikimultihopqa", 0.52, 0.59},
	} {
		t.Run(tc.set, func(t *testing.T) {
			t.Parallel()
			const depth = 50
			set := dataset.Load(t, tc.set)
			bm25 := dataset.NewBM25(set.Texts)
			vectors := hashed(t, set.Texts...)
			var keyword, alone, hybrid dataset.Quality
			for _, q := range set.Questions {
				asked := hashed(t, q.Text)[0]
				scores := make([]float64, len(vectors))
				for i, v := range vectors {
					scores[i] = dot(asked, v)
				}
				byVector, byKeyword := dataset.Best(scores, depth), dataset.Best(bm25.Scores(q.Text), depth)
				keyword.Add(byKeyword, q.Relevant)
				alone.Add(byVector, q.Relevant)
				hybrid.Add(dataset.Best(dataset.Fuse(len(vectors), byVector, byKeyword), 10), q.Relevant)
			}
			for name, q := range map[string]dataset.Quality{"BM25": keyword, "builtin": alone, "hybrid": hybrid} {
				m := q.Mean()
				t.Logf("%-8s recall@5 %.4f recall@10 %.4f nDCG@10 %.4f", name, m.Recall5, m.Recall10, m.NDCG10)
			}
			if r := alone.Mean().Recall5; r < tc.alone {
				t.Errorf("recall@5 alone is %.4f, was at least %.2f", r, tc.alone)
			}
			if r := hybrid.Mean().Recall5; r < tc.hybrid {
				t.Errorf("recall@5 of hybrid is %.4f, was at least %.2f", r, tc.hybrid)
			}
		})
	}
}

func dot(a, b []float32) float64 {
	var sum float32
	for i := range a {
		sum += a[i] * b[i]
	}
	return float64(sum)
}
