package replica

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/postgres"
)

const (
	// watchTimeout is how long a server may take to answer the watch.
	watchTimeout = time.Second
	// openTimeout bounds the opening of the pool of a replica.
	openTimeout = 10 * time.Second
	// acquireTimeout is how long a read waits while its tenant uses as many connections to a
	// replica as it may, and then for a free one.
	acquireTimeout = 250 * time.Millisecond
)

// Check is the statement that a replica must run before those of a read, in the same
// transaction: it fails if the replica is not fresh enough.
type Check struct {
	SQL  string
	Args []any
}

// checkOf returns the check that a replica of the timeline has replayed a position.
func checkOf(of timeline, position int64) Check {
	return Check{`SELECT ragd.check_replica($1::uuid, $2)`, []any{of.mark, position}}
}

// replica is a replica and what the watch knows of it.
type replica struct {
	number  int // from 1, in the order of the setting
	config  postgres.Config
	limiter *limit.Limiter[string] // of the connections that each tenant may use
	log     *slog.Logger

	perTenant int64

	mu       sync.Mutex
	pool     *pgxpool.Pool // nil until the replica has answered once
	reason   Reason        // why it cannot be used; empty if it can
	avoided  bool          // a read has failed since the watch looked
	lag      time.Duration
	position int64
	up       context.Context // ends when the replica cannot be used any more
	end      context.CancelFunc
}

func newReplica(number int, config postgres.Config, perTenant int, log *slog.Logger) *replica {
	r := &replica{number: number, config: config, log: log, reason: Down, limiter: limit.New[string](0, 0), perTenant: int64(perTenant)}
	r.up, r.end = context.WithCancel(context.Background())
	r.end()
	return r
}

// watch looks at the replica at intervals until ctx ends.
func (r *replica) watch(ctx context.Context, primary func() history) {
	var conn *pgx.Conn
	drop := func() {
		if conn != nil {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchTimeout)
			defer cancel()
			_ = conn.Close(closing)
			conn = nil
		}
	}
	defer drop()
	for sleep(ctx, watchEvery) {
		position, err := r.look(ctx, &conn, primary().timeline)
		if ctx.Err() != nil {
			return
		}
		reason := Reason("")
		if err != nil {
			reason = watchReason(err)
		}
		if reason == Down {
			drop()
		}
		r.seen(ctx, position, primary().lag(time.Now(), position), reason, err)
	}
}

// look returns the position up to which the replica has replayed the log of the timeline.
func (r *replica) look(ctx context.Context, conn **pgx.Conn, of timeline) (position int64, err error) {
	if err := r.open(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	if *conn == nil {
		config := r.config
		config.ApplicationName += " watch"
		if *conn, err = postgres.Connect(ctx, config); err != nil {
			return 0, err
		}
	}
	var recovers bool
	var there timeline
	err = (*conn).QueryRow(ctx, `
		SELECT pg_catalog.pg_is_in_recovery(), coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_last_wal_replay_lsn(), '0/0')::bigint, 0),
			c.system_identifier, coalesce((SELECT t.mark::text FROM ragd.wal_timeline AS t), '')
		FROM pg_catalog.pg_control_system() AS c`).Scan(&recovers, &position, &there.system, &there.mark)
	switch {
	case err != nil:
		return 0, err
	case !recovers:
		return 0, errPromoted
	case of.system != 0 && there.system != of.system:
		return 0, errOtherSystem
	case of.mark != "" && there.mark != of.mark:
		return 0, errOtherTimeline
	}
	return position, nil
}

// Errors of look.
var (
	errPromoted      = errors.New("it is not a replica: it accepts writes")
	errOtherSystem   = errors.New("it is a replica of another database server")
	errOtherTimeline = errors.New("it follows another timeline, or has not replayed the begin of the present one yet")
)

// open opens the pool of the replica, unless it is open.
func (r *replica) open(ctx context.Context) error {
	r.mu.Lock()
	opened := r.pool != nil
	r.mu.Unlock()
	if opened {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	pool, err := postgres.Open(ctx, r.config)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pool = pool
	return nil
}

// seen records what the watch saw: a reason why the replica cannot be used ends the reads that
// run there.
func (r *replica) seen(ctx context.Context, position int64, lag time.Duration, reason Reason, err error) {
	r.mu.Lock()
	before := r.reason
	r.position, r.lag, r.reason, r.avoided = position, lag, reason, false
	switch {
	case reason != "":
		r.end()
	case before != "":
		r.up, r.end = context.WithCancel(context.Background())
	}
	r.mu.Unlock()
	switch {
	case reason != "":
		r.log.WarnContext(ctx, "a replica of the database is not used", "replica", r.number, "reason", reason, "err", err)
	case before != "":
		r.log.InfoContext(ctx, "a replica of the database is used", "replica", r.number, "lag", lag)
	}
}

// avoid keeps reads from the replica until the watch has looked at it again.
func (r *replica) avoid() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.avoided = true
}

// usable returns how stale the replica was when last seen and the position that it had replayed;
// false if it cannot be used.
func (r *replica) usable() (lag time.Duration, position int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lag, r.position, r.reason == "" && !r.avoided
}

// run calls do with a connection to the replica. The context of do ends when the replica cannot be
// used any more. Errors: errBusy if none is free; those of do.
func (r *replica) run(ctx context.Context, tenant string, check Check, do Do) error {
	if err := r.limiter.AcquireWithin(ctx, tenant, r.perTenant, acquireTimeout); err != nil {
		return cmp.Or(ctx.Err(), errBusy)
	}
	defer r.limiter.Release(tenant, 1)
	r.mu.Lock()
	pool, up := r.pool, r.up
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(up, cancel)()
	conn, err := acquire(ctx, pool)
	if err != nil {
		return err
	}
	defer conn.Release()
	return do(ctx, conn, check)
}

// errBusy says that no connection to a replica is free.
var errBusy = errors.New("no connection to the replica is free")

// acquire returns a connection of the pool. Errors: errBusy after acquireTimeout.
func acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, acquireTimeout, errBusy)
	defer cancel()
	conn, err := pool.Acquire(waiting)
	if err != nil && errors.Is(context.Cause(waiting), errBusy) {
		return nil, errBusy
	}
	return conn, err
}

// close closes the pool.
func (r *replica) close() {
	r.mu.Lock()
	pool := r.pool
	r.mu.Unlock()
	if pool != nil {
		pool.Close()
	}
}
