package data

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/tenant"
)

// Tx is a transaction that runs as the tenant.
type Tx struct {
	handle *Handle
	tx     pgx.Tx
	wrote  *bool // set in a distributed database: see drain; nil in another
}

// beginner begins transactions: a pool, or one of its connections.
type beginner interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Tx runs do in a transaction, which is committed if do returns nil and rolled
// back otherwise.
func (h *Handle) Tx(ctx context.Context, do func(tx *Tx) error) error {
	return h.placed(ctx, func(h *Handle) (begun bool, err error) {
		release, err := h.acquire(ctx)
		if err != nil {
			return false, err
		}
		defer release()
		return h.transact(ctx, h.site.Pool, func(tx pgx.Tx) error { return h.draining(ctx, tx, do) })
	})
}

// transact runs do in a transaction as the tenant, in the database of the handle. It reports whether the
// transaction had begun, and does not translate errors.
func (h *Handle) transact(ctx context.Context, on beginner, do func(tx pgx.Tx) error) (begun bool, err error) {
	tx, err := h.begin(ctx, on)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	h.use(tx.Conn())
	if err := do(tx); err != nil {
		return true, err
	}
	return true, tx.Commit(ctx)
}

// begin begins a transaction as the tenant. The driver closes a connection on which that
// fails, so another attempt gets another one; see withConn.
func (h *Handle) begin(ctx context.Context, on beginner) (tx pgx.Tx, err error) {
	return h.beginWith(ctx, on, "BEGIN")
}

// beginWith is begin with other statements that begin the transaction.
func (h *Handle) beginWith(ctx context.Context, on beginner, statements string) (tx pgx.Tx, err error) {
	begin := statements + "; " + h.servedSQL() + "; " + h.takeRoleSQL()
	for range roleAttempts {
		tx, err = on.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
		if !h.deniesRole(err) {
			break
		}
	}
	return tx, err
}

func (t *Tx) query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	t.note(sql)
	return queryRows(ctx, t.tx, t.handle.SQL(sql), args, read)
}

// Exec runs one statement and returns the number of rows it changed.
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	t.note(sql)
	tag, err := t.tx.Exec(ctx, t.handle.SQL(sql), args...)
	return tag.RowsAffected(), err
}

// Script runs statements without parameters in one round trip. They are not prepared.
func (t *Tx) Script(ctx context.Context, statements ...string) error {
	t.note(statements...)
	return runScript(ctx, t.tx, t.handle, statements)
}

// execer runs statements: a transaction, or a connection of the pool.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func runScript(ctx context.Context, on execer, h *Handle, statements []string) error {
	if !h.site.distributed {
		statements = []string{strings.Join(statements, ";\n")}
	}
	// Citus sends workers the whole text that the client sent, of some statements.
	for _, script := range statements {
		if _, err := on.Exec(ctx, h.SQL(script), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

// OfIndex returns the same transaction for the tables of the index with this
// number and generation.
func (t *Tx) OfIndex(index int64, generation int) *Tx {
	of := &Tx{handle: t.handle.OfIndex(index, generation), tx: t.tx, wrote: t.wrote}
	of.handle.use(t.tx.Conn())
	return of
}

// Tenant returns the tenant as which the transaction runs.
func (t *Tx) Tenant() tenant.ID { return t.handle.id }

// CopyFrom loads rows into the chunk table of the handle's index.
func (t *Tx) CopyFrom(ctx context.Context, columns []string, rows pgx.CopyFromSource) (int64, error) {
	t.note("COPY")
	return t.tx.CopyFrom(ctx, t.handle.ChunkTable(), columns, rows)
}

// Lock takes an advisory lock until the transaction ends. It waits while another
// transaction or session of the tenant has the lock of this name.
func (t *Tx) Lock(ctx context.Context, name string) error {
	_, err := t.tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", t.handle.id.Schema()+"/"+name)
	return err
}

// LockShared is Lock for a lock that any number of transactions may have at once, while none
// has it by Lock.
func (t *Tx) LockShared(ctx context.Context, name string) error {
	_, err := t.tx.Exec(ctx, "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))", t.handle.id.Schema()+"/"+name)
	return err
}

// AsService runs do inside the transaction with the rights of the service, for tables of
// the control schema, such as those of the job queue. do must not use tenant data.
func (t *Tx) AsService(ctx context.Context, do func(pgx.Tx) error) error {
	if _, err := t.tx.Exec(ctx, "SET LOCAL ROLE NONE"); err != nil {
		return err
	}
	if err := do(t.tx); err != nil {
		return err
	}
	_, err := t.tx.Exec(ctx, "SET LOCAL ROLE "+t.handle.id.Quoted())
	return err
}
