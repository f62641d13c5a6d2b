package mcphttp

import (
	"context"
	"log/slog"
)

// libraryLog is a slog.Handler that passes only errors of the library, and of their
// attributes only "panic": the others contain session ids and content of clients.
type libraryLog struct {
	to slog.Handler
}

func (l libraryLog) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && l.to.Enabled(ctx, level)
}

func (l libraryLog) Handle(ctx context.Context, r slog.Record) error {
	kept := slog.NewRecord(r.Time, r.Level, "mcp-go: "+r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "panic" {
			kept.AddAttrs(a)
		}
		return true
	})
	return l.to.Handle(ctx, kept)
}

func (l libraryLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l libraryLog) WithGroup(string) slog.Handler { return l }
