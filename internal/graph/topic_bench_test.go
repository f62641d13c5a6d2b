package graph_test

import (
	"fmt"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// BenchmarkTopics finds the topics of an index of 10 chunks a document, with 16 edges a
// chunk, four of five of them within groups of a thousand chunks, first anew, then after one
// chunk in ten was added. It stores the index without ingest.
func BenchmarkTopics(b *testing.B) {
	for _, documents := range []int{200, 1_000, 10_000} {
		b.Run(fmt.Sprintf("chunks=%d", documents*10), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				g := newTestGraph(b)
				if _, err := g.client.ListTopics(b.Context(), &ragdv1.ListTopicsRequest{}); err != nil { // makes the tables
					b.Fatal(err)
				}
				if err := index.MakeEdges(b.Context(), g.handle, g.index); err != nil {
					b.Fatal(err)
				}
				g.fill(b, 0, documents)
				b.StartTimer()
				b.ReportMetric(g.findTopics(b).Seconds(), "anew-s")
				b.StopTimer()
				g.fill(b, documents, documents/5)
				b.StartTimer()
				b.ReportMetric(g.findTopics(b).Seconds(), "again-s")
			}
		})
	}
}

// findTopics waits until the topics are found again and returns the time.
func (g *testGraph) findTopics(b *testing.B) time.Duration {
	b.Helper()
	start := time.Now()
	wait.For(b, "the topics", func() bool {
		list, err := g.client.ListTopics(b.Context(), &ragdv1.ListTopicsRequest{PageSize: 1})
		if err != nil {
			b.Fatal(err)
		}
		return list.JobId == "" && len(list.Topics) > 0
	})
	return time.Since(start)
}

// fill stores documents of ten chunks and their edges.
func (g *testGraph) fill(b *testing.B, from, documents int) {
	b.Helper()
	for _, statement := range []string{
		`INSERT INTO tenant.documents (document_id, index_id, uri, title, content_type, metadata, chunking, content_hash, content_sha256, version, status, chunk_count, byte_size, job_id)
		SELECT d.id, ` + fmt.Sprint(g.index.ID) + `, d.n::text, 'Document ' || d.n, 'text/plain', '{}', '{}', '', '', 1, 'pending', 0, 1000, d.id
		FROM (SELECT n, md5(n::text)::uuid AS id FROM generate_series($1::int, $1::int + $2::int - 1) AS n) AS d`,
		`INSERT INTO tenant.chunk (document_id, ordinal, chunk_id, metadata, title, text, embedding, terms)
		SELECT md5(n::text)::uuid, o, n || ':' || o, '{}', 'Document ' || n, (
			SELECT string_agg('word' || CASE WHEN k % 4 = 0 THEN (n / 100) || 'x' || (n * 7 + o * 3 + k) % 20 ELSE (n * 13 + o * 5 + k * k * 31) % 20000 || '' END, ' ')
			FROM generate_series(1, 100) AS k
		), array_fill(0, ARRAY[512])::vector, ''::tsvector
		FROM generate_series($1::int, $1::int + $2::int - 1) AS n CROSS JOIN generate_series(0, 9) AS o`,
		`INSERT INTO tenant.edge (document_id, ordinal, type, to_document_id, to_ordinal, cosine)
		SELECT md5(r.n::text)::uuid, r.o, 'similar', md5(r.m::text)::uuid, (r.k * 7 + r.o) % 10, 0.5 + (r.n % 50) / 100.0
		FROM (
			SELECT n, o, k, CASE WHEN k % 5 > 0 THEN least(n / 100 * 100 + (n * 31 + o * 17 + k * 7919) % 100, $1::int + $2::int - 1)
				ELSE (n::bigint * 7919 + o * 104729 + k * 1299709) % ($1::int + $2::int) END AS m
			FROM generate_series($1::int, $1::int + $2::int - 1) AS n CROSS JOIN generate_series(0, 9) AS o CROSS JOIN generate_series(1, 16) AS k
		) AS r
		WHERE r.m <> r.n ON CONFLICT DO NOTHING`,
		`UPDATE tenant.documents SET status = 'ready', chunk_count = 10 WHERE status = 'pending' AND uri::int >= $1::int AND uri::int < $1::int + $2::int`,
	} {
		args := []any{from, documents}
		if _, err := g.handle.Exec(b.Context(), statement, args...); err != nil {
			b.Fatal(err)
		}
	}
}
