package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// queueSchema is the control schema, where River keeps its tables.
	queueSchema = tenant.ControlSchema
	queueName   = "ingest"

	// maintenanceWorkers is how many indexes an instance builds at once: each
	// takes a CPU or more, and memory.
	maintenanceWorkers = 2

	maxAttempts = 8
	jobTimeout  = 15 * time.Minute
)

// ingestArgs are what a queued job says: which version of which document. The
// rest is read when the work begins.
type ingestArgs struct {
	Tenant     tenant.ID `json:"tenant"`
	JobID      string    `json:"job_id"`
	IndexID    int64     `json:"index_id"`
	DocumentID string    `json:"document_id"`
	Version    int       `json:"version"`
}

// Kind names the job in the queue's tables.
func (ingestArgs) Kind() string { return "ingest" }

// control runs statements on the control schema.
type control interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Queue is this instance's end of the durable queue in PostgreSQL.
type Queue struct {
	client   *river.Client[pgx.Tx]
	control  control
	instance string
	log      *slog.Logger
}

// QueueConfig are the settings of a Queue. All are required.
type QueueConfig struct {
	Driver   riverdriver.Driver[pgx.Tx]
	Control  control
	Instance string // unique among the running copies of the service
	Workers  int    // documents processed at once
	Logger   *slog.Logger
}

// NewQueue returns a queue whose jobs are done by the workers once Run is called.
func NewQueue(config QueueConfig, worker *Worker, maintainer *index.Maintainer) (*Queue, error) {
	workers := river.NewWorkers()
	if err := errors.Join(river.AddWorkerSafely(workers, worker), river.AddWorkerSafely(workers, maintainer)); err != nil {
		return nil, fmt.Errorf("make the job queue: %w", err)
	}
	client, err := river.NewClient(config.Driver, &river.Config{
		ID:     config.Instance,
		Schema: queueSchema,
		Queues: map[string]river.QueueConfig{queueName: {
			MaxWorkers: config.Workers,
			// Most jobs are one small document: fetching must keep up with them.
			FetchCooldown: 5 * time.Millisecond,
			// Not every insert is announced, so that many at once are no storm.
			FetchPollInterval: 100 * time.Millisecond,
		}, index.MaintenanceQueue: {MaxWorkers: maintenanceWorkers}},
		Workers:              workers,
		JobTimeout:           jobTimeout,
		RescueStuckJobsAfter: jobTimeout + time.Minute,
		MaxAttempts:          maxAttempts,
		RetryPolicy:          backoff{},
		// What River says at info is of its own life, not of ours.
		Logger: slog.New(warnings{config.Logger.Handler()}),
	})
	if err != nil {
		return nil, fmt.Errorf("make the job queue: %w", err)
	}
	return &Queue{client: client, control: config.Control, instance: config.Instance, log: config.Logger}, nil
}

// MigrateQueue brings the queue's tables up to date.
func MigrateQueue(ctx context.Context, driver riverdriver.Driver[pgx.Tx]) error {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Schema: queueSchema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	return nil
}

// enqueue adds jobs in the caller's transaction.
func (q *Queue) enqueue(ctx context.Context, tx pgx.Tx, args ...ingestArgs) error {
	jobs := make([]river.InsertManyParams, len(args))
	for i, a := range args {
		jobs[i] = river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{Queue: queueName}}
	}
	_, err := q.client.InsertManyFastTx(ctx, tx, jobs)
	return err
}

// InsertTx implements index.Inserter.
func (q *Queue) InsertTx(ctx context.Context, tx pgx.Tx, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error) {
	return q.client.InsertTx(ctx, tx, args, opts)
}

// drainTimeout is how long running jobs may finish after Run was told to stop.
const drainTimeout = 10 * time.Second

// Run works until ctx ends, then lets running jobs finish for drainTimeout.
func (q *Queue) Run(ctx context.Context) error {
	if err := q.beat(ctx); err != nil {
		return err
	}
	// The queue must outlive ctx, or it would cut its jobs off.
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the job queue: %w", err)
	}
	q.keepAlive(ctx)
	return q.stop(context.WithoutCancel(ctx))
}

func (q *Queue) stop(ctx context.Context) error {
	soft, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := q.client.Stop(soft); err != nil {
		hard, cancel := context.WithTimeout(ctx, drainTimeout)
		defer cancel()
		if err := q.client.StopAndCancel(hard); err != nil {
			return fmt.Errorf("stop the job queue: %w", err)
		}
	}
	return q.leave(ctx)
}

// backoff is when a failed job is tried again: after 1, 2, 4 ... seconds, at
// most 5 minutes, each stretched by up to a half so that the jobs of one outage
// do not come back in step.
type backoff struct{}

const maxBackoff = 5 * time.Minute

// NextRetry implements river.ClientRetryPolicy.
func (backoff) NextRetry(job *rivertype.JobRow) time.Time {
	wait := min(time.Second<<min(max(job.Attempt-1, 0), 20), maxBackoff)
	return time.Now().Add(wait + rand.N(wait/2))
}

// warnings is a log handler that drops what is less than a warning.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}
