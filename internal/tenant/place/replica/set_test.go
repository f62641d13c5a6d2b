package replica_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// fixture is a Set over a primary and its replicas, with the table notes.
type fixture struct {
	*replica.Set
	primary  *pgtest.Server
	pool     *pgxpool.Pool // of the primary
	replicas []*pgtest.Server
}

func setup(t *testing.T, replicas int) *fixture {
	t.Helper()
	f := &fixture{primary: pgtest.Primary(t)}
	f.pool = f.primary.Pool(t)
	if err := provision.MigrateControl(t.Context(), f.pool); err != nil {
		t.Fatal(err)
	}
	f.write(t, `CREATE TABLE extensions.notes (id int PRIMARY KEY)`)
	var urls []string
	for range replicas {
		r := f.primary.Replica(t)
		f.replicas, urls = append(f.replicas, r), append(urls, r.AdminURL())
	}
	f.Set = watch(t, f.pool, urls)
	return f
}

// watch returns a running Set.
func watch(t *testing.T, primary *pgxpool.Pool, urls []string) *replica.Set {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	set, err := replica.New(replica.Config{Primary: primary, URLs: urls, Logger: quiet, Pool: postgres.Config{MaxConns: 4}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = set.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		set.Close()
	})
	return set
}

func (f *fixture) write(t *testing.T, sql string) {
	t.Helper()
	if _, err := f.pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// count reads the number of notes at a replica; done is false if the primary has to answer.
func count(t *testing.T, r *replica.Reading) (n int, done bool) {
	t.Helper()
	done, err := r.Run(t.Context(), func(ctx context.Context, conn *pgxpool.Conn, check replica.Check) error {
		return read(ctx, conn, check, &n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, done
}

// read runs the check and counts the notes in one transaction.
func read(ctx context.Context, conn *pgxpool.Conn, check replica.Check, n *int) error {
	if _, err := conn.Exec(ctx, check.SQL, check.Args...); err != nil {
		return err
	}
	return conn.QueryRow(ctx, `SELECT count(*) FROM extensions.notes`).Scan(n)
}

func (f *fixture) begin(staleness time.Duration, token string) *replica.Reading {
	return f.Begin("acme", &staleness, token)
}

// awaitUsed waits until all replicas are used.
func (f *fixture) awaitUsed(t *testing.T) {
	t.Helper()
	wait.For(t, "the replicas are used", func() bool {
		for _, r := range f.Status().Replicas {
			if r.Reason != "" {
				return false
			}
		}
		return true
	})
}

// awaitReason waits until replica i is not used for the reason.
func (f *fixture) awaitReason(t *testing.T, i int, reason replica.Reason) {
	t.Helper()
	wait.For(t, "replica is "+string(reason), func() bool { return f.Status().Replicas[i].Reason == reason })
}

// awaitRead waits until a read at a replica returns so many notes.
func (f *fixture) awaitRead(t *testing.T, want int) {
	t.Helper()
	wait.For(t, "a read at a replica", func() bool {
		n, done := count(t, f.begin(time.Minute, ""))
		return done && n == want
	})
}

func TestReadsRunAtReplicasInTurn(t *testing.T) {
	t.Parallel()
	f := setup(t, 2)
	f.write(t, `INSERT INTO extensions.notes VALUES (1)`)
	f.awaitUsed(t)
	f.awaitRead(t, 1)
	used := map[string]bool{}
	wait.For(t, "both replicas are read", func() bool {
		_, err := f.begin(time.Minute, "").Run(t.Context(), func(ctx context.Context, conn *pgxpool.Conn, check replica.Check) error {
			used[conn.Conn().Config().Host] = true
			var n int
			return read(ctx, conn, check, &n)
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(used) == 2
	})
	if f.Begin("acme", nil, "") != nil || f.begin(0, "") != nil {
		t.Error("a read that may not be stale runs at a replica")
	}
}

func TestAStaleReplicaRefuses(t *testing.T) {
	t.Parallel()
	f := setup(t, 1)
	f.awaitUsed(t)
	f.awaitRead(t, 0)
	f.replicas[0].Pause(t)
	f.write(t, `INSERT INTO extensions.notes VALUES (1)`)
	written := time.Now()
	// A read that may be as stale as the write is old at least sees the old state; one that may not
	// is refused, by the check alone, as the watch may not have noticed yet.
	const bound = 2 * time.Second
	for range wait.Poll(t, "the write to be older than the bound") {
		before := time.Since(written)
		n, done := count(t, f.begin(bound, ""))
		if done && before > bound {
			t.Fatalf("a replica answered %v after a write that it has not replayed, although at most %v were allowed (it found %d notes)", before, bound, n)
		}
		if before > bound+time.Second {
			break
		}
	}
	if f.Status().Fallbacks[replica.Behind] == 0 {
		t.Errorf("fallbacks: %v", f.Status().Fallbacks)
	}
	wait.For(t, "the lag is measured", func() bool { return f.Status().Replicas[0].Lag > bound })
	if n, done := count(t, f.begin(time.Minute, "")); !done || n != 0 {
		t.Errorf("a read that may be a minute stale: %d, at a replica %v", n, done)
	}
	f.replicas[0].Resume(t)
	f.awaitRead(t, 1)
	wait.For(t, "the replica has caught up", func() bool { return f.Status().Replicas[0].Lag == 0 })
}

func TestAReplicaOfAnIdlePrimaryIsFresh(t *testing.T) {
	t.Parallel()
	f := setup(t, 1)
	f.awaitUsed(t)
	idle := time.Now()
	wait.For(t, "two seconds without a write", func() bool { return time.Since(idle) > 2*time.Second })
	wait.For(t, "a read that may be a second stale", func() bool {
		_, done := count(t, f.begin(time.Second, ""))
		return done
	})
}

func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	f := setup(t, 1)
	f.awaitUsed(t)
	f.awaitRead(t, 0)
	early := f.Token(t.Context(), "acme")
	atReplica := 0
	for i := 1; i <= 50; i++ {
		if _, err := f.pool.Exec(t.Context(), `INSERT INTO extensions.notes VALUES ($1)`, i); err != nil {
			t.Fatal(err)
		}
		n, done := count(t, f.begin(time.Minute, f.Token(t.Context(), "acme")))
		if done && n != i {
			t.Fatalf("%d notes after %d writes", n, i)
		}
		if done {
			atReplica++
		}
	}
	if atReplica == 0 {
		t.Error("no read with a token ran at the replica")
	}
	f.replicas[0].Pause(t)
	f.write(t, `INSERT INTO extensions.notes VALUES (51)`)
	token := f.Token(t.Context(), "acme")
	if n, done := count(t, f.begin(time.Minute, token)); done {
		t.Errorf("the replica answered %d although it has not replayed the write", n)
	}
	if _, done := count(t, f.begin(time.Minute, "")); !done {
		t.Error("without the token the replica must answer")
	}
	if n, done := count(t, f.begin(time.Minute, strings.Join([]string{early, token, early}, ","))); done {
		t.Errorf("with several tokens the replica answered %d although it has not replayed one of the writes", n)
	}
	for name, other := range map[string]string{
		"of several": token + "," + f.Token(t.Context(), "globex"), "of another tenant": f.Token(t.Context(), "globex"), "forged": "AAAAAAAAAAAAAAAAAAAAAA", "malformed": "!",
	} {
		before := f.Status().Fallbacks[replica.Token]
		if _, done := count(t, f.begin(time.Minute, other)); done || f.Status().Fallbacks[replica.Token] != before+1 {
			t.Errorf("a token %s was taken", name)
		}
	}
	f.replicas[0].Resume(t)
	wait.For(t, "a read with the token", func() bool {
		n, done := count(t, f.begin(time.Minute, token))
		return done && n == 51
	})
}

func TestAKilledReplicaIsLeftAndUsedAgain(t *testing.T) {
	t.Parallel()
	f := setup(t, 1)
	f.awaitUsed(t)
	f.awaitRead(t, 0)
	// A statement that runs there ends with the server, or at the latest when the watch notices.
	started, ended := make(chan struct{}), make(chan bool, 1)
	go func() {
		done, _ := f.begin(time.Minute, "").Run(t.Context(), func(ctx context.Context, conn *pgxpool.Conn, _ replica.Check) error {
			close(started)
			_, err := conn.Exec(ctx, `SELECT pg_sleep(600)`)
			return err
		})
		ended <- done
	}()
	<-started
	f.replicas[0].Kill()
	if <-ended {
		t.Error("the statement did not fall back")
	}
	f.awaitReason(t, 0, replica.Down)
	if _, done := count(t, f.begin(time.Minute, "")); done {
		t.Error("a killed replica answered")
	}
	f.replicas[0].Start(t)
	f.awaitUsed(t)
	f.awaitRead(t, 0)
}

func TestAPromotedReplicaIsNotUsed(t *testing.T) {
	t.Parallel()
	f := setup(t, 1)
	f.awaitUsed(t)
	f.awaitRead(t, 0)
	reading := f.begin(time.Minute, "")
	if _, done := count(t, reading); !done {
		t.Fatal("the replica does not answer")
	}
	f.replicas[0].Promote(t)
	if _, done := count(t, reading); done { // the watch may not know it yet
		t.Error("a promoted replica answered")
	}
	f.awaitReason(t, 0, replica.Promoted)
	if _, done := count(t, reading); done {
		t.Error("the request went back to the replica")
	}
}

func TestAReplicaOfAnotherServerIsNotUsed(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	other := pgtest.Primary(t)
	pool := other.Pool(t)
	if err := provision.MigrateControl(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	strange := other.Replica(t)
	f.Set = watch(t, f.pool, []string{strange.AdminURL()})
	f.awaitReason(t, 0, replica.System)
	if _, done := count(t, f.begin(time.Minute, "")); done {
		t.Error("a replica of another server answered")
	}
}

// After a failover the positions of the old timeline mean nothing: a replica that has stayed on it
// must not be used, nor a token from before.
func TestAfterAFailoverReplicasAndTokensOfTheOldTimelineAreNotUsed(t *testing.T) {
	t.Parallel()
	f := setup(t, 2)
	f.awaitUsed(t)
	f.awaitRead(t, 0)
	old := f.Token(t.Context(), "acme")
	f.replicas[0].Promote(t)
	promoted := f.replicas[0].Pool(t)
	g := &fixture{pool: promoted, Set: watch(t, promoted, []string{f.replicas[1].AdminURL()})}
	g.awaitReason(t, 0, replica.Timeline)
	if _, done := count(t, g.begin(time.Minute, "")); done {
		t.Error("a replica of the old timeline answered")
	}
	if now := g.Token(t.Context(), "acme"); now == old {
		t.Error("the token of the new timeline is that of the old")
	}
	// The replica follows the new primary.
	f.replicas[1].Exec(t, `ALTER SYSTEM SET primary_conninfo = '`+pgtest.Conninfo(f.replicas[0])+`'`)
	f.replicas[1].Exec(t, `SELECT pg_reload_conf()`)
	g.awaitUsed(t)
	g.awaitRead(t, 0)
	if _, done := count(t, g.begin(time.Minute, old)); done {
		t.Error("a token of the old timeline was taken for a position of the new")
	}
}

// What replaying the log ends, such as a statement that needs rows which the primary has removed,
// runs at the primary.
func TestErrorsOfTheReplicaFallBack(t *testing.T) {
	t.Parallel()
	f := setup(t, 1)
	f.awaitUsed(t)
	f.awaitRead(t, 0)
	for _, c := range []struct {
		name, sql string
		reason    replica.Reason // empty: the caller gets the error
	}{
		{"a conflict with recovery", `DO $$ BEGIN RAISE EXCEPTION 'canceling statement due to conflict with recovery' USING ERRCODE = '40001'; END $$`, replica.Conflict},
		{"a conflict that is a cancellation", `DO $$ BEGIN RAISE EXCEPTION 'canceling statement due to conflict with recovery' USING ERRCODE = '57014'; END $$`, replica.Conflict},
		{"a timeout", `DO $$ BEGIN RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014'; END $$`, ""},
		{"a write", `CREATE TABLE extensions.more (id int)`, replica.Other},
		{"a table that is not there", `SELECT FROM extensions.missing`, replica.Missing},
		{"a role that is not there", `SET LOCAL ROLE nobody_of_this_name`, replica.Missing},
		{"a regular expression", `SELECT 'a' ~ '('`, ""},
		{"a server that is full", `DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53300'; END $$`, replica.Busy},
	} {
		f.awaitUsed(t)
		before := f.Status().Fallbacks[c.reason]
		done, err := f.begin(time.Minute, "").Run(t.Context(), func(ctx context.Context, conn *pgxpool.Conn, _ replica.Check) error {
			_, err := conn.Exec(ctx, c.sql)
			return err
		})
		switch {
		case c.reason == "" && (!done || err == nil):
			t.Errorf("%s: done %v, error %v, want the error", c.name, done, err)
		case c.reason != "" && (done || f.Status().Fallbacks[c.reason] != before+1):
			t.Errorf("%s: done %v, error %v, fallbacks %v", c.name, done, err, f.Status().Fallbacks)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done, err := f.begin(time.Minute, "").Run(ctx, func(ctx context.Context, conn *pgxpool.Conn, _ replica.Check) error {
		_, err := conn.Exec(ctx, `SELECT 1`)
		return err
	})
	if !done || !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled call: done %v, error %v", done, err)
	}
}
