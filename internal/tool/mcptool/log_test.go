package mcptool_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ragdhq/ragd/internal/tool/mcptool"
)

// Log messages of a server reach the caller of the call alone, without secrets.
func TestLogMessagesOfAServerArePassedOn(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"stateless", "sessions"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t, kind)
			r := runner(t, here)
			ctx := caller(t.Context(), "acme", 0)
			_, d, err := check(ctx, r, u.path(kind), "headers", map[string]any{"X-Key": "{{secrets.crm}}"})
			if err != nil {
				t.Fatal(err)
			}
			said := make(chan string, 1)
			log := func(level string, data any) {
				said <- fmt.Sprintf("%s %s", level, data)
				u.heard <- struct{}{}
			}
			if _, err := r.CallWith(ctx, d, json.RawMessage(`{"city":"log"}`), none, mcptool.With{Log: log}); err != nil {
				t.Fatal(err)
			}
			if got := <-said; got != `info "asking with ***"` {
				t.Errorf("log: %s", got)
			}
		})
	}
}
