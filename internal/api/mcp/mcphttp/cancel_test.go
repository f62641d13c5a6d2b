package mcphttp

import (
	"net/http"
	"testing"
)

// A client that cancels a call or ends its session while it is connected is not told that the service
// fails: the Python SDK reports such a status as an error of all that the client does.
func TestACancelledCallIsNoErrorOfTheServer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(w *world, session string) *http.Request
		want int
	}{
		"the client cancels the call": {func(w *world, session string) *http.Request {
			return w.request(t.Context(), http.MethodPost, bob, legacy(nil, "notifications/cancelled", map[string]any{"requestId": 2}), sessionHeader, session)
		}, http.StatusOK},
		"the client ends its session": {func(w *world, session string) *http.Request {
			return w.request(t.Context(), http.MethodDelete, bob, nil, sessionHeader, session)
		}, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			session := w.open(t, bob)
			status := make(chan int, 1)
			go func() {
				res, _ := w.do(t, w.request(t.Context(), http.MethodPost, bob, legacy(2, "tools/call", map[string]any{"name": "wait"}), sessionHeader, session))
				status <- res.StatusCode
			}()
			within(t, w.started, "the call")
			w.do(t, tc.end(w, session))
			within(t, w.stopped, "the end of the call")
			if got := within(t, status, "the answer"); got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
		})
	}
}
