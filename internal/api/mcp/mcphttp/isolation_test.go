package mcphttp

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// Requests outside of sessions share the library's name space of ids; a caller cannot
// cancel another's request through it.
func TestCancellationStaysWithItsCaller(t *testing.T) {
	t.Parallel()
	cancellation := map[string]any{"requestId": 1}

	t.Run("modern", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		ctx, leave := context.WithCancel(t.Context())
		w.send(w.modern(ctx, alice, 1, "tools/call", map[string]any{"name": "wait"}))
		within(t, w.started, "the call")
		for _, caller := range []string{alice, bob, eve} {
			res, body := w.do(t, w.modern(t.Context(), caller, nil, "notifications/cancelled", map[string]any{"requestId": 1}))
			if res.StatusCode != http.StatusAccepted {
				t.Errorf("%s: status %d: %s", caller, res.StatusCode, body)
			}
		}
		res, _ := w.do(t, w.request(t.Context(), http.MethodPost, bob, legacy(nil, "notifications/cancelled", cancellation)))
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("without a session: status %d, want 400", res.StatusCode)
		}
		nothing(t, w.stopped, "cancelled from outside")
		leave() // a modern client cancels this way
		within(t, w.stopped, "the end of the call after its client left")
	})

	t.Run("legacy", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		session, foreign := w.open(t, alice), w.open(t, bob)
		w.send(w.call(t.Context(), alice, session, 1, "wait"))
		within(t, w.started, "the call")
		w.do(t, w.request(t.Context(), http.MethodPost, bob, legacy(nil, "notifications/cancelled", cancellation), sessionHeader, foreign))
		w.do(t, w.request(t.Context(), http.MethodPost, bob, legacy(nil, "notifications/cancelled", cancellation), sessionHeader, session))
		nothing(t, w.stopped, "cancelled from outside")
		w.do(t, w.request(t.Context(), http.MethodPost, alice, legacy(nil, "notifications/cancelled", cancellation), sessionHeader, session))
		within(t, w.stopped, "the end of a call that its caller cancelled")
	})
}

// No notification outside of a session cancels anything.
func FuzzNothingCancelsOutsideASession(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","METHOD":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"ping","Method":"notifications/cancelled","id":null,"params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","id":1,"id":null,"params":{"requestId":1},"params":{"requestId":1}}`,
		`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]`,
		`{"jsonrpc":"2.0","method":"notifications/\u0063ancelled","params":{"requestId":1,"_meta":null}}`,
		`{"method":"notifications/cancelled","params":[]}`, `{"id":1,"result":{}}`, `{}`, "", "\xff", `{"params":{"_meta":7}}`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	w := newWorld(f, nil)
	w.send(w.modern(context.Background(), alice, 1, "tools/call", map[string]any{"name": "wait"}))
	within(f, w.started, "the call")
	f.Fuzz(func(t *testing.T, body string, modernHeader bool) {
		r := w.request(t.Context(), http.MethodPost, bob, body)
		if modernHeader {
			r.Header.Set(mcpgo.HeaderProtocolVersion, mcpgo.ProtocolVersion20260728)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w.ServeHTTP(nullWriter{http.Header{}}, r.WithContext(ctx))
		select {
		case <-w.stopped:
			t.Fatalf("cancelled by %q", body)
		default:
		}
	})
}

type nullWriter struct{ header http.Header }

func (w nullWriter) Header() http.Header       { return w.header }
func (nullWriter) WriteHeader(int)             {}
func (nullWriter) Write(p []byte) (int, error) { return len(p), nil }
func (nullWriter) Flush()                      {}

func TestProgressReachesOnlyItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	type party struct {
		caller, session string
		stream          <-chan string
	}
	var parties []party
	for _, caller := range []string{alice, bob, eve} {
		session := w.open(t, caller)
		_, stream := w.events(t, w.request(t.Context(), http.MethodGet, caller, nil, sessionHeader, session))
		parties = append(parties, party{caller, session, stream})
	}
	_, listening := w.events(t, w.modern(t.Context(), bob, "listen", "subscriptions/listen", map[string]any{
		"notifications": map[string]any{"toolsListChanged": true},
	}))
	within(t, listening, "the acknowledgment")
	within(t, listening, "the acknowledgment")

	_, legacyAnswer := w.do(t, w.call(t.Context(), alice, parties[0].session, 1, "progress"))
	_, modernAnswer := w.do(t, w.modern(t.Context(), alice, 1, "tools/call", map[string]any{
		"name": "progress", "_meta": map[string]any{"progressToken": alice},
	}))
	// Two users share the empty session id of modern revisions.
	if got := strings.Count(modernAnswer, "notifications/progress"); got != 3 {
		t.Errorf("modern: %d of 3 notifications arrived: %s", got, modernAnswer)
	}
	// A session's own GET stream may carry them too, as the specification allows.
	mine := strings.Count(legacyAnswer, "notifications/progress")
	for ; mine < 3; mine++ {
		until(t, parties[0].stream, "notifications/progress", "progress on the session's own stream")
	}
	nothing(t, parties[1].stream, "another user of the tenant received")
	nothing(t, parties[2].stream, "another tenant received")
	nothing(t, listening, "a subscription received")
}

func TestListChangesStayInTheTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	streams := map[string][]<-chan string{}
	for _, caller := range []string{alice, eve} {
		_, get := w.events(t, w.request(t.Context(), http.MethodGet, caller, nil, sessionHeader, w.open(t, caller)))
		_, listen := w.events(t, w.modern(t.Context(), caller, "listen", "subscriptions/listen", map[string]any{
			"notifications": map[string]any{"toolsListChanged": true},
		}))
		within(t, listen, "the acknowledgment")
		within(t, listen, "the acknowledgment")
		streams[caller] = []<-chan string{get, listen}
	}
	w.mu.Lock()
	w.servers["acme"].DeleteTools("panic")
	w.mu.Unlock()
	for _, stream := range streams[alice] {
		until(t, stream, "notifications/tools/list_changed", "the change")
	}
	for _, stream := range streams[eve] {
		nothing(t, stream, "another tenant received")
	}
}

func TestTenantsHaveTheirOwnServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for caller, want := range map[string]string{
		alice: "acme alice on acme", bob: "acme bob on acme", eve: "globex eve on globex",
	} {
		_, modernAnswer := w.do(t, w.modern(t.Context(), caller, 1, "tools/call", map[string]any{"name": "whoami"}))
		_, legacyAnswer := w.do(t, w.call(t.Context(), caller, w.open(t, caller), 1, "whoami"))
		for _, answer := range []string{modernAnswer, legacyAnswer} {
			if !strings.Contains(answer, want) {
				t.Errorf("%s: %s", caller, answer)
			}
		}
	}
	if w.made != 2 {
		t.Errorf("%d servers for two tenants", w.made)
	}
}
