package mcphttp

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// A session id is valid only for the caller it was made for, with every method.
func TestSessionBelongsToItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	mine := w.open(t, alice)
	other, err := New(Config{Authenticate: fakeAuthenticate, Server: w.server}) // another key
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Shutdown(t.Context()) })
	unknown := other.servers.signer.mint(owner{tenant: "acme", subject: "alice"}, time.Now())
	old := w.Handler.servers.signer.mint(owner{tenant: "acme", subject: "alice"}, time.Now().Add(-sessionLifetime-time.Second))

	for _, tc := range []struct {
		name    string
		caller  string
		session string
		status  int
	}{
		{"another user of the tenant", bob, mine, http.StatusNotFound},
		{"another tenant", eve, mine, http.StatusNotFound},
		{"an id signed with another key", alice, unknown, http.StatusNotFound},
		{"an id that is too old", alice, old, http.StatusNotFound},
		{"an id never made", alice, "mcp-session-6f7f5ed8-4b1c-4f0e-9b6a-0e4c2f9f7a11", http.StatusNotFound},
		{"a changed id", alice, strings.Map(func(r rune) rune { return r ^ 1 }, mine), http.StatusNotFound},
		{"no id", alice, "", http.StatusBadRequest},
	} {
		for _, verb := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			t.Run(tc.name+" on "+verb, func(t *testing.T) {
				t.Parallel()
				var body any
				if verb == http.MethodPost {
					body = legacy(2, "tools/call", map[string]any{"name": "whoami"})
				}
				r := w.request(t.Context(), verb, tc.caller, body)
				if tc.session != "" {
					r.Header.Set(sessionHeader, tc.session)
				}
				res, answer := w.do(t, r)
				if res.StatusCode != tc.status {
					t.Errorf("status %d, want %d: %s", res.StatusCode, tc.status, answer)
				}
			})
		}
	}
}

func TestEndedSessionIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.open(t, alice)
	_, stream := w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id))

	if res, body := w.do(t, w.request(t.Context(), http.MethodDelete, alice, nil, sessionHeader, id)); res.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: status %d: %s", res.StatusCode, body)
	}
	if _, open := <-stream; open {
		t.Error("the session's stream went on")
	}
	for _, verb := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		var body any
		if verb == http.MethodPost {
			body = legacy(2, "ping", nil)
		}
		if res, _ := w.do(t, w.request(t.Context(), verb, alice, body, sessionHeader, id)); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s after the end: status %d, want 404", verb, res.StatusCode)
		}
	}
}

// A session works on another instance with the same key.
func TestSessionWorksOnAnotherInstance(t *testing.T) {
	t.Parallel()
	shared := func(c *Config) { c.SessionKey = []byte(strings.Repeat("k", MinSessionKeyBytes)) }
	one, two := newWorld(t, shared), newWorld(t, shared)
	id := one.open(t, alice)
	res, body := two.do(t, two.call(t.Context(), alice, id, 2, "whoami"))
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "acme alice on acme") {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
	if res, _ := two.do(t, two.call(t.Context(), bob, id, 2, "whoami")); res.StatusCode != http.StatusNotFound {
		t.Errorf("another user: status %d, want 404", res.StatusCode)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.MaxSessions = 2 })
	one, two := w.open(t, alice), w.open(t, bob)

	// An idle session is evicted, and its owner can continue with a new state.
	three := w.open(t, alice)
	if res, body := w.do(t, w.call(t.Context(), alice, one, 1, "whoami")); res.StatusCode != http.StatusOK {
		t.Errorf("a session that evicted another: status %d: %s", res.StatusCode, body)
	}

	// Sessions in use are not evicted.
	w.events(t, w.request(t.Context(), http.MethodGet, bob, nil, sessionHeader, two))
	w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, three))
	res, body := w.do(t, w.request(t.Context(), http.MethodPost, alice, legacy(1, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
	})))
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q: %s", res.StatusCode, res.Header.Get("Retry-After"), body)
	}
	w.open(t, eve) // another tenant has its own limit
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.MaxStreams = 1 })
	id := w.open(t, alice)
	ctx, leave := context.WithCancel(t.Context())
	_, first := w.events(t, w.request(ctx, http.MethodGet, alice, nil, sessionHeader, id))
	get := w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id)
	if res, _ := w.do(t, get.Clone(t.Context())); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("second stream: status %d, want 429", res.StatusCode)
	}
	leave()
	for range first { // drain until it is closed
	}
	wait.For(t, "the slot to be free", func() bool { return w.Handler.servers.openStreams.Used("acme") == 0 })
	w.events(t, get)
}

