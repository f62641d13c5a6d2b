package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// schema is the control schema, where River keeps its tables.
const schema = tenant.ControlSchema

// Lane is a set of workers of each instance: a queue, as River calls it.
type Lane string

// The lanes.
const (
	LaneMaintenance Lane = "maintenance"
	// LaneReembed is for tasks that take hours, which maintenance does not wait for.
	LaneReembed Lane = "reembed"
	// LaneEvaluate is for tasks that ask queries one after the other, in short turns.
	LaneEvaluate Lane = "evaluate"
	// LaneDeliver is for tasks that wait for servers of tenants most of the time.
	LaneDeliver Lane = "deliver"
	// LaneWorkflow is for runs of workflows and questions to agents, which wait for models and
	// servers most of the time, and for what takes a moment.
	LaneWorkflow Lane = "workflow"
	// LaneSync is for runs of connectors, which wait for the servers of sources most of the time and
	// hold an item in memory.
	LaneSync Lane = "sync"
	// LaneMove is for moves of tenants to other databases, which take hours and connections with the
	// rights of the administrator.
	LaneMove Lane = "move"
)

// lanes is how many tasks of each lane an instance runs at once. Those of all but LaneDeliver,
// LaneWorkflow and LaneSync take a CPU or more, and memory.
var lanes = map[Lane]int{LaneMaintenance: 2, LaneReembed: 2, LaneEvaluate: 2, LaneDeliver: 64, LaneWorkflow: 1024, LaneSync: 32, LaneMove: 1}

// MaxAttempts is how often the work of a job is tried, unless its Runner says otherwise.
const MaxAttempts = 8

// defaultTimeout is how long an attempt may take, unless its Runner says otherwise.
const defaultTimeout = 15 * time.Minute

// Queue stores tasks in River and runs them on any instance. Safe for concurrent use.
type Queue struct {
	client  *river.Client[pgx.Tx]
	driver  riverdriver.Driver[pgx.Tx]
	workers *river.Workers
	runners Registry
	pause   func() error
	serves  func(ctx context.Context, id tenant.ID) error
}

// QueueConfig are the settings of a Queue. All are required but Pause.
type QueueConfig struct {
	Driver   riverdriver.Driver[pgx.Tx]
	Instance string // unique among the running copies of the service
	Logger   *slog.Logger
	// Pause returns an error while no task may run, such as when there is no space for
	// what it builds. Tasks then wait; the wait is no attempt. Default: tasks always run.
	Pause func() error
	// Serves returns an error for a tenant that does not live in the queue's database: a task is
	// then given up, NotFound, or waits. Default: all live there.
	Serves func(ctx context.Context, id tenant.ID) error
}

// NewQueue returns a queue without runners: Register must be called before the first
// task is enqueued or run.
func NewQueue(config QueueConfig) (*Queue, error) {
	if config.Pause == nil {
		config.Pause = func() error { return nil }
	}
	if config.Serves == nil {
		config.Serves = func(context.Context, tenant.ID) error { return nil }
	}
	workers, queues := river.NewWorkers(), map[string]river.QueueConfig{}
	for lane, n := range lanes {
		queues[string(lane)] = river.QueueConfig{MaxWorkers: n}
	}
	client, err := river.NewClient(config.Driver, &river.Config{
		ID:                   config.Instance,
		Schema:               schema,
		Queues:               queues,
		Workers:              workers,
		JobTimeout:           defaultTimeout,
		RescueStuckJobsAfter: defaultTimeout + time.Minute,
		MaxAttempts:          MaxAttempts,
		RetryPolicy:          retryPolicy{},
		// REINDEX needs the owner of the tables, which the service's role is not. The
		// queue is small, and VACUUM keeps its indexes so.
		ReindexerSchedule: river.NeverSchedule(),
		// River logs its routine work at info.
		Logger: slog.New(warnings{config.Logger.Handler()}),
	})
	if err != nil {
		return nil, fmt.Errorf("make the job queue: %w", err)
	}
	return &Queue{client: client, driver: config.Driver, workers: workers, pause: config.Pause, serves: config.Serves}, nil
}

// Migrate brings River's tables up to date.
func Migrate(ctx context.Context, driver riverdriver.Driver[pgx.Tx]) error {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Schema: schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	return nil
}

// Register sets the runners of the tasks. It must be called once, before all other methods
// but Rescue and DeleteTenant.
func (q *Queue) Register(runners Registry) {
	q.runners = runners
	for kind, r := range runners {
		if r.Run != nil {
			river.AddWorkerArgs(q.workers, args{kind: kind}, &worker{runner: r, pause: q.pause, serves: q.serves})
			river.AddWorkerArgs(q.workers, args{kind: wakes(kind)}, &waker{queue: q, kind: kind})
		}
	}
}

// args is the part of a task that River stores.
type args struct {
	kind Kind
	Task
}

// Kind implements river.JobArgs.
func (a args) Kind() string { return string(a.kind) }

