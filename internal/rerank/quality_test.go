package rerank_test

import (
	"testing"

	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
)

// This test measures how much the lexical scorer improves a first stage of BM25 and
// builtin vectors fused by reciprocal rank. Run it with
//
//	RAGD_TEST_DATASETS=... go test ./internal/rerank -run Quality -v
func TestLexicalQuality(t *testing.T) {
	t.Parallel()
	const topK, depth = 10, 50
	for _, tc := range []struct {
		set  string
		gain float64 // least gain in nDCG@10 over the first stage
	}{
		{"squad-xquad-en", 0.05},
		{"2wikimultihopqa", 0.05},
	} {
		t.Run(tc.set, func(t *testing.T) {
			t.Parallel()
			set := dataset.Load(t, tc.set)
			model, err := embed.NewRegistry(embed.Config{}).Model(t.Context(), "", "builtin/hash-512")
			if err != nil {
				t.Fatal(err)
			}
			vectors, err := model.Embed(t.Context(), "acme", set.Texts)
			if err != nil {
				t.Fatal(err)
			}
			bm25 := dataset.NewBM25(set.Texts)
			reranker := rerank.New(rerank.Config{})
			measured := map[string]*dataset.Quality{}
			add := func(name string, ranking []int, q dataset.Question) {
				if measured[name] == nil {
					measured[name] = &dataset.Quality{}
				}
				measured[name].Add(ranking, q.Relevant)
			}
			for _, q := range set.Questions {
				asked, err := model.Embed(t.Context(), "acme", []string{q.Text})
				if err != nil {
					t.Fatal(err)
				}
				byKeyword := bm25.Scores(q.Text)
				byVector := make([]float64, len(vectors))
				for i, v := range vectors {
					for d := range v {
						byVector[i] += float64(v[d]) * float64(asked[0][d])
					}
				}
				fused := dataset.Fuse(len(vectors), dataset.Best(byVector, depth), dataset.Best(byKeyword, depth))
				for stage, scores := range map[string][]float64{"hybrid": fused, "keyword": byKeyword, "vector": byVector} {
					first := dataset.Best(scores, rerank.Fetch(topK, 0))
					add(stage, first, q)
					for _, normalize := range []bool{false, true} {
						request := rerank.Request{Query: q.Text, TopK: topK, NormalizeScores: normalize}
						for _, index := range first {
							request.Candidates = append(request.Candidates, rerank.Candidate{Title: set.Documents[index].Title, Text: set.Documents[index].Text, Score: scores[index]})
						}
						result, err := reranker.Rerank(t.Context(), request)
						if err != nil {
							t.Fatal(err)
						}
						ranking := make([]int, len(result.Ranked))
						for i, r := range result.Ranked {
							ranking[i] = first[r.Index]
						}
						name := stage + " + lexical"
						if normalize {
							name += ", scores normalised"
						}
						add(name, ranking, q)
					}
				}
			}
			for _, stage := range []string{"hybrid", "keyword", "vector"} {
				before := measured[stage].Mean().NDCG10
				for _, suffix := range []string{"", " + lexical", " + lexical, scores normalised"} {
					m := measured[stage+suffix].Mean()
					t.Logf("%-40s recall@5 %.4f nDCG@10 %.4f (%+.4f)", stage+suffix, m.Recall5, m.NDCG10, m.NDCG10-before)
				}
			}
			if gain := measured["hybrid + lexical"].Mean().NDCG10 - measured["hybrid"].Mean().NDCG10; gain < tc.gain {
				t.Errorf("nDCG@10 gains %.4f over hybrid, was at least %.2f", gain, tc.gain)
			}
		})
	}
}
