package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/api/mcp/stdio"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/forward"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func config(address, secret string) stdio.Config {
	return stdio.Config{URL: address, Client: &http.Client{}, Sign: func(h http.Header) { h.Set("Authorization", "Bearer "+secret) }}
}

// ask writes messages to standard input and returns the output.
func ask(t *testing.T, cfg stdio.Config, messages ...string) string {
	t.Helper()
	var out strings.Builder // written under a lock
	if err := stdio.Serve(t.Context(), cfg, strings.NewReader(strings.Join(messages, "\n")+"\n"), &out); err != nil {
		t.Error(err)
	}
	return out.String()
}

// connect starts a client that has the connection as its server, and returns its notifications: a
// method, and a URI if there is one.
func connect(t *testing.T, cfg stdio.Config, era string) (*client.Client, <-chan string) {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- stdio.Serve(ctx, cfg, toServer, fromServer) }()
	c := client.NewClient(transport.NewIO(toClient, fromClient, io.NopCloser(strings.NewReader(""))), mcptest.Eras[era]...)
	t.Cleanup(func() {
		_ = fromClient.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		cancel()
		_ = toClient.Close()
	})
	notified := make(chan string, 100)
	c.OnNotification(func(n mcpgo.JSONRPCNotification) {
		uri, _ := n.Params.AdditionalFields["uri"].(string)
		notified <- strings.TrimSpace(n.Method + " " + uri)
	})
	mcptest.Initialize(t, c)
	return c, notified
}

// await waits for a notification.
func await(t *testing.T, notified <-chan string, want string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case one := <-notified:
			if one == want {
				return
			}
		case <-limit:
			t.Fatalf("not told of %s", want)
		}
	}
}

// pass makes prompts until a client is told of one: its stream is open then, and it was told of all that
// happened before. It returns what the client was told.
func pass(t *testing.T, c servicetest.Client, notified <-chan string) (told []string) {
	t.Helper()
	const prompts, often = "notifications/prompts/list_changed", 300 * time.Millisecond
	for heard := 0; heard < 2; { // the first may be told of with others, in any order
		name := "pass_" + strconv.FormatInt(time.Now().UnixNano(), 36)
		_, err := c.CreatePrompt(t.Context(), &ragdv1.CreatePromptRequest{PromptName: name, Messages: []*ragdv1.PromptMessage{{Role: "user", Content: &ragdv1.PromptMessage_Text{Text: "hi"}}}})
		if err != nil {
			t.Fatal(err)
		}
		for again := time.After(often); again != nil; {
			select {
			case one := <-notified:
				if told = append(told, one); one == prompts {
					heard++
					again = nil
				}
			case <-again:
				again = nil
			}
		}
	}
	return slices.DeleteFunc(told, func(one string) bool { return one == prompts })
}

// All requests are answered when a script closes the input after sending them, also without a
// handshake.
func TestRequestsAreAnsweredBeforeTheEnd(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	var messages []string
	for id := range 5 {
		messages = append(messages, fmt.Sprintf(`{"jsonrpc":"2.0","id":"n%d","method":"tools/list"}`, id), "")
	}
	out := ask(t, config(s.URL+mcphttp.Path, acme.Secret), messages...)
	for id := range 5 {
		if !strings.Contains(out, fmt.Sprintf(`"id":"n%d"`, id)) {
			t.Errorf("request %d was not answered", id)
		}
	}
	if lines := strings.Count(out, "\n"); lines != 5 || !strings.Contains(out, `"vector_query"`) {
		t.Errorf("%d lines for 5 requests", lines)
	}
}

