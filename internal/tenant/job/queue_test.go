package job_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

type fixture struct {
	pool  *pgxpool.Pool
	queue *job.Queue
}

func setup(t *testing.T) fixture {
	t.Helper()
	pool := schematest.Pool(t)
	queue, err := job.NewQueue(job.QueueConfig{Driver: riverpgxv5.New(pool), Instance: "us", Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	must(t, err)
	return fixture{pool, queue}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// add adds a task of a tenant. It runs on the given instance, or waits if that is empty.
func (f fixture) add(t *testing.T, id, instance string) {
	t.Helper()
	_, err := f.pool.Exec(t.Context(), `
		INSERT INTO ragd.river_job (state, max_attempts, attempt, kind, args, queue, attempted_at, attempted_by)
		SELECT CASE WHEN $2 = '' THEN 'available' ELSE 'running' END::ragd.river_job_state, 8, 1, 'graph', jsonb_build_object('tenant', $1::text), 'maintenance',
			CASE WHEN $2 <> '' THEN now() END, CASE WHEN $2 <> '' THEN ARRAY['earlier', $2] END`, id, instance)
	must(t, err)
}

// instances returns the instances that run or ran the tasks in a state.
func (f fixture) instances(t *testing.T, state string) []string {
	t.Helper()
	rows, err := f.pool.Query(t.Context(), `SELECT coalesce(attempted_by[2], '') FROM ragd.river_job WHERE state::text = $1 ORDER BY id`, state)
	must(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return found
}

func TestTasksOfDeadInstancesBecomeAvailable(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, instance := range []string{"us", "alive", "silent", "unknown"} {
		f.add(t, "acme", instance)
	}
	rescue := func(alive ...string) int {
		t.Helper()
		n, err := f.queue.Rescue(t.Context(), func(context.Context) ([]string, error) { return alive, nil })
		must(t, err)
		return n
	}
	if n := rescue("us", "alive"); n != 2 {
		t.Errorf("%d tasks were rescued", n)
	}
	if got := f.instances(t, "available"); !slices.Equal(got, []string{"silent", "unknown"}) {
		t.Errorf("available are the tasks of %v", got)
	}
	if n := rescue("us", "alive"); n != 0 {
		t.Errorf("%d tasks were rescued again", n)
	}
	if n := rescue("us"); n != 1 {
		t.Errorf("%d tasks of the third were rescued", n)
	}
	if got := f.instances(t, "running"); !slices.Equal(got, []string{"us"}) {
		t.Errorf("running are the tasks of %v", got)
	}
}

func TestWaitingTasksAreDeletedWithTheirTenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add(t, "acme", "")
	f.add(t, "acme", "us")
	f.add(t, "zenith", "")
	must(t, pgx.BeginFunc(t.Context(), f.pool, func(tx pgx.Tx) error { return f.queue.DeleteTenant(t.Context(), tx, "acme") }))
	got := [2]int{len(f.instances(t, "available")), len(f.instances(t, "running"))}
	if diff := cmp.Diff([2]int{1, 1}, got); diff != "" {
		t.Errorf("available and running tasks left (-want +got):\n%s", diff)
	}
}
