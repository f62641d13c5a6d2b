// Command keyword measures keyword search over many passages: it starts the given ragd on a
// data directory, loads made-up passages whose words are as frequent as those of English
// texts, and asks questions with one client.
//
//	go build -o bin/ragd ./cmd/ragd
//	go run ./bench/keyword -ragd bin/ragd -passages 91000
//	go run ./bench/keyword -ragd bin/ragd -passages 1000000 -dir /var/tmp/million -keep
//
// It prints what the load cost and took on the disk, and for each kind of question the
// times, the processor time of PostgreSQL and of ragd, the fraction of answers that are
// reported as exact and the agreement of their first 10 sources with the ranking of all
// passages by BM25, which it computes in PostgreSQL. With -keep the data stay, and the next
// run with the same -dir asks at once. -churn updates a fraction of the passages before the
// questions.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/bench/internal/harness"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
)

// options are the flags of a run.
type options struct {
	ragd      string
	passages  int
	questions int
	compared  int
	churn     float64
	dir       string
	keep      bool
}

func main() {
	var o options
	harness.ProgramVar(&o.ragd)
	flag.IntVar(&o.passages, "passages", 91_000, "passages to load")
	flag.IntVar(&o.questions, "questions", 500, "questions of each kind")
	flag.IntVar(&o.compared, "compared", 30, "questions of each kind whose answers are compared with the ranking of all passages")
	flag.Float64Var(&o.churn, "churn", 0, "fraction of the passages to replace before the questions")
	flag.StringVar(&o.dir, "dir", "", "data directory (default a temporary one)")
	flag.BoolVar(&o.keep, "keep", false, "keep the data directory")
	harness.Main(func(ctx context.Context) error { return measure(ctx, o) })
}

// arena is the service under test with a tenant and an index.
type arena struct {
	options
	daemon   *daemon.Daemon
	database *pgx.Conn
	vectors  ragdv1connect.VectorServiceClient
	queries  ragdv1connect.QueryServiceClient
	indexes  ragdv1connect.IndexServiceClient
}

const (
	tenantID  = "bench"
	indexName = "passages"
)

// measure starts the service, loads the passages unless they are there, and asks.
func measure(ctx context.Context, o options) error {
	_, err := os.Stat(filepath.Join(o.dir, "postgres"))
	loaded := o.dir != "" && err == nil
	d, err := harness.Start(ctx, daemon.Config{Program: o.ragd, Dir: o.dir, Keep: o.keep})
	if err != nil {
		return err
	}
	defer d.Stop()
	a := &arena{options: o, daemon: d}
	if err := a.connect(ctx, loaded); err != nil {
		return err
	}
	defer a.database.Close(context.WithoutCancel(ctx))
	if !loaded {
		if err := a.load(ctx); err != nil {
			return err
		}
	}
	if o.churn > 0 {
		if err := a.replace(ctx); err != nil {
			return err
		}
	}
	return a.ask(ctx)
}

// connect creates the tenant and its index unless they exist, and clients for them.
func (a *arena) connect(ctx context.Context, loaded bool) (err error) {
	if a.database, err = pgx.Connect(ctx, a.daemon.DatabaseURL()); err != nil {
		return err
	}
	_, err = a.database.Exec(ctx, `SELECT set_config('search_path', extnamespace::regnamespace::text, false) FROM pg_extension WHERE extname = 'vector'`)
	if err != nil {
		return err
	}
	newKey := harness.Tenant
	if loaded {
		newKey = harness.Key
	}
	key, err := newKey(ctx, a.daemon, tenantID)
	if err != nil {
		return err
	}
	as := harness.WithKey(key)
	a.vectors = ragdv1connect.NewVectorServiceClient(http.DefaultClient, a.daemon.URL(), as)
	a.queries = ragdv1connect.NewQueryServiceClient(http.DefaultClient, a.daemon.URL(), as)
	a.indexes = ragdv1connect.NewIndexServiceClient(http.DefaultClient, a.daemon.URL(), as)
	if loaded {
		return nil
	}
	_, err = a.indexes.CreateIndex(ctx, &ragdv1.CreateIndexRequest{
		TextLanguage: textLanguage,
		IndexName:    indexName, Dimension: dimension, IndexConfig: &ragdv1.IndexConfig{Type: "flat"},
	})
	return err
}

// usage is what was used until some moment.
type usage struct {
	at             time.Time
	ragd, database time.Duration // processor time
}

func (a *arena) usage() usage {
	return usage{at: time.Now(), ragd: a.daemon.CPU(), database: a.daemon.DatabaseCPU()}
}

// since returns what was used after before, as text.
func (u usage) since(before usage) string {
	return fmt.Sprintf("%.1f s, CPU s: ragd %.1f, PostgreSQL %.1f", u.at.Sub(before.at).Seconds(),
		(u.ragd - before.ragd).Seconds(), (u.database - before.database).Seconds())
}
