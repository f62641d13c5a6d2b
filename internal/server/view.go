package server

import (
	"context"
	"slices"
)

type contextKey struct{}

// NewContext returns a context that carries a server.
func NewContext(ctx context.Context, s *Server) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// FromContext returns the server that the request in ctx came through, as Enter set it; nil for
// none. It must not be changed.
func FromContext(ctx context.Context) *Server {
	s, _ := ctx.Value(contextKey{}).(*Server)
	return s
}

// Shown returns how the server shows a tool, with the name set. It returns false for a tool that
// it does not show. A nil Server shows every tool as it is.
func (s *Server) Shown(tool string) (Presentation, bool) {
	shown := Presentation{Tool: tool, Name: tool}
	if s == nil {
		return shown, true
	}
	if !s.lists(tool) {
		return shown, false
	}
	for _, p := range s.Presented {
		switch {
		case p.Tool == tool:
			if p.Name == "" {
				p.Name = tool
			}
			if p.Name != tool {
				return p, true
			}
			shown = p
		case p.Name == tool && s.lists(p.Tool): // another tool has taken its name
			return shown, false
		}
	}
	return shown, true
}

// ToolOf returns the tenant's name of the tool that the server shows under a name. It returns
// false if it shows none.
func (s *Server) ToolOf(name string) (string, bool) {
	if s != nil {
		for _, p := range s.Presented {
			if p.Name == name && s.lists(p.Tool) {
				return p.Tool, true
			}
		}
	}
	shown, ok := s.Shown(name)
	return name, ok && shown.Name == name
}

func (d Definition) lists(tool string) bool { return d.Tools == nil || slices.Contains(d.Tools, tool) }
