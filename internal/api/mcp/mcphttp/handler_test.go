package mcphttp

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.Gate = admission.New(admission.Config{MaxMessageBytes: 1000})
		c.PublicURL = "https://rag.example.com"
		c.Guard = guard(t, c.PublicURL, "https://app.example.com")
		c.Issuers = issuers(credential.Issuer{URL: "https://id.example.com", ScopePrefix: "ragd:"})
	})
	ping := legacy(1, "ping", nil)
	const metadata = `resource_metadata="https://rag.example.com/.well-known/oauth-protected-resource/mcp"`
	for _, tc := range []struct {
		name      string
		verb      string
		caller    string
		body      any
		header    []string
		status    int
		challenge string
		text      string
	}{
		{name: "no credential", status: 401, body: ping,
			challenge: `Bearer ` + metadata + `, scope="ragd:read ragd:write"`, text: "a valid API key is needed"},
		{name: "a bad credential", caller: "nonsense", status: 401, body: ping,
			challenge: `Bearer ` + metadata + `, scope="ragd:read ragd:write", error="invalid_token"`},
		{name: "no credential on GET", verb: "GET", status: 401, challenge: `Bearer ` + metadata + `, scope="ragd:read ragd:write"`},
		{name: "no credential on DELETE", verb: "DELETE", status: 401, challenge: `Bearer ` + metadata + `, scope="ragd:read ragd:write"`},
		{name: "a missing scope", caller: "a denial", body: ping, status: 403,
			challenge: `Bearer ` + metadata + `, error="insufficient_scope"`, text: "only an operator may"},
		{name: "an operator without a tenant", caller: "no tenant", body: ping, status: 400, text: "Ragd-Tenant: an operator"},
		{name: "a foreign page", caller: alice, body: ping, header: []string{"Origin", "https://evil.example"}, status: 403, text: "pages of this origin"},
		{name: "a foreign page on GET", verb: "GET", caller: alice, header: []string{"Origin", "https://evil.example"}, status: 403},
		{name: "a sandboxed page", caller: alice, body: ping, header: []string{"Origin", "null"}, status: 403},
		{name: "a page under an allowed name", caller: alice, body: ping, header: []string{"Origin", "https://app.example.com.evil.example"}, status: 403},
		{name: "a large body", caller: alice, body: strings.Repeat(" ", 1001), status: 413, text: "over the limit of 1000 bytes"},
		{name: "no JSON", caller: alice, body: "{", status: 400, text: "not a single JSON-RPC message"},
		{name: "a batch", caller: alice, body: "[]", status: 400, text: "not a single JSON-RPC message"},
		{name: "bad UTF-8", caller: alice, body: `{"method":"` + "\xff" + `"}`, status: 400, text: "not valid UTF-8"},
		{name: "another verb", verb: "PUT", caller: alice, body: ping, status: 405, text: "takes GET, POST and DELETE"},
		{name: "a panic in authentication", caller: "a panic", body: ping, status: 500, text: "internal error (request id "},
		{name: "a modern GET", verb: "GET", caller: alice, header: []string{"Mcp-Protocol-Version", "2026-07-28"}, status: 405},
		{name: "a modern DELETE", verb: "DELETE", caller: alice, header: []string{"Mcp-Protocol-Version", "2026-07-28"}, status: 405},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			verb := tc.verb
			if verb == "" {
				verb = http.MethodPost
			}
			res, body := w.do(t, w.request(t.Context(), verb, tc.caller, tc.body, tc.header...))
			if res.StatusCode != tc.status {
				t.Errorf("status %d, want %d", res.StatusCode, tc.status)
			}
			if diff := cmp.Diff(tc.challenge, res.Header.Get("WWW-Authenticate")); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(body, tc.text) {
				t.Errorf("%q is not in the answer: %s", tc.text, body)
			}
			if strings.Contains(body, "hunter2") || strings.Contains(body, ".go:") {
				t.Errorf("the answer shows internals: %s", body)
			}
			if res.Header.Get("X-Request-Id") == "" {
				t.Error("no request id")
			}
		})
	}
}

// A panic in a tool is answered.
func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	res, body := w.do(t, w.call(t.Context(), alice, w.open(t, alice), 1, "panic"))
	if res.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "internal error (request id ") || strings.Contains(body, "hunter2") {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
}

