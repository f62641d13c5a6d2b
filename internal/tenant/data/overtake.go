package data

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// overtakeDelay is how long a transaction waits for a statement before it cancels it.
const overtakeDelay = time.Second

// Patterns of the statements that a transaction may cancel.
const (
	copyStatement = "copy %"
	anyStatement  = "%"
)

// TxOvertaking is Tx for a transaction that makes loading data pointless, because it
// deletes or replaces what is loaded. A COPY whose locks it waits for longer than
// overtakeDelay is cancelled: the loading transaction fails with the kind Deadline, and
// finds nothing to do when it is retried. With a connection pooler between service and
// server, where process ids are not the server's, it waits for the COPY to end.
func (h *Handle) TxOvertaking(ctx context.Context, do func(tx *Tx) error) error {
	return h.placed(ctx, func(h *Handle) (begun bool, err error) {
		release, err := h.acquire(ctx)
		if err != nil {
			return false, err
		}
		defer release()
		return h.overtake(ctx, h.site.Pool, copyStatement, func(tx pgx.Tx) error { return h.draining(ctx, tx, do) })
	})
}

// overtaking runs do in a transaction as the tenant. It cancels statements of the service
// that match the pattern and whose locks the transaction waits for longer than
// overtakeDelay.
func (h *Handle) overtaking(ctx context.Context, on beginner, pattern string, do func(tx pgx.Tx) error) error {
	_, err := h.overtake(ctx, on, pattern, do)
	return h.translate(ctx, err)
}

// overtake is overtaking without the translation of errors. It reports whether the transaction had
// begun.
func (h *Handle) overtake(ctx context.Context, on beginner, pattern string, do func(tx pgx.Tx) error) (begun bool, err error) {
	return h.transact(ctx, on, func(tx pgx.Tx) error {
		watch, stop := context.WithCancel(ctx)
		var watcher sync.WaitGroup
		watcher.Go(func() { h.cancelBlocking(watch, tx.Conn().PgConn().PID(), pattern) })
		defer watcher.Wait()
		defer stop()
		return do(tx)
	})
}

// cancelBlocking cancels, until ctx ends, each statement of the service that matches the
// pattern and blocks the connection with this process id. A backup, which is not a
// connection of the service, is waited for, and so is another deletion.
func (h *Handle) cancelBlocking(ctx context.Context, pid uint32, pattern string) {
	ticker := time.NewTicker(overtakeDelay)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// An error needs no handling: the transaction goes on waiting and the next tick retries.
		_, _ = h.site.Pool.Exec(ctx, `
			SELECT pg_cancel_backend(a.pid) FROM unnest(`+h.site.blockingPIDs()+`) AS b (pid)
			JOIN pg_catalog.pg_stat_activity AS a USING (pid)
			WHERE a.query ILIKE $2 AND a.query NOT ILIKE 'drop %' AND a.application_name LIKE 'ragd%'`, int32(pid), pattern)
	}
}
