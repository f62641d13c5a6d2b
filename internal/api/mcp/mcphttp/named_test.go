package mcphttp

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// newNamed returns a world in which acme has the servers front and back, and globex has front.
func newNamed(t *testing.T, change func(*Config)) *world {
	t.Helper()
	return newWorld(t, func(c *Config) {
		c.LegacySSE = true
		c.Enter = func(ctx context.Context, name string) (context.Context, error) {
			r, _ := access.FromContext(ctx)
			if name != "" && !slices.Contains([]string{"acme front", "acme back", "globex front"}, string(r.Tenant)+" "+name) {
				return ctx, fault.New(fault.NotFound, "server not found")
			}
			through := *r
			through.Server = name
			return access.NewContext(ctx, &through), nil
		}
		if change != nil {
			change(c)
		}
	})
}

// at directs a request to a server, whose name is not escaped.
func at(r *http.Request, server string) *http.Request {
	r.URL.Path += "/" + server
	return r
}

// openAt opens a session on a server.
func (w *world) openAt(t *testing.T, caller, server string) string {
	t.Helper()
	r := w.request(t.Context(), http.MethodPost, caller, legacy(1, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"},
	}))
	res, body := w.do(t, at(r, server))
	if res.StatusCode != http.StatusOK || res.Header.Get(sessionHeader) == "" {
		t.Fatalf("initialize: status %d: %s", res.StatusCode, body)
	}
	return res.Header.Get(sessionHeader)
}

func TestNamedServersAreSeparate(t *testing.T) {
	t.Parallel()
	w := newNamed(t, nil)
	sessions := map[string]string{}
	for _, server := range []string{"front", "back"} {
		sessions[server] = w.openAt(t, alice, server)
		if _, body := w.do(t, at(w.call(t.Context(), alice, sessions[server], 2, "whoami"), server)); !strings.Contains(body, "acme alice on acme/"+server) {
			t.Errorf("%s: %s", server, body)
		}
	}
	foreign := w.openAt(t, eve, "front")
	for name, tc := range map[string]struct{ caller, session, server string }{
		"the session of another server":        {alice, sessions["front"], "back"},
		"the session of another tenant":        {alice, foreign, "front"},
		"the session of another caller":        {bob, sessions["front"], "front"},
		"the session of the default server":    {alice, w.open(t, alice), "front"},
		"a session on another tenant's server": {eve, sessions["front"], "front"},
	} {
		for _, verb := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			var body any
			if verb == http.MethodPost {
				body = legacy(3, "tools/call", map[string]any{"name": "whoami"})
			}
			r := at(w.request(t.Context(), verb, tc.caller, body, sessionHeader, tc.session), tc.server)
			if res, body := w.do(t, r); res.StatusCode != http.StatusNotFound || !strings.Contains(body, "session not found") {
				t.Errorf("%s: %s: status %d: %s", name, verb, res.StatusCode, body)
			}
		}
	}
	if res, body := w.do(t, w.call(t.Context(), alice, sessions["front"], 4, "whoami")); res.StatusCode != http.StatusNotFound {
		t.Errorf("a session on the default server: status %d: %s", res.StatusCode, body)
	}
}

