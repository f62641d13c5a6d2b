package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
)

// Goals, for the tables.
const (
	goalCreate   = 50 * time.Millisecond
	goalBytes    = 250 << 10 // of an empty tenant
	goalZipf     = 1.25      // p50 with all tenants divided by that with few
	goalUniform  = 1.6
	goalBackend  = 150 << 20
	goalIdle     = 0.01 // of a core
	goalMigrated = 5 * time.Minute
)

// bench is one run.
type bench struct {
	options
	daemon *daemon.Daemon
	heap   *heapLog
	calls  calls
	pool   *pgxpool.Pool // on the database of the daemon, as its superuser
	made   []made
}

func openDatabase(ctx context.Context, d *daemon.Daemon) (*pgxpool.Pool, error) {
	return postgres.Open(ctx, postgres.Config{URL: d.DatabaseURL(), ApplicationName: "bench", MaxConns: 4})
}

func (b *bench) value(ctx context.Context, sql string) (n int64, err error) {
	err = b.pool.QueryRow(ctx, sql).Scan(&n)
	return n, err
}

const (
	databaseSize = `SELECT pg_database_size(current_database())`
	relations    = `SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname LIKE 'tenant\_%' OR n.nspname = 'pg_toast' AND c.relname ~ '_[0-9]{5,}(_index)?$'`
)

// emptyTenants measures tenants without an index.
func (b *bench) emptyTenants(ctx context.Context) error {
	const empty = 50
	var size, has [2]int64
	var took []time.Duration
	for i := range size {
		var err error
		if i > 0 {
			for n := range empty {
				t, err := b.calls.create(ctx, fmt.Sprintf("empty%03d", n))
				if err != nil {
					return err
				}
				took = append(took, t)
			}
		}
		if size[i], err = b.value(ctx, databaseSize); err != nil {
			return err
		}
		if has[i], err = b.value(ctx, relations); err != nil {
			return err
		}
	}
	fmt.Printf("\n| an empty tenant | is | goal |\n| --- | --- | --- |\n")
	fmt.Printf("| create, one at a time, p50 | %s | %s |\n", ms(percentile(took, 50)), ms(goalCreate))
	fmt.Printf("| create, one at a time, p99 | %s | |\n", ms(percentile(took, 99)))
	fmt.Printf("| database grows by | %s | %s |\n", kb(size[1]-size[0], empty), kb(goalBytes, 1))
	fmt.Printf("| relations, with those of TOAST | %.1f | |\n", float64(has[1]-has[0])/empty)
	return nil
}

// grow makes all tenants in stages, and measures queries and memory at each.
func (b *bench) grow(ctx context.Context) error {
	var tables [5][]string
	for _, upTo := range stages(b.tenants) {
		from := len(b.made)
		size, err := b.value(ctx, databaseSize)
		if err != nil {
			return err
		}
		files := filesIn(b.daemon.Cluster())
		start := time.Now()
		if err := b.makeUpTo(ctx, upTo); err != nil {
			return err
		}
		tables[0] = append(tables[0], b.madeRow(from, time.Since(start)))
		if err := b.settle(ctx); err != nil {
			return err
		}
		row, err := b.diskRow(ctx, from, size, files)
		if err != nil {
			return err
		}
		tables[1] = append(tables[1], row)
		tables[3] = append(tables[3], b.memoryRow("made"))
		took, err := b.restart(ctx)
		if err != nil {
			return err
		}
		tables[4] = append(tables[4], fmt.Sprintf("%d tenants | %s", upTo, ms(took)))
		rows, err := b.askStage(ctx)
		if err != nil {
			return err
		}
		tables[2] = append(tables[2], rows...)
		tables[3] = append(tables[3], b.memoryRow("restarted and asked"))
	}
	for n, head := range []string{
		"make and fill, %d at once | tenants/s | create p50 ms | create p99 ms | with key, index and documents p50 ms | p99 ms |",
		"disk | database | a tenant | files a tenant | relations a tenant |",
		"hybrid query, 1 client | p50 ms | p99 ms | queries/s | ragd CPU us/query | server CPU us/query |",
		"memory | ragd private | ragd heap | connections | largest backend private | largest backend Pss | all backends Pss |",
		"start | until it is ready |",
	} {
		if n == 0 {
			head = fmt.Sprintf(head, b.makers)
		}
		printTable(head, tables[n])
	}
	return nil
}

// makeUpTo makes tenants until there are n.
func (b *bench) makeUpTo(ctx context.Context, n int) error {
	from := len(b.made)
	b.made = append(b.made, make([]made, n-from)...)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(b.makers)
	for i := from; i < n && ctx.Err() == nil; i++ {
		group.Go(func() (err error) {
			b.made[i], err = b.calls.make(ctx, i)
			return err
		})
	}
	return group.Wait()
}