// guard returns a guard that allows pages of the origin.
func guard(t *testing.T, publicURL, origin string) *httpserver.Guard {
	t.Helper()
	g, err := httpserver.NewGuard(httpserver.GuardConfig{PublicURL: publicURL, AllowedOrigins: []string{origin}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestPagesOfAllowedOrigins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.PublicURL = "https://rag.example.com/"
		c.Guard = guard(t, c.PublicURL, "https://app.example.com")
	})
	for _, origin := range []string{"https://app.example.com", "https://rag.example.com", "http://localhost:6274", "http://127.0.0.1:80", "http://[::1]:3000"} {
		t.Run(origin, func(t *testing.T) {
			t.Parallel()
			res, _ := w.do(t, w.request(t.Context(), http.MethodOptions, "", nil, "Origin", origin,
				"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, mcp-param-region"))
			if res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Origin") != origin {
				t.Errorf("preflight: status %d, origin %q", res.StatusCode, res.Header.Get("Access-Control-Allow-Origin"))
			}
			allowed := strings.ToLower(res.Header.Get("Access-Control-Allow-Headers"))
			for _, header := range []string{"authorization", "mcp-protocol-version", "mcp-method", "mcp-session-id", "ragd-context", "mcp-param-region"} {
				if !strings.Contains(allowed, header) {
					t.Errorf("%s is not allowed: %s", header, allowed)
				}
			}
			res, _ = w.do(t, w.request(t.Context(), http.MethodPost, "", legacy(1, "ping", nil), "Origin", origin))
			if res.StatusCode != http.StatusUnauthorized || res.Header.Get("Access-Control-Allow-Origin") != origin ||
				!strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
				t.Errorf("a 401 that the page cannot read: %d %v", res.StatusCode, res.Header)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	id := credential.Issuer{URL: "https://id.example.com", ScopePrefix: "api://ragd/"}
	own := credential.Issuer{URL: "https://id.acme.example"}
	ofTenant := func(_ context.Context, named string) ([]credential.Issuer, error) {
		if named != "acme" {
			return nil, nil
		}
		return []credential.Issuer{own}, nil
	}
	document := func(path string, issuers ...credential.Issuer) map[string]any {
		d := map[string]any{"resource": "https://rag.example.com" + path, "resource_name": "ragd", "bearer_methods_supported": []any{"header"}}
		if strings.HasSuffix(path, "/front") {
			d["resource_name"] = "ragd front"
		}
		var urls []any
		for _, i := range issuers {
			urls = append(urls, i.URL)
		}
		d["authorization_servers"] = urls
		if len(issuers) == 1 {
			d["scopes_supported"] = []any{issuers[0].ScopePrefix + "read", issuers[0].ScopePrefix + "write"}
		}
		return d
	}
	for _, tc := range []struct {
		name   string
		path   string
		issuer func(context.Context, string) ([]credential.Issuer, error)
		want   map[string]any // nil: not found
	}{
		{"the root", "", issuers(id), document("/mcp", id)},
		{"the endpoint", "/mcp", issuers(id), document("/mcp", id)},
		{"a server", "/mcp/front", issuers(id), document("/mcp/front", id)},
		{"a tenant's endpoint", "/t/acme/mcp", ofTenant, document("/t/acme/mcp", own)},
		{"a tenant's server", "/t/acme/mcp/front", ofTenant, document("/t/acme/mcp/front", own)},
		{"a tenant without an issuer", "/t/globex/mcp", ofTenant, nil},
		{"several issuers with different scopes", "/mcp", issuers(id, own), document("/mcp", id, own)},
		{"with API keys alone", "/mcp", nil, nil},
		{"without issuers", "/mcp", issuers(), nil},
		{"another path", "/mcp/front/back", issuers(id), nil},
		{"a tenant without a name", "/t//mcp", issuers(id), nil},
		{"a page", "/healthz", issuers(id), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *Config) { c.PublicURL, c.Issuers = "https://rag.example.com/", tc.issuer })
			r := w.request(t.Context(), http.MethodGet, "", nil)
			r.URL.Path = metadataPath + tc.path
			res, body := w.do(t, r)
			if tc.want == nil {
				if res.StatusCode != http.StatusNotFound {
					t.Errorf("status %d: %s", res.StatusCode, body)
				}
				return
			}
			var got map[string]any
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// issuers returns a Config.Issuers with these for all resources.
func issuers(all ...credential.Issuer) func(context.Context, string) ([]credential.Issuer, error) {
	return func(context.Context, string) ([]credential.Issuer, error) { return all, nil }
}

// Without an issuer a client must not look for one: it would ask its user to log in, where only
// a key helps.
func TestNoMetadataIsOfferedWithoutAnIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for caller, want := range map[string]string{"": `Bearer realm="ragd"`, "nonsense": `Bearer realm="ragd", error="invalid_token"`} {
		res, _ := w.do(t, w.request(t.Context(), http.MethodPost, caller, legacy(1, "ping", nil)))
		if got := res.Header.Get("WWW-Authenticate"); res.StatusCode != http.StatusUnauthorized || got != want {
			t.Errorf("%q: %d %s, want %s", caller, res.StatusCode, got, want)
		}
	}
}

func TestTheAddressNamesTheTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.PublicURL = "https://rag.example.com"
		c.Issuers = func(_ context.Context, named string) ([]credential.Issuer, error) {
			if named != "acme" {
				return nil, nil
			}
			return []credential.Issuer{{URL: "https://id.acme.example"}}, nil
		}
	})
	ask := func(path string, header ...string) (int, string) {
		r := w.request(t.Context(), http.MethodPost, "", legacy(1, "ping", nil), header...)
		r.URL.Path = path
		res, _ := w.do(t, r)
		return res.StatusCode, res.Header.Get("WWW-Authenticate")
	}
	const own = `Bearer resource_metadata="https://rag.example.com/.well-known/oauth-protected-resource/t/acme/mcp", scope="read write"`
	for path, want := range map[string]string{"/mcp": `Bearer realm="ragd"`, "/t/acme/mcp": own, "/t/globex/mcp": `Bearer realm="ragd"`} {
		if status, got := ask(path); status != http.StatusUnauthorized || got != want {
			t.Errorf("%s: %d %s, want %s", path, status, got, want)
		}
	}
	if status, _ := ask("/t/acme/mcp", "Ragd-Tenant", "globex"); status != http.StatusBadRequest {
		t.Errorf("another tenant in the header: %d", status)
	}
	for _, path := range []string{"/t/acme/sse", "/t/acme/t/globex/mcp", "/t/acme", "/t/acme/.well-known/oauth-protected-resource"} {
		if status, _ := ask(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	valid := Config{Authenticate: fakeAuthenticate, Server: (&world{}).server}
	for name, change := range map[string]func(*Config){
		"no authentication": func(c *Config) { c.Authenticate = nil },
		"no server":         func(c *Config) { c.Server = nil },
		"a short key":       func(c *Config) { c.SessionKey = []byte("short") },
		"a bad address":     func(c *Config) { c.PublicURL = "rag.example.com" },
	} {
		cfg := valid
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestQuietStreamsAreKeptOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.KeepAlive = 10 * time.Millisecond })
	for name, r := range map[string]*http.Request{
		"GET":    w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, w.open(t, alice)),
		"listen": w.modern(t.Context(), alice, 1, "subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}}),
	} {
		header, lines := w.events(t, r)
		if header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s: X-Accel-Buffering is %q", name, header.Get("X-Accel-Buffering"))
		}
		for range 3 {
			until(t, lines, ": keep-alive", "a comment on "+name)
		}
	}
}

