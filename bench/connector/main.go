// Command connector measures how fast connectors of several kinds fill an index from sources with the same rows, beside
// `ragd ingest` of these rows in the same run. It starts the given ragd on a data directory of its own.
//
//	go build -o bin/ragd ./cmd/ragd && go run ./bench/connector -ragd bin/ragd -rows 10000
//
// The sources are a table in the service's own PostgreSQL, a bucket of an S3 server of hack/testservers, a repository that
// git's own server serves, and a website without a delay, all on this machine. It prints a table in Markdown: rows/s until
// all documents are searchable, the time of the run, processor time, a second run that finds nothing new, and the largest
// memory of ragd until then.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/bench/internal/harness"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

type options struct {
	ragd  string
	rows  int
	kinds string
}

func main() {
	var o options
	harness.ProgramVar(&o.ragd)
	flag.IntVar(&o.rows, "rows", 10_000, "rows of each source")
	flag.StringVar(&o.kinds, "kinds", "postgres,s3,git,web", "kinds of connectors")
	harness.Main(func(ctx context.Context) error { return run(ctx, o) })
}

// arena is the service under test with a tenant.
type arena struct {
	options

	daemon     *daemon.Daemon
	key        string
	indexes    ragdv1connect.IndexServiceClient
	connectors ragdv1connect.ConnectorServiceClient
	secrets    ragdv1connect.SecretServiceClient
	texts      []string
}

func run(ctx context.Context, o options) error {
	d, err := harness.Start(ctx, daemon.Config{Program: o.ragd, Env: []string{"RAGD_ALLOWED_PRIVATE_NETWORKS=127.0.0.1", "RAGD_MASTER_KEY=" + strings.Repeat("1", 64)}})
	if err != nil {
		return err
	}
	defer d.Stop()
	a := &arena{options: o, daemon: d, texts: texts(o.rows)}
	if a.key, err = harness.Tenant(ctx, d, "bench"); err != nil {
		return err
	}
	client, key := harness.Connections(4), harness.WithKey(a.key)
	a.indexes = ragdv1connect.NewIndexServiceClient(client, d.URL(), key)
	a.connectors = ragdv1connect.NewConnectorServiceClient(client, d.URL(), key)
	a.secrets = ragdv1connect.NewSecretServiceClient(client, d.URL(), key)
	fmt.Printf("%d rows of about %d bytes; %s, %d CPUs\n\n", o.rows, len(a.texts[0]), runtime.GOARCH, runtime.NumCPU())
	fmt.Println("| source | rows/s | of ingest | seconds | of the run | CPU s: ragd | PostgreSQL | second run | rows/s | memory of ragd, peak |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	before := a.usage()
	ingested, err := a.ingest(ctx)
	if err != nil {
		return err
	}
	rate := float64(o.rows) / ingested.Seconds()
	fmt.Printf("| ragd ingest | %.0f | 1.00 | %.2f | | %s | | | %d MB |\n", rate, ingested.Seconds(), a.usage().since(before), d.PeakMemory()>>20)
	for _, kind := range strings.Split(o.kinds, ",") {
		make, ok := sources[kind]
		if !ok {
			return fmt.Errorf("unknown kind %q", kind)
		}
		if err := a.follow(ctx, kind, make, rate); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// usage is the processor time that was used until some moment, of ragd and of its PostgreSQL.
type usage struct{ ragd, database time.Duration }

func (a *arena) usage() usage { return usage{a.daemon.CPU(), a.daemon.DatabaseCPU()} }

// since returns two columns of the table.
func (u usage) since(before usage) string {
	return fmt.Sprintf("%.2f | %.2f", (u.ragd - before.ragd).Seconds(), (u.database - before.database).Seconds())
}

// texts returns short texts that differ.
func texts(n int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("pump valve order invoice pressure filter delivery engine manual warranty return customer price metre safety test index sensor winter battery cable")
	out := make([]string, n)
	for i := range out {
		chosen := make([]string, 20)
		for j := range chosen {
			chosen[j] = words[random.IntN(len(words))]
		}
		out[i] = fmt.Sprintf("Article %d. %s.", i, strings.Join(chosen, " "))
	}
	return out
}

// index creates an index with the built-in model, so that no other program computes.
func (a *arena) index(ctx context.Context, name string) error {
	_, err := a.indexes.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: name, EmbeddingModel: "builtin/hash-512"})
	return err
}

// ingest measures `ragd ingest` of the rows.
func (a *arena) ingest(ctx context.Context) (time.Duration, error) {
	path := filepath.Join(a.daemon.Dir, "rows.jsonl")
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	encoder := json.NewEncoder(file)
	for i, text := range a.texts {
		if err := encoder.Encode(map[string]string{"id": fmt.Sprint(i), "text": text}); err != nil {
			return 0, err
		}
	}
	if err := file.Close(); err != nil {
		return 0, err
	}
	if err := a.index(ctx, "ingest"); err != nil {
		return 0, err
	}
	command := exec.CommandContext(ctx, a.ragd, "ingest", "--index", "ingest", "--server", a.daemon.URL(), "--jsonl", path)
	command.Env = append(os.Environ(), "RAGD_API_KEY="+a.key, "XDG_CONFIG_HOME="+a.daemon.Dir)
	start := time.Now()
	output, err := command.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, output)
	}
	took := time.Since(start)
	_, err = a.indexes.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: "ingest"})
	return took, err
}