// Enqueue stores a task on an index of the transaction's tenant, unless the same task is
// waiting already. A running one may already have missed what the transaction changes: the task is stored again when it has
// ended. jobID is empty for maintenance that no caller requested.
func (q *Queue) Enqueue(ctx context.Context, tx *data.Tx, kind Kind, indexID int64, jobID string) error {
	task := Task{Tenant: tx.Tenant(), IndexID: indexID, JobID: jobID}
	return tx.AsService(ctx, func(service pgx.Tx) error {
		stored, err := q.client.InsertTx(ctx, service, args{kind, task}, q.options(kind))
		if err != nil || !stored.UniqueSkippedAsDuplicate || stored.Job.State != rivertype.JobStateRunning || jobID != "" {
			return err
		}
		return q.wakeLater(ctx, service, kind, task)
	})
}

// EnqueueAsService stores a task in a transaction with the rights of the service, unless the same task is waiting or
// running already.
func (q *Queue) EnqueueAsService(ctx context.Context, tx pgx.Tx, kind Kind, task Task) error {
	_, err := q.client.InsertTx(ctx, tx, args{kind, task}, q.options(kind))
	return err
}

// Wake makes the task of a kind on something with a name, of the transaction's tenant, due now:
// it stores the task, or ends its wait. A running task may already have missed what the transaction
// changes: it becomes due again when it has ended, even if this instance is gone by then.
func (q *Queue) Wake(ctx context.Context, tx *data.Tx, kind Kind, name string) error {
	task := Task{Tenant: tx.Tenant(), Name: name}
	return tx.AsService(ctx, func(service pgx.Tx) error {
		// River changes the rows of tasks that have ended together, in an order of its own. A savepoint gives up
		// the rows that are locked here when both wait for each other.
		for attempt := 1; ; attempt++ {
			err := pgx.BeginFunc(ctx, service, func(service pgx.Tx) error { return q.wake(ctx, service, kind, task) })
			if postgres.Code(err) != postgres.CodeDeadlock || attempt == wakeAttempts {
				return err
			}
		}
	})
}

// wakeAttempts is how often Wake tries to change the rows of tasks before it returns that it and River wait for each other.
const wakeAttempts = 5

// wake is Wake for a task, in a transaction with the rights of the service.
func (q *Queue) wake(ctx context.Context, service pgx.Tx, kind Kind, task Task) error {
	stored, err := q.client.InsertTx(ctx, service, args{kind, task}, q.options(kind))
	switch {
	case err != nil || !stored.UniqueSkippedAsDuplicate:
		return err
	case stored.Job.State != rivertype.JobStateRunning:
		_, err = q.client.JobRetryTx(ctx, service, stored.Job.ID)
		return err
	}
	return q.wakeLater(ctx, service, kind, task)
}

// options returns how tasks of a kind are stored: only once until they are done.
func (q *Queue) options(kind Kind) *river.InsertOpts {
	r := q.runners[kind]
	options := &river.InsertOpts{
		Queue:       string(LaneMaintenance),
		MaxAttempts: r.MaxAttempts,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
	}
	if r.Lane != "" {
		options.Queue = string(r.Lane)
	}
	return options
}

// Start calls the Start function of the kind's Runner, if it has one.
func (q *Queue) Start(ctx context.Context, tx *data.Tx, kind Kind, indexID int64) error {
	if start := q.runners[kind].Start; start != nil {
		return start(ctx, tx, indexID)
	}
	return nil
}

// worker runs the tasks of one kind. It implements river.Worker.
type worker struct {
	river.WorkerDefaults[args]
	runner Runner
	pause  func() error
	serves func(ctx context.Context, id tenant.ID) error
}

// Timeout implements river.Worker.
func (w *worker) Timeout(*river.Job[args]) time.Duration { return w.runner.Timeout }

// pausedFor is how long a task waits while tasks may not run.
const pausedFor = 30 * time.Second

// movedFor is how long a task waits whose tenant accepts no writes, because it is being moved.
const movedFor = 2 * time.Second

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, task *river.Job[args]) error {
	if w.pause() != nil {
		return river.JobSnooze(pausedFor)
	}
	if err := w.serves(ctx, task.Args.Tenant); err != nil {
		if fault.KindOf(err) == fault.NotFound {
			return river.JobCancel(err)
		}
		return river.JobSnooze(pausedFor)
	}
	start := time.Now()
	ctx, end := telemetry.Span(ctx, "job "+task.Kind, attribute.String("tenant", string(task.Args.Tenant)), attribute.Int("attempt", task.Attempt))
	err := w.runner.Run(ctx, Attempt{Task: task.Args.Task, Number: task.Attempt, Last: task.Attempt >= task.MaxAttempts})
	end(err)
	outcome, err := w.outcome(err)
	telemetry.Job(ctx, task.Kind, outcome, start)
	return err
}