// The library's state of a forgotten session is dropped.
func TestTheLibraryForgetsSessionsToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.MaxSessions = 10 })
	var last string
	for range 30 {
		last = w.open(t, alice)
	}
	if known := w.sessions.Load(); known != 10 {
		t.Errorf("%d sessions, want 10", known)
	}
	w.do(t, w.request(t.Context(), http.MethodDelete, alice, nil, sessionHeader, last))
	if known := w.sessions.Load(); known != 9 {
		t.Errorf("%d sessions after the end of one, want 9", known)
	}
}

// Idle sessions and servers are forgotten, those in use are not, and a forgotten session
// can still be used.
func TestIdleSessionsAndServersAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.SessionIdle = 50 * time.Millisecond })
	idle := w.open(t, eve)
	busy := w.open(t, alice)
	_, stream := w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, busy))

	servers := func() (count int) {
		w.Handler.servers.mu.Lock()
		defer w.Handler.servers.mu.Unlock()
		return len(w.Handler.servers.byID)
	}
	wait.For(t, "the idle server to be forgotten", func() bool { return servers() == 1 })
	w.open(t, eve)
	wait.For(t, "another idle server to be forgotten", func() bool { return servers() <= 1 })
	if servers() != 1 {
		t.Error("a server with an open stream was forgotten")
	}
	nothing(t, stream, "the stream of a session in use")
	if res, body := w.do(t, w.call(t.Context(), eve, idle, 2, "whoami")); res.StatusCode != http.StatusOK || !strings.Contains(body, "globex eve on globex") {
		t.Errorf("a forgotten session: status %d: %s", res.StatusCode, body)
	}
}

// A token with a stricter filter cannot continue a session of another token of the same
// user.
func TestOwnersOfSessions(t *testing.T) {
	t.Parallel()
	red, err := filter.Parse([]byte(`{"team": "red"}`))
	if err != nil {
		t.Fatal(err)
	}
	alice := access.Request{Tenant: "acme", Principal: access.Principal{Subject: "alice"}}
	filtered := alice
	filtered.Principal.MandatoryFilter = red
	owners := []owner{
		ownerOf(&alice, ""), ownerOf(&filtered, ""), ownerOf(&alice, "handbook"), {tenant: "acme", subject: "bob"}, {tenant: "globex", subject: "alice"},
		{tenant: "acme", subject: "alice\x00" + string(red.JSON())}, {tenant: "acmealice"}, {subject: "acmealice"},
	}
	s, now := signer{make([]byte, MinSessionKeyBytes)}, time.Now()
	for i, of := range owners {
		id := s.mint(of, now)
		for j, by := range owners {
			if got := s.check(id, by, now); got != (i == j) {
				t.Errorf("the session of %+v, shown by %+v: %v", of, by, got)
			}
		}
	}
}

func TestTheSessionsThatEndedLastAreRemembered(t *testing.T) {
	t.Parallel()
	ended := endedIDs{known: map[string]bool{}}
	for i := range 2*maxEndedSessions + 1 {
		id := strconv.Itoa(i)
		ended.add(id)
		ended.add(id)
		if !ended.known[id] || len(ended.known) > maxEndedSessions {
			t.Fatalf("after %d ended, the last is remembered: %v, of %d", i+1, ended.known[id], len(ended.known))
		}
	}
	if first := strconv.Itoa(maxEndedSessions + 1); !ended.known[first] {
		t.Errorf("%s is forgotten, one of the last %d", first, maxEndedSessions)
	}
}
