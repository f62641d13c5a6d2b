package query

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ragdhq/ragd/internal/rerank"
)

// Explain says how an answer was found.
type Explain struct {
	Mode Mode
	// Plan is how the nearest embeddings were found: exact, by comparing with
	// every chunk of the scope, or approximate, by the Postgres index. Empty
	// without a vector leg.
	Plan string
	// Candidates is about how many chunks were looked at, by statistics; 0 where
	// there are none, as in an index that is always searched exactly, and for a
	// credential with a mandatory filter.
	Candidates int
	// Complete says that there are topK sources, or all there are.
	Complete bool
	// Exact says that no better sources exist: nothing was found by
	// approximation.
	Exact bool
	// Reranking says what a second scoring took; nil without one.
	Reranking *rerank.Report
	Stages    []Stage
}

// Stage is one step of a query.
type Stage struct {
	Name       string
	Duration   time.Duration
	Candidates int // chunks that came out of it
}

// Stopwatch times the stages of one query. Where the request is traced, each is a
// span.
type Stopwatch struct {
	// Stages are those that are over.
	Stages []Stage

	of      string
	request trace.Span
	last    time.Time
}

// StartStopwatch starts with the first stage of what is named: of "query", the
// stage search is the span query.search.
func StartStopwatch(ctx context.Context, of string) *Stopwatch {
	return &Stopwatch{of: of, request: trace.SpanFromContext(ctx), last: time.Now()}
}

// Lap ends a stage, which so many chunks came out of, and begins the next.
func (w *Stopwatch) Lap(name string, candidates int) {
	now := time.Now()
	w.Stages = append(w.Stages, Stage{Name: name, Duration: now.Sub(w.last), Candidates: candidates})
	if w.request.IsRecording() {
		tracer := w.request.TracerProvider().Tracer("github.com/ragdhq/ragd/internal/query")
		_, span := tracer.Start(trace.ContextWithSpan(context.Background(), w.request), w.of+"."+name,
			trace.WithTimestamp(w.last), trace.WithAttributes(attribute.Int("candidates", candidates)))
		span.End(trace.WithTimestamp(now))
	}
	w.last = now
}
