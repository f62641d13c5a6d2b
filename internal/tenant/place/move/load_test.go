package move_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
)

// oracle knows which writes of a tenant were acknowledged.
type oracle struct {
	mu     sync.Mutex
	values map[string]int // by tool

	writes, refused, reads atomic.Int64
	longest                atomic.Int64 // nanoseconds for which nothing could be written
}

// write changes a tool, a chunk and a document in one transaction or in single statements, and notes the new value
// once it is acknowledged.
func (o *oracle) write(ctx context.Context, h *data.Handle, name string, value int) error {
	var err error
	if value%2 == 0 {
		err = h.Tx(ctx, func(tx *data.Tx) error {
			if _, err := tx.Exec(ctx, writeTool, name, fmt.Sprint(value)); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, writeChunk, name, fmt.Sprint(value))
			return err
		})
	} else {
		b := h.Batch()
		b.Exec(writeTool, name, fmt.Sprint(value))
		b.Exec(writeChunk, name, fmt.Sprint(value))
		err = b.Run(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.values[name] = value
		o.writes.Add(1)
		return nil
	}
	o.refused.Add(1)
	return err
}

const (
	writeTool = `
		INSERT INTO ragd_shared.tools (tool_name, kind, title, description, settings, arguments, fixed) VALUES ($1, '', $2, '', '{}', '{}', false)
		ON CONFLICT (tenant_id, tool_name) DO UPDATE SET title = excluded.title`
	writeChunk = `
		INSERT INTO tenant.chunk_1 (chunk_id, embedding, text) VALUES ($1, '[1, 2, 3]', $2)
		ON CONFLICT (namespace, chunk_id) DO UPDATE SET text = excluded.text`
)

// check reads a tool and its chunk and compares them with what was acknowledged before. Only one writer has the name.
func (o *oracle) check(ctx context.Context, h *data.Handle, name string) error {
	o.mu.Lock()
	atLeast, known := o.values[name]
	o.mu.Unlock()
	type row struct{ Tool, Chunk int }
	found, err := data.Select[row](ctx, h, `
		SELECT t.title::int AS tool, c.text::int AS chunk FROM ragd_shared.tools AS t JOIN tenant.chunk_1 AS c ON c.chunk_id = t.tool_name WHERE t.tool_name = $1`, name)
	switch {
	case err != nil:
		return fmt.Errorf("a read fails: %w", err)
	case known && len(found) != 1:
		return fmt.Errorf("%s has %d rows", name, len(found))
	case known && (found[0].Tool < atLeast || found[0].Chunk != found[0].Tool):
		return fmt.Errorf("%s is %+v, and %d was acknowledged", name, found[0], atLeast)
	}
	o.reads.Add(1)
	foreign, err := data.Value[int](ctx, h, `SELECT count(*) FROM ragd_shared.tools WHERE tenant_id <> ragd_shared.current_tenant()`)
	if err == nil && foreign > 0 {
		err = fmt.Errorf("%d tools of other tenants are read", foreign)
	}
	return err
}

// load reads and writes through both instances until ctx ends.
func (o *oracle) load(ctx context.Context, group *sync.WaitGroup, fail func(error), f *fixture, id tenant.ID) {
	for worker := range 4 {
		h := f.one.db.Handle(id)
		if worker%2 == 1 {
			h = f.two.db.Handle(id)
		}
		group.Go(func() {
			last, pace := time.Now(), time.NewTicker(time.Millisecond)
			defer pace.Stop()
			for value := 1; ctx.Err() == nil; value++ {
				name := fmt.Sprintf("w%d-%d", worker, value%20)
				err := o.write(context.WithoutCancel(ctx), h, name, value)
				switch {
				case err == nil:
					o.longest.Store(max(o.longest.Load(), int64(time.Since(last))))
					last = time.Now()
				case fault.KindOf(err) != fault.Unavailable:
					fail(fmt.Errorf("a write fails: %w", err))
				}
				<-pace.C
			}
		})
		reader := f.two.db.Handle(id)
		if worker%2 == 1 {
			reader = f.one.db.Handle(id)
		}
		group.Go(func() {
			pace := time.NewTicker(time.Millisecond)
			defer pace.Stop()
			for ctx.Err() == nil {
				if err := o.check(context.WithoutCancel(ctx), reader, fmt.Sprintf("w%d-%d", rand.N(4), rand.N(20))); err != nil {
					fail(err)
				}
				<-pace.C
			}
		})
	}
}

