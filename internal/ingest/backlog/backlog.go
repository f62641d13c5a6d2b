package backlog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/tenant"
)

// Document is one version of a document to process.
type Document struct {
	Tenant     tenant.ID
	JobID      string
	IndexID    int64
	DocumentID string
	Version    int
	Bytes      int64
}

// Claim is a document that this instance has claimed.
type Claim struct {
	Document
	Attempt int // from 1
	Lost    int // how often an instance died while it had claimed the document
}

// MaxLost is how often instances may die while processing a document before a worker
// should fail it.
const MaxLost = 30

// Alone reports whether the document is so large that nothing else is claimed while this
// instance works on it.
func (c Claim) Alone() bool { return c.Bytes >= maxLeasedBytes }

// Processor processes claimed documents of one index. It calls Done or Postpone for each;
// documents that are still claimed when it returns are claimed again. It returns soon after
// ctx ends.
type Processor func(ctx context.Context, claims []Claim)

// Control runs statements on the control schema of a database with the rights of the service.
type Control interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// jobQueue is the queue of tasks that instances run besides the backlog; job.Queue
// implements it.
type jobQueue interface {
	// Run runs jobs until ctx ends and those that run have ended.
	Run(ctx context.Context) error
	// Rescue makes the jobs of dead instances available again and returns their number.
	// alive returns the ids of the living instances.
	Rescue(ctx context.Context, alive func(context.Context) ([]string, error)) (int, error)
}

// Backlog adds documents to the backlog and processes them on this instance. Safe for
// concurrent use.
type Backlog struct {
	control   Control
	of        func(context.Context, tenant.ID) (Control, error)
	elsewhere func(tenant.ID) *Backlog
	jobs      jobQueue
	instance  string
	leases    leases
	usage     usage
	woken     chan struct{}
	pause     func() error
	log       *slog.Logger
}

// Config are the settings of a Backlog. All are required but the limits.
type Config struct {
	Control  Control
	Jobs     jobQueue
	Instance string // unique among the running copies of the service
	Workers  int    // batches of documents processed at once
	Logger   *slog.Logger
	// MaxDocuments and MaxBytes limit the waiting and claimed documents of a tenant, by
	// default to 100,000 documents and 4 GiB.
	MaxDocuments int
	MaxBytes     int64
	// Of returns the control schema of the database in which a tenant lives, whose backlog has the
	// tenant's documents. Default: Control.
	Of func(ctx context.Context, id tenant.ID) (Control, error)
	// Elsewhere returns the Backlog that this instance runs on the database in which a tenant lives,
	// nil for this one or if it runs none. Default: this one for all tenants.
	Elsewhere func(id tenant.ID) *Backlog
	// Pause returns an error while no document may be claimed, such as when there is no
	// space for its chunks. Default: documents are always claimed.
	Pause func() error
}

// New returns a Backlog. It processes nothing until Run is called.
func New(config Config) *Backlog {
	if config.Pause == nil {
		config.Pause = func() error { return nil }
	}
	if config.Of == nil {
		config.Of = func(context.Context, tenant.ID) (Control, error) { return config.Control, nil }
	}
	if config.Elsewhere == nil {
		config.Elsewhere = func(tenant.ID) *Backlog { return nil }
	}
	return &Backlog{
		of: config.Of, elsewhere: config.Elsewhere, control: config.Control, jobs: config.Jobs, instance: config.Instance, log: config.Logger,
		leases: leases{workers: config.Workers, busy: map[tenant.ID]int{}, jobs: map[string]bool{}},
		usage: usage{
			maxDocuments: cmp.Or(config.MaxDocuments, defaultMaxDocuments),
			maxBytes:     cmp.Or(config.MaxBytes, defaultMaxBytes),
			tenants:      map[tenant.ID]*tenantUsage{},
		},
		woken: make(chan struct{}, 1), pause: config.Pause,
	}
}

// Run processes documents and runs the job queue until ctx ends. Then it waits up to
// drainTimeout for running work. It writes heartbeats until it returns.
func (b *Backlog) Run(ctx context.Context, process Processor) error {
	switch _, err := b.beat(ctx); {
	case ctx.Err() != nil: // the statement may have taken effect
		return b.leave(context.WithoutCancel(ctx))
	case err != nil:
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() { b.dispatch(running, process) })
	group.Go(func() { b.keepAlive(running) })
	err := b.jobs.Run(running)
	stop()
	group.Wait()
	return errors.Join(err, b.leave(context.WithoutCancel(ctx)))
}
