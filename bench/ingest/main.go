// Command ingest measures `ragd ingest`: it starts the given ragd on a data directory of
// its own, runs the command of the same program as a user would, and accounts for the
// processor time of the client, of ragd and of PostgreSQL, and for the bytes of the
// write-ahead log.
//
//	go build -o bin/ragd ./cmd/ragd
//	go run ./bench/ingest -ragd bin/ragd -corpus corpus.jsonl.gz    # new, then unchanged documents
//	go run ./bench/ingest -ragd bin/ragd                            # made-up passages of rare words
//	go run ./bench/ingest -ragd bin/ragd -corpus corpus.jsonl.gz -bytes 1000000000
//
// It prints rows of Markdown, one for each run into a fresh index and one for the same
// documents again. With -bytes it repeats the corpus, in documents of 4 kB and under other
// ids, until that many bytes of text have gone through one `ragd ingest` with one upload
// stream at a time. It prints the memory of ragd every ten seconds and whether all
// documents are ready at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/bench/internal/harness"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
)

// options are the flags of a run.
type options struct {
	ragd       string
	corpus     string
	runs       int
	bytes      int64
	workers    int
	statements bool
}

func main() {
	var o options
	harness.ProgramVar(&o.ragd)
	flag.StringVar(&o.corpus, "corpus", "", "file of JSON Lines, gzip or not (default made-up passages of rare words)")
	flag.IntVar(&o.runs, "runs", 3, "fresh indexes to ingest into")
	flag.Int64Var(&o.bytes, "bytes", 0, "bytes of text to send through one stream, instead of runs")
	flag.IntVar(&o.workers, "workers", 0, "ingest workers of ragd (default its own)")
	flag.BoolVar(&o.statements, "statements", false, "print the statements that took the most time; needs pg_stat_statements")
	harness.Main(func(ctx context.Context) error { return measure(ctx, o) })
}

// measure starts the service and measures what the options say.
func measure(ctx context.Context, o options) error {
	var args []string
	if o.workers > 0 {
		args = append(args, "--ingest-workers", fmt.Sprint(o.workers))
	}
	d, err := harness.Start(ctx, daemon.Config{Program: o.ragd, Args: args})
	if err != nil {
		return err
	}
	defer d.Stop()
	if o.statements {
		if err := recordStatements(ctx, d); err != nil {
			return err
		}
	}
	a := &arena{options: o, daemon: d}
	if a.key, err = harness.Tenant(ctx, d, "bench"); err != nil {
		return err
	}
	if a.database, err = pgx.Connect(ctx, d.DatabaseURL()); err != nil {
		return err
	}
	defer a.database.Close(context.WithoutCancel(ctx))
	docs, err := load(o.corpus)
	if err != nil {
		return err
	}
	if o.bytes > 0 {
		return a.stream(ctx, docs)
	}
	return a.repeat(ctx, docs)
}

// arena is the service under test with a tenant.
type arena struct {
	options
	daemon   *daemon.Daemon
	database *pgx.Conn
	key      string
}

// recordStatements makes PostgreSQL record the time of statements, for which the service
// starts it again.
func recordStatements(ctx context.Context, d *daemon.Daemon) error {
	if err := execute(ctx, d, "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'"); err != nil {
		return err
	}
	if err := syscall.Kill(d.Postmaster(), syscall.SIGINT); err != nil {
		return err
	}
	time.Sleep(time.Second)
	const patience = time.Minute
	if !d.AwaitReady(ctx, patience) {
		return errors.New("PostgreSQL did not start again")
	}
	return execute(ctx, d, "CREATE EXTENSION pg_stat_statements",
		"ALTER SYSTEM SET pg_stat_statements.track = 'all'", // those of triggers too
		"SELECT pg_reload_conf()")
}

func execute(ctx context.Context, d *daemon.Daemon, statements ...string) error {
	conn, err := pgx.Connect(ctx, d.DatabaseURL())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
