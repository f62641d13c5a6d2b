package query_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// goods makes an index with benchPassages chunks of documents with ten each, as a shop has them: a kind, a brand, a price, a day, tags and a
// name that another one has.
func goods(b *testing.B) servicetest.Client {
	s := servicetest.New(b, service.Config{})
	c := s.Tenant(b, "bench")
	if _, err := c.CreateIndex(b.Context(), &ragdv1.CreateIndexRequest{IndexName: "bench", Dimension: 384, IndexConfig: &ragdv1.IndexConfig{Type: "flat"}}); err != nil {
		b.Fatal(err)
	}
	for _, statement := range []string{
		`INSERT INTO tenant_bench.chunk_1 (document_id, ordinal, chunk_id, embedding, metadata, text, terms, term_weights)
		SELECT md5((n / 10)::text)::uuid, n % 10, n, array_fill(0.1, ARRAY[384])::vector,
			jsonb_build_object('kind', 'kind ' || n * 7919 % 12, 'brand', 'brand ' || n * 1049 % 400, 'price', n * 31 % 2000 + n % 4 * 0.25,
				'day', to_char(date '2022-01-01' + n * 17 % 1500, 'YYYY-MM-DD'), 'tags', jsonb_build_array('tag ' || n % 30, 'tag ' || n % 7), 'name', 'thing number ' || n / 2),
			repeat('It is a thing to buy, and ', 20) || n, '', '{}/1000000000'
		FROM generate_series(1, ` + fmt.Sprint(benchPassages) + `) AS n`,
		`INSERT INTO tenant_bench.index_counts (index_id, slot, chunks, written) SELECT index_id, 15, ` + fmt.Sprintf("%d, %[1]d", benchPassages) + ` FROM tenant_bench.indexes
		ON CONFLICT (index_id, slot) DO UPDATE SET chunks = excluded.chunks, written = excluded.written`,
		`VACUUM ANALYZE tenant_bench.chunk_1`,
	} {
		if _, err := s.Pool.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

const threeFacets = `"facets": [{"field": "kind"}, {"field": "price", "rangeCount": 10}, {"field": "day", "interval": "month"}]`

// BenchmarkFacets counts by three fields, each time after a chunk was written. A regular expression is counted in the database each time, and
// the others until their fields are in memory: first-ms is the first count.
func BenchmarkFacets(b *testing.B) {
	c := goods(b)
	for _, of := range []struct{ name, request string }{
		{"database", `{"filter": {"kind": {"$regex": "^kind"}}, ` + threeFacets + `}`},
		{"all", `{` + threeFacets + `}`},
		{"filtered", `{"filter": {"brand": {"$lt": "brand 2"}, "price": {"$gte": 500}}, ` + threeFacets + `}`},
		{"unique", `{"facets": [{"field": "name"}, {"field": "brand"}, {"field": "tags"}]}`},
	} {
		b.Run(fmt.Sprintf("chunks=%d/%s", benchPassages, of.name), func(b *testing.B) {
			req := countRequest(b, of.request)
			var took []time.Duration
			for b.Loop() {
				entry := &ragdv1.Entry{Id: fmt.Sprint("new ", len(took)), Values: make([]float32, 384), Metadata: servicetest.Object(b, map[string]any{"kind": "new", "name": fmt.Sprint(of.name, len(took))})}
				if _, err := c.Upsert(b.Context(), &ragdv1.UpsertRequest{IndexName: "bench", Entries: []*ragdv1.Entry{entry}}); err != nil {
					b.Fatal(err)
				}
				start := time.Now()
				if _, err := c.CountChunks(b.Context(), req); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			b.ReportMetric(float64(took[0].Microseconds())/1000, "first-ms")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
