// Command sleep measures what tenants cost that are asleep: putting them to sleep, waking them with their first question, the
// database and the archives, and the start of the service. It starts the given ragd on a data directory of its own and
// calls it as clients do.
//
//	go build -o bin/ragd ./cmd/ragd && go run ./bench/sleep -ragd bin/ragd -tenants 200 -sizes 20,1000,50000
//
// It prints tables in Markdown.
package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/bench/internal/harness"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
)

const (
	indexName = "notes"
	perCall   = 500                   // vectors of an Upsert
	retry     = 20 * time.Millisecond // between two questions of a tenant that is waking
	words     = 60                    // of a document
)

// bench is one run.
type bench struct {
	daemon   *daemon.Daemon
	pool     *pgxpool.Pool // on the database of the daemon, as its superuser
	operator ragdv1connect.TenantServiceClient
	values   [][]float32
}

// sleeper is a tenant.
type sleeper struct {
	name    string
	indexes ragdv1connect.IndexServiceClient
	vectors ragdv1connect.VectorServiceClient
	queries ragdv1connect.QueryServiceClient
}

func main() {
	var ragd, sizes string
	var tenants int
	harness.ProgramVar(&ragd)
	flag.IntVar(&tenants, "tenants", 200, "tenants of the first size")
	flag.StringVar(&sizes, "sizes", "20,1000", "chunks of a tenant; of each size but the first there are 5 tenants")
	harness.Main(func(ctx context.Context) error { return run(ctx, ragd, tenants, strings.Split(sizes, ",")) })
}

func run(ctx context.Context, ragd string, tenants int, sizes []string) error {
	d, err := harness.Start(ctx, daemon.Config{Program: ragd})
	if err != nil {
		return err
	}
	defer d.Stop()
	b := &bench{daemon: d, values: synthetic.Vectors(2000, 1)}
	b.operator = ragdv1connect.NewTenantServiceClient(harness.Connections(4), d.URL(), harness.WithKey(daemon.OperatorKey))
	if b.pool, err = postgres.Open(ctx, postgres.Config{URL: d.DatabaseURL(), ApplicationName: "bench", MaxConns: 2}); err != nil {
		return err
	}
	defer b.pool.Close()
	fmt.Printf("%d dimensions, text of %d words and metadata, HNSW built where there is one; %s, %d CPUs\n\n", synthetic.Dimension, words, runtime.GOARCH, runtime.NumCPU())
	fmt.Println("| chunks | tenants | put to sleep, p50 | first answer, p50 | p99 | database, awake | asleep | archive |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	for i, size := range sizes {
		chunks, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("-sizes: %w", err)
		}
		if i > 0 {
			tenants = 5
		}
		if err := b.measure(ctx, tenants, chunks); err != nil {
			return err
		}
	}
	return b.starts(ctx)
}

// measure measures tenants of one size. All are asleep at the end.
func (b *bench) measure(ctx context.Context, tenants, chunks int) error {
	before, err := b.size(ctx)
	if err != nil {
		return err
	}
	var all []sleeper
	for n := range tenants {
		s, err := b.make(ctx, fmt.Sprintf("t%d-%d", chunks, n), chunks)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	awake, err := b.size(ctx)
	if err != nil {
		return err
	}
	slept, err := b.sleep(ctx, all)
	if err != nil {
		return err
	}
	asleep, err := b.size(ctx)
	if err != nil {
		return err
	}
	archives, err := b.archived(ctx, all)
	if err != nil {
		return err
	}
	var woke []time.Duration
	for _, s := range all {
		took, err := s.wake(ctx, b.values[0])
		if err != nil {
			return err
		}
		woke = append(woke, took)
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	if _, err := b.sleep(ctx, all); err != nil {
		return err
	}
	fmt.Printf("| %d | %d | %s | %s | %s | %s | %s | %s |\n", chunks, tenants, ms(percentile(slept, 50)), ms(percentile(woke, 50)), ms(percentile(woke, 99)),
		kb(awake-before, tenants), kb(asleep-before, tenants), kb(archives, tenants))
	return nil
}

// make makes a tenant with an index of random vectors.
func (b *bench) make(ctx context.Context, name string, chunks int) (s sleeper, err error) {
	key, err := harness.Tenant(ctx, b.daemon, name)
	if err != nil {
		return s, err
	}
	connections, own := harness.Connections(4), harness.WithKey(key)
	s = sleeper{
		name: name, indexes: ragdv1connect.NewIndexServiceClient(connections, b.daemon.URL(), own),
		vectors: ragdv1connect.NewVectorServiceClient(connections, b.daemon.URL(), own), queries: ragdv1connect.NewQueryServiceClient(connections, b.daemon.URL(), own),
	}
	if _, err := s.indexes.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: indexName, Dimension: synthetic.Dimension}); err != nil {
		return s, err
	}
	for from := 0; from < chunks; from += perCall {
		req := &ragdv1.UpsertRequest{IndexName: indexName}
		for n := from; n < min(chunks, from+perCall); n++ {
			req.Entries = append(req.Entries, &ragdv1.Entry{Id: fmt.Sprintf("note-%d", n), Values: b.vector(n), Document: text(n)})
		}
		if _, err := s.vectors.Upsert(ctx, req); err != nil {
			return s, err
		}
	}
	return s, nil
}

