package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/forward"
	"github.com/ragdhq/ragd/internal/service/testing/long"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// balancer is a proxy that passes requests on, in turn, to the instances that are ready.
type balancer struct {
	*httptest.Server
	ready []atomic.Bool
	turn  atomic.Uint64
}

const probeInterval = 50 * time.Millisecond

func newBalancer(t *testing.T, instances ...*home) *balancer {
	t.Helper()
	b := &balancer{ready: make([]atomic.Bool, len(instances))}
	var proxies []http.Handler
	for i, instance := range instances {
		address, err := url.Parse("http://" + instance.listen)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(address)
		proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 20}
		proxy.FlushInterval = -1
		proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
		proxies = append(proxies, forward.Handler(proxy))
		go b.probe(t.Context(), i, address.JoinPath("readyz").String())
	}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn := b.turn.Add(1)
		for i := range instances {
			if at := (int(turn) + i) % len(instances); b.ready[at].Load() {
				proxies[at].ServeHTTP(w, r)
				return
			}
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(b.CloseClientConnections)
	return b
}

// probe asks one instance, until ctx ends, whether it is ready.
func (b *balancer) probe(ctx context.Context, i int, address string) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	pace := time.NewTicker(probeInterval)
	defer pace.Stop()
	for ; ctx.Err() == nil; <-pace.C {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return
		}
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		b.ready[i].Store(err == nil && res.StatusCode == http.StatusOK)
	}
}

// load counts what clients did, each of which repeats its calls while they are unavailable.
type load struct {
	t       *testing.T
	end     chan struct{}
	group   sync.WaitGroup
	retries atomic.Int64
	mu      sync.Mutex
	done    map[string]int // calls that succeeded, by kind
}

// again calls do until the load ends. do gets the number of the call, and is repeated with
// the same number while it fails with unavailable.
func (l *load) again(kind string, do func(n int) error) {
	l.group.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-l.end:
				return
			default:
			}
			err := do(n)
			wait.For(l.t, "an answer to "+kind, func() bool {
				if err == nil || connect.CodeOf(err) != connect.CodeUnavailable {
					return true
				}
				l.retries.Add(1)
				err = do(n)
				return false
			})
			if err != nil {
				l.t.Errorf("%s %d: %v", kind, n, err)
				return
			}
			l.mu.Lock()
			l.done[kind]++
			l.mu.Unlock()
		}
	})
}

// kinds are the kinds of calls that the load makes.
var kinds = []string{"upsert", "query", "upload", "mcp", "mcp session"}

// goOn waits until several more calls of each kind have succeeded, or one has failed.
func (l *load) goOn() {
	l.t.Helper()
	l.mu.Lock()
	before := maps.Clone(l.done)
	l.mu.Unlock()
	wait.For(l.t, "more calls of each kind", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.t.Failed() || !slices.ContainsFunc(kinds, func(kind string) bool { return l.done[kind] < before[kind]+5 })
	})
}

// Three instances behind a proxy are restarted in turn under load. Clients that repeat calls
// that are unavailable see no other error, no write is done twice, no event is missed, and sessions
// of MCP go on.
func TestRestartsUnderLoad(t *testing.T) {
	long.Only(t)
	t.Parallel()
	needsDatabase(t)
	for name, delay := range map[string]string{"after a delay": "300ms", "at once": "0s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			restartUnderLoad(t, delay)
		})
	}
}

