package backlog

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// noJobs is a job queue without jobs. It records the living instances.
type noJobs struct{ alive []string }

func (*noJobs) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (q *noJobs) Rescue(ctx context.Context, alive func(context.Context) ([]string, error)) (_ int, err error) {
	q.alive, err = alive(ctx)
	slices.Sort(q.alive)
	return 0, err
}

func setup(t *testing.T) (*pgxpool.Pool, *Backlog, *noJobs) {
	t.Helper()
	pool := schematest.Pool(t)
	jobs := &noJobs{}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	return pool, New(Config{Control: pool, Jobs: jobs, Instance: "us", Workers: 1, Logger: log}), jobs
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Documents become available again if a silent instance has claimed them, or this instance
// has claimed them without a lease. Those of an instance with heartbeats stay claimed.
func TestWorkOfDeadInstancesIsTakenOver(t *testing.T) {
	t.Parallel()
	pool, b, jobs := setup(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := pool.Exec(t.Context(), sql, args...)
		must(t, err)
	}
	leased := uuid.NewString()
	b.leases.add([]Claim{{Document: Document{Tenant: "acme", JobID: leased}}})
	for instance, job := range map[string]string{"us": leased, "alive": uuid.NewString(), "silent": uuid.NewString(), "ahead": uuid.NewString(), "unknown": uuid.NewString()} {
		exec(`INSERT INTO ragd.backlog (tenant_id, document_id, index_id, version, job_id, bytes, attempt, claimed_by)
			VALUES ('acme', gen_random_uuid(), 1, 1, $1, 1, 1, $2)`, job, instance)
	}
	exec(`INSERT INTO ragd.backlog (tenant_id, document_id, index_id, version, job_id, bytes, attempt, claimed_by)
		VALUES ('acme', gen_random_uuid(), 1, 1, gen_random_uuid(), 1, 1, 'us')`)
	exec(`INSERT INTO ragd.instances VALUES ('alive', now()), ('silent', now() - $1::interval), ('ahead', now() + $1::interval + interval '1 minute')`, deadAfter+time.Second)
	claimed := func() []string {
		t.Helper()
		rows, err := pool.Query(t.Context(), `SELECT claimed_by FROM ragd.backlog WHERE claimed_by IS NOT NULL ORDER BY claimed_by`)
		must(t, err)
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		return found
	}
	_, err := b.beat(t.Context())
	must(t, err)
	must(t, b.takeOver(t.Context()))
	if got := claimed(); !slices.Equal(got, []string{"alive", "us"}) {
		t.Errorf("claimed by %v", got)
	}
	if !slices.Equal(jobs.alive, []string{"alive", "us"}) {
		t.Errorf("the job queue is told that %v are alive", jobs.alive)
	}
	var lost, attempts int
	must(t, pool.QueryRow(t.Context(), `SELECT sum(lost), sum(attempt) FROM ragd.backlog WHERE claimed_by IS NULL`).Scan(&lost, &attempts))
	if lost != 4 || attempts != 0 {
		t.Errorf("the lost documents count %d losses and %d attempts", lost, attempts)
	}
	must(t, b.ForgetInstances(t.Context()))
	must(t, b.takeOver(t.Context()))
	if got := claimed(); !slices.Equal(got, []string{"us"}) {
		t.Errorf("after forgetting the others: claimed by %v", got)
	}
}

// Documents that an instance could not process before it stopped are available at once, and count
// no loss, as they did not kill it.
func TestAStoppedInstanceHandsItsDocumentsBack(t *testing.T) {
	t.Parallel()
	pool, b, _ := setup(t)
	for range 3 {
		_, err := pool.Exec(t.Context(), `INSERT INTO ragd.backlog (tenant_id, document_id, index_id, version, job_id, bytes)
			VALUES ('acme', gen_random_uuid(), 1, 1, gen_random_uuid(), 1)`)
		must(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	must(t, b.Run(ctx, func(_ context.Context, batch []Claim) {
		if len(batch) != 3 {
			t.Errorf("%d documents are claimed", len(batch))
		}
		cancel() // it stops before they are processed
	}))
	var claimed, lost, attempts, instances int
	must(t, pool.QueryRow(t.Context(), `
		SELECT count(claimed_by), sum(lost), sum(attempt), (SELECT count(*) FROM ragd.instances) FROM ragd.backlog`).Scan(&claimed, &lost, &attempts, &instances))
	if claimed+lost+attempts+instances != 0 {
		t.Errorf("%d documents are claimed, with %d losses and %d attempts; %d instances are left", claimed, lost, attempts, instances)
	}
}

func TestAStoppedInstanceRemovesItsHeartbeat(t *testing.T) {
	t.Parallel()
	pool, b, _ := setup(t)
	instances := func() (n int) {
		t.Helper()
		must(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.instances`).Scan(&n))
		return n
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx, func(context.Context, []Claim) {}) }()
	wait.For(t, "the first beat", func() bool { return instances() > 0 })
	cancel()
	must(t, <-done)
	if n := instances(); n != 0 {
		t.Errorf("%d instances are left", n)
	}
}

// Documents that would wait for an hour, because the clock was an hour ahead when they came, are
// processed. Those that wait for their next attempt go on waiting.
func TestDocumentsDoNotWaitForAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	pool, b, _ := setup(t)
	for _, pause := range []time.Duration{time.Hour, longestWait - time.Minute} {
		_, err := pool.Exec(t.Context(), `INSERT INTO ragd.backlog (tenant_id, document_id, index_id, version, job_id, bytes, due_at)
			VALUES ('acme', gen_random_uuid(), 1, 1, gen_random_uuid(), 1, now() + $1::interval)`, pause)
		must(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	claimed := 0
	must(t, b.Run(ctx, func(_ context.Context, batch []Claim) {
		claimed += len(batch)
		cancel()
	}))
	if claimed != 1 {
		t.Errorf("%d documents are claimed, want 1", claimed)
	}
}
