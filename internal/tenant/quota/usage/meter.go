// Package usage counts what tenants use: documents, searches, and tokens of models, by the hour,
// index and stage. A Meter adds up in memory and writes its counts every few seconds, so that a
// search makes no statement of its own; Ingested counts in the transaction that stores the
// documents. It also enforces the quota of tokens a month.
//
//	ctx = usage.InIndex(ctx, "docs")
//	meter.Add(ctx, "acme", usage.Query, usage.Counts{Calls: 1})
package usage

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Stage is a kind of work that is counted.
type Stage string

// The stages. The last four are calls of models.
const (
	Ingest    Stage = "ingest" // documents that became searchable
	Upsert    Stage = "upsert" // ready-made vectors
	Query     Stage = "query"
	Walk      Stage = "walk" // searches of the graph
	Embedding Stage = "embedding"
	Rerank    Stage = "rerank"
	Chat      Stage = "chat"

	Transcription Stage = "transcription"
)

// Stages are all stages.
var Stages = []Stage{Ingest, Upsert, Query, Walk, Embedding, Rerank, Chat, Transcription}

// stageOf maps the uses of endpoints to stages.
var stageOf = map[endpoint.Use]Stage{endpoint.Embed: Embedding, endpoint.Rerank: Rerank, endpoint.Chat: Chat}

// Counts are what was used.
type Counts struct {
	Calls        int64
	Documents    int64
	Chunks       int64
	Bytes        int64 // of uploaded documents; of the values of vectors
	InputTokens  int64
	OutputTokens int64
	Seconds      float64 // of transcribed recordings
}

func (c *Counts) add(o Counts) {
	c.Calls += o.Calls
	c.Documents += o.Documents
	c.Chunks += o.Chunks
	c.Bytes += o.Bytes
	c.InputTokens += o.InputTokens
	c.OutputTokens += o.OutputTokens
	c.Seconds += o.Seconds
}

const (
	// FlushInterval is how long counts are collected before they are written. An instance that
	// is killed loses those of this time.
	FlushInterval = 5 * time.Second
	// flushTimeout bounds one statement that writes counts.
	flushTimeout = 10 * time.Second
	// maxWaiting bounds the counts in memory while the database does not take them. Beyond it
	// new ones are dropped.
	maxWaiting = 100_000
	// maxCollecting is how many counts may wait before rows of other databases are left where they
	// are: their owners must not make the counts of others be dropped.
	maxCollecting = maxWaiting / 2
	// maxModelBytes bounds the name of a model. Longer ones are cut.
	maxModelBytes = 200
	sweepInterval = time.Hour
)

// DefaultRetention is how long rows are kept by default: a year and a month.
const DefaultRetention = 400 * 24 * time.Hour

