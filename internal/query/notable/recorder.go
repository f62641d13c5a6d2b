package notable

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Kind says why a question is notable.
type Kind string

// The kinds.
const (
	Unanswered Kind = "unanswered" // no source, or none with a score of weakScore
	Slow       Kind = "slow"       // slowAfter or longer, also if the caller gave up
	Failed     Kind = "failed"     // by a fault of the service or of a model
)

const (
	// weakScore is the best calibrated score below which a question counts as unanswered.
	weakScore = 0.3
	// slowAfter is the time from which on a question counts as slow.
	slowAfter = 2 * time.Second
	// keepDays is for how many days a question is kept after it was asked last.
	keepDays = 14
	keep     = keepDays * 24 * time.Hour
	// maxKept is how many questions of a kind are kept of an index, the latest.
	maxKept = 300
	// maxQuestionBytes bounds the text of a question. Longer ones are not recorded.
	maxQuestionBytes = 2 << 10

	// flushInterval is how long questions are collected before they are written. An instance that is killed loses
	// those of this time.
	flushInterval = 5 * time.Second
	// flushTimeout bounds the transaction that writes the questions of a tenant.
	flushTimeout = 10 * time.Second
	// maxWaiting and maxWaitingOfTenant bound the questions in memory. Beyond them new ones are dropped.
	maxWaiting         = 10_000
	maxWaitingOfTenant = 500
)

// codes are the failures that are recorded, as callers see them.
var codes = map[fault.Kind]string{fault.Internal: "internal", fault.Unavailable: "unavailable", fault.Deadline: "deadline_exceeded"}

// Asked is a question that was asked of an index, and what came of it.
type Asked struct {
	Question  string
	Namespace string
	Sources   int
	Best      *float64 // the best calibrated score; nil for none
	Took      time.Duration
	Err       error
}

// kinds returns why the question is notable, nil if it is not.
func (a Asked) kinds() (kinds []Kind) {
	failure := fault.KindOf(a.Err)
	long := a.Took >= slowAfter
	switch {
	case a.Err == nil && (a.Sources == 0 || a.Best != nil && *a.Best < weakScore):
		kinds = append(kinds, Unanswered)
	case a.Err != nil && codes[failure] != "" && (failure != fault.Deadline || long): // a short deadline is the caller's
		kinds = append(kinds, Failed)
	}
	if long && (a.Err == nil || failure == fault.Canceled) {
		kinds = append(kinds, Slow)
	}
	return kinds
}

// key is the key of a row.
type key struct {
	index      int64
	kind       Kind
	namespace  string
	questionID string
}

// entry is what waits to be merged into a row.
type entry struct {
	question string
	asked    int64
	at       time.Time
	best     *float64
	slowest  time.Duration
	code     string
}

// merge adds another entry of the same question.
func (e *entry) merge(o entry) {
	e.asked += o.asked
	e.slowest = max(e.slowest, o.slowest)
	if e.best == nil || o.best != nil && *o.best > *e.best {
		e.best = o.best
	}
	if !o.at.Before(e.at) {
		e.question, e.at, e.code = o.question, o.at, o.code
	}
}

// Recorder records notable questions. A nil Recorder records none. Safe for concurrent use.
type Recorder struct {
	config Config

	mu      sync.Mutex
	waiting map[tenant.ID]map[key]*entry
	count   int
}

// Config configures a Recorder.
type Config struct {
	DB *data.DB
	// Work is the database for background work.
	Work   *data.DB
	Logger *slog.Logger
	// Off records nothing.
	Off bool
}

// New returns a Recorder. It writes nothing until Run or Flush.
func New(config Config) *Recorder {
	return &Recorder{config: config, waiting: map[tenant.ID]map[key]*entry{}}
}

type withoutKey struct{}

// Without returns a context whose questions are not recorded, such as those of an evaluation.
func Without(ctx context.Context) context.Context { return context.WithValue(ctx, withoutKey{}, true) }

// Note records a question of an index if it is notable, the index records questions, and the caller has no
// mandatory filter. It does not block.
func (r *Recorder) Note(ctx context.Context, id tenant.ID, i index.Index, a Asked) {
	kinds := a.kinds()
	if r == nil || len(kinds) == 0 || r.config.Off || !i.RecordsQuestions || ctx.Value(withoutKey{}) != nil {
		return
	}
	if caller, ok := access.FromContext(ctx); !ok || !caller.Principal.MandatoryFilter.IsZero() {
		return
	}
	if len(a.Question) > maxQuestionBytes {
		return
	}
	question := textlimit.OneLine(a.Question, maxQuestionBytes)
	if question == "" {
		return
	}
	e := entry{question: question, asked: 1, at: time.Now(), best: a.Best, slowest: a.Took}
	if a.Err != nil {
		e.code = codes[fault.KindOf(a.Err)]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, kind := range kinds {
		r.merge(id, key{i.ID, kind, a.Namespace, QuestionID(question)}, e)
	}
}

// QuestionID returns the id of a question, the same for texts that differ in case and white space only.
func QuestionID(text string) string {
	const hashed = 16 // bytes, as hex
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join(strings.Fields(text), " "))))
	return "asked-" + hex.EncodeToString(sum[:])[:hashed]
}

// merge adds to what waits. The caller holds mu.
func (r *Recorder) merge(id tenant.ID, k key, e entry) {
	own := r.waiting[id]
	if known := own[k]; known != nil {
		known.merge(e)
		return
	}
	if r.count >= maxWaiting || len(own) >= maxWaitingOfTenant {
		return
	}
	if own == nil {
		own = map[key]*entry{}
		r.waiting[id] = own
	}
	own[k] = &e
	r.count++
}

// Run writes questions until ctx ends. Flush then writes the last ones.
func (r *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			r.Flush(ctx)
		}
	}
}

// Flush writes what waits, a transaction for each tenant. While a database does not answer, or accepts no writes,
// the questions wait again; they are dropped on other errors.
func (r *Recorder) Flush(ctx context.Context) {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting, r.count = map[tenant.ID]map[key]*entry{}, 0
	r.mu.Unlock()
	for id, rows := range waiting {
		err := r.store(ctx, id, rows)
		switch kind := fault.KindOf(err); {
		case err == nil || kind == fault.NotFound: // the tenant is gone
		case kind == fault.Unavailable || ctx.Err() != nil:
			r.mu.Lock()
			for k, e := range rows {
				r.merge(id, k, *e)
			}
			r.mu.Unlock()
		default:
			r.config.Logger.WarnContext(ctx, "notable questions were dropped", "tenant", id, "questions", len(rows), "err", err)
		}
	}
}
