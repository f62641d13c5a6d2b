package tenant

import (
	"context"
	"sync"
	"time"
)

// patience is how long a transaction waits for a load that it overtakes.
const patience = time.Second

// TxOvertaking is Tx for what makes a load needless: deleting, cancelling or replacing
// what is loaded. While it waits for more than a second for somebody's COPY, that COPY
// is ended; its transaction fails with the kind Deadline and comes to nothing when it is
// tried again. Behind a pooler of connections it waits for the end of the load.
func (h *Handle) TxOvertaking(ctx context.Context, do func(tx *Tx) error) error {
	return h.Tx(ctx, func(tx *Tx) error {
		over, done := context.WithCancel(ctx)
		var waiting sync.WaitGroup
		waiting.Go(func() { h.endLoads(over, tx.tx.Conn().PgConn().PID()) })
		defer waiting.Wait()
		defer done()
		return do(tx)
	})
}

// endLoads ends, until ctx does, each COPY that keeps a connection waiting.
func (h *Handle) endLoads(ctx context.Context, pid uint32) {
	ticker := time.NewTicker(patience)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// Whether it works out shows in the transaction, which waits or does not.
		_, _ = h.pool.Exec(ctx, `
			SELECT pg_cancel_backend(a.pid) FROM unnest(pg_blocking_pids($1)) AS b (pid)
			JOIN pg_catalog.pg_stat_activity AS a USING (pid) WHERE a.query ILIKE 'copy %'`, int32(pid))
	}
}