// control runs statements on the control schema with the rights of the service.
type control interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Config configures a Meter.
type Config struct {
	Control control
	Logger  *slog.Logger
	// Retention is how long rows are kept. Default: DefaultRetention.
	Retention time.Duration
	// Warn calls the function Warn in a transaction of a tenant. Default: nobody is warned.
	Warn func(ctx context.Context, id tenant.ID, a Amount) error
	// PlanContact is where a tenant gets a larger plan, for errors; empty for none.
	PlanContact string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Meter counts the use of tenants. A nil Meter counts nothing and allows everything. Safe for
// concurrent use.
type Meter struct {
	config Config

	mu      sync.Mutex
	waiting map[key]*entry
	tokens  map[string]int64 // in waiting, by tenant
	dropped int

	writing sync.RWMutex // held while counts go from memory to the database

	allowances sync.Map // tenant -> *allowance
}

// key is the key of a row.
type key struct {
	tenant, index, model string
	stage                Stage
	hour                 int64 // Unix time
}

// entry is what waits to be added to a row.
type entry struct {
	Counts
	at time.Time // of the last addition
}

// NewMeter returns a Meter. It writes nothing until Run or Flush. Errors: Invalid for a
// retention that is too short for the quotas of a month.
func NewMeter(config Config) (*Meter, error) {
	config.Retention = cmp.Or(config.Retention, DefaultRetention)
	if config.Retention < minRetention {
		return nil, fault.Field("usage-retention", "must be at least %s, because the quota of tokens is counted over a month", minRetention)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Meter{config: config, waiting: map[key]*entry{}, tokens: map[string]int64{}}, nil
}

// minRetention keeps the rows of the current month.
const minRetention = 32 * 24 * time.Hour

type indexKey struct{}

// InIndex returns a context in which what is used counts for an index.
func InIndex(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, indexKey{}, name)
}

func indexOf(ctx context.Context) string {
	name, _ := ctx.Value(indexKey{}).(string)
	return name
}

// Add counts what a tenant used, for the index of the context. It does not block.
func (m *Meter) Add(ctx context.Context, tenant string, stage Stage, c Counts) {
	if m != nil {
		m.add(key{tenant: tenant, index: indexOf(ctx), stage: stage}, c)
	}
}

// Count counts a call of a model. It implements endpoint.Meter.
func (m *Meter) Count(ctx context.Context, tenant string, use endpoint.Use, model string, input, output int) {
	if m != nil {
		telemetry.Tokens(ctx, string(stageOf[use]), input, output)
		model = model[:min(len(model), maxModelBytes)]
		m.add(key{tenant: tenant, index: indexOf(ctx), stage: stageOf[use], model: model}, Counts{Calls: 1, InputTokens: int64(input), OutputTokens: int64(output)})
	}
}

// Transcribed counts the transcription of a recording of so many seconds. It implements transcript.Meter.
func (m *Meter) Transcribed(ctx context.Context, tenant, model string, seconds float64, input, output int) {
	if m != nil {
		telemetry.Tokens(ctx, string(Transcription), input, output)
		model = model[:min(len(model), maxModelBytes)]
		m.add(key{tenant: tenant, index: indexOf(ctx), stage: Transcription, model: model}, Counts{Calls: 1, InputTokens: int64(input), OutputTokens: int64(output), Seconds: seconds})
	}
}

func (m *Meter) add(k key, c Counts) {
	now := m.config.Now()
	k.hour = now.Unix() - now.Unix()%3600
	m.mu.Lock()
	defer m.mu.Unlock()
	m.merge(k, entry{c, now})
}

// merge adds to what waits. The caller holds mu.
func (m *Meter) merge(k key, e entry) {
	known := m.waiting[k]
	if known == nil {
		if len(m.waiting) >= maxWaiting {
			m.dropped++
			return
		}
		known = &entry{}
		m.waiting[k] = known
	}
	known.add(e.Counts)
	if e.at.After(known.at) {
		known.at = e.at
	}
	if used := e.InputTokens + e.OutputTokens; used != 0 {
		m.tokens[k.tenant] += used
	}
}

// Run writes counts and deletes old rows until ctx ends. Flush then writes the last ones.
func (m *Meter) Run(ctx context.Context) error {
	flush, sweep := time.NewTicker(FlushInterval), time.NewTicker(sweepInterval)
	defer flush.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-flush.C:
			if err := m.Flush(ctx); err != nil && ctx.Err() == nil {
				m.config.Logger.WarnContext(ctx, "usage was not written, and is kept in memory", "err", err)
			}
		case <-sweep.C:
			m.forgetAllowances()
			if err := m.Sweep(ctx); err != nil && ctx.Err() == nil {
				m.config.Logger.WarnContext(ctx, "deleting old rows of usage", "err", err)
			}
		}
	}
}

// Flush writes what waits, and warns tenants that come near their quota of tokens. On an error it waits again; it is counted twice if the connection
// broke after the statement took effect. A count that the database refuses is dropped.
func (m *Meter) Flush(ctx context.Context) error {
	if m == nil {
		return nil
	}
	err := m.write(ctx)
	m.warn(ctx)
	return err
}

// write writes what waits.
func (m *Meter) write(ctx context.Context) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	waiting, dropped := m.waiting, m.dropped
	m.waiting, m.tokens, m.dropped = map[key]*entry{}, map[string]int64{}, 0
	m.mu.Unlock()
	if dropped > 0 {
		m.config.Logger.ErrorContext(ctx, "usage was dropped, because the database took none for too long", "counts", dropped)
	}
	if len(waiting) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	rows := make([]counted, 0, len(waiting))
	for k, e := range waiting {
		rows = append(rows, counted{k, *e})
	}
	left, err := m.writeAccepted(ctx, rows)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range left {
		m.merge(r.key, r.entry)
	}
	return err
}
