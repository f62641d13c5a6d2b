package service_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/faultproxy"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

const (
	// callPatience is the deadline of each call of the load.
	callPatience = 5 * time.Second
	// promptly is how long after its deadline a call may end on a busy machine.
	promptly = time.Minute
	// writers is how many clients of each tenant write at once, each its own documents.
	writers = 2
	// uris is how many documents a writer has.
	uris = 5
)

// faultTime returns how long each fault lasts: 1.5 s, or a minute if RAGD_TEST_HUGE is set.
func faultTime() time.Duration {
	if os.Getenv("RAGD_TEST_HUGE") != "" {
		return time.Minute
	}
	return 1500 * time.Millisecond
}

// typed are the codes that a caller may get while the database fails.
var typed = []connect.Code{connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeResourceExhausted, connect.CodeAborted, connect.CodeCanceled}

// load writes and reads as several clients of two tenants, and remembers what was acknowledged.
type load struct {
	t *testing.T

	mu sync.Mutex
	// acknowledged has the texts that each document may have: one that was acknowledged, and those
	// whose upload failed after it. The empty text is a document that is deleted.
	acknowledged map[string]map[string][]string // by tenant and uri
	calls        int
	failed       map[connect.Code]int
	failedWrites int
	slowest      time.Duration
}

// done counts a call and checks its error. It reports whether the call was acknowledged.
func (l *load) done(what string, began time.Time, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	l.slowest = max(l.slowest, time.Since(began))
	if err == nil {
		return true
	}
	code := connect.CodeOf(err)
	l.failed[code]++
	if what != "VectorQuery" {
		l.failedWrites++
	}
	if !slices.Contains(typed, code) {
		l.t.Errorf("%s: %v", what, err)
	}
	return false
}

// succeeded returns the number of calls that were acknowledged.
func (l *load) succeeded() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	succeeded := l.calls
	for _, n := range l.failed {
		succeeded -= n
	}
	return succeeded
}

// wrote remembers an attempt to give a document a text, "" to delete it.
func (l *load) wrote(tenant, uri, text string, acknowledged bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	allowed, written := l.acknowledged[tenant][uri]
	switch {
	case acknowledged:
		allowed = []string{text}
	case !written: // no document yet
		allowed = []string{"", text}
	default:
		allowed = append(allowed, text)
	}
	l.acknowledged[tenant][uri] = allowed
}

// write writes the documents of one writer, one after the other, until ctx ends.
func (l *load) write(ctx context.Context, tenant string, writer int, c servicetest.Client) {
	for n := 0; ctx.Err() == nil; n++ {
		uri := fmt.Sprintf("%d-%d", writer, n%uris)
		text := fmt.Sprintf("The %s harbour of writer %d has %d trees and a lighthouse.", tenant, writer, n)
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
		began := time.Now()
		if n%7 == 6 {
			_, err := c.DeleteDocument(call, &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: uri})
			if connect.CodeOf(err) == connect.CodeNotFound { // an earlier attempt may have deleted it
				err = nil
			}
			l.wrote(tenant, uri, "", l.done("DeleteDocument", began, err))
		} else {
			_, err := c.UploadDocument(call, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text(text)})
			l.wrote(tenant, uri, text, l.done("UploadDocument", began, err))
		}
		cancel()
	}
}

