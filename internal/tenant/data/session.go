package data

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Session is one connection that runs statements as the tenant, each in a transaction of
// its own. It is for statements that PostgreSQL refuses inside a transaction, such as
// CREATE INDEX CONCURRENTLY, and for settings and locks that outlive a statement. It does
// not count towards the tenant's limit of connections: its caller also runs statements that
// do, and could otherwise wait for itself.
type Session struct {
	handle *Handle
	conn   *pgxpool.Conn
	local  map[string]string // settings that queries set again in a distributed database; nil in another
}

// Session runs do with a session. Its settings and advisory locks end with it.
func (h *Handle) Session(ctx context.Context, do func(s *Session) error) error {
	return h.placed(ctx, func(h *Handle) (begun bool, err error) { return h.session(ctx, do) })
}

// session is Session in the database of the handle, without the translation of errors. It reports
// whether do was called.
func (h *Handle) session(ctx context.Context, do func(s *Session) error) (begun bool, err error) {
	conn, err := h.withRole(ctx)
	if err != nil {
		return false, err
	}
	h.use(conn.Conn())
	s := &Session{handle: h, conn: conn}
	if h.site.distributed {
		s.local = map[string]string{}
	}
	defer s.end(context.WithoutCancel(ctx))
	return true, do(s)
}

// withRole returns a connection with the tenant's role, until it is reset. For the attempts
// see withConn.
func (h *Handle) withRole(ctx context.Context) (conn *pgxpool.Conn, err error) {
	for range roleAttempts {
		if conn, err = h.site.Pool.Acquire(ctx); err != nil {
			return nil, err
		}
		if _, err = conn.Exec(ctx, h.servedSQL()+"; SET ROLE "+h.id.Quoted()); err == nil {
			return conn, nil
		}
		_ = conn.Conn().Close(context.WithoutCancel(ctx))
		conn.Release()
		if !h.deniesRole(err) {
			break
		}
	}
	return nil, err
}

// end resets the connection and returns it to the pool, or closes it if that fails.
func (s *Session) end(ctx context.Context) {
	const reset = "SELECT pg_advisory_unlock_all(); RESET ROLE; RESET ALL"
	if _, err := s.conn.Exec(ctx, reset, pgx.QueryExecModeSimpleProtocol); err != nil {
		_ = s.conn.Conn().Close(ctx) // its state ends with it
	}
	s.conn.Release()
}

// OfIndex returns the same session for the tables of the index with this number and
// generation.
func (s *Session) OfIndex(index int64, generation int) *Session {
	of := &Session{handle: s.handle.OfIndex(index, generation), conn: s.conn, local: s.local}
	of.handle.use(s.conn.Conn())
	return of
}

func (s *Session) query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	if len(s.local) > 0 {
		return s.queryDistributed(ctx, sql, args, read)
	}
	return queryRows(ctx, s.conn, s.handle.SQL(sql), args, read)
}

// Exec runs one statement and returns the number of rows it changed.
func (s *Session) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := s.conn.Exec(ctx, s.handle.SQL(sql), args...)
	return tag.RowsAffected(), err
}

// Script runs statements without parameters in one round trip and one transaction. They are
// not prepared.
func (s *Session) Script(ctx context.Context, statements ...string) error {
	return runScript(ctx, s.conn, s.handle, statements)
}

// Set changes a PostgreSQL setting until the session ends.
func (s *Session) Set(ctx context.Context, name, value string) error {
	if s.local != nil {
		s.local[name] = value
	}
	_, err := s.conn.Exec(ctx, "SELECT set_config($1, $2, false)", name, value)
	return err
}

// Lock takes an advisory lock until the session ends. Other tenants may use the same name.
// It returns false if another session has the lock.
func (s *Session) Lock(ctx context.Context, name string) (bool, error) {
	return Value[bool](ctx, s, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", s.handle.id.Schema()+"/"+name)
}
