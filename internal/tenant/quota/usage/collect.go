package usage

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// collectBatch is how many rows of a database Collect takes at once.
	collectBatch = 1000
	// maxRowAge is how old the hour of a row may be. Rows are collected every few seconds, so older
	// ones waited as long as the database or the service was away.
	maxRowAge = 35 * 24 * time.Hour
	// maxRowLead is how far the clock of a database may be ahead.
	maxRowLead = time.Hour
	// maxRowDocuments, maxRowChunks and maxRowBytes are more than what a tenant ingests into an index
	// in an hour.
	maxRowDocuments = 1_000_000_000
	maxRowChunks    = 1_000_000_000
	maxRowBytes     = 1 << 40
)

// collected takes some rows of ingested documents. The database may be a tenant's own, with whatever its
// owner has written: names are cut, and what is not there or not finite becomes what valid refuses.
const collected = `
	DELETE FROM ragd.usage WHERE ctid = ANY (ARRAY(SELECT u.ctid FROM ragd.usage AS u LIMIT $1 FOR UPDATE SKIP LOCKED))
	RETURNING coalesce(left(tenant_id, 300), ''), CASE WHEN isfinite(hour) THEN extract(epoch FROM date_trunc('hour', hour, 'UTC'))::bigint ELSE -1 END,
		coalesce(left(index_name, 300), ''), coalesce(left(stage, 300), ''), coalesce(left(model, 300), ''),
		coalesce(documents, -1), coalesce(chunks, -1), coalesce(bytes, -1)`

// beginner begins transactions on the control schema of a database.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Collect moves some rows of another database, in which tenants live, to what waits to be written to the
// first. serves returns NotFound for a tenant that does not live there, whose rows are dropped, as are rows
// that Ingested cannot have written. On any other error all rows stay where they are. So they do while
// much waits already.
func (m *Meter) Collect(ctx context.Context, from beginner, log *slog.Logger, serves func(context.Context, tenant.ID) error) error {
	m.mu.Lock()
	full := len(m.waiting) >= maxCollecting
	m.mu.Unlock()
	if full {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	var accepted []counted
	var dropped int
	err := pgx.BeginFunc(ctx, from, func(tx pgx.Tx) error {
		rows, err := take(ctx, tx, m.config.Now())
		if err != nil {
			return err
		}
		accepted, err = served(ctx, rows, m.config.Now(), serves)
		dropped = len(rows) - len(accepted)
		return err
	})
	if err != nil {
		return postgres.Fault(err)
	}
	if dropped > 0 {
		log.WarnContext(ctx, "rows of usage in a database were dropped, because they are of tenants that do not live there or are malformed", "rows", dropped)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range accepted {
		m.merge(r.key, r.entry)
	}
	return nil
}

// take deletes a batch of rows and returns them.
func take(ctx context.Context, tx pgx.Tx, now time.Time) (taken []counted, err error) {
	rows, err := tx.Query(ctx, collected, collectBatch)
	if err != nil {
		return nil, err
	}
	r := counted{entry: entry{at: now}}
	_, err = pgx.ForEachRow(rows, []any{&r.tenant, &r.hour, &r.index, &r.stage, &r.model, &r.Documents, &r.Chunks, &r.Bytes}, func() error {
		if len(taken) == collectBatch {
			return errors.New("a database returns more rows of usage than it was asked for")
		}
		taken = append(taken, r)
		return nil
	})
	return taken, err
}

// served returns the rows that are valid, of tenants that live in the database. Errors: those of serves but
// NotFound.
func served(ctx context.Context, rows []counted, now time.Time, serves func(context.Context, tenant.ID) error) (accepted []counted, err error) {
	lives := map[tenant.ID]bool{}
	for _, r := range rows {
		id, err := tenant.ParseID(r.tenant)
		if err != nil || !r.valid(now) {
			continue
		}
		if _, known := lives[id]; !known {
			err := serves(ctx, id)
			if err != nil && fault.KindOf(err) != fault.NotFound {
				return nil, err
			}
			lives[id] = err == nil
		}
		if lives[id] {
			accepted = append(accepted, r)
		}
	}
	return accepted, nil
}

// valid reports whether Ingested may have written the row.
func (c counted) valid(now time.Time) bool {
	hour := time.Unix(c.hour, 0)
	return c.stage == Ingest && c.model == "" && len(c.index) <= maxIndexBytes &&
		!hour.Before(now.Add(-maxRowAge)) && !hour.After(now.Add(maxRowLead)) &&
		within(c.Documents, maxRowDocuments) && within(c.Chunks, maxRowChunks) && within(c.Bytes, maxRowBytes)
}

func within(n, most int64) bool { return n >= 0 && n <= most }