// While a tenant is moved back and forth, two instances write and read, of which one runs the moves. No acknowledged
// write is lost, and no read fails. Writes are only refused while they are stopped.
func TestNothingIsLostWhileATenantIsUsedAndMoved(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := tenant.ID(unique("acme"))
	f.create(t, string(id))
	other := f.create(t, unique("other")).Tenant()
	others := f.contents(t, "", other)
	o := &oracle{values: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	o.load(ctx, &group, func(err error) { t.Error(err); stop() }, f, id)
	places := []string{"east", "west", "", "east", ""}
	if huge {
		for range 10 {
			places = append(places, "west", "east", "")
		}
	}
	for _, to := range places {
		seen := o.writes.Load()
		wait.For(t, "50 more writes", func() bool { return o.writes.Load() >= seen+50 || ctx.Err() != nil })
		if done := f.moveTo(t, id, title(to)); done.Phase != move.Done {
			t.Fatalf("the move to %s: %+v", title(to), done)
		}
	}
	stop()
	group.Wait()
	for name := range o.values {
		if err := o.check(t.Context(), f.two.db.Handle(id), name); err != nil {
			t.Error(err)
		}
	}
	if diff := f.contents(t, "", other)["ragd_shared.tools"]; diff != others["ragd_shared.tools"] {
		t.Error("the tools of another tenant have changed")
	}
	t.Logf("%d moves, %d writes, %d refused, %d reads, longest time without a write of one writer %v",
		len(places), o.writes.Load(), o.refused.Load(), o.reads.Load(), time.Duration(o.longest.Load()).Round(time.Millisecond))
}

// steps are the steps of a move, at each of which it may be interrupted.
var steps = []string{"preparing", "copying", "copying table 2", "stopping writes", "copying changes", "copying shared rows", "copying work", "switching", "switch"}

// An attempt that ends at any step leaves the tenant where it is, with its writes. The next one moves it.
func TestAMoveThatIsInterruptedGoesOn(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := tenant.ID(unique("acme"))
	h := f.create(t, string(id))
	before := f.contents(t, "", id)
	at, targets := "", []string{"east", "west", ""}
	for i, step := range steps {
		to := targets[i%len(targets)]
		m, err := f.moves.Start(f.operator, string(id), title(to))
		must(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted := errors.New("interrupted at " + step)
		f.step = func(name string) {
			if len(name) >= len(step) && name[:len(step)] == step && (step != "copying" || name == step) {
				cancel(interrupted)
			}
		}
		if err := f.moves.Attempt(ctx, m, false); err == nil || job.Snoozed(err) {
			t.Fatalf("the attempt is not interrupted at %q: %v", step, err)
		}
		cancel(nil)
		f.step = func(string) {}
		var place string
		must(t, f.pools[""].QueryRow(t.Context(), `SELECT database_name FROM ragd.tenants WHERE tenant_id = $1`, id).Scan(&place))
		if place != at {
			t.Fatalf("after %q the tenant lives in %q", step, place)
		}
		if _, err := h.Exec(t.Context(), `UPDATE ragd_shared.tools SET title = title`); err != nil {
			t.Fatalf("after %q a write fails: %v", step, err)
		}
		if done := f.end(t, m); done.Phase != move.Done {
			t.Fatalf("after %q the move %+v", step, done)
		}
		after := f.contents(t, to, id)
		for _, table := range []string{"schema", "ragd_shared.tools", "deliveries of events", "backlog", "tasks", "numbers"} {
			if before[table] != after[table] && table != "deliveries of events" {
				t.Errorf("after %q %s is %s, not %s", step, table, after[table], before[table])
			}
		}
		f.checkNothingLeft(t, at, id)
		at = to
	}
}
