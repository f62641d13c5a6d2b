package mcphttp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// The library sends a notification that belongs to no call by whichever stream of the session is free, also
// by that of a call, and drops it if the call ends at that moment. So such notifications go to the stream of the
// GET without it, and wait for the next one while there is none.

type announcedKey struct{}

// Announcer returns a function that sends a notification, which belongs to no call, to the client of the
// session in ctx; nil if ctx has none, or one of SSEPath, whose stream is the library's. It can be called
// after the call of ctx. A notification that waits for the client to open its stream is sent once.
func Announcer(ctx context.Context) func(method string, params map[string]any) {
	s, ok := ctx.Value(announcedKey{}).(*streams)
	if !ok {
		return nil
	}
	return func(method string, params map[string]any) {
		content := map[string]any{"jsonrpc": mcpgo.JSONRPC_VERSION, "method": method}
		if len(params) > 0 {
			content["params"] = params
		}
		if message, err := json.Marshal(content); err == nil { // texts are always encoded
			s.announce(eventOf(message))
		}
	}
}

// announce sends an event on the stream of the GET, without waiting for the client, or keeps it for the next one.
// Events that wait are sent once each.
func (s *streams) announce(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announced++
	s.waiting[string(event)] = s.announced
	s.deliverLocked()
}

// listen makes to the stream of the GET.
func (s *streams) listen(to *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listening = to
	s.deliverLocked()
}

// deliverLocked starts the delivery of what waits, if there is a stream for it. The caller holds mu.
func (s *streams) deliverLocked() {
	if s.listening == nil || s.delivering || len(s.waiting) == 0 {
		return
	}
	s.delivering = true
	go s.deliver()
}

// deliver adds what waits to the stream of the GET, until nothing does or the stream has ended. An event waits
// until it was added, and longer if it was announced again meanwhile.
func (s *streams) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.listening != nil && len(s.waiting) > 0 {
		for _, event := range s.inOrder() {
			to, announced := s.listening, s.waiting[event]
			if to == nil || announced == 0 {
				break // the session has ended, or went on at another instance
			}
			s.mu.Unlock()
			added := to.addOpen([]byte(event))
			s.mu.Lock()
			if !added && s.listening == to {
				s.listening = nil
			}
			if added && s.waiting[event] == announced {
				delete(s.waiting, event)
			}
		}
	}
	s.delivering = false
}

// inOrder returns what waits in the order in which it was announced. The caller holds mu.
func (s *streams) inOrder() []string {
	return slices.SortedFunc(maps.Keys(s.waiting), func(a, b string) int { return s.waiting[a] - s.waiting[b] })
}

// unheard returns what waits while there is no stream of a GET, to be sent with the answer of a call.
func (s *streams) unheard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listening != nil {
		return nil
	}
	waiting := s.inOrder()
	clear(s.waiting)
	return waiting
}

// takeWaiting returns what waits, for the client that has come back on another instance.
func (s *streams) takeWaiting() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listening = nil
	joined := strings.Join(s.inOrder(), "")
	clear(s.waiting)
	return []byte(joined)
}

// addOpen adds an event to a stream; it returns false if it has ended.
func (s *stream) addOpen(event []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.addLocked(event)
	return true
}
