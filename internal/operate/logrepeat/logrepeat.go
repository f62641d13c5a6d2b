// Package logrepeat keeps failures that repeat from flooding the log. Its Handler writes a warning
// or an error once, then at intervals with a count, and once when it no longer occurs; Requests
// sums up the requests of a caller that are refused again and again.
package logrepeat

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// interval is the shortest time between two lines about one failure.
	interval = 10 * time.Second
	// overAfter is how long a failure must not occur to be over. Background work pauses for
	// up to 30 seconds between attempts.
	overAfter = 45 * time.Second
	// maxFailures is how many different failures are tracked. Further ones are always
	// written.
	maxFailures = 1000
)

// Handler is a slog.Handler that passes records to another one. Records below the level of
// a warning pass unchanged. Of others it drops repetitions: records with the same message
// and the same error, whatever numbers and durations they have besides.
//
//	first occurrence                   passed on
//	later ones                         one in ten seconds passed on, with the attribute
//	                                   repeated: how many occurred since the last line
//	45 seconds without an occurrence   "over: <message>" at level info, if it was repeated,
//	                                   with the attributes times and lasted
//
// Safe for concurrent use.
type Handler struct {
	next  slog.Handler
	attrs string // of WithAttrs, as part of the key
	*failures
}

// failures are the failures of a Handler and those made from it.
type failures struct {
	class func(error) string

	mu     sync.Mutex
	known  map[string]*failure
	closed bool
}

// failure is a failure that has occurred lately.
type failure struct {
	first, last, written time.Time
	times                int // occurrences
	unwritten            int // those since the last line
	timer                *time.Timer
}

// New returns a Handler. class returns the name of the group of failures that an error
// belongs to, or "". Records with the same message and group are repetitions, even if they
// are about different tenants or documents, as when the database is down.
func New(next slog.Handler, class func(error) string) *Handler {
	return &Handler{next: next, failures: &failures{class: class, known: map[string]*failure{}}}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	known := h.attrs
	for _, a := range attrs {
		known += describe(a)
	}
	return &Handler{next: h.next.WithAttrs(attrs), attrs: known, failures: h.failures}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), attrs: h.attrs + name + ".", failures: h.failures}
}

// Handle implements slog.Handler.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.next.Handle(ctx, r)
	}
	pass, repeated := h.record(h.key(r), r.Message, h.next)
	if !pass {
		return nil
	}
	if repeated > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", repeated))
	}
	return h.next.Handle(ctx, r)
}

// key identifies the failure that a record is about.
func (h *Handler) key(r slog.Record) string {
	var key strings.Builder
	key.WriteString(r.Level.String() + " " + r.Message)
	details, class := h.attrs, ""
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			if class = h.class(err); class != "" {
				return false
			}
		}
		details += describe(a)
		return true
	})
	if class != "" {
		return key.String() + " " + class
	}
	return key.String() + details
}

// describe returns an attribute without what differs between repetitions: numbers, times
// and digits in texts.
func describe(a slog.Attr) string {
	switch a.Value.Kind() {
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindDuration, slog.KindTime:
		return ""
	}
	text := a.Value.String()
	if a.Key == "err" || a.Key == "error" {
		text = strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' {
				return -1
			}
			return c
		}, text)
	}
	return " " + a.Key + "=" + text
}

// record counts an occurrence of a failure. It returns whether a line is due, and how many
// occurrences had none before.
func (f *failures) record(key, message string, out slog.Handler) (pass bool, repeated int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	known := f.known[key]
	if known == nil {
		if f.closed || len(f.known) >= maxFailures {
			return true, 0
		}
		known = &failure{first: now, last: now, written: now, times: 1}
		known.timer = time.AfterFunc(overAfter, func() { f.end(key, message, out) })
		f.known[key] = known
		return true, 0
	}
	known.timer.Reset(overAfter)
	known.last = now
	known.times++
	known.unwritten++
	if now.Sub(known.written) < interval {
		return false, 0
	}
	repeated, known.unwritten, known.written = known.unwritten, 0, now
	return true, repeated
}

// end forgets a failure that no longer occurs, and writes a line if it was repeated.
func (f *failures) end(key, message string, out slog.Handler) {
	f.mu.Lock()
	known := f.known[key]
	if known == nil || time.Since(known.last) < overAfter { // it was reset meanwhile
		f.mu.Unlock()
		return
	}
	delete(f.known, key)
	f.mu.Unlock()
	known.write(message, out)
}

// write writes the line of a failure that is over.
func (known *failure) write(message string, out slog.Handler) {
	ctx := context.Background()
	if known.times == 1 || !out.Enabled(ctx, slog.LevelInfo) {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "over: "+message, 0)
	r.AddAttrs(slog.Int("times", known.times), slog.Duration("lasted", known.last.Sub(known.first)))
	_ = out.Handle(ctx, r) // nobody to tell
}

// Close stops the Handler's timers. All records that come later are passed on.
func (h *Handler) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for key, known := range h.known {
		known.timer.Stop()
		delete(h.known, key)
	}
}
