package mcphttp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// readEvents reads n events of a stream and returns their ids and data.
func readEvents(t *testing.T, lines <-chan string, n int) (ids, data []string) {
	t.Helper()
	for began := time.Now(); len(data) < n; {
		if time.Since(began) > patience { // comments go on for ever
			t.Fatalf("%d of %d events in %s", len(data), n, patience)
		}
		line := within(t, lines, fmt.Sprintf("event %d of %d", len(data)+1, n))
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			ids = append(ids, id)
		}
		if d, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimSpace(d))
		}
	}
	return ids, data
}

func TestAClientThatComesBackGetsWhatItMissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.open(t, alice)
	ctx, leave := context.WithCancel(t.Context())
	_, lines := w.events(t, w.request(ctx, http.MethodGet, alice, nil, sessionHeader, id))
	notify := func(n int) { w.announce(id, map[string]any{"n": n}) }
	notify(1)
	ids, _ := readEvents(t, lines, 1)
	leave()
	wait.For(t, "the stream to be left", func() bool { return w.Handler.servers.openStreams.Used("acme") == 0 })
	notify(2)
	notify(3)

	back := w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id, lastEventHeader, ids[0])
	_, lines = w.events(t, back)
	ids, data := readEvents(t, lines, 2)
	if !strings.Contains(data[0], `"n":2`) || !strings.Contains(data[1], `"n":3`) {
		t.Errorf("missed %q", data)
	}
	notify(4)
	if _, data = readEvents(t, lines, 1); !strings.Contains(data[0], `"n":4`) {
		t.Errorf("later %q", data)
	}
	// Another caller cannot have them, nor can one from before events that are not kept.
	for _, other := range []string{bob, eve} {
		res, _ := w.do(t, w.request(t.Context(), http.MethodGet, other, nil, sessionHeader, id, lastEventHeader, ids[0]))
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", other, res.StatusCode)
		}
	}
}

func TestACallGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.open(t, alice)
	ctx, leave := context.WithCancel(t.Context())
	call := w.call(ctx, alice, id, 7, "notify and wait")
	call.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	_, lines := w.events(t, call)
	ids, data := readEvents(t, lines, 2)
	if data[0] != "" || !strings.Contains(data[1], "progress") {
		t.Errorf("the stream begins with %q", data)
	}
	leave()
	nothing(t, w.stopped, "the call was cancelled")
	close(w.release)
	_, lines = w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id, lastEventHeader, ids[1]))
	if _, data = readEvents(t, lines, 1); !strings.Contains(data[0], `"id":7`) || !strings.Contains(data[0], "done") {
		t.Errorf("the answer is %q", data)
	}
	for range lines { // ends with the answer
	}
	// It can be read again from the beginning, as long as it is kept.
	_, lines = w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id, lastEventHeader, ids[0]))
	if _, data = readEvents(t, lines, 2); !strings.Contains(data[1], "done") {
		t.Errorf("again %q", data)
	}
}

func TestACallWithoutAStreamEndsWithItsClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.open(t, alice)
	ctx, leave := context.WithCancel(t.Context())
	w.send(w.call(ctx, alice, id, 7, "wait"))
	within(t, w.started, "the call")
	leave()
	within(t, w.stopped, "the end of the call")
}

func TestAbandonedStreamsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.ResumeFor = 50 * time.Millisecond })
	id := w.open(t, alice)
	ctx, leave := context.WithCancel(t.Context())
	_, lines := w.events(t, w.request(ctx, http.MethodGet, alice, nil, sessionHeader, id))
	w.announce(id, map[string]any{"n": 1})
	ids, _ := readEvents(t, lines, 1)
	held := func() int64 { return w.Handler.servers.heldEvents.Used("acme") }
	if held() == 0 {
		t.Error("the event is not kept")
	}
	leave()
	wait.For(t, "the events to be forgotten", func() bool { return held() == 0 })
	_, lines = w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id, lastEventHeader, ids[0]))
	w.announce(id, map[string]any{"n": 2})
	if _, data := readEvents(t, lines, 1); !strings.Contains(data[0], `"n":2`) {
		t.Errorf("a new stream has %q", data)
	}
}

func TestKeptEventsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.open(t, alice)
	_, lines := w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id))
	pad := strings.Repeat("x", 10_000)
	for n := range maxHeldEvents + 10 {
		w.announce(id, map[string]any{"n": n, "pad": pad})
		readEvents(t, lines, 1)
	}
	if held := w.Handler.servers.heldEvents.Used("acme"); held > maxHeldBytes {
		t.Errorf("%d bytes are kept", held)
	}
	end := w.request(t.Context(), http.MethodDelete, alice, nil, sessionHeader, id)
	w.do(t, end)
	wait.For(t, "the events to be forgotten", func() bool { return w.Handler.servers.heldEvents.Used("acme") == 0 })
}

// The notifications of a call come in their order and before its answer, also while another
// stream of the session is open.
func TestNotificationsOfACallComeInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.open(t, alice)
	_, others := w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id))
	for range 20 {
		_, lines := w.events(t, w.call(t.Context(), alice, id, 7, "notify in order"))
		_, data := readEvents(t, lines, 101)
		for i, got := range data[:100] {
			if !strings.Contains(got, fmt.Sprintf(`"progress":%d,`, i)) {
				t.Fatalf("event %d is %s", i, got)
			}
		}
		if !strings.Contains(data[100], `"id":7`) || !strings.Contains(data[100], "done") {
			t.Errorf("the answer is %q", data[100])
		}
	}
	nothing(t, others, "another stream has a notification")
}

// Notifications of a session go to the stream of its GET, whatever calls begin and end meanwhile.
func TestNotificationsOfASessionDoNotGoWithItsCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.open(t, alice)
	_, lines := w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id))
	var callers sync.WaitGroup
	for n := range 4 {
		callers.Go(func() {
			for m := range 50 {
				if _, text := w.do(t, w.call(t.Context(), alice, id, 100*n+m, "whoami")); strings.Contains(text, "notifications/x") {
					t.Errorf("a call has the notification: %s", text)
				}
			}
		})
	}
	const all = 200
	for n := range all {
		w.announce(id, map[string]any{"n": n})
	}
	callers.Wait()
	_, data := readEvents(t, lines, all)
	for n, d := range data {
		if !strings.Contains(d, fmt.Sprintf(`"n":%d}`, n)) {
			t.Fatalf("notification %d is %s", n, d)
		}
	}
}

// What happens before a client opens its stream is told when it does, each thing once.
func TestNotificationsWaitForTheStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.open(t, alice)
	for _, n := range []int{1, 2, 1, 3} {
		w.announce(id, map[string]any{"n": n})
	}
	_, lines := w.events(t, w.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id))
	_, data := readEvents(t, lines, 3)
	for i, n := range []int{2, 1, 3} {
		if !strings.Contains(data[i], fmt.Sprintf(`"n":%d}`, n)) {
			t.Errorf("waited for: %q", data)
		}
	}
	if _, text := w.do(t, w.call(t.Context(), alice, id, 7, "whoami")); strings.Contains(text, "notifications/x") {
		t.Errorf("they come again: %s", text)
	}
	_, other := w.events(t, w.request(t.Context(), http.MethodGet, bob, nil, sessionHeader, w.open(t, bob)))
	nothing(t, other, "another user of the tenant received")
}

// A client without a stream is told with the answer of its next call.
func TestNotificationsComeWithAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.open(t, alice)
	w.announce(id, map[string]any{"n": 1})
	if _, text := w.do(t, w.call(t.Context(), bob, w.open(t, bob), 7, "whoami")); strings.Contains(text, "notifications/x") {
		t.Errorf("another user is told: %s", text)
	}
	_, text := w.do(t, w.call(t.Context(), alice, id, 7, "whoami"))
	if told, answered := strings.Index(text, `"n":1`), strings.Index(text, "acme alice"); told < 0 || answered < told {
		t.Errorf("the answer is %s", text)
	}
	if _, text := w.do(t, w.call(t.Context(), alice, id, 8, "whoami")); strings.Contains(text, "notifications/x") {
		t.Errorf("it comes again: %s", text)
	}
}
