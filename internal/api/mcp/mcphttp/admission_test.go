package mcphttp

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// Requests under a foreign host name get an answer of the protocol.
func TestForeignHostNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for host, status := range map[string]int{"localhost:8484": 200, "evil.example:8484": 403} {
		r := w.modern(t.Context(), alice, 1, "tools/call", map[string]any{"name": "whoami"})
		r.Host = host
		res, body := w.do(t, r)
		if res.StatusCode != status || !strings.Contains(body, `"jsonrpc"`) {
			t.Errorf("%s: status %d, want %d: %s", host, res.StatusCode, status, body)
		}
	}
}

// A tenant over its rate is told when to retry, with all its credentials; another tenant is
// not affected.
func TestRequestRate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Gate = admission.New(admission.Config{RequestsPerSecond: 1}) })
	call := func(caller string) (answer, string) {
		return w.do(t, w.modern(t.Context(), caller, 1, "tools/call", map[string]any{"name": "whoami"}))
	}
	for i := range 2 {
		if res, body := call(alice); res.StatusCode != http.StatusOK {
			t.Fatalf("request %d: status %d: %s", i, res.StatusCode, body)
		}
	}
	res, body := call(alice)
	if wait, err := strconv.Atoi(res.Header.Get("Retry-After")); res.StatusCode != http.StatusTooManyRequests || err != nil || wait != 1 {
		t.Errorf("status %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	if !strings.Contains(body, "more than 1 requests a second") {
		t.Error(body)
	}
	if res, _ := call(bob); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("another credential of the tenant: status %d", res.StatusCode)
	}
	if res, body := call(eve); res.StatusCode != http.StatusOK {
		t.Errorf("another tenant: status %d: %s", res.StatusCode, body)
	}
}

// Stateless mode shares nothing between requests: no session ids, no streams to read, no
// cancellation, no progress of other calls.
func TestStateless(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Stateless = true })
	res, body := w.do(t, w.request(t.Context(), http.MethodPost, alice, legacy(1, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"},
	})))
	if res.StatusCode != http.StatusOK || res.Header.Get(sessionHeader) != "" {
		t.Fatalf("initialize: status %d, session %q: %s", res.StatusCode, res.Header.Get(sessionHeader), body)
	}
	if res, body := w.do(t, w.call(t.Context(), alice, "", 1, "whoami")); res.StatusCode != http.StatusOK || !strings.Contains(body, "acme alice") {
		t.Errorf("a call: status %d: %s", res.StatusCode, body)
	}
	for _, verb := range []string{http.MethodGet, http.MethodDelete} {
		if res, _ := w.do(t, w.request(t.Context(), verb, alice, nil)); res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", verb, res.StatusCode)
		}
	}
	for _, other := range []string{bob, eve} {
		w.send(w.call(t.Context(), alice, "", 7, "wait"))
		within(t, w.started, "the call")
		res, _ := w.do(t, w.request(t.Context(), http.MethodPost, other, legacy(nil, "notifications/cancelled", map[string]any{"requestId": 7})))
		if res.StatusCode != http.StatusAccepted {
			t.Errorf("%s cancels: status %d", other, res.StatusCode)
		}
		nothing(t, w.stopped, other+" cancelled alice's call")
	}
	if _, body := w.do(t, w.call(t.Context(), bob, "", 7, "progress")); strings.Count(body, `"progressToken":"acme bob"`) != 3 || strings.Contains(body, "alice") {
		t.Errorf("progress: %s", body)
	}
	if left := w.sessions.Load(); left != 0 {
		t.Errorf("the library knows of %d sessions", left)
	}
}

// Large requests take memory of their own tenant, and wait a short time for it.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.Gate = admission.New(admission.Config{MaxMemory: 16 << 20, MaxMessageBytes: 2 << 20})
	}) // 6 MiB for a tenant
	padded := func(caller, tool string) *http.Request {
		return w.modern(t.Context(), caller, 1, "tools/call", map[string]any{
			"name": tool, "arguments": map[string]any{"padding": strings.Repeat("x", 768<<10)},
		})
	}
	for range 2 {
		w.send(padded(alice, "wait"))
		within(t, w.started, "the call")
	}
	if res, body := w.do(t, padded(bob, "whoami")); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("one more of the tenant: status %d: %s", res.StatusCode, body)
	}
	small := w.modern(t.Context(), bob, 1, "tools/call", map[string]any{"name": "whoami"})
	for name, r := range map[string]*http.Request{"a small one": small, "one of another tenant": padded(eve, "whoami")} {
		if res, body := w.do(t, r); res.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d: %s", name, res.StatusCode, body)
		}
	}
	close(w.release)
	if res, body := w.do(t, padded(alice, "whoami")); res.StatusCode != http.StatusOK {
		t.Errorf("after the others were answered: status %d: %s", res.StatusCode, body)
	}
}

// A message that takes too much memory once it is decoded is rejected before that.
func TestHeavyRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	heavy := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{"results":[` +
		strings.TrimSuffix(strings.Repeat("{},", 4<<20), ",") + `]}}}`
	res, body := w.do(t, w.request(t.Context(), http.MethodPost, alice, heavy))
	if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, "MiB of memory once it is decoded") {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
}

// A request whose body does not arrive in time is answered with the reason.
func TestStalledRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	r := w.request(t.Context(), http.MethodPost, alice, "{")
	r.Body = io.NopCloser(io.MultiReader(r.Body, iotest.ErrReader(fmt.Errorf("nothing has arrived for 30s: %w", os.ErrDeadlineExceeded))))
	r.ContentLength = -1
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, r)
	if answer.Code != http.StatusRequestTimeout || !strings.Contains(answer.Body.String(), "nothing has arrived for 30s") {
		t.Errorf("status %d: %s", answer.Code, answer.Body)
	}
}
