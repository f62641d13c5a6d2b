package tenant

import (
	"context"
	"sync"
	"time"
)

// overtakeDelay is how long TxOvertaking waits for a COPY before it cancels it.
const overtakeDelay = time.Second

// TxOvertaking is Tx for a transaction that makes loading data pointless, because it
// deletes or replaces what is loaded. A COPY whose locks it waits for longer than
// overtakeDelay is cancelled: the loading transaction fails with the kind Deadline, and
// finds nothing to do when it is retried. With a connection pooler between service and
// server, where process ids are not the server's, it waits for the COPY to end.
func (h *Handle) TxOvertaking(ctx context.Context, do func(tx *Tx) error) error {
	return h.Tx(ctx, func(tx *Tx) error {
		watch, stop := context.WithCancel(ctx)
		var watcher sync.WaitGroup
		watcher.Go(func() { h.cancelBlockingCopies(watch, tx.tx.Conn().PgConn().PID()) })
		defer watcher.Wait()
		defer stop()
		return do(tx)
	})
}

// cancelBlockingCopies cancels, until ctx ends, each COPY that blocks the connection with
// this process id.
func (h *Handle) cancelBlockingCopies(ctx context.Context, pid uint32) {
	ticker := time.NewTicker(overtakeDelay)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// An error needs no handling: the transaction goes on waiting and the next tick retries.
		_, _ = h.pool.Exec(ctx, `
			SELECT pg_cancel_backend(a.pid) FROM unnest(pg_blocking_pids($1)) AS b (pid)
			JOIN pg_catalog.pg_stat_activity AS a USING (pid) WHERE a.query ILIKE 'copy %'`, int32(pid))
	}
}
