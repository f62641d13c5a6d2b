package job_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/job"
	"github.com/ragdhq/ragd/internal/tenant"
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
	db := tenant.NewDB(f.pool, 0)
	tenants, err := tenant.New(t.Context(), f.pool, tenant.Config{Admin: f.pool})
	must(t, err)
	operator := tenant.NewContext(t.Context(), &tenant.Request{Principal: tenant.Principal{Scopes: []tenant.Scope{tenant.Operator}}})
	_, err = tenants.Create(operator, "acme", "", nil)
	must(t, err)
	wake := func() {
		t.Helper()
		must(t, db.Handle("acme").Tx(t.Context(), func(tx *tenant.Tx) error { return f.queue.Wake(t.Context(), tx, job.Sync, "site") }))
	}
	wake()
	<-entered
	for range 3 {
		wake() // once more is enough for all of them
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
