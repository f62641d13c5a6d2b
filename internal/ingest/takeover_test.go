package ingest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/testing/pgtest"
)

func testQueue(t *testing.T, pool *pgxpool.Pool, instance string) *Queue {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	q, err := NewQueue(QueueConfig{
		Driver: riverpgxv5.New(pool), Control: pool, Instance: instance, Workers: 1, Logger: log,
	}, NewWorker(tenant.NewDB(pool), nil, nil, nil, log), index.NewMaintainer(tenant.NewDB(pool), log), index.NewReembedder(tenant.NewDB(pool), nil, nil, log))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Jobs of an instance that fell silent become available again; those of one that
// beats stay where they are.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, migrate := range []error{
		tenant.MigrateControl(t.Context(), pool), MigrateQueue(t.Context(), riverpgxv5.New(pool)),
	} {
		if migrate != nil {
			t.Fatal(migrate)
		}
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	running := func(instance string) {
		exec(`INSERT INTO ragd.river_job (state, max_attempts, attempt, kind, args, queue, attempted_at, attempted_by)
			VALUES ('running', 8, 1, 'ingest', '{}', 'ingest', now(), ARRAY['earlier', $1])`, instance)
	}
	states := func() (available, running []string) {
		t.Helper()
		rows, err := pool.Query(t.Context(), `SELECT state::text, attempted_by[2] FROM ragd.river_job ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var state, by string
			if err := rows.Scan(&state, &by); err != nil {
				t.Fatal(err)
			}
			if state == "available" {
				available = append(available, by)
			} else {
				running = append(running, by)
			}
		}
		return available, running
	}
	q := testQueue(t, pool, "us")
	for _, instance := range []string{"us", "alive", "silent", "unknown"} {
		running(instance)
	}
	exec(`INSERT INTO ragd.instances VALUES ('alive', now()), ('silent', now() - $1::interval)`, deadAfter+time.Second)
	if err := q.beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := q.takeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if available, running := states(); len(available) != 2 || available[0] != "silent" || available[1] != "unknown" || len(running) != 2 {
		t.Errorf("available %v, running %v", available, running)
	}
	if err := q.TakeOverAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := q.takeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if available, running := states(); len(available) != 3 || len(running) != 1 || running[0] != "us" {
		t.Errorf("after taking over all: available %v, running %v", available, running)
	}
}

func TestAnInstanceLeavesWhenItStops(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	if err := tenant.MigrateControl(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := MigrateQueue(t.Context(), riverpgxv5.New(pool)); err != nil {
		t.Fatal(err)
	}
	instances := func() (n int) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.instances`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- testQueue(t, pool, "us").Run(ctx) }()
	for deadline := time.Now().Add(10 * time.Second); instances() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never beat")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := instances(); n != 0 {
		t.Errorf("%d instances are left", n)
	}
}