// What does not exist, what another tenant has and what is not a name get the same answer.
func TestUnknownServersAreNotFound(t *testing.T) {
	t.Parallel()
	w := newNamed(t, nil)
	modern := func(caller, server string) (answer, string) {
		return w.do(t, at(w.modern(t.Context(), caller, 1, "tools/call", map[string]any{"name": "whoami"}), server))
	}
	if _, body := modern(eve, "front"); !strings.Contains(body, "globex eve on globex/front") {
		t.Errorf("the server of the same name: %s", body)
	}
	_, unknown := modern(eve, "nowhere")
	for _, server := range []string{"back", "Front", "front%", "a b", "...", "front\x00"} {
		if res, body := modern(eve, server); res.StatusCode != http.StatusNotFound || body != unknown || !strings.Contains(body, `"jsonrpc":"2.0"`) {
			t.Errorf("%q: status %d: %s", server, res.StatusCode, body)
		}
	}
	for _, path := range []string{"/mcp/front%2f..%2fback", "/mcp/%2e%2e%2fmcp", "/mcp/front%2fback"} {
		r := w.modern(t.Context(), eve, 1, "tools/call", map[string]any{"name": "whoami"})
		r.URL.Path, r.URL.RawPath = strings.NewReplacer("%2f", "/", "%2e", ".").Replace(path), path
		if res, body := w.do(t, r); res.StatusCode == http.StatusOK {
			t.Errorf("%s: status %d: %s", path, res.StatusCode, body)
		}
	}
	for _, path := range []string{"/mcp/front/", "/mcp/front/more", "/mcp/"} {
		r := w.modern(t.Context(), eve, 1, "tools/call", map[string]any{"name": "whoami"})
		r.URL.Path = path
		if res, body := w.do(t, r); res.StatusCode != http.StatusNotFound || !strings.Contains(body, `"jsonrpc":"2.0"`) {
			t.Errorf("%s: status %d: %s", path, res.StatusCode, body)
		}
	}
	if res, _ := w.do(t, at(w.request(t.Context(), http.MethodPost, "", legacy(1, "ping", nil)), "front")); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a credential: status %d", res.StatusCode)
	}
}

func TestNamedServersOverSSE(t *testing.T) {
	t.Parallel()
	w := newNamed(t, nil)
	r := at(w.request(t.Context(), http.MethodGet, alice, nil), "front")
	r.URL.Path = SSEPath + "/front"
	_, lines := w.events(t, r)
	within(t, lines, "the first event")
	address := strings.TrimPrefix(within(t, lines, "the address"), "data: ")
	if !strings.HasPrefix(address, MessagePath+"/front?sessionId=") {
		t.Fatal(address)
	}
	ask := legacy(2, "tools/call", map[string]any{"name": "whoami"})
	for _, other := range []string{MessagePath, MessagePath + "/back"} {
		if res, body := w.post(t, alice, strings.Replace(address, MessagePath+"/front", other, 1), ask); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d: %s", other, res.StatusCode, body)
		}
	}
	w.post(t, alice, address, ask)
	within(t, lines, "the event")
	if who := within(t, lines, "the answer"); !strings.Contains(who, "acme alice on acme/front") {
		t.Error(who)
	}
}

// All servers of a tenant share the number of sessions that it may have.
func TestSessionsOfAllServersAreLimitedTogether(t *testing.T) {
	t.Parallel()
	w := newNamed(t, func(c *Config) { c.MaxSessions = 3 })
	for _, server := range []string{"front", "back", "front", "back", "front"} {
		w.openAt(t, alice, server)
	}
	if open := w.sessionsOf("acme"); open != 3 {
		t.Errorf("%d sessions are open", open)
	}
	w.openAt(t, eve, "front")
}

func (w *world) sessionsOf(id tenant.ID) (open int) {
	w.Handler.servers.mu.Lock()
	defer w.Handler.servers.mu.Unlock()
	for _, s := range w.Handler.servers.byID[id] {
		open += len(s.sessions.open)
	}
	return open
}

// A stream ends when its server is deleted.
func TestStreamsEndWithTheirServer(t *testing.T) {
	t.Parallel()
	var deleted atomic.Bool
	w := newNamed(t, func(c *Config) {
		enter := c.Enter
		c.Enter = func(ctx context.Context, name string) (context.Context, error) {
			if deleted.Load() && name == "back" {
				return ctx, fault.New(fault.NotFound, "server not found")
			}
			return enter(ctx, name)
		}
		c.Recheck = func(context.Context, http.Header) error { return nil }
		c.RecheckEvery = 5 * time.Millisecond
	})
	get := func(server string) <-chan string {
		_, lines := w.events(t, at(w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, w.openAt(t, alice, server)), server))
		return lines
	}
	front, back := get("front"), get("back")
	deleted.Store(true)
	for range back { // until it is closed
	}
	select {
	case line, open := <-front:
		if !open {
			t.Errorf("the stream of another server ended: %s", line)
		}
	default:
	}
}
