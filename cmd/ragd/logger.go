package main

import (
	"io"
	"log/slog"
)

// newLogger writes JSON lines, or plain text for a person at a terminal.
func newLogger(w io.Writer, person bool, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("log-level must be debug, info, warn or error, not %q", level)
	}
	options := &slog.HandlerOptions{Level: least}
	if person {
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return slog.New(slog.NewJSONHandler(w, options)), nil
}