// vector returns a vector of its own for each n: one of the made ones, turned a little towards another.
func (b *bench) vector(n int) []float32 {
	v := slices.Clone(b.values[n%len(b.values)])
	other := b.values[(n/len(b.values)+1)%len(b.values)]
	for i := range v {
		v[i] += other[i] / 4
	}
	return v
}

func text(n int) string {
	all := make([]string, words)
	for i := range all {
		all[i] = fmt.Sprintf("word%d", (n*31+i*i*7)%(50+n%5000))
	}
	return strings.Join(all, " ")
}

// settle waits until no tenant has work.
func (b *bench) settle(ctx context.Context) error {
	for {
		var tasks int
		err := b.pool.QueryRow(ctx, `SELECT count(*) FROM ragd.river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled') AND args ? 'tenant'`).Scan(&tasks)
		if err != nil || tasks == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (b *bench) sleep(ctx context.Context, all []sleeper) (took []time.Duration, err error) {
	for _, s := range all {
		start := time.Now()
		if _, err := b.operator.SleepTenant(ctx, &ragdv1.SleepTenantRequest{TenantId: s.name}); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// wake asks until there is an answer.
func (s sleeper) wake(ctx context.Context, vector []float32) (time.Duration, error) {
	start := time.Now()
	for {
		res, err := s.queries.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: indexName, QueryVector: vector})
		switch {
		case err == nil && len(res.GetSources()) == 0:
			return 0, fmt.Errorf("tenant %s finds nothing after it has slept", s.name)
		case err == nil:
			return time.Since(start), nil
		case connect.CodeOf(err) != connect.CodeUnavailable:
			return 0, err
		}
		time.Sleep(retry)
	}
}

// size returns the bytes of the database, after what was deleted was removed from its files.
func (b *bench) size(ctx context.Context) (bytes int64, err error) {
	if _, err := b.pool.Exec(ctx, `VACUUM`); err != nil {
		return 0, err
	}
	err = b.pool.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&bytes)
	return bytes, err
}

// archived returns the bytes of the archives of tenants.
func (b *bench) archived(ctx context.Context, all []sleeper) (bytes int64, err error) {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.name
	}
	err = b.pool.QueryRow(ctx, `SELECT sum(archived_bytes)::bigint FROM ragd.tenants WHERE tenant_id = ANY ($1)`, names).Scan(&bytes)
	return bytes, err
}

// starts measures the start of the service while all tenants are asleep.
func (b *bench) starts(ctx context.Context) error {
	b.pool.Close()
	var took []time.Duration
	for range 3 {
		t, err := b.daemon.Restart(ctx)
		if err != nil {
			return err
		}
		took = append(took, t)
	}
	fmt.Printf("\nthe service starts in %s (median of 3) with all tenants asleep\n", ms(percentile(took, 50)))
	return nil
}

func percentile(all []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000) }

func kb(bytes int64, among int) string {
	return fmt.Sprintf("%.1f kB", float64(bytes)/float64(among)/(1<<10))
}
