package job

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

const (
	// wakePause and maxWakePause bound how long the waker of a running task waits until it looks again:
	// a quarter of the time that it has waited.
	wakePause    = time.Second
	maxWakePause = 30 * time.Second
)

// wakes returns the kind of the tasks that wake those of a kind.
func wakes(kind Kind) Kind { return "wake " + kind }

// wakeLater stores a task that makes the task of a kind due when it no longer runs. One that only
// waits is enough for all; one that is running may have done its work already.
func (q *Queue) wakeLater(ctx context.Context, service pgx.Tx, kind Kind, task Task) error {
	options := q.options(wakes(kind))
	options.Queue, options.ScheduledAt = string(LaneWorkflow), time.Now().Add(wakePause)
	stored, err := q.client.InsertTx(ctx, service, args{wakes(kind), task}, options)
	if err != nil || !stored.UniqueSkippedAsDuplicate || stored.Job.State != rivertype.JobStateRunning {
		return err
	}
	task.JobID = uuid.NewString() // makes it another task
	_, err = q.client.InsertTx(ctx, service, args{wakes(kind), task}, options)
	return err
}

// waker makes tasks of a kind due. It implements river.Worker.
type waker struct {
	river.WorkerDefaults[args]
	queue *Queue
	kind  Kind
}

// Work implements river.Worker. Waking a task twice does no harm: it looks whether there is
// something to do.
func (w *waker) Work(ctx context.Context, wake *river.Job[args]) error {
	task := Task{Tenant: wake.Args.Tenant, IndexID: wake.Args.IndexID, Name: wake.Args.Name}
	stored, err := w.queue.client.Insert(ctx, args{w.kind, task}, w.queue.options(w.kind))
	if err != nil || !stored.UniqueSkippedAsDuplicate {
		return err
	}
	if stored.Job.State != rivertype.JobStateRunning {
		if task.IndexID != 0 { // it waits for a reason, and will look
			return nil
		}
		// If it has begun to run since, it knows what was to be woken for, and is left alone.
		_, err = w.queue.client.JobRetry(ctx, stored.Job.ID)
		return err
	}
	return river.JobSnooze(min(max(time.Since(wake.CreatedAt)/4, wakePause), maxWakePause))
}
