package query_test

import (
	"os"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Each hot query is answered with the Postgres index that is there for it.
func TestHotQueriesUseTheirIndexes(t *testing.T) {
	t.Parallel()
	rows := 5_000
	if os.Getenv("RAGD_MEASURE") != "" {
		rows = 50_000
	}
	s := servicetest.New(t, service.Config{ListBytes: -1})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 8, MetadataIndexes: []string{"n"}}); err != nil {
		t.Fatal(err)
	}
	// Loaded by one statement and not through the API, which would take minutes.
	for _, statement := range []string{
		`INSERT INTO tenant_acme.chunk_1 (chunk_id, embedding, metadata, text)
			SELECT i, array(SELECT random() FROM generate_series(1, 8) AS k WHERE i = i)::vector,
				jsonb_build_object('n', i, 'kind', 'k' || i % 100, 'tags', jsonb_build_array('t' || i % 500)),
				'word' || i % 50 || ' word' || i % 1000 || ' ERR_' || i
			FROM generate_series(1, ` + itoa(rows) + `) AS i`,
		`INSERT INTO tenant_acme.index_counts (index_id, slot, chunks, written) SELECT 1, 0, count(*), count(*) FROM tenant_acme.chunk_1`,
		`ANALYZE tenant_acme.chunk_1`,
	} {
		if _, err := s.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "v"}); err != nil {
		t.Fatal(err)
	}
	question := []float32{1, 0, 1, 0, 1, 0, 1, 0}
	awaitBuilt(t, c, "v", question)
	for _, tc := range []struct {
		name   string
		asks   query.Question
		filter string
		uses   []string
		not    string
	}{
		{"nearest", query.Question{Mode: query.Vector}, "", []string{"Index Scan using embedding_1"}, "Seq Scan"},
		{"nearest of half", query.Question{Mode: query.Vector}, `{"n": {"$gt": ` + itoa(rows/2) + `}}`, []string{"Index Scan using embedding_1"}, "Seq Scan"},
		{"nearest of a few, by equality", query.Question{Mode: query.Vector}, `{"kind": "k7"}`, []string{"chunk_1_metadata_idx", "Tid Scan"}, "embedding_1"},
		{"nearest of a few, by an array", query.Question{Mode: query.Vector}, `{"tags": "t3"}`, nil, "embedding_1"},
		{"nearest of a few, in an array", query.Question{Mode: query.Vector}, `{"tags": {"$in": ["t3", "t4"]}}`, []string{"chunk_1_metadata_idx"}, "Seq Scan"},
		{"nearest of a few, by order", query.Question{Mode: query.Vector}, `{"n": {"$lt": 60}}`, []string{"metadata_1_number_"}, "Seq Scan"},
		{"words", query.Question{Mode: query.Keyword, QueryText: "word7 word123"}, "", []string{"chunk_1_terms_idx", "Tid Scan"}, "Seq Scan"},
		{"words of a few", query.Question{Mode: query.Keyword, QueryText: "word7"}, `{"kind": "k7"}`, nil, "Seq Scan"},
		{"both", query.Question{Mode: query.Hybrid, QueryText: "word7 word123"}, "", []string{"embedding_1", "chunk_1_terms_idx", "Tid Scan"}, "Seq Scan"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := filter.Parse(tc.filter)
			if err != nil {
				t.Fatal(err)
			}
			tc.asks.IndexName, tc.asks.QueryVector, tc.asks.Filter = "v", question, f
			plan, err := s.Handlers.Queries.ExplainSearch(t.Context(), "acme", tc.asks)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(tc.filter, "$lt") && postgres.Distributed(s.Pool) {
				t.Skip("unlike a query, EXPLAIN ANALYZE of Citus plans without the values of parameters, on which indexes of fields depend")
			}
			for _, used := range tc.uses {
				if !strings.Contains(plan, used) {
					t.Errorf("the plan does not have %q:\n%s", used, plan)
				}
			}
			if tc.not != "" && strings.Contains(plan, tc.not) {
				t.Errorf("the plan has %q:\n%s", tc.not, plan)
			}
		})
	}
}
