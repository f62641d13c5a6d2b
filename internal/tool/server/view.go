package server

import (
	"context"

	"github.com/ragdhq/ragd/internal/tool/template"
	"github.com/ragdhq/ragd/internal/tool/toolset"
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

// maxRenderedBytes is the longest text that instructions become. Longer ones are shown with
// their placeholders.
const maxRenderedBytes = 64 << 10

// InstructionsFor returns the instructions for the request in ctx. Values that are missing are
// empty.
func (s *Server) InstructionsFor(ctx context.Context) string {
	parsed, err := template.Parse("instructions", s.Instructions)
	if err != nil {
		return s.Instructions // stored before placeholders were checked
	}
	text, err := parsed.Render(template.NewBudget("instructions", maxRenderedBytes), template.ShownValues(ctx), template.Text)
	if err != nil {
		return s.Instructions
	}
	return text
}

// View returns how the server shows tools; the zero View for a nil Server. Which tools it shows
// at all is said by the bounds of the request.
func (s *Server) View() toolset.View {
	if s == nil || len(s.Presented) == 0 {
		return toolset.View{}
	}
	presented := map[string]toolset.Presentation{}
	for _, p := range s.Presented {
		if !s.Bounds().MayUseTool(p.Tool) {
			continue // its name there is free for others
		}
		presented[p.Tool] = toolset.Presentation{Name: p.Name, Title: p.Title, Description: p.Description}
	}
	return toolset.NewView(presented)
}
