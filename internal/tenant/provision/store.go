package provision

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// store reads and writes the tenants of a database.
type store struct {
	pool  *pgxpool.Pool
	admin *pgxpool.Pool // creates and drops schemas and roles
	roles roles
}

// locked runs do under an advisory lock, so that no other call on any instance creates or
// deletes the same tenant meanwhile. conn is the connection that has the lock; its role
// may create and drop schemas and roles. do should use no other: calls that wait for a
// second connection could occupy the whole pool.
func (s *store) locked(ctx context.Context, id tenant.ID, do func(conn *pgxpool.Conn) error) error {
	return s.withLock(ctx, id, `SELECT pg_advisory_lock(hashtextextended($1, 0)) IS NOT NULL`, do)
}

// unlessLocked is locked, but does nothing if another call has the lock.
func (s *store) unlessLocked(ctx context.Context, id tenant.ID, do func(conn *pgxpool.Conn) error) error {
	return s.withLock(ctx, id, `SELECT pg_try_advisory_lock(hashtextextended($1, 0))`, do)
}

// withLock runs do if the query returns true, which means that the connection has the lock.
func (s *store) withLock(ctx context.Context, id tenant.ID, query string, do func(conn *pgxpool.Conn) error) error {
	conn, err := s.admin.Acquire(ctx)
	if err != nil {
		return postgres.Fault(err)
	}
	defer conn.Release()
	postgres.Use(conn.Conn(), id.Schema(), "")
	var locked bool
	if err := conn.QueryRow(ctx, query, id.Schema()).Scan(&locked); err != nil || !locked {
		return postgres.Fault(err)
	}
	defer func() {
		_, err := conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(hashtextextended($1, 0))`, id.Schema())
		if err != nil {
			_ = conn.Conn().Close(context.WithoutCancel(ctx)) // ends the session and its lock
		}
	}()
	return do(conn)
}
