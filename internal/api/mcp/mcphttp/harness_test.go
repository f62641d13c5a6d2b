package mcphttp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Callers in the tests: two users of one tenant and one of another. A token is "tenant
// subject".
const (
	alice = "acme alice"
	bob   = "acme bob"
	eve   = "globex eve"
)

// fakeAuthenticate accepts any token of the form "tenant subject".
func fakeAuthenticate(refuse func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			owner, subject, ok := strings.Cut(token, " ")
			switch {
			case token == "no tenant":
				owner = ""
			case token == "a panic":
				panic("postgres://user:hunter2@db")
			case token == "a denial":
				refuse(w, r, fault.New(fault.Denied, "only an operator may"))
				return
			case !ok:
				refuse(w, r, fault.New(fault.Unauthenticated, "a valid API key is needed"))
				return
			}
			id := tenant.ID(owner)
			request := &access.Request{Tenant: id, Principal: access.Principal{Subject: subject, Tenant: id, Scopes: []access.Scope{access.Read, access.Write}}}
			next.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), request)))
		})
	}
}

// world is a Handler over MCP servers with a few tools, one server per tenant.
type world struct {
	*Handler
	url     string
	http    *httptest.Server
	started chan string // receives the caller when the tool wait starts
	stopped chan string // receives the caller when the tool wait is cancelled
	release chan struct{}

	progress atomic.Int64 // notifications of progress that were written

	mu       sync.Mutex
	servers  map[tenant.ID]*server.MCPServer
	made     int
	sessions atomic.Int64 // sessions in the library

	subscriptions map[string]bool                                       // by session and URI
	announcers    map[string]func(method string, params map[string]any) // by session
}

// announce sends a notification that belongs to no call to the client of a session.
func (w *world) announce(session string, params map[string]any) {
	w.mu.Lock()
	send := w.announcers[session]
	w.mu.Unlock()
	send("notifications/x", params)
}

// subscribe notes a subscription of the session in ctx.
func (w *world) subscribe(ctx context.Context, uri string, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subscriptions[server.ClientSessionFromContext(ctx).SessionID()+" "+uri] = on
}

func (w *world) subscribed(session, uri string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.subscriptions[session+" "+uri]
}

func newWorld(t testing.TB, change func(*Config)) *world {
	t.Helper()
	w := &world{
		started: make(chan string, 100), stopped: make(chan string, 100), release: make(chan struct{}),
		servers: map[tenant.ID]*server.MCPServer{}, subscriptions: map[string]bool{}, announcers: map[string]func(string, map[string]any){},
	}
	cfg := Config{Authenticate: fakeAuthenticate, Server: w.server}
	if change != nil {
		change(&cfg)
	}
	var err error
	if w.Handler, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	logged := httpserver.Log(slog.New(slog.DiscardHandler), nil, nil)(w.Handler)
	w.http = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		logged.ServeHTTP(progressCounter{rw, &w.progress}, r)
	}))
	w.http.Config.Protocols = new(http.Protocols)
	w.http.Config.Protocols.SetHTTP1(true)
	w.http.Config.Protocols.SetUnencryptedHTTP2(true)
	w.http.Start()
	w.http.Client().Timeout = 2 * patience // no answer and no stream is waited for without end
	w.url = w.http.URL + Path
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_ = w.Shutdown(ctx) // tests may leave calls that never end
		w.http.Close()
	})
	return w
}

