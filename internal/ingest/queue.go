package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// queueSchema is the control schema, where River keeps its tables.
	queueSchema = tenant.ControlSchema

	// maintenanceWorkers is how many indexes an instance builds at once: each
	// takes a CPU or more, and memory.
	maintenanceWorkers = 2
	// reembedWorkers is how many indexes an instance embeds again at once.
	reembedWorkers = 2

	maxAttempts = 8
	jobTimeout  = 15 * time.Minute
)

// control runs statements on the control schema.
type control interface {
	executor
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Queue is this instance's end of the durable work in PostgreSQL: of the backlog of
// documents, which it hands to its worker in batches, and of River's queue of jobs
// about whole indexes.
type Queue struct {
	client   *river.Client[pgx.Tx]
	control  control
	instance string
	worker   *Worker
	hands    hands
	rooms    rooms
	woken    chan struct{}
	log      *slog.Logger
}

// QueueConfig are the settings of a Queue. All are required but the limits.
type QueueConfig struct {
	Driver   riverdriver.Driver[pgx.Tx]
	Control  control
	Instance string // unique among the running copies of the service
	Workers  int    // batches of documents processed at once
	Logger   *slog.Logger
	// MaxQueuedDocuments and MaxQueuedBytes bound what a tenant may have waiting or
	// in work: 100,000 documents and 4 GiB by default.
	MaxQueuedDocuments int
	MaxQueuedBytes     int64
}

// NewQueue returns a queue whose work is done by the workers once Run is called.
func NewQueue(config QueueConfig, worker *Worker, maintainer *index.Maintainer, reembedder *index.Reembedder) (*Queue, error) {
	workers := river.NewWorkers()
	err := errors.Join(
		river.AddWorkerSafely(workers, maintainer),
		river.AddWorkerSafely(workers, reembedder),
		river.AddWorkerSafely(workers, graph.NewRebuilder(worker.db, config.Logger)),
	)
	if err != nil {
		return nil, fmt.Errorf("make the job queue: %w", err)
	}
	client, err := river.NewClient(config.Driver, &river.Config{
		ID:     config.Instance,
		Schema: queueSchema,
		Queues: map[string]river.QueueConfig{
			index.MaintenanceQueue: {MaxWorkers: maintenanceWorkers}, index.ReembedQueue: {MaxWorkers: reembedWorkers},
		},
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
	return &Queue{
		client: client, control: config.Control, instance: config.Instance, worker: worker, log: config.Logger,
		hands: hands{workers: config.Workers, busy: map[tenant.ID]int{}, held: map[string]bool{}},
		rooms: newRooms(config),
		woken: make(chan struct{}, 1),
	}, nil
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

// InsertTx implements index.Inserter.
func (q *Queue) InsertTx(ctx context.Context, tx pgx.Tx, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error) {
	return q.client.InsertTx(ctx, tx, args, opts)
}

// drainTimeout is how long running jobs may finish after Run was told to stop.
const drainTimeout = 10 * time.Second

// Run works until ctx ends, then lets what is running finish for drainTimeout.
func (q *Queue) Run(ctx context.Context) error {
	if err := q.beat(ctx); err != nil {
		return err
	}
	// The work must outlive ctx, or it would be cut off.
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	if err := q.client.Start(work); err != nil {
		return fmt.Errorf("start the job queue: %w", err)
	}
	var dispatching sync.WaitGroup
	dispatching.Go(func() { q.dispatch(ctx, work) })
	q.keepAlive(ctx)
	overdue := time.AfterFunc(drainTimeout, cut)
	defer overdue.Stop()
	err := q.stop(work)
	dispatching.Wait()
	return errors.Join(err, q.leave(context.WithoutCancel(ctx)))
}

// stop ends the job queue, when its jobs are done or ctx ends.
func (q *Queue) stop(ctx context.Context) error {
	if err := q.client.Stop(ctx); err != nil {
		hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		if err := q.client.StopAndCancel(hard); err != nil {
			return fmt.Errorf("stop the job queue: %w", err)
		}
	}
	return nil
}

// backoff is when what has failed is tried again: after 1, 2, 4 ... seconds, at
// most 5 minutes, each stretched by up to a half so that the failures of one outage
// do not come back in step.
type backoff struct{}

const maxBackoff = 5 * time.Minute

// NextRetry implements river.ClientRetryPolicy.
func (b backoff) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(b.after(job.Attempt))
}

// after returns how long to wait after so many attempts.
func (backoff) after(attempts int) time.Duration {
	wait := min(time.Second<<min(max(attempts-1, 0), 20), maxBackoff)
	return wait + rand.N(wait/2)
}

// warnings is a log handler that drops what is less than a warning.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}
