package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func TestLoadingStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	for i := range 6 {
		g.upload(t, fmt.Sprintf("d%d", i), fmt.Sprintf("Berth %d-A", i), fmt.Sprintf("After it comes berth %d-A.", i+1))
	}
	graphs := g.service.Handlers.Graphs
	for _, test := range []struct {
		name         string
		nodes, edges int
		bytes        int64
		time         time.Duration
		warning      string
	}{
		{"enough", 100, 100, 1 << 20, time.Minute, ""},
		{"chunks", 2, 100, 1 << 20, time.Minute, "larger than 2 chunks"},
		{"edges", 100, 1, 1 << 20, time.Minute, "larger than 100 chunks, 1 edges"},
		{"bytes", 100, 100, 300, time.Minute, "larger than"},
		{"time", 100, 100, 1 << 20, 0, "took longer than 0s"},
	} {
		graphs.LimitCache(0)
		graphs.Limit(test.nodes, test.edges, test.bytes, test.time)
		res, err := g.client.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "Where is berth 2-A?", SearchMode: "keyword"})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := strings.Join(res.Warnings, "\n"); test.warning == "" && got != "" || !strings.Contains(got, test.warning) {
			t.Errorf("%s: warnings %q, want %q", test.name, got, test.warning)
		}
		if len(res.Sources) == 0 || res.Sources[0].Uri != "d2" {
			t.Errorf("%s: sources %v", test.name, res.Sources)
		}
	}
}
