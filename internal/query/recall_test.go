package query_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// TestFilteredRecall prints the table of docs/explanation/retrieval.md: recall against an
// exact search, and times, by how much a filter keeps. Run it with
//
//	RAGD_MEASURE=1 go test ./internal/query -run FilteredRecall -v -timeout 60m
func TestFilteredRecall(t *testing.T) {
	const vectors, asked, topK = 50_000, 100, 10
	if os.Getenv("RAGD_MEASURE") == "" {
		t.Skip("RAGD_MEASURE is not set: this takes minutes")
	}
	values, questions := synthetic.Vectors(vectors, 1), synthetic.Vectors(asked, 99)
	c := loaded(t, values)
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
		for _, question := range questions {
			start := time.Now()
			res, err := c.Query(t.Context(), &ragdv1.QueryRequest{IndexName: recallIndex, QueryVector: question, Filter: filter, Explain: true})
			took = append(took, time.Since(start))
			if err != nil {
				t.Fatal(err)
			}
			plan = res.Explain.Plan
			exact := synthetic.Nearest(values, question, tc.field, topK)
			if len(res.Results) != len(exact) {
				t.Errorf("a filter that keeps %s: %d results, want %d", tc.keeps, len(res.Results), len(exact))
			}
			wanted += len(exact)
			for _, r := range res.Results {
				if n, err := strconv.Atoi(r.Id); err == nil && slices.Contains(exact, n) {
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

// TestUnseenRecall prints recall and times of questions that are not stored, with and without landmarks: a search whose
// width the caller names has none. Run it with
//
//	RAGD_MEASURE=1 go test ./internal/query -run UnseenRecall -v -timeout 60m
func TestUnseenRecall(t *testing.T) {
	const asked, topK = 250, 10
	if os.Getenv("RAGD_MEASURE") == "" {
		t.Skip("RAGD_MEASURE is not set: this takes minutes")
	}
	var table strings.Builder
	for _, vectors := range []int{5_000, 20_000} {
		values, questions := synthetic.Vectors(vectors, 1), synthetic.Vectors(asked, 99)
		c := loaded(t, values)
		described, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: recallIndex})
		if err != nil {
			t.Fatal(err)
		}
		width := described.SearchWidth.Width
		ef := &ragdv1.DatabaseConfig{Pgvector: &ragdv1.PgVectorConfig{Ef: proto.Int32(width)}}
		for _, side := range []struct {
			name   string
			config *ragdv1.DatabaseConfig
		}{{"width named", ef}, {"default", nil}, {"width named", ef}, {"default", nil}} {
			found, wider := 0, 0
			var took []time.Duration
			for _, question := range questions {
				start := time.Now()
				res, err := c.Query(t.Context(), &ragdv1.QueryRequest{IndexName: recallIndex, QueryVector: question, DatabaseConfig: side.config, Explain: true})
				took = append(took, time.Since(start))
				if err != nil {
					t.Fatal(err)
				}
				if res.Explain.SearchWidth > width {
					wider++
				}
				exact := synthetic.Nearest(values, question, "", topK)
				for _, r := range res.Results {
					if n, err := strconv.Atoi(r.Id); err == nil && slices.Contains(exact, n) {
						found++
					}
				}
			}
			slices.Sort(took)
			fmt.Fprintf(&table, "| %d | %d | %s | %d | %.3f | %.2f | %.2f |\n", vectors, width, side.name, wider, float64(found)/(asked*topK), ms(took[len(took)/2]), ms(took[len(took)*99/100]))
		}
	}
	t.Logf("\n| vectors | width | search | widened | recall@10 | p50 ms | p99 ms |\n| --- | --- | --- | --- | --- | --- | --- |\n%s", &table)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

const recallIndex = "recall"

// loaded returns a client of an index of the vectors, built and measured.
func loaded(t *testing.T, values [][]float32) servicetest.Client {
	t.Helper()
	const batch = 500
	s := servicetest.New(t, service.Config{ListBytes: -1})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: recallIndex, Dimension: synthetic.Dimension}); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < len(values); from += batch {
		req := &ragdv1.UpsertRequest{IndexName: recallIndex}
		for n := from; n < min(from+batch, len(values)); n++ {
			metadata, err := structpb.NewStruct(synthetic.Metadata(n))
			if err != nil {
				t.Fatal(err)
			}
			req.Entries = append(req.Entries, &ragdv1.Entry{Id: fmt.Sprintf("%06d", n), Values: values[n], Metadata: metadata})
		}
		if _, err := c.Upsert(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	awaitBuilt(t, c, recallIndex, values[0])
	width := 0
	wait.For(t, "the search width to be measured", func() bool {
		if err := s.Pool.QueryRow(t.Context(), `SELECT search_width FROM tenant_acme.indexes`).Scan(&width); err != nil {
			t.Fatal(err)
		}
		return width > 0
	})
	t.Logf("search width %d", width)
	wait.For(t, "the service to have forgotten that it was not measured", func() bool {
		return explained(t, c, recallIndex, values[0]).SearchWidth >= int32(width)
	})
	return c
}

// awaitBuilt waits until questions are answered by the Postgres index over the
// embeddings.
func awaitBuilt(t testing.TB, c servicetest.Client, index string, question []float32) {
	t.Helper()
	wait.For(t, "an answer by the Postgres index", func() bool {
		d, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: index})
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Query(t.Context(), &ragdv1.QueryRequest{
			IndexName: index, QueryVector: question, Explain: true, DatabaseConfig: &ragdv1.DatabaseConfig{Pgvector: &ragdv1.PgVectorConfig{Ef: proto.Int32(40)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return res.Explain.Plan == "approximate" && d.Status == "ready"
	})
}

// explained asks a question and returns how it was answered.
func explained(t testing.TB, c servicetest.Client, index string, question []float32) *ragdv1.Explain {
	t.Helper()
	res, err := c.Query(t.Context(), &ragdv1.QueryRequest{IndexName: index, QueryVector: question, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	return res.Explain
}

func itoa(n int) string { return strconv.Itoa(n) }