// An HTTP/2 write deadline applies to the whole stream: it must not end a silent one.
func TestStreamsOverHTTP2(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.KeepAlive, c.WriteTimeout = 400*time.Millisecond, 200*time.Millisecond })
	over := &http.Transport{Protocols: new(http.Protocols)}
	over.Protocols.SetUnencryptedHTTP2(true)
	w.http.Client().Transport = over
	t.Cleanup(over.CloseIdleConnections)
	_, body := w.do(t, w.modern(t.Context(), alice, 1, "tools/call", map[string]any{"name": "whoami"}))
	if !strings.Contains(body, "acme alice") {
		t.Error(body)
	}
	_, lines := w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, w.open(t, alice)))
	for range 3 {
		if line := within(t, lines, "a comment"); line != ": keep-alive" {
			t.Errorf("%q", line)
		}
	}
}

// A client that stops reading loses its stream and does not block the server.
func TestStalledClientsAreDisconnected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.KeepAlive = time.Millisecond
		c.WriteTimeout = 50 * time.Millisecond
	})
	id := w.open(t, alice)
	conn, err := net.Dial("tcp", w.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(1); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+alice+"\r\nMcp-Session-Id: "+id+"\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	streams := func() int64 { return w.Handler.servers.openStreams.Used("acme") }
	wait.For(t, "the stream to open", func() bool { return streams() == 1 })
	// Fill the buffers of the connection: list changes are sent to every session.
	go func() {
		for range 200_000 {
			if w.mu.TryLock() {
				w.servers["acme"].SendNotificationToAllClients("notifications/x", map[string]any{"pad": strings.Repeat("x", 10_000)})
				w.mu.Unlock()
			}
			if streams() == 0 {
				return
			}
		}
	}()
	wait.For(t, "the stream to be left", func() bool { return streams() == 0 })
}

