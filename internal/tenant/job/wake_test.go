package job_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// What changes while a task runs is seen by another attempt, once the first has ended.
func TestATaskThatIsWokenWhileItRunsRunsAgain(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var attempts atomic.Int32
	entered, leave := make(chan struct{}, 10), make(chan struct{})
	f.queue.Register(job.Registry{job.Sync: {Lane: job.LaneSync, Run: func(ctx context.Context, a job.Attempt) error {
		if a.Tenant != "acme" || a.Name != "site" {
			t.Errorf("the attempt is %+v", a)
		}
		attempts.Add(1)
		entered <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return job.Snooze(time.Hour)
	}}})
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.queue.Run(running) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
	h := acme(t, f)
	wake := func() {
		t.Helper()
		must(t, f.wake(t.Context(), h))
	}
	wake()
	<-entered
	for range 3 {
		wake() // once more is enough for all of them
	}
	var scheduled int // which River looks at every few seconds alone
	must(t, f.pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.river_job WHERE kind = 'wake sync' AND state = 'scheduled'`).Scan(&scheduled))
	if scheduled != 0 {
		t.Errorf("%d tasks that wake are scheduled", scheduled)
	}
	leave <- struct{}{}
	<-entered
	leave <- struct{}{}
	wake() // it is about to wait, or waits
	<-entered
	leave <- struct{}{}
	if n := attempts.Load(); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
}

// The same holds for a task on an index that is enqueued while it runs. One that waits is left alone.
func TestATaskThatIsEnqueuedWhileItRunsRunsAgain(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var attempts atomic.Int32
	entered, leave := make(chan struct{}, 10), make(chan error)
	f.queue.Register(job.Registry{job.Maintain: {Run: func(ctx context.Context, a job.Attempt) error {
		if a.Tenant != "acme" || a.IndexID != 7 || a.JobID != "" {
			t.Errorf("the attempt is %+v", a)
		}
		attempts.Add(1)
		entered <- struct{}{}
		select {
		case err := <-leave:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}}})
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.queue.Run(running) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
	h := acme(t, f)
	enqueue := func() {
		t.Helper()
		must(t, h.Tx(t.Context(), func(tx *data.Tx) error { return f.queue.Enqueue(t.Context(), tx, job.Maintain, 7, "") }))
	}
	enqueue()
	<-entered
	for range 3 {
		enqueue() // once more is enough for all of them
	}
	leave <- nil
	<-entered
	leave <- job.Snooze(time.Hour)
	wait.For(t, "the task to wait", func() (waits bool) {
		must(t, f.pool.QueryRow(t.Context(), `
			SELECT bool_or(kind = $1 AND state = 'scheduled') AND bool_and(kind = $1 OR state = 'completed') FROM ragd.river_job`, string(job.Maintain)).Scan(&waits))
		return waits
	})
	enqueue()
	var woken int
	must(t, f.pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.river_job WHERE kind LIKE 'wake %' AND state <> 'completed'`).Scan(&woken))
	if n := attempts.Load(); n != 2 || woken != 0 {
		t.Errorf("%d attempts and %d tasks that wake, want 2 and none", n, woken)
	}
}

// acme creates a tenant and returns its handle.
func acme(t *testing.T, f fixture) *data.Handle {
	t.Helper()
	tenants, err := provision.New(t.Context(), f.pool, provision.Config{Admin: f.pool})
	must(t, err)
	operator := access.NewContext(t.Context(), &access.Request{Principal: access.Principal{Scopes: []access.Scope{access.Operator}}})
	_, err = tenants.Create(operator, "acme", "", nil)
	must(t, err)
	return data.NewDB(f.pool, 0).Handle("acme")
}

// wake wakes the task of the connector site of a tenant.
func (f fixture) wake(ctx context.Context, h *data.Handle) error {
	return h.Tx(ctx, func(tx *data.Tx) error { return f.queue.Wake(ctx, tx, job.Sync, "site") })
}

// River changes the rows of tasks that have ended together, in an order of its own: it and a caller that wakes a running
// task can wait for each other, until PostgreSQL ends the statement of one of them.
func TestWakingATaskSurvivesADeadlockWithItsEnd(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.queue.Register(job.Registry{job.Sync: {Lane: job.LaneSync, Run: func(context.Context, job.Attempt) error { return nil }}})
	h := acme(t, f)
	must(t, f.wake(t.Context(), h))
	_, err := f.pool.Exec(t.Context(), `UPDATE ragd.river_job SET state = 'running', attempt = 1, attempted_at = now() WHERE kind = 'sync'`)
	must(t, err)
	must(t, f.wake(t.Context(), h)) // adds the task that wakes it later

	// The caller looks for a deadlock once, so late that River waits by then, and River so late that it does not.
	_, err = f.pool.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = %L', current_database(), '5s'); END $$`)
	must(t, err)
	f.pool.Reset() // for the connections from here on
	river, err := f.pool.Begin(t.Context())
	must(t, err)
	defer river.Rollback(context.WithoutCancel(t.Context()))
	_, err = river.Exec(t.Context(), `SET LOCAL deadlock_timeout = '10min'`)
	must(t, err)
	lock := func(kind string) {
		t.Helper()
		_, err := river.Exec(t.Context(), `SELECT FROM ragd.river_job WHERE kind = $1 FOR UPDATE`, kind)
		must(t, err)
	}
	lock("wake sync")
	woken := make(chan error, 1)
	go func() { woken <- f.wake(t.Context(), h) }()
	wait.For(t, "the caller to wait for the row that River has changed", func() bool { return pgtest.Waiting(t, f.pool) > 0 })
	lock("sync") // until the caller's statement fails
	must(t, river.Commit(t.Context()))
	must(t, <-woken)
}
