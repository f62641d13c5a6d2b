package memory

import (
	"context"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

type sourceKey struct{}

// WithSource returns a context in which what is remembered comes from an agent's conversation. Source.Note is
// that of each call.
func WithSource(ctx context.Context, s Source) context.Context {
	s.Message = textlimit.Shorten(s.Message, maxMessageBytes)
	return context.WithValue(ctx, sourceKey{}, s)
}

// from returns the source of a memory with the note of its caller.
func from(ctx context.Context, given Source) Source {
	s, _ := ctx.Value(sourceKey{}).(Source)
	s.Note = given.Note
	return s
}