// read searches until ctx ends. What it finds is the tenant's own.
func (l *load) read(ctx context.Context, tenant string, c servicetest.Client) {
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for ; ctx.Err() == nil; <-pace.C {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
		began := time.Now()
		found, err := c.VectorQuery(call, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour with trees"})
		if l.done("VectorQuery", began, err) {
			for _, s := range found.Sources {
				if !strings.Contains(s.Document, " "+tenant+" ") {
					l.t.Errorf("%s finds %q", tenant, s.Document)
				}
			}
		}
		cancel()
	}
}

// stored returns the texts of the documents of a tenant, by uri, once none is pending.
func stored(t *testing.T, c servicetest.Client) map[string]string {
	t.Helper()
	for range wait.Poll(t, "the documents to be ready") {
		texts, waiting := map[string]string{}, ""
		list, err := c.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", PageSize: 1000})
		if err != nil {
			waiting = err.Error()
		}
		for _, d := range list.GetDocuments() {
			if d.Status == "deleting" {
				waiting = d.Uri + " is being deleted"
				continue
			}
			if d.Status != "ready" {
				waiting = d.Uri + " is " + d.Status + " " + d.Error
				continue
			}
			chunks, err := c.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
			must(t, err)
			if _, twice := texts[d.Uri]; twice || len(chunks.Chunks) != 1 {
				t.Fatalf("%s is stored twice, or has %d chunks", d.Uri, len(chunks.Chunks))
			}
			texts[d.Uri] = chunks.Chunks[0].Text
		}
		if waiting == "" {
			return texts
		}
	}
	return nil
}

// trouble is something that happens to a service.
type trouble struct {
	name       string
	begin, end func()
	writesGoOn bool // no upload and no deletion fails
}

// endure lets troubles happen to a service under load, one after the other, and then compares what it
// has with what it acknowledged and with a service of the config to which nothing happened.
func endure(t *testing.T, s *servicetest.Service, config service.Config, troubles []trouble) {
	t.Helper()
	clients := map[string]servicetest.Client{}
	for _, tenant := range []string{"acme", "bolt"} {
		clients[tenant] = s.Tenant(t, tenant)
		clients[tenant].Index(t, "docs")
	}
	l := &load{t: t, acknowledged: map[string]map[string][]string{"acme": {}, "bolt": {}}, failed: map[connect.Code]int{}}
	for _, f := range troubles {
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for tenant, c := range clients {
			for writer := range writers {
				group.Go(func() { l.write(ctx, tenant, writer, c) })
			}
			group.Go(func() { l.read(ctx, tenant, c) })
		}
		<-time.After(faultTime() / 3)
		wait.For(t, "a call that succeeds before "+f.name, func() bool { return l.succeeded() > 0 })
		f.begin()
		<-time.After(faultTime())
		f.end()
		<-time.After(faultTime() / 3)
		cancel()
		group.Wait()
		wait.For(t, "readiness", func() bool { status, _ := readiness(t, s); return status == http.StatusOK })
		t.Logf("%s: %d calls, failed %v, the slowest took %v", f.name, l.calls, l.failed, l.slowest.Round(time.Millisecond))
		if l.slowest > callPatience+promptly {
			t.Errorf("%s: a call took %v", f.name, l.slowest)
		}
		if f.writesGoOn && l.failedWrites > 0 {
			t.Errorf("%s: %d writes failed", f.name, l.failedWrites)
		}
		l.calls, l.failed, l.failedWrites, l.slowest = 0, map[connect.Code]int{}, 0, 0
	}
	twin := servicetest.New(t, config)
	for tenant, c := range clients {
		texts := stored(t, c)
		for uri, allowed := range l.acknowledged[tenant] {
			if !slices.Contains(allowed, texts[uri]) {
				t.Errorf("%s: %s is %q, want one of %q", tenant, uri, texts[uri], allowed)
			}
		}
		same := twin.Tenant(t, tenant)
		same.Index(t, "docs")
		for uri, text := range texts {
			same.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text(text)})
		}
		for _, mode := range []string{"vector", "keyword", "hybrid"} {
			if got, want := found(t, c, mode), found(t, same, mode); !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n%s\nan undisturbed service answers\n%s", tenant, mode, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		described, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
		must(t, err)
		if int(described.DocumentCount) != len(texts) || int(described.Count) != len(texts) {
			t.Errorf("%s: the index counts %v documents and %v chunks, but has %d", tenant, described.DocumentCount, described.Count, len(texts))
		}
	}
}

