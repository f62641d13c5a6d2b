package data

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Distributed reports whether the tables of the tenant's schema are distributed by Citus.
func (t *Tx) Distributed() bool { return t.handle.site.distributed }

// Distributed reports whether the tables of the tenant's schema are distributed by Citus.
func (s *Session) Distributed() bool { return s.handle.site.distributed }

// Distributed reports whether the tables of the tenant's schema are distributed by Citus, as this instance knows it from the last
// statement. Errors: Unavailable.
func (h *Handle) Distributed(ctx context.Context) (bool, error) {
	at, err := h.at(ctx)
	if err != nil {
		return false, err
	}
	return at.site.distributed, nil
}

// queryDistributed runs a query with the settings of the session, which reach a worker only as those of
// a transaction.
func (s *Session) queryDistributed(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		script := propagateSQL
		for _, name := range slices.Sorted(maps.Keys(s.local)) {
			script += "; " + setLocalSQL(name, s.local[name])
		}
		if _, err := tx.Exec(ctx, script); err != nil {
			return err
		}
		return queryRows(ctx, tx, s.handle.SQL(sql), args, read)
	})
}

// propagateSQL lets the settings that a transaction sets by setLocalSQL reach the workers.
const propagateSQL = "SET LOCAL citus.propagate_set_commands = 'local'"

// setLocalSQL returns a statement that changes a setting until the transaction ends.
func setLocalSQL(name, value string) string {
	return "SET LOCAL " + name + " = '" + strings.ReplaceAll(value, "'", "''") + "'"
}

// takeRoleSQL returns the statement with which a transaction becomes the tenant's.
func (h *Handle) takeRoleSQL() string {
	if h.site.distributed {
		// SET could reach the workers, whose connections have the tenant's role from their start or are Citus's own.
		return `SELECT pg_catalog.set_config('role', '` + h.id.Schema() + `', true)` // an ID has no quotes
	}
	return `SET LOCAL ROLE ` + h.schema
}

// drainSQL returns the statement that empties the outbox of the tenant. A transaction that writes
// runs it at its end.
func (h *Handle) drainSQL() string { return `SELECT ragd_shared.drain('` + h.id.Schema() + `')` }

// writes reports whether a statement may write to the tables of a tenant that have triggers.
func writes(sql string) bool {
	for _, verb := range []string{"INSERT", "UPDATE", "DELETE", "COPY", "MERGE"} {
		if strings.Contains(sql, verb) {
			return true
		}
	}
	return false
}

// queuedDistributed is queued for a distributed database. Settings reach the worker only by SET LOCAL, and
// only in a transaction that has begun; one that writes would else be several transactions there.
func (b *Batch) queuedDistributed() (queued *pgx.Batch, transaction bool) {
	writing := false
	for _, s := range b.statements {
		writing = writing || writes(s.sql)
	}
	transaction = writing || len(b.settings) > 2 || len(b.statements) > 1
	queued = &pgx.Batch{}
	if transaction {
		queued.Queue("BEGIN")
	}
	queued.Queue(settingsSQL(b.handle.serves(), 1), append(slices.Clip(b.settings[:2]), b.handle.id)...) // the role
	if len(b.settings) > 2 {
		queued.Queue(propagateSQL)
	}
	for i := 2; i < len(b.settings); i += 2 {
		queued.Queue(setLocalSQL(b.settings[i].(string), b.settings[i+1].(string)))
	}
	for _, s := range b.statements {
		s.result(queued.Queue(s.sql, s.args...))
	}
	if writing {
		queued.Queue(b.handle.drainSQL())
	}
	if transaction {
		queued.Queue("COMMIT")
	}
	return queued, transaction
}

// sendDistributed sends the batch on a connection to a distributed database.
func (b *Batch) sendDistributed(ctx context.Context, conn *pgxpool.Conn) error {
	queued, transaction := b.queuedDistributed()
	err := conn.SendBatch(ctx, queued).Close()
	if err != nil && transaction && !conn.Conn().IsClosed() {
		if _, rerr := conn.Exec(context.WithoutCancel(ctx), "ROLLBACK"); rerr != nil {
			_ = conn.Conn().Close(context.WithoutCancel(ctx))
		}
	}
	return err
}

// draining runs do with a transaction. If the tenant is distributed and do wrote, it empties the
// outbox.
func (h *Handle) draining(ctx context.Context, tx pgx.Tx, do func(*Tx) error) error {
	t := &Tx{handle: h, tx: tx}
	if h.site.distributed {
		t.wrote = new(bool)
	}
	if err := do(t); err != nil || t.wrote == nil || !*t.wrote {
		return err
	}
	_, err := tx.Exec(ctx, h.drainSQL())
	return err
}

// note notes that statements are about to run in the transaction.
func (t *Tx) note(statements ...string) {
	if t.wrote != nil && !*t.wrote {
		*t.wrote = slices.ContainsFunc(statements, writes)
	}
}

// blockingPIDs returns an expression for the ids of the processes of this server that the process $1 waits for. In a
// distributed database both may wait on a worker.
func (s *Site) blockingPIDs() string {
	if !s.distributed {
		return `pg_catalog.pg_blocking_pids($1)`
	}
	return `pg_catalog.pg_blocking_pids($1) || ARRAY(
		SELECT pg_catalog.citus_pid_for_gpid(w.blocking_gpid) FROM pg_catalog.citus_lock_waits AS w
		WHERE w.waiting_gpid = pg_catalog.citus_calculate_gpid(pg_catalog.citus_coordinator_nodeid(), $1))`
}
