//go:build !race

package query_test

import (
	"slices"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// TestFieldWeightsQuality measures field weights on two sets: the best on one, and what these give on the other, of which they know
// nothing. It also compares the time of queries with and without them, asked in turn.
func TestFieldWeightsQuality(t *testing.T) {
	long.Only(t)
	t.Parallel()
	running := servicetest.New(t, service.Config{})
	c := running.Tenant(t, tenantOfSamples)
	sets := make([]labelled, 2)
	for n, s := range samples[:2] {
		sets[n] = judge(dataset.LoadFolder(t, s.folder))
		if s.narrow != nil {
			s.narrow(&sets[n])
		}
		s.create(t, running, c)
		s.upload(t, c, sets[n], len(s.chunks(t, sets[n])))
		s.analyze(t, running)
	}
	var grid []*ragdv1.FieldWeights
	for _, title := range []float64{0.3, 0.6, 1, 1.5, 2.5} {
		for _, headings := range []float64{0, 1, 3} {
			for _, text := range []float64{0.7, 1, 1.5} {
				grid = append(grid, &ragdv1.FieldWeights{Title: &title, Headings: &headings, Text: &text})
			}
		}
	}
	ask := func(s sample, mode, question string, w *ragdv1.FieldWeights) (uris []string) {
		res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: s.name, QueryText: question, SearchMode: mode, FieldWeights: w})
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range res.Sources {
			uris = append(uris, source.Uri)
		}
		return uris
	}
	for _, mode := range []string{"keyword", "hybrid"} {
		ndcg := make([][]float64, 2)
		for n, s := range samples[:2] {
			for _, w := range grid {
				ndcg[n] = append(ndcg[n], sets[n].measure(func(q dataset.Document) []string { return ask(s, mode, q.Text, w) }).NDCG)
			}
		}
		for n, s := range samples[:2] {
			other := ndcg[1-n]
			best := slices.Index(other, slices.Max(other))
			plain := sets[n].measure(func(q dataset.Document) []string { return ask(s, mode, q.Text, nil) }).NDCG
			t.Logf("%s %s: nDCG@10 %.4f without weights, %.4f with %v, the best of %s, %.4f at most", s.name, mode, plain, ndcg[n][best], grid[best], samples[1-n].name, slices.Max(ndcg[n]))
		}
	}
	for n, s := range samples[:2] {
		var without, with []time.Duration
		for _, q := range slices.Concat(sets[n].questions, sets[n].questions, sets[n].questions) {
			for into, w := range map[*[]time.Duration]*ragdv1.FieldWeights{&without: nil, &with: {Title: new(2.0)}} {
				began := time.Now()
				ask(s, "hybrid", q.Text, w)
				*into = append(*into, time.Since(began))
			}
		}
		slices.Sort(without)
		slices.Sort(with)
		t.Logf("%s: median of a hybrid query %v without weights, %v with", s.name, without[len(without)/2], with[len(with)/2])
	}
}
