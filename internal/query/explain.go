package query

import (
	"time"

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

// Stopwatch times the stages of one query.
type Stopwatch struct {
	Stages []Stage
	last   time.Time
}

// StartStopwatch returns one whose first stage begins now.
func StartStopwatch() *Stopwatch { return &Stopwatch{last: time.Now()} }

// Lap ends a stage, out of which so many chunks came, and begins the next.
func (w *Stopwatch) Lap(name string, candidates int) {
	now := time.Now()
	w.Stages = append(w.Stages, Stage{Name: name, Duration: now.Sub(w.last), Candidates: candidates})
	w.last = now
}
