package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/servicetest"
)

const benchDimension = 384

// clustered returns vectors around centres, as embeddings of texts are.
func clustered(n int, seed uint64) [][]float32 {
	const centres, spread = 200, 0.6
	r := rand.New(rand.NewPCG(seed, 2))
	middle := make([][]float32, centres)
	fixed := rand.New(rand.NewPCG(7, 7)) // the same centres whatever the seed
	for c := range middle {
		middle[c] = make([]float32, benchDimension)
		for i := range middle[c] {
			middle[c][i] = float32(fixed.NormFloat64())
		}
	}
	out := make([][]float32, n)
	for v := range out {
		out[v] = make([]float32, benchDimension)
		// Between two centres, so that there is no gap around each.
		a, b, share := middle[r.IntN(centres)], middle[r.IntN(centres)], float32(r.Float64())
		for i := range out[v] {
			out[v][i] = share*a[i] + (1-share)*b[i] + float32(r.NormFloat64()*spread)
		}
	}
	return out
}

// bench is a service with an index of vectors, and a bare table beside it with
// the same data and the same Postgres indexes.
type bench struct {
	*servicetest.Service
	client    servicetest.Client
	questions [][]float32
	width     int
}

const benchIndex = "bench"

func newBench(b testing.TB, n int) *bench {
	b.Helper()
	s := &bench{Service: servicetest.New(b, servicetest.Config{})}
	s.client = s.Tenant(b, "bench")
	if _, err := s.client.CreateIndex(b.Context(), &ragdv1.CreateIndexRequest{IndexName: benchIndex, Dimension: benchDimension}); err != nil {
		b.Fatal(err)
	}
	values := clustered(n, 1)
	s.questions = clustered(200, 99)
	start := time.Now()
	s.upsert(b, benchIndex, values)
	b.Logf("%d vectors upserted in %v", n, time.Since(start))
	s.awaitBuilt(b)
	b.Logf("built after %v", time.Since(start))
	err := s.Pool.QueryRow(b.Context(), `SELECT search_width FROM tenant_bench.indexes`).Scan(&s.width)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("search width %d", s.width)
	return s
}

func benchMetadata(n int) map[string]any {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	return map[string]any{
		"half": float64(r.IntN(2)), "tenth": float64(r.IntN(10)), "twentieth": float64(r.IntN(20)),
		"hundredth": float64(r.IntN(100)), "thousandth": float64(r.IntN(1000)),
	}
}

func (s *bench) upsert(b testing.TB, index string, values [][]float32) {
	b.Helper()
	const batch = 500
	for from := 0; from < len(values); from += batch {
		req := &ragdv1.UpsertRequest{IndexName: index}
		for n := from; n < min(from+batch, len(values)); n++ {
			metadata, err := structpb.NewStruct(benchMetadata(n))
			if err != nil {
				b.Fatal(err)
			}
			req.Entries = append(req.Entries, &ragdv1.Entry{Id: fmt.Sprintf("%06d", n), Values: values[n], Metadata: metadata})
		}
		if _, err := s.client.Upsert(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

func (s *bench) awaitBuilt(b testing.TB) {
	b.Helper()
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		res, err := s.client.Query(b.Context(), &ragdv1.QueryRequest{IndexName: benchIndex, QueryVector: s.questions[0], Explain: true})
		if err != nil {
			b.Fatal(err)
		}
		if res.Explain.Plan == "approximate" {
			return
		}
	}
	b.Fatal("the index was not built")
}

// bare copies the data into a table of its own.
func (s *bench) bare(b testing.TB) {
	b.Helper()
	for _, statement := range []string{
		`CREATE SCHEMA bare`,
		`CREATE TABLE bare.vectors (id text PRIMARY KEY, metadata jsonb NOT NULL, embedding vector(384) NOT NULL)`,
		`ALTER TABLE bare.vectors ALTER embedding SET STORAGE PLAIN`,
		`INSERT INTO bare.vectors SELECT chunk_id, metadata, embedding FROM tenant_bench.chunk_1`,
		`CREATE INDEX ON bare.vectors USING gin (metadata jsonb_path_ops)`,
		`SET maintenance_work_mem = '1GB'; CREATE INDEX ON bare.vectors USING hnsw (embedding vector_cosine_ops) WITH (m = 16, ef_construction = 64)`,
		`ANALYZE bare.vectors`,
	} {
		if _, err := s.Pool.Exec(b.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			b.Fatal(err)
		}
	}
}

func (s *bench) queryBare(b testing.TB, question []float32) {
	conn, err := s.Pool.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Release()
	var batch pgx.Batch
	batch.Queue(`SELECT set_config('hnsw.ef_search', $1, true)`, strconv.Itoa(s.width))
	batch.Queue(`SELECT id, metadata, embedding <=> $1 AS distance FROM bare.vectors ORDER BY embedding <=> $1 LIMIT 10`,
		pgvector.NewVector(question)).Query(func(rows pgx.Rows) error {
		_, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
			ID       string
			Metadata map[string]any
			Distance float64
		}])
		return err
	})
	if err := conn.SendBatch(b.Context(), &batch).Close(); err != nil {
		b.Fatal(err)
	}
}

func (s *bench) queryRagd(b testing.TB, question []float32, filter *structpb.Value) *ragdv1.QueryResponse {
	res, err := s.client.Query(b.Context(), &ragdv1.QueryRequest{IndexName: benchIndex, QueryVector: question, Filter: filter, Explain: false})
	if err != nil {
		b.Fatal(err)
	}
	return res
}

// run measures a call by several clients at once.
func run(b *testing.B, clients int, call func(n int)) {
	var mu sync.Mutex
	var took []time.Duration
	var wait sync.WaitGroup
	work := make(chan int)
	for range clients {
		wait.Go(func() {
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
	wait.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "queries/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkQuery compares VectorService.Query over Connect with the same search
// by pgx alone, on the same data in the same server.
func BenchmarkQuery(b *testing.B) {
	s := newBench(b, 20_000)
	s.bare(b)
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("bare/clients=%d", clients), func(b *testing.B) {
			run(b, clients, func(n int) { s.queryBare(b, s.questions[n%len(s.questions)]) })
		})
		b.Run(fmt.Sprintf("ragd/clients=%d", clients), func(b *testing.B) {
			run(b, clients, func(n int) { s.queryRagd(b, s.questions[n%len(s.questions)], nil) })
		})
	}
	for _, share := range []string{"half", "tenth", "twentieth", "hundredth", "thousandth"} {
		filter, err := structpb.NewValue(map[string]any{share: 1.0})
		if err != nil {
			b.Fatal(err)
		}
		b.Run("ragd/filter="+share, func(b *testing.B) {
			run(b, 1, func(n int) { s.queryRagd(b, s.questions[n%len(s.questions)], filter) })
		})
	}
}
