package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// run measures a call by several clients at once.
func run(b *testing.B, clients int, call func(n int)) {
	var mu sync.Mutex
	var took []time.Duration
	var group sync.WaitGroup
	work := make(chan int)
	for range clients {
		group.Go(func() {
			var own []time.Duration
			for n := range work {
				start := time.Now()
				call(n)
				own = append(own, time.Since(start))
			}
			mu.Lock()
			took = append(took, own...)
			mu.Unlock()
		})
	}
	b.ResetTimer()
	start := time.Now()
	for n := range b.N {
		work <- n
	}
	close(work)
	group.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "queries/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

const benchPassages = 100_000

// passages makes an index with benchPassages passages that are halves of those of a labelled set, joined at random. It needs
// RAGD_TEST_DATASETS.
func passages(b *testing.B) (*servicetest.Service, servicetest.Client, labelled) {
	set := loadSet(b, "squad-xquad-en")
	s := servicetest.New(b, service.Config{})
	c := s.Tenant(b, "bench")
	if _, err := c.CreateIndex(b.Context(), &ragdv1.CreateIndexRequest{IndexName: "bench", Dimension: 3, IndexConfig: &ragdv1.IndexConfig{Type: "flat"}}); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	half := func() string {
		text := set.documents[r.IntN(len(set.documents))].Text
		return text[:len(text)/2]
	}
	for from := 0; from < benchPassages; from += 1000 {
		req := &ragdv1.UpsertRequest{IndexName: "bench"}
		for range 1000 {
			text := strings.ToValidUTF8(half()+" "+half(), "")
			req.Entries = append(req.Entries, &ragdv1.Entry{Values: []float32{1, 0, 0}, Document: text})
		}
		if _, err := c.Upsert(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
	wait.For(b, "the words to be counted", func() bool {
		var counted int
		if err := s.Pool.QueryRow(b.Context(), `SELECT counted_chunks FROM tenant_bench.indexes`).Scan(&counted); err != nil {
			b.Fatal(err)
		}
		return counted*4 >= benchPassages*3 // a quarter more is not counted again
	})
	return s, c, set
}

// BenchmarkKeyword measures keyword search over passages.
func BenchmarkKeyword(b *testing.B) {
	_, c, set := passages(b)
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("passages=%d/clients=%d", benchPassages, clients), func(b *testing.B) {
			run(b, clients, func(n int) {
				question := set.questions[n%len(set.questions)].Text
				_, err := c.VectorQuery(b.Context(), &ragdv1.VectorQueryRequest{IndexName: "bench", QueryText: question, SearchMode: "keyword"})
				if err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// BenchmarkSuggest completes the beginnings of questions, cut after 2 to 7 letters of a word, beside 20,000 documents.
func BenchmarkSuggest(b *testing.B) {
	s, c, set := passages(b)
	var titles []string
	for _, q := range set.questions {
		titles = append(titles, q.Text)
	}
	_, err := s.Pool.Exec(b.Context(), `
		INSERT INTO tenant_bench.documents (document_id, index_id, uri, title, content_type, metadata, chunking, content_hash, content_sha256, byte_size, status, version, job_id)
		SELECT gen_random_uuid(), i.index_id, 'd' || n, ($1::text[])[1 + n % cardinality($1::text[])] || ' ' || n, 'text/plain', '{}', '{}', '', '', 0, 'ready', 1, gen_random_uuid()
		FROM tenant_bench.indexes AS i, generate_series(1, 20000) AS n`, titles)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Pool.Exec(b.Context(), `ANALYZE tenant_bench.documents`); err != nil {
		b.Fatal(err)
	}
	for _, words := range []int{0, 2} {
		b.Run(fmt.Sprintf("passages=%d/words-before=%d", benchPassages, words), func(b *testing.B) {
			run(b, 1, func(n int) {
				typed := strings.Fields(set.questions[n%len(set.questions)].Text)
				before := min(words, len(typed)-1)
				last := []rune(typed[before])
				prefix := strings.Join(append(typed[:before:before], string(last[:min(len(last), 2+n%6)])), " ")
				if _, err := c.Suggest(b.Context(), &ragdv1.SuggestRequest{IndexName: "bench", Prefix: prefix}); err != nil {
					b.Error(err)
				}
			})
		})
	}
}