// found returns everything that a search of a mode finds, with its score.
func found(t *testing.T, c servicetest.Client, mode string) (all []string) {
	t.Helper()
	topK := int32(100)
	answer, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "lighthouse with 3 trees", SearchMode: mode, TopK: &topK})
	must(t, err)
	for _, s := range answer.Sources {
		all = append(all, fmt.Sprintf("%s %s %.4f", s.Uri, s.Document, s.Score))
	}
	slices.Sort(all)
	return all
}

// Whatever happens between the service and its database, what was acknowledged is kept, nothing is
// stored twice, no tenant sees another's documents, calls end soon with an error that says whether to
// try again, and afterwards the service answers as one to which nothing happened.
func TestFaultsOfTheNetworkLoseNothing(t *testing.T) {
	t.Parallel()
	admin := pgtest.Pool(t)
	proxy := faultproxy.New(t, admin)
	s, err := service.New(t.Context(), service.Config{
		AdminPool: admin, Pool: proxy.Pool(t, pgtest.ServicePool(t, admin)), Listen: "127.0.0.1:0", OperatorKey: servicetest.OperatorKey,
		Logger: slog.New(slog.DiscardHandler), Workers: 2,
	})
	must(t, err)
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		stop()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	<-s.Events.Ready()
	var troubles []trouble
	for _, f := range faultproxy.All {
		troubles = append(troubles, trouble{name: f.Name, begin: func() { proxy.Begin(t, f) }, end: func() { proxy.End(t) }})
	}
	endure(t, &servicetest.Service{Service: s, URL: s.URL()}, service.Config{}, troubles)
}

// The same holds for a server that is killed, restarted or has no connections left.
func TestFaultsOfTheDatabaseLoseNothing(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Default(); err != nil {
		t.Skip(err)
	}
	quiet := embedded.Config{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Settings: map[string]string{"max_connections": "40"}}
	server, err := embedded.Start(t.Context(), quiet)
	must(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	s := runService(t, service.Config{
		DatabaseURL: server.URL(), DatabaseAdminURL: server.AdminURL(), Logger: slog.New(slog.DiscardHandler), Workers: 2,
	})
	restart := func() {
		t.Helper()
		var err error
		server, err = embedded.Start(context.WithoutCancel(t.Context()), quiet)
		must(t, err)
	}
	var taken []*pgx.Conn
	endure(t, s, service.Config{}, []trouble{
		{name: "the server is stopped", begin: func() { must(t, server.Stop(t.Context())) }, end: restart},
		{name: "the server is killed", begin: func() {
			raw, err := os.ReadFile(filepath.Join(quiet.DataDir, "cluster", "postmaster.pid"))
			must(t, err)
			pid, err := strconv.Atoi(strings.SplitN(string(raw), "\n", 2)[0])
			must(t, err)
			must(t, syscall.Kill(pid, syscall.SIGKILL)) // the service starts it again
		}, end: func() {}},
		{name: "all connections are ended", begin: func() {
			conn, err := pgx.Connect(t.Context(), server.AdminURL())
			must(t, err)
			defer func() { must(t, conn.Close(context.WithoutCancel(t.Context()))) }()
			_, err = conn.Exec(t.Context(), `DO $$ DECLARE pid int; BEGIN FOR pid IN SELECT a.pid FROM pg_stat_activity AS a WHERE a.pid <> pg_backend_pid() AND a.backend_type = 'client backend' LOOP PERFORM pg_terminate_backend(pid); END LOOP; END $$`)
			must(t, err)
		}, end: func() {}},
		{name: "no connections are left", begin: func() {
			for {
				conn, err := pgx.Connect(t.Context(), server.AdminURL())
				if err != nil {
					break
				}
				taken = append(taken, conn)
			}
		}, end: func() {
			for _, conn := range taken {
				must(t, conn.Close(context.WithoutCancel(t.Context())))
			}
		}},
	})
}