// outcome returns what came of an attempt, for the metrics, and what River is told.
func (w *worker) outcome(err error) (string, error) {
	var snooze *snoozeError
	var stop *stopError
	switch {
	case err == nil:
		return "done", nil
	case w.pause() != nil: // the task may have failed because of the pause's reason
		return "postponed", river.JobSnooze(pausedFor)
	case data.Deleted(err): // the tenant, which may be restored
		return "postponed", river.JobSnooze(pausedFor)
	case data.BeingMoved(err): // to another database
		return "postponed", river.JobSnooze(movedFor)
	case errors.As(err, &snooze):
		return "postponed", river.JobSnooze(snooze.wait)
	case errors.As(err, &stop):
		return "stopped", river.JobCancel(err)
	}
	return "failed", err
}

// drainTimeout is how long tasks may finish after Run was told to stop, and how long
// they then have to notice that they must end.
const drainTimeout = 10 * time.Second

// Run runs tasks until ctx ends, then lets those that are running finish for
// drainTimeout.
func (q *Queue) Run(ctx context.Context) error {
	// Running tasks may continue after ctx ends, for drainTimeout.
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the job queue: %w", err)
	}
	<-ctx.Done()
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if q.client.Stop(draining) == nil {
		return nil
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := q.client.StopAndCancel(ending); err != nil {
		return fmt.Errorf("stop the job queue: %w", err)
	}
	return nil
}

// Rescue makes the tasks of dead instances available again and returns their number. alive
// returns the ids of the living instances; it is called after the running tasks were read,
// so that an instance that has just started does not look dead. An interrupted attempt
// counts as an attempt.
func (q *Queue) Rescue(ctx context.Context, alive func(context.Context) ([]string, error)) (int, error) {
	running, err := q.client.JobList(ctx, river.NewJobListParams().States(rivertype.JobStateRunning).First(maxListed))
	if err != nil {
		return 0, fmt.Errorf("list running tasks: %w", err)
	}
	instances, err := alive(ctx)
	if err != nil {
		return 0, err
	}
	var lost riverdriver.JobRescueManyParams
	for _, t := range running.Jobs {
		if n := len(t.AttemptedBy); n > 0 && slices.Contains(instances, t.AttemptedBy[n-1]) {
			continue
		}
		note, err := json.Marshal(rivertype.AttemptError{At: time.Now(), Attempt: t.Attempt, Error: "its instance died"})
		if err != nil {
			return 0, fmt.Errorf("encode the error of a lost attempt: %w", err)
		}
		lost.ID, lost.Error = append(lost.ID, t.ID), append(lost.Error, note)
		lost.State, lost.ScheduledAt = append(lost.State, string(rivertype.JobStateAvailable)), append(lost.ScheduledAt, time.Now())
		lost.FinalizedAt = append(lost.FinalizedAt, nil)
		if at := t.AttemptedAt; at != nil && !at.Before(lost.StuckHorizon) {
			lost.StuckHorizon = at.Add(time.Microsecond) // a task that started later is another attempt
		}
	}
	if len(lost.ID) == 0 {
		return 0, nil
	}
	lost.Schema = schema
	// The client rescues by age alone, so this goes to its driver.
	if _, err := q.driver.GetExecutor().JobRescueMany(ctx, &lost); err != nil {
		return 0, fmt.Errorf("rescue tasks of dead instances: %w", err)
	}
	return len(lost.ID), nil
}

// maxListed is the most that River lists or deletes at once.
const maxListed = 10_000

// Depth returns how many tasks of all tenants there are in each state, as River names them.
func (q *Queue) Depth(ctx context.Context) (map[rivertype.JobState]int, error) {
	return q.driver.GetExecutor().JobCountByAllStates(ctx, &riverdriver.JobCountByAllStatesParams{Schema: schema})
}

// DeleteTenant deletes the tasks of a tenant that is being deleted. Running tasks stop
// because the tenant no longer exists or, if it was created again, because their job does
// not.
func (q *Queue) DeleteTenant(ctx context.Context, tx pgx.Tx, id tenant.ID) error {
	tasks := river.NewJobDeleteManyParams().Where("args->>'tenant' = @tenant", river.NamedArgs{"tenant": string(id)}).First(maxListed)
	for {
		deleted, err := q.client.JobDeleteManyTx(ctx, tx, tasks)
		if err != nil {
			return fmt.Errorf("delete the tasks of a tenant: %w", err)
		}
		if len(deleted.Jobs) < maxListed {
			return nil
		}
	}
}

// maxBackoff is the longest wait between two attempts.
const maxBackoff = 5 * time.Minute

// Backoff returns how long to wait after a number of failed attempts: 1, 2, 4 ... seconds,
// at most 5 minutes, plus up to half of that at random, so that tasks that failed together
// are not retried together.
func Backoff(attempts int) time.Duration {
	wait := min(time.Second<<min(max(attempts-1, 0), 20), maxBackoff)
	return wait + rand.N(wait/2)
}

// retryPolicy is Backoff for River.
type retryPolicy struct{}

// NextRetry implements river.ClientRetryPolicy.
func (retryPolicy) NextRetry(task *rivertype.JobRow) time.Time {
	return time.Now().Add(Backoff(task.Attempt))
}

// warnings is a log handler that drops everything below a warning.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}