// restartUnderLoad restarts instances with this drain-delay. If it is longer than the proxy takes to
// notice that an instance is not ready, hardly a call has to be repeated.
func restartUnderLoad(t *testing.T, delay string) {
	restarts := 2
	if os.Getenv("RAGD_TEST_HUGE") != "" {
		restarts = 10
	}
	database := externalServer(t)
	a, b, c := newHome(t), newHome(t), newHome(t)
	a.shell(`psql -c 'CREATE DATABASE shared' "$POSTGRES"`, "POSTGRES="+database(superuser, "postgres"))
	instances := []*home{a, b, c}
	for _, h := range instances {
		h.use(database, superuser, superuser, "shared")
		h.env = append(h.env, "RAGD_DRAIN_DELAY="+delay)
	}
	services := []*exec.Cmd{a.serve(), b.serve(), c.serve()}
	a.ragd("tenant", "create", "acme")
	_, secret, _ := strings.Cut(a.ragd("key", "create", "--tenant", "acme", "--scopes", "admin"), "secret")
	proxy := newBalancer(t, instances...)
	client := (&servicetest.Service{URL: proxy.URL}).Client(strings.Fields(secret)[0])
	wait.For(t, "an index through the proxy", func() bool {
		_, err := client.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs"})
		return err == nil
	})
	if _, err := client.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "vectors", Dimension: 2}); err != nil {
		t.Fatal(err)
	}

	l := &load{t: t, end: make(chan struct{}), done: map[string]int{}}
	watch := l.watch(client)
	for range 2 {
		l.again("upsert", func(n int) error { // without an id: doing it twice adds two
			_, err := client.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "vectors", Entries: []*ragdv1.Entry{{Values: []float32{1, float32(n)}}}})
			return err
		})
		l.again("query", func(int) error {
			_, err := client.Query(t.Context(), &ragdv1.QueryRequest{IndexName: "vectors", QueryVector: []float32{1, 1}})
			return err
		})
	}
	l.again("upload", func(n int) error {
		_, err := client.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: fmt.Sprint("doc-", n), Source: &ragdv1.UploadDocumentRequest_Text{Text: fmt.Sprintf("Entry %d of the log.", n)},
		})
		<-time.After(20 * time.Millisecond)
		return err
	})
	session := l.session(proxy.URL+"/mcp", client.Secret)
	l.again("mcp", func(int) error { <-time.After(5 * time.Millisecond); return session.call() })
	l.again("mcp session", func(int) error { return l.session(proxy.URL+"/mcp", client.Secret).end() })

	for range restarts {
		for i, h := range instances {
			l.goOn()
			stop(t, services[i], syscall.SIGTERM)
			services[i] = h.serve()
		}
	}
	l.goOn()
	close(l.end)
	l.group.Wait()
	for _, kind := range kinds {
		if l.done[kind] == 0 {
			t.Errorf("no call of %s succeeded", kind)
		}
	}
	t.Logf("calls: %v, retries: %d", l.done, l.retries.Load())

	vectors, err := client.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "vectors"})
	if err != nil {
		t.Fatal(err)
	}
	if int(vectors.Count) != l.done["upsert"] {
		t.Errorf("%d vectors are stored, but %d were acknowledged", vectors.Count, l.done["upsert"])
	}
	seen := watch(l.done["upload"])
	for uri, times := range seen {
		if times != 1 {
			t.Errorf("the event that %s is ready came %d times", uri, times)
		}
	}
	if len(seen) != l.done["upload"] {
		t.Errorf("events of %d documents came, want %d", len(seen), l.done["upload"])
	}
	for _, h := range instances {
		h.awaitReady()
	}
	index, err := client.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	if i := index; int(i.DocumentCount) != l.done["upload"] || i.Count != i.DocumentCount || i.PendingDocumentCount+i.FailedDocumentCount != 0 {
		t.Errorf("after %d uploads the index is %v", l.done["upload"], i)
	}
}

// watch follows the events of documents, and continues after the last one when the stream
// is ended by unavailable. The returned function waits until so many documents are ready.
func (l *load) watch(client servicetest.Client) (seen func(documents int) map[string]int) {
	ctx, cancel := context.WithCancel(l.t.Context())
	var mu sync.Mutex
	uris, cursor, ended := map[string]int{}, "", make(chan struct{})
	opened := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			stream, err := client.WatchEvents(ctx, &ragdv1.WatchEventsRequest{Types: []string{"document.ready"}, Cursor: cursor})
			for err == nil && stream.Receive() {
				if cursor == "" {
					close(opened)
				}
				cursor = stream.Msg().GetCursor()
				if e := stream.Msg().GetEvent(); e != nil {
					mu.Lock()
					uris[e.GetData().GetFields()["uri"].GetStringValue()]++
					mu.Unlock()
				}
			}
			if err == nil {
				err = stream.Err()
				_ = stream.Close()
			}
			if err != nil && ctx.Err() == nil && connect.CodeOf(err) != connect.CodeUnavailable {
				l.t.Errorf("watching events: %v", err)
				return
			}
			<-time.After(20 * time.Millisecond)
		}
	}()
	<-opened
	return func(documents int) map[string]int {
		wait.For(l.t, "the events of all documents", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(uris) >= documents
		})
		cancel()
		<-ended
		return maps.Clone(uris)
	}
}

// mcpSession is a session of MCP.
type mcpSession struct {
	load            *load
	address, secret string
	id              string
}

// session opens a session of MCP, and repeats that while it is unavailable.
func (l *load) session(address, secret string) *mcpSession {
	s := &mcpSession{load: l, address: address, secret: secret}
	open := func() error {
		return s.send(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	}
	var failed error
	wait.For(l.t, "a session", func() bool {
		failed = open()
		return failed == nil || connect.CodeOf(failed) != connect.CodeUnavailable
	})
	if failed != nil || s.id == "" {
		l.t.Errorf("session %q: %v", s.id, failed)
	}
	return s
}

// call calls a tool in the session.
func (s *mcpSession) call() error {
	return s.send(http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_indexes","arguments":{}}}`)
}

// end sets the level of log messages, calls a tool and ends the session.
func (s *mcpSession) end() error {
	for _, body := range []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`} {
		if err := s.send(http.MethodPost, body); err != nil {
			return err
		}
	}
	if err := s.call(); err != nil {
		return err
	}
	return s.send(http.MethodDelete, "")
}

func (s *mcpSession) send(verb, body string) error {
	req, err := http.NewRequestWithContext(s.load.t.Context(), verb, s.address, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + s.secret}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if s.id != "" {
		req.Header.Set("Mcp-Session-Id", s.id)
		req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return connect.NewError(connect.CodeUnavailable, err)
	case res.StatusCode == http.StatusBadGateway || res.StatusCode == http.StatusServiceUnavailable:
		return connect.NewError(connect.CodeUnavailable, errors.New(res.Status))
	case res.StatusCode/100 != 2 || strings.Contains(string(answer), `"id":2,"error"`) || strings.Contains(string(answer), `"isError":true`):
		return fmt.Errorf("%s: %s", res.Status, answer)
	}
	if s.id == "" {
		s.id = res.Header.Get("Mcp-Session-Id")
	}
	return nil
}