// end ends the handler, which must have answered all calls in time.
func (w *world) end(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// progressCounter counts the notifications of progress that are written.
type progressCounter struct {
	http.ResponseWriter
	written *atomic.Int64
}

func (c progressCounter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c progressCounter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.written.Add(int64(bytes.Count(p, []byte("notifications/progress"))))
	return n, err
}

func (w *world) server(id tenant.ID, name string) *server.MCPServer {
	hooks := &server.Hooks{}
	hooks.AddOnRegisterSession(func(ctx context.Context, session server.ClientSession) {
		w.sessions.Add(1)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.announcers[session.SessionID()] = Announcer(ctx)
	})
	hooks.AddOnUnregisterSession(func(context.Context, server.ClientSession) { w.sessions.Add(-1) })
	hooks.AddAfterSetLevel(func(ctx context.Context, _ any, req *mcpgo.SetLevelRequest, _ *mcpgo.EmptyResult) {
		if err := SetLevel(ctx, string(req.Params.Level)); err != nil {
			Fail(ctx, Failure{Message: err.Error()})
		}
	})
	hooks.AddBeforeSubscribe(func(ctx context.Context, _ any, req *mcpgo.SubscribeRequest) {
		w.subscribe(ctx, req.Params.URI, true)
		if err := Subscribe(ctx, req.Params.URI); err != nil {
			Fail(ctx, Failure{Message: err.Error()})
		}
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, req *mcpgo.UnsubscribeRequest, _ *mcpgo.EmptyResult) {
		w.subscribe(ctx, req.Params.URI, false)
		if err := Unsubscribe(ctx, req.Params.URI); err != nil {
			Fail(ctx, Failure{Message: err.Error()})
		}
	})
	s := server.NewMCPServer("test", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithLogging(), server.WithElicitation(), server.WithHooks(hooks))
	s.AddTool(mcpgo.NewTool("client"), func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		session := server.ClientSessionFromContext(ctx)
		level := session.(server.SessionWithLogging).GetLogLevel()
		info := session.(server.SessionWithClientInfo)
		return mcpgo.NewToolResultText(fmt.Sprintf("name %s, roots %t, level %s", info.GetClientInfo().Name, info.GetClientCapabilities().Roots != nil, level)), nil
	})
	s.AddTool(mcpgo.NewTool("ask"), func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		answer, err := s.RequestElicitation(ctx, mcpgo.ElicitationRequest{Params: mcpgo.ElicitationParams{
			Message: "Which colour?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
		}})
		if err != nil {
			return nil, err
		}
		return mcpgo.NewToolResultText(fmt.Sprintf("%s %v", answer.Action, answer.Content)), nil
	})
	s.AddTool(mcpgo.NewTool("whoami"), func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		r, _ := access.FromContext(ctx)
		return mcpgo.NewToolResultText(fmt.Sprintf("%s %s on %s", r.Tenant, r.Principal.Subject, strings.TrimSuffix(string(id)+"/"+name, "/"))), nil
	})
	s.AddTool(mcpgo.NewTool("wait"), func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		r, _ := access.FromContext(ctx)
		w.started <- r.Principal.Subject
		select {
		case <-ctx.Done():
			w.stopped <- r.Principal.Subject
			return nil, ctx.Err()
		case <-w.release:
			return mcpgo.NewToolResultText("done"), nil
		}
	})
	s.AddTool(mcpgo.NewTool("notify and wait"), func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": 1})
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			w.stopped <- "notified"
			return nil, ctx.Err()
		case <-w.release:
			return mcpgo.NewToolResultText("done"), nil
		}
	})
	s.AddTool(mcpgo.NewTool("progress"), func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		before := w.progress.Load()
		for i := range 3 {
			err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": req.Params.Meta.ProgressToken, "progress": i,
			})
			if err != nil {
				return nil, err
			}
		}
		// The library drops one that it is about to write when the call ends.
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if !wait.Until(ctx, func() bool { return w.progress.Load() >= before+3 }) {
			return nil, ctx.Err()
		}
		return mcpgo.NewToolResultText("done"), nil
	})
	s.AddTool(mcpgo.NewTool("notify in order"), func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		for i := range 100 {
			if !Notify(ctx, "notifications/progress", map[string]any{"progress": i, "progressToken": req.Params.Meta.ProgressToken}) {
				return nil, errors.New("there is no stream")
			}
		}
		return mcpgo.NewToolResultText("done"), nil
	})
	s.AddTool(mcpgo.NewTool("panic"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		panic("postgres://user:hunter2@db")
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[id] = s
	w.made++
	return s
}

// request builds a request of a caller; body may be nil.
func (w *world) request(ctx context.Context, verb, caller string, body any, header ...string) *http.Request {
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		raw, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		reader = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, verb, w.url, reader)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if caller != "" {
		r.Header.Set("Authorization", "Bearer "+caller)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// answer holds the status and header of a response.
type answer struct {
	StatusCode int
	Header     http.Header
}

// do sends a request and reads the whole response.
func (w *world) do(t testing.TB, r *http.Request) (answer, string) {
	t.Helper()
	res, err := w.http.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header}, string(body)
}

// send sends a request and ignores the response.
func (w *world) send(r *http.Request) {
	go func() {
		if res, err := w.http.Client().Do(r); err == nil {
			_ = res.Body.Close()
		}
	}()
}

// legacy returns a JSON-RPC request of a session-based revision.
func legacy(id any, method string, params map[string]any) map[string]any {
	m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		m["id"] = id
	}
	return m
}

