package query

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Explain describes how an answer was found.
type Explain struct {
	Mode Mode
	// Repeated is the number of passages that are no sources because they repeat one.
	Repeated int
	// Plan is how the nearest embeddings were found: exact, by comparing every chunk
	// of the scope, or approximate, by the Postgres index. Empty without a vector
	// leg.
	Plan string
	// Candidates is about how many chunks were compared, by statistics. It is 0 if
	// there are none, as for an index that is always searched exactly, and for a
	// credential with a mandatory filter.
	Candidates int
	// SearchWidth is the search width of an index scan, ef or probes; 0 without one.
	SearchWidth int
	// RecallTarget is that of an index scan, and MeasuredRecall what was measured with its search width. 0 without one, and
	// if nothing was measured.
	RecallTarget, MeasuredRecall float64
	// Calibration is the version of the statistics that the scores rest on; empty for scores that are
	// similarities.
	Calibration string
	// VectorWeight is the weight of the embeddings in a hybrid search, nil in others and in several indexes, and
	// VectorLogOdds what was added to its log-odds.
	VectorWeight  *float64
	VectorLogOdds float64
	// Corrections are the words of the question that no chunk has, of which similar ones were searched for.
	Corrections []Correction
	// Curations are the ids of those that hold for the question; for a credential with a mandatory filter, of those that pin a source.
	Curations []string
	// Synonyms are the terms of the question of which synonyms were searched for.
	Synonyms []SynonymUse
	// Complete reports whether there are topK sources, or all there are.
	Complete bool
	// Exact reports whether no better sources exist: nothing was approximated.
	Exact  bool
	Stages []Stage
	// Context is the effective request context.
	Context []access.ContextValue
	// FilterNotes are the Notes of the request's filter, without the credential's.
	FilterNotes []string
	// Conditions are those of a question in the syntax web, in English.
	Conditions []string
	// Profiles are the ranking profiles that were applied.
	Profiles []AppliedProfile
}

// Stage is one step of a query.
type Stage struct {
	Name       string
	Duration   time.Duration
	Candidates int // chunks that it returned
}

// Stopwatch times the stages of one query for the metrics, and records a span for each if the
// request is traced. Not safe for concurrent use.
type Stopwatch struct {
	// Stages are the stages that have ended, in order.
	Stages []Stage

	prefix  string
	ctx     context.Context //nolint:containedctx // counts the stages
	request trace.Span
	ended   func(Stage) // nil for none
	last    time.Time
}

type stagesKey struct{}

// WithStages returns a context whose queries call ended with each stage that has ended, in
// order.
func WithStages(ctx context.Context, ended func(Stage)) context.Context {
	return context.WithValue(ctx, stagesKey{}, ended)
}

// StartStopwatch starts the first stage. prefix names the spans: with the prefix query,
// the stage search is the span query.search.
func StartStopwatch(ctx context.Context, prefix string) *Stopwatch {
	ended, _ := ctx.Value(stagesKey{}).(func(Stage))
	return &Stopwatch{prefix: prefix, ctx: ctx, request: trace.SpanFromContext(ctx), ended: ended, last: time.Now()}
}

// Lap ends the stage name, which returned so many candidates, and starts the next.
func (w *Stopwatch) Lap(name string, candidates int) {
	now := time.Now()
	stage := Stage{Name: name, Duration: now.Sub(w.last), Candidates: candidates}
	w.Stages = append(w.Stages, stage)
	telemetry.Stage(w.ctx, w.prefix+"."+name, stage.Duration)
	if w.ended != nil {
		w.ended(stage)
	}
	if w.request.IsRecording() {
		tracer := w.request.TracerProvider().Tracer("github.com/ragdhq/ragd/internal/query")
		_, span := tracer.Start(trace.ContextWithSpan(context.Background(), w.request), w.prefix+"."+name,
			trace.WithTimestamp(w.last), trace.WithAttributes(attribute.Int("candidates", candidates)))
		span.End(trace.WithTimestamp(now))
	}
	w.last = now
}