func (b *bench) madeRow(from int, took time.Duration) string {
	var created, filled []time.Duration
	for _, m := range b.made[from:] {
		created, filled = append(created, m.created), append(filled, m.filled)
	}
	return fmt.Sprintf("%d to %d tenants | %.1f | %s | %s | %s | %s", from, len(b.made), float64(len(created))/took.Seconds(),
		ms(percentile(created, 50)), ms(percentile(created, 99)), ms(percentile(filled, 50)), ms(percentile(filled, 99)))
}

// settle waits until the maintenance of the new indexes is done, and writes everything to
// disk.
func (b *bench) settle(ctx context.Context) error {
	const patience = 10 * time.Minute
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		waiting, err := b.value(ctx, `SELECT count(*) FROM ragd.river_job WHERE state IN ('available', 'running', 'retryable', 'scheduled', 'pending')`)
		if err != nil {
			return err
		}
		if waiting == 0 {
			break
		}
	}
	_, err := b.pool.Exec(ctx, `CHECKPOINT`)
	return err
}

// diskRow returns what the tenants from the given number on occupy. size and files are
// those of the database before they were made.
func (b *bench) diskRow(ctx context.Context, from int, sizeBefore int64, filesBefore int) (string, error) {
	size, err := b.value(ctx, databaseSize)
	if err != nil {
		return "", err
	}
	has, err := b.value(ctx, `SELECT count(*) FROM pg_class AS c WHERE c.relnamespace = 'tenant_t00000'::regnamespace
		OR c.oid IN (SELECT unnest(array[t.reltoastrelid, x.indexrelid]) FROM pg_class AS t LEFT JOIN pg_index AS x ON x.indrelid = t.reltoastrelid
			WHERE t.relnamespace = 'tenant_t00000'::regnamespace AND t.reltoastrelid <> 0)`)
	if err != nil {
		return "", err
	}
	more := len(b.made) - from
	return fmt.Sprintf("%d to %d tenants | %s | %s | %.0f | %d", from, len(b.made), mb(size),
		kb(size-sizeBefore, more), float64(filesIn(b.daemon.Cluster())-filesBefore)/float64(more), has), nil
}

// memoryRow returns the memory of ragd and of the server.
func (b *bench) memoryRow(after string) string {
	var largest, largestPss, all int64
	connections := 0
	for _, p := range children(b.daemon.Postmaster()) {
		if p.client() {
			connections++
			largest, largestPss, all = max(largest, p.anon), max(largestPss, p.pss), all+p.pss
		}
	}
	return fmt.Sprintf("%d tenants %s | %s | %s | %d | %s (goal %s) | %s | %s", len(b.made), after, mb(b.daemon.PrivateMemory()), mb(b.heap.size()),
		connections, mb(largest), mb(goalBackend), mb(largestPss), mb(all))
}

// restart starts the service again and returns the time that it took.
func (b *bench) restart(ctx context.Context) (took time.Duration, err error) {
	b.pool.Close()
	if took, err = b.daemon.Restart(ctx); err != nil {
		return took, err
	}
	b.pool, err = openDatabase(ctx, b.daemon)
	return took, err
}

// idle measures the processor time of the service without calls.
func (b *bench) idle(ctx context.Context) error {
	if err := b.settle(ctx); err != nil {
		return err
	}
	// What autovacuum has to do for so many new tables takes it minutes.
	if _, err := b.pool.Exec(ctx, `VACUUM (ANALYZE)`); err != nil {
		return err
	}
	b.pool.Reset() // no connection of the bench
	ragd, server := b.daemon.CPU(), serverCPU(b.daemon.Postmaster())
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(b.options.idle):
	}
	ragd, server = b.daemon.CPU()-ragd, serverCPU(b.daemon.Postmaster())-server
	share := func(cpu time.Duration) string {
		return fmt.Sprintf("%.2f %%", 100*cpu.Seconds()/b.options.idle.Seconds())
	}
	printTable(fmt.Sprintf("idle with %d tenants, %v | of a core | goal |", b.tenants, b.options.idle), []string{
		"ragd | " + share(ragd) + " | ", "server | " + share(server) + " | ",
		fmt.Sprintf("together | %s | %.0f %%", share(ragd+server), 100*goalIdle),
	})
	return nil
}

func percentile(all []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func ms(d time.Duration) string    { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
func mb(n int64) string            { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }
func kb(n int64, among int) string { return fmt.Sprintf("%.1f kB", float64(n)/float64(among)/(1<<10)) }
func printTable(head string, rows []string) {
	columns := 0
	for _, c := range head {
		if c == '|' {
			columns++
		}
	}
	fmt.Printf("\n| %s\n|", head)
	for range columns {
		fmt.Print(" --- |")
	}
	fmt.Println()
	for _, row := range rows {
		fmt.Printf("| %s |\n", row)
	}
}