// The write deadline of one response does not affect the next on the connection.
func TestConnectionOutlivesTheWriteDeadline(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	w := newWorld(t, func(c *Config) { c.WriteTimeout = timeout })
	w.do(t, w.modern(t.Context(), alice, 1, "tools/call", map[string]any{"name": "whoami"}))
	answered := time.Now()
	wait.For(t, "the deadline to pass", func() bool { return time.Since(answered) > timeout })
	r := w.request(t.Context(), http.MethodGet, "", nil)
	r.URL.Path = metadataPath // a handler that sets no deadline
	w.do(t, r)
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	t.Run("ends streams at once and waits for calls", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		_, get := w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, w.open(t, alice)))
		_, listen := w.events(t, w.modern(t.Context(), alice, 1, "subscriptions/listen", map[string]any{
			"notifications": map[string]any{"toolsListChanged": true},
		}))
		answer := make(chan string, 1)
		go func() {
			_, body := w.do(t, w.modern(t.Context(), bob, 1, "tools/call", map[string]any{"name": "wait"}))
			answer <- body
		}()
		within(t, w.started, "the call")
		ended := make(chan error, 1)
		go func() { ended <- w.Shutdown(t.Context()) }()
		for _, stream := range []<-chan string{get, listen} {
			for range stream { // drain until it is closed
			}
		}
		nothing(t, ended, "Shutdown did not wait for the call")
		res, _ := w.do(t, w.modern(t.Context(), eve, 1, "tools/list", nil))
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("a new request: status %d", res.StatusCode)
		}
		close(w.release)
		if body := within(t, answer, "the answer"); !strings.Contains(body, "done") {
			t.Errorf("the call in flight: %s", body)
		}
		if err := within(t, ended, "Shutdown"); err != nil {
			t.Error(err)
		}
	})
	t.Run("cancels calls at its deadline", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		status := make(chan int, 1)
		go func() {
			res, _ := w.do(t, w.modern(t.Context(), bob, 1, "tools/call", map[string]any{"name": "wait"}))
			status <- res.StatusCode
		}()
		within(t, w.started, "the call")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := w.Shutdown(ctx); err == nil {
			t.Error("Shutdown reported no error")
		}
		within(t, w.stopped, "the end of the call")
		if got := within(t, status, "the answer"); got != http.StatusServiceUnavailable {
			t.Errorf("status %d, want 503", got)
		}
	})
}

// Not parallel, because it counts the goroutines of the process.
func TestNoGoroutineIsLeftBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("work", func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.KeepAlive = time.Millisecond })
		for range 5 {
			for _, caller := range []string{alice, bob, eve} {
				session := w.open(t, caller)
				w.events(t, w.request(t.Context(), http.MethodGet, caller, nil, sessionHeader, session))
				w.do(t, w.call(t.Context(), caller, session, 1, "progress"))
				w.events(t, w.modern(t.Context(), caller, 1, "subscriptions/listen", map[string]any{
					"notifications": map[string]any{"toolsListChanged": true},
				}))
				w.do(t, w.modern(t.Context(), caller, 1, "tools/call", map[string]any{"name": "panic"}))
			}
		}
		w.end(t)
	})
	wait.Goroutines(t, before, nil)
}
