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
	wakePause    = time.Second / 2
	maxWakePause = 30 * time.Second
	// wakeLooks is how often a waker looks within wakePause before it gives up its worker.
	wakeLooks = 5
	// indexWakePause is how long the waker of a task on an index waits before it looks.
	indexWakePause = time.Second
)

// wakes returns the kind of the tasks that wake those of a kind.
func wakes(kind Kind) Kind { return "wake " + kind }

// wakeLater stores a task that makes the task of a kind due when it no longer runs. One that only
// waits is enough for all; one that is running may have done its work already. River makes what is scheduled available
// every few seconds, which is soon enough for the work on an index, but not for somebody who waits for a connector.
func (q *Queue) wakeLater(ctx context.Context, service pgx.Tx, kind Kind, task Task) error {
	options := q.options(wakes(kind))
	options.Queue = string(LaneWorkflow)
	if task.IndexID != 0 {
		options.ScheduledAt = time.Now().Add(indexWakePause)
	}
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
// something to do. River stores the end of a task some 50 ms late, so a task that is about to end is looked at several times.
func (w *waker) Work(ctx context.Context, wake *river.Job[args]) error {
	for look := 1; ; look++ {
		woken, err := w.wake(ctx, wake.Args.Task)
		if err != nil || woken {
			return err
		}
		if look == wakeLooks {
			return river.JobSnooze(min(max(time.Since(wake.CreatedAt)/4, wakePause), maxWakePause))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wakePause / wakeLooks):
		}
	}
}

// wake makes a task due. woken is false while it runs.
func (w *waker) wake(ctx context.Context, task Task) (woken bool, err error) {
	task.JobID = ""
	stored, err := w.queue.client.Insert(ctx, args{w.kind, task}, w.queue.options(w.kind))
	if err != nil || !stored.UniqueSkippedAsDuplicate {
		return true, err
	}
	if stored.Job.State == rivertype.JobStateRunning {
		return false, nil
	}
	if task.IndexID != 0 { // it waits for a reason, and will look
		return true, nil
	}
	// If it has begun to run since, it knows what was to be woken for, and is left alone.
	_, err = w.queue.client.JobRetry(ctx, stored.Job.ID)
	return true, err
}
