package llm

import (
	"fmt"
	"strings"
	"testing"
)

// Nothing of a stream escapes its limits.
func TestStreamsAreLimited(t *testing.T) {
	t.Parallel()
	call := func(id, arguments string) string {
		return fmt.Sprintf(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":%q,"function":{"name":"t","arguments":%q}}]}}]}`, id, arguments)
	}
	for name, event := range map[string]string{
		"a long id": call(strings.Repeat("i", maxIDBytes+1), "{}"), "arguments": call("a", strings.Repeat("x", 1<<20)),
		"events without content": `{"choices":[{"delta":{}}], "padding": "` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		s := stream{}
		var err error
		for range maxEventBytes>>20 + 1 {
			if err = s.add([]byte(event)); err != nil {
				break
			}
		}
		if err == nil {
			t.Errorf("%s: %d bytes were taken", name, s.events)
		}
	}
}

// The pieces of a call are joined in time and memory that grow with their length alone.
func TestACallInManyPieces(t *testing.T) {
	const pieces = 20_000
	allocated := testing.AllocsPerRun(1, func() {
		s := stream{finish: "tool_calls"}
		for range pieces {
			if err := s.addCall(turnCall{Index: new(int), Function: turnFunction{Arguments: strings.Repeat("x", 32)}}); err != nil {
				t.Fatal(err)
			}
		}
		if calls := s.toolCalls(); len(calls) != 1 || len(calls[0].Arguments) != 32*pieces || calls[0].ID != "call_1" {
			t.Errorf("%d calls", len(calls))
		}
	})
	if allocated > 3*pieces { // the arguments of this test are two for each piece
		t.Errorf("%.0f allocations for %d pieces", allocated, pieces)
	}
}
