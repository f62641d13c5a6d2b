package graph_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
)

// BenchmarkConnect connects the passages of a labelled set, in batches, in an
// empty index. Their chunks are stored before, with zero embeddings: it does not
// measure similar edges.
func BenchmarkConnect(b *testing.B) {
	for _, batch := range []int{1, 20, 200} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			set := dataset.Load(b, "2wikimultihopqa")
			passages := 0
			var spent time.Duration
			for range b.N {
				g := newTestGraph(b)
				if _, err := g.handle.Exec(b.Context(), `UPDATE tenant.indexes SET graph = '{"edgeTypes": ["mention", "next"]}'`); err != nil {
					b.Fatal(err)
				}
				documents := make([]graph.Document, len(set.Documents))
				for i, d := range set.Documents {
					documents[i] = graph.Document{DocumentID: uuid.Must(uuid.NewV7()).String(), Namespace: index.DefaultNamespace, Title: d.Title, URI: d.ID, Texts: []string{d.Text}}
				}
				if batch == 1 { // more take the same time each
					documents = documents[:2000]
				}
				for part := range slices.Chunk(documents, batch) {
					g.store(b, part)
					start := time.Now()
					if err := graph.Connect(b.Context(), g.handle, g.index, part...); err != nil {
						b.Fatal(err)
					}
					spent += time.Since(start)
					passages += len(part)
				}
			}
			b.ReportMetric(float64(passages)/spent.Seconds(), "passages/s")
		})
	}
}

// store stores documents of one chunk each as ingest would.
func (g *testGraph) store(t testing.TB, documents []graph.Document) {
	t.Helper()
	var ids, titles, uris, texts []string
	for _, d := range documents {
		ids, titles, uris, texts = append(ids, d.DocumentID), append(titles, d.Title), append(uris, d.URI), append(texts, d.Texts[0])
	}
	for _, statement := range []string{
		`INSERT INTO tenant.documents (document_id, index_id, uri, title, content_type, metadata, chunking, content_hash, content_sha256, version, status, chunk_count, byte_size, job_id)
		SELECT d.id, ` + fmt.Sprint(g.index.ID) + `, d.uri, d.title, 'text/plain', '{}', '{}', '', '', 1, 'ready', 1, 0, d.id
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) AS d (id, title, uri, text)`,
		`INSERT INTO tenant.chunk (document_id, chunk_id, metadata, title, text, embedding)
		SELECT d.id, d.id || ':0', '{}', d.title, d.text, array_fill(0, ARRAY[512])::vector
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) AS d (id, title, uri, text)`,
	} {
		if _, err := g.handle.Exec(t.Context(), statement, ids, titles, uris, texts); err != nil {
			t.Fatal(err)
		}
	}
}
