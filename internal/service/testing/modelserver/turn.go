package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Turn is what the model says in a conversation.
type Turn struct {
	Text  string
	Calls []Call
	// Finish replaces the reason of the end: stop, or tool_calls if there are Calls.
	Finish string
	// Cut closes the connection after half of the text.
	Cut bool
	// Stall stops after half of the text until the caller leaves.
	Stall bool
	// Usage replaces the usage that is reported.
	Usage map[string]any
	// Whole answers in one piece where a stream was asked for.
	Whole bool
}

// Call is a call of a tool. Arguments are a text that need not be JSON.
type Call struct{ Name, Arguments string }

// Script has the model say the turns in their order, and the last one again after that. It may be
// called again for another conversation.
func (s *Server) Script(turns ...Turn) {
	var mu sync.Mutex
	next := 0
	s.SetTurn(func(Chat) Turn {
		mu.Lock()
		defer mu.Unlock()
		turn := turns[min(next, len(turns)-1)]
		next++
		return turn
	})
}

// SetTurn sets the field Turn while a service may call the server.
func (s *Server) SetTurn(turn func(Chat) Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Turn = turn
}

func (t Turn) finish() string {
	switch {
	case t.Finish != "":
		return t.Finish
	case len(t.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (t Turn) calls() (calls []any) {
	for i, c := range t.Calls {
		calls = append(calls, map[string]any{
			"index": i, "id": fmt.Sprintf("call-%d", i), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.Arguments},
		})
	}
	return calls
}

// streamed is a turn as a stream of events.
type streamed struct {
	Turn

	model string
	usage map[string]any
}

// send sends the turn in pieces: the text word by word, each call in two pieces.
func (t streamed) send(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(value map[string]any) {
		raw, err := json.Marshal(value)
		if err != nil {
			panic(err) // turns can always be encoded
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", raw)
		_ = http.NewResponseController(w).Flush()
	}
	delta := func(d map[string]any, finish any) {
		event(map[string]any{"model": t.model, "choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}})
	}
	delta(map[string]any{"role": "assistant"}, nil)
	words := strings.SplitAfter(t.Text, " ")
	for i, word := range words {
		if i >= (len(words)+1)/2 && (t.Cut || t.Stall) {
			break
		}
		delta(map[string]any{"content": word}, nil)
	}
	if t.Stall {
		<-r.Context().Done()
	}
	if t.Cut || t.Stall {
		panic(http.ErrAbortHandler)
	}
	for i, c := range t.Calls {
		half := len(c.Arguments) / 2
		delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprintf("call-%d", i), "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments[:half]}}}}, nil)
		delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": c.Arguments[half:]}}}}, nil)
	}
	delta(map[string]any{}, t.finish())
	if t.Usage != nil {
		t.usage = t.Usage
	}
	event(map[string]any{"choices": []any{}, "usage": t.usage})
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}
