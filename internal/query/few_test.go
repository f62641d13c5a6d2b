package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// TestFewCandidatesSufficeForAHybridSearch compares the sources of hybrid searches that score few chunks by
// keywords, and are known to suffice, with those of searches that score the whole number.
func TestFewCandidatesSufficeForAHybridSearch(t *testing.T) {
	t.Parallel()
	const passages, questions, dimension = 4000, 80, 8
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: dimension, IndexConfig: &ragdv1.IndexConfig{Type: "flat"}}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 2))
	vector := func() []float32 {
		out := make([]float32, dimension)
		for i := range out {
			out[i] = float32(r.NormFloat64())
		}
		return out
	}
	for from := 0; from < passages; from += 500 {
		req := &ragdv1.UpsertRequest{IndexName: "docs", Namespace: []string{"", "other"}[from/500%2]}
		for id := from; id < from+500; id++ {
			values := vector()
			if id%100 == 0 {
				values = make([]float32, dimension) // has no distance
			}
			req.Entries = append(req.Entries, &ragdv1.Entry{Id: fmt.Sprint(id), Values: values, Document: madeUp(r, 5+r.IntN(80))})
		}
		if _, err := c.Upsert(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	sufficient, scored, of := 0, int64(0), int64(0)
	for n := range questions {
		weight := []float64{0.001, 0.05, 0.2, 0.45, 0.9}[n%5]
		q := query.Request{Fusion: query.Fusion{VectorWeight: &weight}}
		q.Mode, q.IndexName, q.QueryText, q.QueryVector = query.Hybrid, "docs", madeUp(r, 2+r.IntN(6)), vector()
		switch n % 4 {
		case 1:
			q.Namespace = "other"
		case 2:
			q.MinSimilarity = new(-0.5)
		case 3:
			q.Fusion.Method = query.RRF
		}
		if n%7 == 0 {
			q.Fusion.VectorWeight, q.Fusion.VectorLogOdds = nil, []*float64{new(-2.0), new(1.5)}[n%2]
		}
		few, whole, some, all, suffices, err := s.Handlers.Queries.BothWays(t.Context(), "acme", q)
		if err != nil {
			t.Fatal(err)
		}
		if !suffices {
			continue
		}
		sufficient, scored, of = sufficient+1, scored+some, of+all
		same := func(a, b query.Source) bool { return a.ID == b.ID && a.Score == b.Score }
		if !slices.EqualFunc(few, whole, same) {
			t.Errorf("%q, embeddings weigh %v, question %d: %v, want %v", q.QueryText, weight, n, shown(few), shown(whole))
		}
	}
	t.Logf("few candidates suffice for %d of %d searches, which score %d chunks by keywords instead of %d", sufficient, questions, scored, of)
	if sufficient < questions/4 || scored*2 > of {
		t.Errorf("few candidates suffice for %d of %d searches, which score %d chunks by keywords instead of %d", sufficient, questions, scored, of)
	}
}

// shown returns the ids and scores of sources.
func shown(sources []query.Source) (out []string) {
	for _, source := range sources {
		out = append(out, fmt.Sprintf("%s %.4f", source.ID, source.Score))
	}
	return out
}
