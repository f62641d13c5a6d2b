package toolset

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

func TestCallsWithinCallsEndAtALimit(t *testing.T) {
	t.Parallel()
	for from, want := range map[int]int{0: maxDepth, 3: maxDepth - 3, maxDepth: 0, 32767: 0} {
		ctx, calls := access.NewContext(t.Context(), &access.Request{Depth: from}), 0
		for ; ; calls++ {
			deep, err := deeper(ctx)
			if err != nil {
				if fault.KindOf(err) != fault.Precondition {
					t.Error(err)
				}
				break
			}
			ctx = deep
			if r, _ := access.FromContext(ctx); r.Depth != from+calls {
				t.Errorf("call %d of a request at depth %d has depth %d", calls, from, r.Depth)
			}
		}
		if calls != want {
			t.Errorf("from depth %d: %d calls, want %d", from, calls, want)
		}
	}
}

// seenEvents is an Observer that keeps what it hears of.
type seenEvents struct{ events []Event }

func (s *seenEvents) Wants(context.Context) bool         { return true }
func (s *seenEvents) Observe(_ context.Context, e Event) { s.events = append(s.events, e) }

// Events of calls about memories do not have what is remembered, which they would keep after it is forgotten.
func TestEventsDoNotKeepMemories(t *testing.T) {
	t.Parallel()
	for kind, kept := range map[string]bool{"remember": false, "recall": false, "forget": false, "rerank": true} {
		seen := &seenEvents{}
		s := &Set{observer: seen}
		told := &tool{definition: Definition{Name: kind, Kind: kind, Builtin: true}, run: func(context.Context, Call, accepted) (Result, error) {
			return Result{Text: "zebra", Structured: json.RawMessage(`{"text":"zebra"}`)}, nil
		}}
		arguments := json.RawMessage(`{"text":"zebra"}`)
		if result, err := s.observedRun(t.Context(), told, Call{Arguments: arguments}, accepted{json: arguments}); err != nil || result.Text != "zebra" {
			t.Errorf("%s: %v %v", kind, result, err)
		}
		if len(seen.events) != 2 {
			t.Fatalf("%s: %d events", kind, len(seen.events))
		}
		for _, e := range seen.events {
			raw, err := json.Marshal([]any{e.Arguments, e.Result})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(raw), "zebra"); got != kept {
				t.Errorf("the event %s of %s has the text: %t, want %t", e.Phase, kind, got, kept)
			}
		}
	}
}
