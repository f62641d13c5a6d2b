package task

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// keeper returns a Keeper with a tenant, and a context of a caller of it whose credential is valid as long as valid
// returns no error.
func keeper(t *testing.T, valid func(context.Context) error) (*Keeper, context.Context) {
	t.Helper()
	pool := schematest.Pool(t)
	tenants, err := provision.New(t.Context(), pool, provision.Config{Admin: pool})
	if err != nil {
		t.Fatal(err)
	}
	operator := access.NewContext(t.Context(), &access.Request{Principal: access.Principal{Scopes: []access.Scope{access.Operator}}})
	if _, err = tenants.Create(operator, "acme", "", nil); err != nil {
		t.Fatal(err)
	}
	k := New(Config{DB: data.NewDB(pool, 0), Gate: admission.New(admission.Config{}), Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { // ends what still runs
		stopped, stop := context.WithCancel(context.Background())
		stop()
		_ = k.Run(stopped)
	})
	p := access.Principal{Subject: "key", Tenant: "acme", Scopes: []access.Scope{access.Read}}
	return k, access.NewContext(t.Context(), access.NewRequest(p, pagination.Tokens{}, valid))
}

// outcome tells of the end of a call by its error.
func outcome(_ toolset.Result, err error) (json.RawMessage, bool) {
	raw, _ := json.Marshal(map[string]any{"error": fault.Public(err), "kind": fault.KindOf(err).String()})
	return raw, false
}

// untilCancelled is a call that goes on until its context ends.
func untilCancelled(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
	<-ctx.Done()
	return toolset.Result{}, ctx.Err()
}

// begun begins a task.
func begun(ctx context.Context, t *testing.T, k *Keeper) toolset.Task {
	t.Helper()
	r, err := k.Defer(ctx, toolset.Call{Name: "paint", Outcome: outcome}, untilCancelled)
	if err != nil || r.Task == nil {
		t.Fatalf("%v: %v", r, err)
	}
	return *r.Task
}

// ended returns what is told of the end of a task.
func ended(ctx context.Context, t *testing.T, k *Keeper, id string) (said struct{ Error, Kind string }) {
	t.Helper()
	var last toolset.Task
	wait.For(t, "the end of the task", func() bool {
		var err error
		if last, err = k.Task(ctx, id); err != nil {
			t.Fatal(err)
		}
		return last.Status.Ended()
	})
	if err := json.Unmarshal(last.Outcome, &said); err != nil {
		t.Fatalf("%v: %v", last, err)
	}
	return said
}

// Calls beyond the limit of tasks are waited for, and one that ends makes room.
func TestATenantHasSoManyTasksOnAnInstance(t *testing.T) {
	t.Parallel()
	k, ctx := keeper(t, nil)
	var running atomic.Int32
	hold := make(chan struct{})
	held := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		running.Add(1)
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return toolset.Result{Text: "done"}, nil
	}
	call := toolset.Call{Name: "paint", Outcome: outcome}
	ids := make(chan string, maxRunning)
	for range maxRunning {
		go func() {
			if r, err := k.Defer(ctx, call, held); err == nil && r.Task != nil {
				ids <- r.Task.ID
			}
		}()
	}
	var all []string
	for range maxRunning {
		all = append(all, <-ids)
	}
	answered := make(chan toolset.Result, 1)
	go func() {
		r, _ := k.Defer(ctx, call, held)
		answered <- r
	}()
	wait.For(t, "the call beyond the limit to run", func() bool { return running.Load() == maxRunning+1 })
	close(hold)
	if r := <-answered; r.Task != nil || r.Text != "done" {
		t.Errorf("a call beyond the limit: %v", r)
	}
	wait.For(t, "the tasks to end", func() bool {
		last, err := k.Task(ctx, all[0])
		return err == nil && last.Status == toolset.TaskCompleted
	})
	wait.For(t, "room for a task", func() bool {
		inner, leave := context.WithCancel(ctx)
		defer leave()
		r, err := k.Defer(inner, call, untilCancelled)
		return err == nil && r.Task != nil && k.CancelTask(ctx, r.Task.ID) == nil
	})
}

func TestATaskEndsAfterItsTime(t *testing.T) {
	t.Parallel()
	k, ctx := keeper(t, nil)
	k.timeout = 2 * toolset.TaskAfter
	task := begun(ctx, t, k)
	if said := ended(ctx, t, k, task.ID); said.Kind != "deadline" || said.Error != "the task has not ended within 1s" {
		t.Errorf("%v", said)
	}
}

// A task ends with the credential that it was begun with.
func TestATaskEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	var revoked atomic.Bool
	k, ctx := keeper(t, func(context.Context) error {
		if revoked.Load() {
			return fault.New(fault.Unauthenticated, "the key was revoked")
		}
		return nil
	})
	k.recheckEvery = 10 * time.Millisecond
	task := begun(ctx, t, k)
	revoked.Store(true)
	if said := ended(ctx, t, k, task.ID); said.Kind != "unauthenticated" || said.Error != "the key was revoked" {
		t.Errorf("%v", said)
	}
}