// follow measures a connector: its first run until all documents are searchable, and a run that finds nothing new.
func (a *arena) follow(ctx context.Context, kind string, source source, ingest float64) error {
	if err := a.index(ctx, kind); err != nil {
		return err
	}
	req, stop, err := source(ctx, a)
	if err != nil {
		return err
	}
	defer stop()
	req.ConnectorName, req.IndexName, req.MaxItems = kind, kind, int32(a.rows+10)
	start, before := time.Now(), a.usage()
	if _, err := a.connectors.CreateConnector(ctx, req); err != nil {
		return err
	}
	var first, searchable time.Duration
	if err := a.ended(ctx, kind); err != nil {
		return err
	}
	first = time.Since(start)
	err = until(ctx, func() (bool, error) {
		index, err := a.indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: kind})
		if n := index.GetDocumentCount(); err == nil && index.GetPendingDocumentCount() == 0 && int(n) < a.rows {
			err = fmt.Errorf("%d of %d documents are searchable", n, a.rows)
		}
		return index.GetPendingDocumentCount() == 0, err
	})
	if err != nil {
		return err
	}
	searchable = time.Since(start)
	used := a.usage().since(before)
	start = time.Now()
	if _, err := a.connectors.SyncConnector(ctx, &ragdv1.SyncConnectorRequest{ConnectorName: kind}); err != nil {
		return err
	}
	if err := a.ended(ctx, kind); err != nil {
		return err
	}
	second := time.Since(start)
	rate := float64(a.rows) / searchable.Seconds()
	fmt.Printf("| %s | %.0f | %.2f | %.2f | %.2f | %s | %.2f | %.0f | %d MB |\n", kind, rate, rate/ingest, searchable.Seconds(), first.Seconds(), used, second.Seconds(),
		float64(a.rows)/second.Seconds(), a.daemon.PeakMemory()>>20)
	_, err = a.connectors.DeleteConnector(ctx, &ragdv1.DeleteConnectorRequest{ConnectorName: kind})
	if err == nil {
		_, err = a.indexes.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: kind})
	}
	return err
}

// ended waits until a connector has nothing to do.
func (a *arena) ended(ctx context.Context, name string) error {
	return until(ctx, func() (bool, error) {
		c, err := a.connectors.GetConnector(ctx, &ragdv1.GetConnectorRequest{ConnectorName: name})
		done := c.GetNextRunTime() == nil && slices.Contains([]string{"succeeded", "failed"}, c.GetStatus())
		if err == nil && done && c.GetStatus() == "failed" {
			err = fmt.Errorf("the run failed: %s", c.GetError())
		}
		return done, err
	})
}

// until looks again and again until it is done or fails.
func until(ctx context.Context, look func() (done bool, err error)) (err error) {
	held := wait.Until(ctx, func() bool {
		var done bool
		done, err = look()
		return done || err != nil
	})
	if !held {
		return ctx.Err()
	}
	return err
}
