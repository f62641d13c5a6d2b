package journal

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// sweepEvery is how often the events of a tenant are swept, by any instance.
	sweepEvery = 2 * time.Minute
	// sweepPause is how often an instance looks for tenants that are due.
	sweepPause = 20 * time.Second
	// sweepBatch is how many tenants an instance claims at once.
	sweepBatch = 20
)

// Run deletes old events of all tenants until ctx ends, and calls each for each tenant with
// events, so that work is found whose announcement was lost. It begins with all tenants.
func (j *Journal) Run(ctx context.Context, each func(context.Context, tenant.ID) error) error {
	return j.RunOn(ctx, j.config.Control, j.config.Logger, each)
}

// RunOn is Run for the tenants of another database, with its control schema and a log of its own.
func (j *Journal) RunOn(ctx context.Context, control Control, log *slog.Logger, each func(context.Context, tenant.ID) error) error {
	sweeps := make(chan struct{}, 1)
	j.mu.Lock()
	j.sweeps[sweeps] = true
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.sweeps, sweeps)
	}()
	age := 5 * time.Second // an instance that died may have left work
	ticker := time.NewTicker(sweepPause)
	defer ticker.Stop()
	for {
		if err := j.sweep(ctx, control, log, age, each); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "sweeping events failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			age = sweepEvery
		case <-sweeps:
			age = 5 * time.Second
		}
	}
}

// sweep sweeps the tenants whose last sweep is that long ago.
func (j *Journal) sweep(ctx context.Context, control Control, log *slog.Logger, age time.Duration, each func(context.Context, tenant.ID) error) error {
	for {
		rows, _ := control.Query(ctx, `
			UPDATE ragd.event_tenants SET swept_at = now() WHERE tenant_id IN (
				SELECT t.tenant_id FROM ragd.event_tenants AS t WHERE t.swept_at < now() - $1::interval
				ORDER BY t.swept_at LIMIT $2 FOR UPDATE SKIP LOCKED)
			RETURNING tenant_id`, age, sweepBatch)
		due, err := pgx.CollectRows(rows, pgx.RowTo[tenant.ID])
		if err != nil {
			return postgres.Fault(err)
		}
		for _, id := range due {
			err := j.clean(ctx, id)
			if err == nil {
				err = each(ctx, id)
			}
			if err != nil && fault.KindOf(err) != fault.NotFound { // the tenant is being deleted
				log.WarnContext(ctx, "sweeping the events of a tenant failed", "tenant", id, "err", err)
			}
			if ctx.Err() != nil {
				return nil
			}
		}
		if len(due) < sweepBatch {
			return nil
		}
	}
}

// clean deletes the events of a tenant that are too old or too many, and takes the tenant off
// the list if it has no event left and nobody wants any.
func (j *Journal) clean(ctx context.Context, id tenant.ID) error {
	h := j.config.DB.Handle(id)
	_, err := h.Exec(ctx, `
		WITH kept AS (
			SELECT e.xid, e.number, e.created_at,
				row_number() OVER newest AS n, sum(pg_column_size(e.data)) OVER newest AS bytes
			FROM ragd_shared.events AS e WINDOW newest AS (ORDER BY e.xid DESC, e.number DESC)
		)
		DELETE FROM ragd_shared.events AS e USING kept AS k
		WHERE e.xid = k.xid AND e.number = k.number AND (k.created_at < now() - $1::interval OR k.n > $2 OR k.bytes > $3)`,
		j.config.Keep.Age, j.config.Keep.Events, j.config.Keep.Bytes)
	if err != nil {
		return err
	}
	return h.Tx(ctx, func(tx *data.Tx) error {
		listed := func(sql string) error {
			return tx.AsService(ctx, func(service pgx.Tx) error {
				_, err := service.Exec(ctx, sql, id)
				return err
			})
		}
		if err := listed(`SELECT FROM ragd.event_tenants WHERE tenant_id = $1 FOR UPDATE`); err != nil {
			return err
		}
		used, err := data.Value[bool](ctx, tx, `
			SELECT EXISTS (SELECT FROM ragd_shared.events) OR EXISTS (SELECT FROM ragd_shared.hooks)
				OR EXISTS (SELECT FROM ragd_shared.event_watchers WHERE until > now())`)
		if err != nil || used {
			return err
		}
		return listed(`DELETE FROM ragd.event_tenants WHERE tenant_id = $1`)
	})
}
