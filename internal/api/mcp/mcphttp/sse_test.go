package mcphttp

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// sse opens a stream of the legacy transport and returns the address for messages, and a
// channel of the data on it.
func (w *world) sse(t *testing.T, ctx context.Context, caller string) (string, <-chan string) { //nolint:revive // the test comes first
	t.Helper()
	r := w.request(ctx, http.MethodGet, caller, nil)
	r.URL.Path = SSEPath
	_, lines := w.events(t, r)
	if line := within(t, lines, "the first event"); line != "event: endpoint" {
		t.Fatal(line)
	}
	return strings.TrimPrefix(within(t, lines, "the address"), "data: "), lines
}

// post sends a message to the address of a session.
func (w *world) post(t *testing.T, caller, address string, body any) (answer, string) {
	t.Helper()
	r := w.request(t.Context(), http.MethodPost, caller, body)
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(address, "?")
	return w.do(t, r)
}

func TestSSE(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.LegacySSE = true })
	address, lines := w.sse(t, t.Context(), alice)
	ask := func(id any, method string, params map[string]any) string {
		t.Helper()
		if res, body := w.post(t, alice, address, legacy(id, method, params)); res.StatusCode != http.StatusAccepted {
			t.Fatalf("%s: status %d: %s", method, res.StatusCode, body)
		}
		if line := within(t, lines, "the answer to "+method); line != "event: message" {
			t.Fatal(line)
		}
		return within(t, lines, "the data of "+method)
	}
	hello := ask(1, "initialize", map[string]any{
		"protocolVersion": "2024-11-05", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"},
	})
	if !strings.Contains(hello, `"protocolVersion":"2024-11-05"`) {
		t.Error(hello)
	}
	if who := ask(2, "tools/call", map[string]any{"name": "whoami"}); !strings.Contains(who, "acme alice on acme") {
		t.Error(who)
	}
	// A message with malformed content is answered on the stream, too.
	if bad := ask(3, "no/such", nil); !strings.Contains(bad, `"id":3`) || !strings.Contains(bad, "error") {
		t.Error(bad)
	}

	t.Run("a panic is answered and affects no other call", func(t *testing.T) {
		w.post(t, alice, address, legacy(4, "tools/call", map[string]any{"name": "panic"}))
		if who := ask(5, "tools/call", map[string]any{"name": "whoami"}); strings.Contains(who, "hunter2") {
			t.Error(who)
		}
	})
	t.Run("others cannot use the session", func(t *testing.T) {
		for _, other := range []string{bob, eve} {
			if res, _ := w.post(t, other, address, legacy(9, "ping", nil)); res.StatusCode != http.StatusNotFound {
				t.Errorf("%s: status %d", other, res.StatusCode)
			}
		}
		nothing(t, lines, "another's message was answered on the stream")
	})
	t.Run("rejected requests", func(t *testing.T) {
		if res, _ := w.post(t, "", address, legacy(9, "ping", nil)); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("no credential: status %d", res.StatusCode)
		}
		if res, _ := w.post(t, alice, MessagePath, legacy(9, "ping", nil)); res.StatusCode != http.StatusBadRequest {
			t.Errorf("no session: status %d", res.StatusCode)
		}
		if res, _ := w.post(t, alice, MessagePath+"?sessionId="+w.open(t, alice), legacy(9, "ping", nil)); res.StatusCode != http.StatusNotFound {
			t.Errorf("a session without a stream: status %d", res.StatusCode)
		}
		if res, _ := w.post(t, alice, address, "{"); res.StatusCode != http.StatusBadRequest {
			t.Errorf("no JSON: status %d", res.StatusCode)
		}
	})
}

func TestSSEEndsWithItsStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.LegacySSE = true })
	ctx, leave := context.WithCancel(t.Context())
	address, lines := w.sse(t, ctx, alice)
	w.post(t, alice, address, legacy(1, "tools/call", map[string]any{"name": "wait"}))
	within(t, w.started, "the call")
	leave()
	within(t, w.stopped, "the end of the call")
	for range lines {
	}
	wait.For(t, "the session to end", func() bool { return w.sessions.Load() == 0 })
	if res, _ := w.post(t, alice, address, legacy(2, "ping", nil)); res.StatusCode != http.StatusNotFound {
		t.Errorf("the session goes on: status %d", res.StatusCode)
	}

	t.Run("shutdown ends it", func(t *testing.T) {
		_, lines := w.sse(t, t.Context(), alice)
		w.end(t)
		for range lines {
		}
	})
}

func TestSSEIsOffByDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for verb, path := range map[string]string{http.MethodGet: SSEPath, http.MethodPost: MessagePath} {
		r := w.request(t.Context(), verb, alice, nil)
		r.URL.Path = path
		if res, _ := w.do(t, r); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", path, res.StatusCode)
		}
	}
}
