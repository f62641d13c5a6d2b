package query_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// TestFilteredRecall prints the table of docs/retrieval.md: recall against an
// exact search, and times, by how much a filter keeps. Run it with
//
//	RAGD_MEASURE=1 go test ./internal/query -run FilteredRecall -v -timeout 60m
func TestFilteredRecall(t *testing.T) {
	const vectors, asked, topK = 50_000, 100, 10
	if os.Getenv("RAGD_MEASURE") == "" {
		t.Skip("RAGD_MEASURE is not set: this takes minutes")
	}
	s := newBench(t, vectors)
	values := clustered(vectors, 1)
	var table strings.Builder
	for _, tc := range []struct {
		keeps string
		field string
	}{{"all", ""}, {"50 %", "half"}, {"10 %", "tenth"}, {"1 %", "hundredth"}, {"0.1 %", "thousandth"}} {
		var filter *structpb.Value
		if tc.field != "" {
			var err error
			if filter, err = structpb.NewValue(map[string]any{tc.field: 1.0}); err != nil {
				t.Fatal(err)
			}
		}
		found, wanted := 0, 0
		var took []time.Duration
		var plan string
		for _, question := range s.questions[:asked] {
			start := time.Now()
			res, err := s.client.Query(t.Context(), &ragdv1.QueryRequest{IndexName: benchIndex, QueryVector: question, Filter: filter, Explain: true})
			took = append(took, time.Since(start))
			if err != nil {
				t.Fatal(err)
			}
			plan = res.Explain.Plan
			exact := nearestOf(values, question, tc.field, topK)
			if len(res.Results) != len(exact) {
				t.Errorf("a filter that keeps %s: %d results, want %d", tc.keeps, len(res.Results), len(exact))
			}
			wanted += len(exact)
			for _, r := range res.Results {
				if slices.Contains(exact, r.Id) {
					found++
				}
			}
		}
		recall := float64(found) / float64(wanted)
		if recall < 0.95 {
			t.Errorf("a filter that keeps %s: recall@10 is %.3f, want 0.95", tc.keeps, recall)
		}
		slices.Sort(took)
		fmt.Fprintf(&table, "| %s | %s | %.3f | %.2f | %.2f |\n", tc.keeps, plan, recall, ms(took[len(took)/2]), ms(took[len(took)*99/100]))
	}
	t.Logf("\n| filter keeps | plan | recall@10 | p50 ms | p99 ms |\n| --- | --- | --- | --- | --- |\n%s", &table)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// nearestOf is the exact answer, by cosine.
func nearestOf(values [][]float32, question []float32, field string, k int) []string {
	type scored struct {
		id    string
		score float64
	}
	var all []scored
	for n, v := range values {
		if field != "" && benchMetadata(n)[field] != 1.0 {
			continue
		}
		var dot, length float64
		for i := range v {
			dot += float64(v[i]) * float64(question[i])
			length += float64(v[i]) * float64(v[i])
		}
		all = append(all, scored{fmt.Sprintf("%06d", n), dot * dot / length * sign(dot)})
	}
	slices.SortFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return strings.Compare(a.id, b.id)
	})
	var ids []string
	for _, s := range all[:min(k, len(all))] {
		ids = append(ids, s.id)
	}
	return ids
}

func sign(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}
