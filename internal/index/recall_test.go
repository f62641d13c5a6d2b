package index_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// scattered returns vectors without clusters, which are hard to search.
func scattered(n, dimension int) [][]float32 {
	r, out := rand.New(rand.NewPCG(1, 1)), make([][]float32, n)
	for i := range out {
		for range dimension {
			out[i] = append(out[i], float32(r.NormFloat64()))
		}
	}
	return out
}

func TestTheRecallTargetChoosesTheSearchWidth(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{ListBytes: -1})
	values := scattered(2_500, 48)
	c := measuredIndex(t, s, "acme", values, &ragdv1.IndexConfig{Type: "hnsw"})
	query := func(target *float64) *ragdv1.QueryResponse { return narrowest(t, c, values[:20], target) }
	before := described(t, c)
	if before.RecallTarget != 0.95 || before.SearchWidth.Recall < 0.95 {
		t.Errorf("before: %v, %v", before.RecallTarget, before.SearchWidth)
	}
	wait.For(t, "queries use what was measured", func() bool { return query(nil).Explain.SearchWidth == before.SearchWidth.Width })
	own, low, high := query(nil), query(new(0.9)), query(new(0.99))
	t.Logf("width %d for 0.9, %d for 0.95, %d for 0.99", low.Explain.SearchWidth, own.Explain.SearchWidth, high.Explain.SearchWidth)
	if e := own.Explain; e.RecallTarget != 0.95 || e.MeasuredRecall != before.SearchWidth.Recall {
		t.Errorf("without a target: %v", e)
	}
	if low.Explain.SearchWidth > own.Explain.SearchWidth || own.Explain.SearchWidth >= high.Explain.SearchWidth ||
		low.Explain.MeasuredRecall < 0.9 || high.Explain.MeasuredRecall < 0.99 || high.Explain.RecallTarget != 0.99 || len(high.Warnings) > 0 {
		t.Errorf("0.9: %v; 0.99: %v, %v", low.Explain, high.Explain, high.Warnings)
	}
	highest := query(new(0.999))
	if warned := strings.HasPrefix(strings.Join(highest.Warnings, "\n"), "recallTarget 0.999 was not proven by the 500 questions"); !warned && highest.Explain.MeasuredRecall < 0.999 {
		t.Errorf("0.999: %v, %v", highest.Explain, highest.Warnings)
	}

	changed, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "v", RecallTarget: new(0.995)})
	must(t, err)
	if changed.RecallTarget != 0.995 {
		t.Errorf("changed: %v", changed)
	}
	wait.For(t, "the width is measured for the new target", func() bool {
		w := described(t, c).SearchWidth
		return w.Questions > 500 && w.Recall >= 0.995
	})
	wait.For(t, "queries use it", func() bool {
		e := query(nil).Explain
		return e.RecallTarget == 0.995 && e.SearchWidth == described(t, c).SearchWidth.Width
	})
	other := s.Tenant(t, "bolt")
	if _, err := other.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "v", RecallTarget: new(0.9)}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("another tenant: %v", err)
	}
}

func TestARecallTargetIsChecked(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	create := func(target float64) error {
		_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2, RecallTarget: target})
		return err
	}
	must(t, create(0.99))
	must(t, create(0.99)) // the same again
	if i := described(t, c); i.RecallTarget != 0.99 {
		t.Errorf("created: %v", i)
	}
	if err := create(0); connect.CodeOf(err) != connect.CodeAlreadyExists || !strings.Contains(err.Error(), "recallTarget is 0.99, not 0.95") {
		t.Errorf("another target: %v", err)
	}
	query := func(target float64, config *ragdv1.DatabaseConfig) error {
		_, err := c.Query(t.Context(), &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, RecallTarget: &target, DatabaseConfig: config})
		return err
	}
	walk := func(target float64) error {
		_, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "v", QueryVector: []float32{1, 0}, RecallTarget: &target})
		return err
	}
	update := func(target float64) error {
		_, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "v", RecallTarget: &target})
		return err
	}
	ef := &ragdv1.DatabaseConfig{Pgvector: &ragdv1.PgVectorConfig{Ef: new(int32(50))}}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{create(1), "recallTarget: must be between 0.9 and 0.999, got 1"},
		{update(0.5), "recallTarget: must be between 0.9 and 0.999, got 0.5"},
		{update(0), "recallTarget: must be between"},
		{query(0.8999, nil), "recallTarget: must be between"},
		{walk(2), "recallTarget: must be between"},
		{query(0.95, ef), "recallTarget: chooses the search width, which databaseConfig.pgvector.ef or probes gives"},
	} {
		if connect.CodeOf(tc.err) != connect.CodeInvalidArgument || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%v, want %s", tc.err, tc.want)
		}
	}
	must(t, query(0.999, nil))
	must(t, walk(0.9))
}
