package data

import (
	"context"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/tenant/place/replica"
)

// Batch is a set of statements that are sent in one round trip and run in one transaction,
// as the tenant and with the batch's settings.
type Batch struct {
	handle     *Handle
	settings   []any // names and values, alternating
	statements []statement
}

// statement is a statement of a Batch. result says what to do with its result.
type statement struct {
	sql    string
	args   []any
	result func(*pgx.QueuedQuery)
}

// Batch returns an empty batch.
func (h *Handle) Batch() *Batch {
	return &Batch{handle: h, settings: []any{"role", h.id.Schema()}}
}

// Set changes a PostgreSQL setting for the batch, before its first statement.
func (b *Batch) Set(name, value string) {
	b.settings = append(b.settings, name, value)
}

func (b *Batch) add(sql string, args []any, result func(*pgx.QueuedQuery)) {
	b.statements = append(b.statements, statement{b.handle.SQL(sql), args, result})
}

// queued returns the statements for one connection: the driver notes in them what it
// prepared there. After the checks, the first one has the settings.
func (b *Batch) queued(checks ...replica.Check) *pgx.Batch {
	queued := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, len(checks)+len(b.statements)+1)}
	for _, check := range checks {
		queued.Queue(check.SQL, check.Args...)
	}
	queued.Queue(settingsSQL(b.handle.serves(), len(b.settings)/2), append(slices.Clip(b.settings), b.handle.id)...)
	for _, s := range b.statements {
		s.result(queued.Queue(s.sql, s.args...))
	}
	return queued
}

// settingsSQL returns a statement that changes n settings until the end of the transaction, unless the function
// serves raises an error. Its parameters are their names and values, alternating, and the tenant.
func settingsSQL(serves string, n int) string {
	const one = "set_config($99, $99, true), "
	sql := append(make([]byte, 0, (n+1)*len(one)), "SELECT "+serves+"($"...)
	sql = append(strconv.AppendInt(sql, int64(2*n+1), 10), ')')
	for i := range n {
		sql = strconv.AppendInt(append(sql, ", set_config($"...), int64(2*i+1), 10)
		sql = strconv.AppendInt(append(sql, ", $"...), int64(2*i+2), 10)
		sql = append(sql, ", true)"...)
	}
	return string(sql)
}

// Exec adds a statement.
func (b *Batch) Exec(sql string, args ...any) { b.add(sql, args, func(*pgx.QueuedQuery) {}) }

// Query adds a query. Run passes its rows to read.
func (b *Batch) Query(read func(pgx.Rows) error, sql string, args ...any) {
	b.add(sql, args, func(q *pgx.QueuedQuery) { q.Query(read) })
}

// Run sends the batch and reads its results.
func (b *Batch) Run(ctx context.Context) error {
	if len(b.statements) == 0 {
		return nil
	}
	return b.handle.placed(ctx, func(h *Handle) (bool, error) {
		if done, err := b.runAtReplica(ctx, h); done {
			return false, err
		}
		release, err := h.acquire(ctx)
		if err != nil {
			return false, err
		}
		defer release()
		return false, b.send(ctx, h)
	})
}

// send is Run in the database of a handle, without the translation of errors.
func (b *Batch) send(ctx context.Context, h *Handle) error {
	return h.withConn(ctx, func(conn *pgxpool.Conn) error {
		if h.site.distributed {
			return b.sendDistributed(ctx, conn)
		}
		return conn.SendBatch(ctx, b.queued()).Close()
	})
}