// modern returns a JSON-RPC request of revision 2026-07-28, with its required headers.
func (w *world) modern(ctx context.Context, caller string, id any, method string, params map[string]any) *http.Request {
	if params == nil {
		params = map[string]any{}
	}
	meta := map[string]any{
		mcpgo.MetaKeyProtocolVersion:    mcpgo.ProtocolVersion20260728,
		mcpgo.MetaKeyClientCapabilities: map[string]any{},
	}
	if given, ok := params["_meta"].(map[string]any); ok {
		for k, v := range given {
			meta[k] = v
		}
	}
	params["_meta"] = meta
	header := []string{mcpgo.HeaderProtocolVersion, mcpgo.ProtocolVersion20260728, "Mcp-Method", method}
	if name, ok := params["name"].(string); ok {
		header = append(header, "Mcp-Name", name)
	}
	return w.request(ctx, http.MethodPost, caller, legacy(id, method, params), header...)
}

// open initializes a legacy session and returns its id.
func (w *world) open(t testing.TB, caller string) string {
	t.Helper()
	res, body := w.do(t, w.request(t.Context(), http.MethodPost, caller, legacy(1, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"},
	})))
	id := res.Header.Get(sessionHeader)
	if res.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("initialize: status %d, session %q: %s", res.StatusCode, id, body)
	}
	return id
}

func (w *world) call(ctx context.Context, caller, session string, id any, tool string) *http.Request {
	return w.request(ctx, http.MethodPost, caller, legacy(id, "tools/call", map[string]any{
		"name": tool, "_meta": map[string]any{"progressToken": caller},
	}), sessionHeader, session)
}

// events opens a stream, which ends with the test or the request's context, and returns
// its header and a channel of its lines. The channel closes with the stream.
func (w *world) events(t testing.TB, r *http.Request) (http.Header, <-chan string) {
	t.Helper()
	res, err := w.http.Client().Do(r) //nolint:bodyclose // the goroutine closes it
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("stream: status %d: %s", res.StatusCode, body)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer res.Body.Close()
		scanner := bufio.NewScanner(res.Body)
		for scanner.Scan() {
			if scanner.Text() != "" {
				lines <- scanner.Text()
			}
		}
	}()
	return res.Header, lines
}

// patience ends tests that would wait for ever: it is far longer than a busy machine needs.
const patience = 5 * time.Minute

// within fails the test if ch delivers nothing in time.
func within[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatalf("the end came before %s", what)
		}
		return v
	case <-time.After(patience):
		t.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}

// until receives from ch until a value contains text. It fails the test if that takes too long, whatever else arrives.
func until(t testing.TB, ch <-chan string, text, what string) {
	t.Helper()
	end := time.After(patience)
	for {
		select {
		case v, ok := <-ch:
			if strings.Contains(v, text) {
				return
			}
			if !ok {
				t.Fatalf("the stream ended before %s", what)
			}
		case <-end:
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// nothing fails the test if ch delivers something but comments within a short time.
func nothing[T any](t testing.TB, ch <-chan T, what string) {
	t.Helper()
	for end := time.After(100 * time.Millisecond); ; {
		select {
		case v, ok := <-ch:
			if !ok {
				t.Fatalf("%s: closed", what)
			}
			if any(v) != any(": keep-alive") { // one comes every 20 seconds
				t.Fatalf("%s: %v", what, v)
			}
		case <-end:
			return
		}
	}
}