func TestNonsenseIsAnswered(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	for _, tc := range []struct{ message, want string }{
		{`{`, `"code":-32700`},
		{`[]`, `"code":-32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `"code":-32601`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"none","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, `task \"none\" not found`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
	} {
		if out := ask(t, config(s.URL+mcphttp.Path, acme.Secret), tc.message); !strings.Contains(out, tc.want) || tc.want == "" && out != "" {
			t.Errorf("%s: %s", tc.message, out)
		}
	}
	out := ask(t, config(s.URL+mcphttp.Path, "wrong"), `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
	if !strings.Contains(out, `"id":7`) || !strings.Contains(out, "API key is not valid") {
		t.Errorf("with a wrong key: %s", out)
	}
}

// Clients find the tools of the server that they name, and are told of its changes and of those of
// resources.
func TestClientsOfANamedServer(t *testing.T) {
	t.Parallel()
	for era := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{})
			acme := s.Tenant(t, "acme")
			acme.Index(t, "docs")
			_, err := acme.CreateServer(t.Context(), &ragdv1.CreateServerRequest{
				ServerName: "front", Tools: &ragdv1.AllowedNames{Names: []string{"vector_query"}}, Presented: []*ragdv1.PresentedTool{{ToolName: "vector_query", Name: "ask"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			c, notified := connect(t, config(s.URL+mcphttp.Path+"/front", acme.Secret), era)
			list, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
			if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "ask" {
				t.Fatalf("tools: %v, %v", list, err)
			}
			if result, text := mcptest.Call(t, c, "ask", map[string]any{"queryText": "a"}, map[string]any{"progressToken": "p"}); result.IsError {
				t.Error(text)
			}
			const indexes = "ragd://indexes"
			if era == "modern" {
				_, err = c.ListenAsync(t.Context(), mcpgo.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{indexes}}, nil)
			} else {
				var req mcpgo.SubscribeRequest
				req.Params.URI = indexes
				err = c.Subscribe(t.Context(), req)
			}
			if err != nil {
				t.Fatal(err)
			}
			pass(t, acme, notified)
			if _, err := acme.UpdateServer(t.Context(), &ragdv1.UpdateServerRequest{ServerName: "front", AllTools: true}); err != nil {
				t.Fatal(err)
			}
			await(t, notified, "notifications/tools/list_changed")
			acme.Index(t, "more")
			await(t, notified, "notifications/resources/updated "+indexes)
		})
	}
}

// A client with a bound key hears of its own index alone.
func TestBoundClientsHearOfWhatTheyMayUse(t *testing.T) {
	t.Parallel()
	for era := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{NoWorkers: true})
			acme := s.Tenant(t, "acme")
			bound := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}})
			c, notified := connect(t, config(s.URL+mcphttp.Path, bound), era)
			if era == "modern" {
				if _, err := c.ListenAsync(t.Context(), mcpgo.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}, nil); err != nil {
					t.Fatal(err)
				}
			}
			pass(t, acme, notified)
			acme.Index(t, "secret")
			for _, one := range pass(t, acme, notified) {
				if strings.HasSuffix(one, "changed") {
					t.Errorf("told of %s by another index", one)
				}
			}
			acme.Index(t, "docs")
			await(t, notified, "notifications/tools/list_changed")
		})
	}
}

// proxy passes requests on to a service, and can lose its sessions and connections.
type proxy struct {
	*httptest.Server
	lost atomic.Pointer[string] // session that the service has forgotten
	gets atomic.Int32
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	upstream := httputil.NewSingleHostReverseProxy(target)
	upstream.FlushInterval = -1
	onward := forward.Handler(upstream)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost := p.lost.Load(); lost != nil && r.Header.Get("Mcp-Session-Id") == *lost {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if r.Method == http.MethodGet {
			p.gets.Add(1)
		}
		onward.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// A client does not notice that the service has forgotten its session, or that the connection was
// lost: it is told that lists may have changed, and its subscriptions hold.
func TestLostSessionsAndConnectionsAreRestored(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	p := newProxy(t, s.URL)
	var session atomic.Value
	cfg := config(p.URL+mcphttp.Path, acme.Secret)
	sign := cfg.Sign
	cfg.Sign = func(h http.Header) {
		sign(h)
		if id := h.Get("Mcp-Session-Id"); id != "" {
			session.Store(id)
		}
	}
	c, notified := connect(t, cfg, "legacy")
	var req mcpgo.SubscribeRequest
	req.Params.URI = "ragd://indexes"
	if err := c.Subscribe(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the stream", func() bool { return p.gets.Load() > 0 })
	first := session.Load().(string)
	p.lost.Store(&first)
	if list, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{}); err != nil || len(list.Tools) == 0 {
		t.Fatalf("after the session was lost: %v", err)
	}
	if session.Load() == first {
		t.Error("the lost session is still used")
	}
	await(t, notified, "notifications/tools/list_changed")
	pass(t, acme, notified)
	acme.Index(t, "docs")
	await(t, notified, "notifications/resources/updated ragd://indexes")

	gets := p.gets.Load()
	p.CloseClientConnections()
	wait.For(t, "another stream", func() bool { return p.gets.Load() > gets })
	pass(t, acme, notified)
	acme.Index(t, "more")
	await(t, notified, "notifications/resources/updated ragd://indexes")
}

// waiting is an endpoint that answers initialize, and no call until its client leaves.
func waiting(t *testing.T) (address string, called, left <-chan string) {
	t.Helper()
	calls, leaves := make(chan string, 10), make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, m.ID)
		case "tools/call":
			calls <- m.Method
			<-r.Context().Done()
			leaves <- m.Method
		default:
			calls <- m.Method
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, calls, leaves
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestCancellation(t *testing.T) {
	t.Parallel()
	for era, meta := range map[string]string{"modern": "," + modernMeta, "legacy": ""} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			address, called, left := waiting(t)
			in, write := io.Pipe()
			var out strings.Builder
			ended := make(chan error, 1)
			go func() { ended <- stdio.Serve(t.Context(), config(address, ""), in, &out) }()
			send := func(line string) {
				t.Helper()
				if _, err := io.WriteString(write, line+"\n"); err != nil {
					t.Error(err)
				}
			}
			send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"` + meta + `}}`)
			<-called
			send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1` + meta + `}}`)
			if era == "legacy" {
				if method := <-called; method != "notifications/cancelled" {
					t.Errorf("passed on: %s", method)
				}
			}
			<-left
			_ = write.Close()
			if err := <-ended; err != nil || out.String() != "" {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
}

func TestItEndsWithItsContextAndItsOutput(t *testing.T) {
	t.Parallel()
	address, called, _ := waiting(t)
	in, write := io.Pipe()
	defer write.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- stdio.Serve(ctx, config(address, ""), in, io.Discard) }()
	if _, err := io.WriteString(write, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-called
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	in, write = io.Pipe()
	defer write.Close()
	broken, other := io.Pipe()
	_ = broken.Close()
	go func() { ended <- stdio.Serve(t.Context(), config(address, ""), in, other) }()
	if _, err := io.WriteString(write, "{\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestLongLinesAreRefused(t *testing.T) {
	t.Parallel()
	err := stdio.Serve(t.Context(), config("http://127.0.0.1:1", ""), bufio.NewReader(io.LimitReader(endless{}, 40<<20)), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "over the limit") {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestCheck(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	if err := stdio.Check(t.Context(), config(s.URL+mcphttp.Path, acme.Secret)); err != nil {
		t.Error(err)
	}
	var refused *stdio.RefusalError
	if err := stdio.Check(t.Context(), config(s.URL+mcphttp.Path+"/nowhere", acme.Secret)); !errors.As(err, &refused) || refused.Status != http.StatusNotFound || !strings.Contains(refused.Message, "server not found") {
		t.Errorf("a server that does not exist: %v", err)
	}
	if err := stdio.Check(t.Context(), config("http://127.0.0.1:1/mcp", "")); err == nil || errors.As(err, &refused) && refused.Status == 0 {
		t.Errorf("nothing at the address: %v", err)
	}
}
