package replica

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// timeline identifies a timeline of the write-ahead log. mark is a secret of the service: a replica
// is asked for it, and write tokens are encrypted with it.
type timeline struct {
	system int64
	mark   string
}

// querier runs statements at the primary: a connection or a pool.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// positionSQL returns a position of the log that has all acknowledged transactions, and the mark of the
// timeline; an empty mark if the timeline has none. Transactions that wait for the disk are flushed
// when they are acknowledged. What is inserted beyond may not be flushed, and so not replicated,
// for a long time while nothing is committed, so it counts only if transactions do not wait.
const positionSQL = `
	SELECT pg_catalog.pg_wal_lsn_diff(
			CASE pg_catalog.current_setting('synchronous_commit')
				WHEN 'off' THEN pg_catalog.pg_current_wal_insert_lsn()
				ELSE pg_catalog.pg_current_wal_flush_lsn()
			END, '0/0')::bigint,
		c.system_identifier, coalesce(t.mark::text, '')
	FROM pg_catalog.pg_control_system() AS c
	LEFT JOIN ragd.wal_timeline AS t ON t.system = c.system_identifier
		AND t.timeline = left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8)`

// markSQL gives the present timeline a mark, unless it has one.
const markSQL = `
	INSERT INTO ragd.wal_timeline AS t (system, timeline)
	SELECT c.system_identifier, left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8)
	FROM pg_catalog.pg_control_system() AS c
	ON CONFLICT (only_row) DO UPDATE SET system = excluded.system, timeline = excluded.timeline, mark = gen_random_uuid()
	WHERE (t.system, t.timeline) <> (excluded.system, excluded.timeline)
	RETURNING true`

// readPosition returns the timeline and the position of the primary's log. It marks a new timeline.
func readPosition(ctx context.Context, primary querier) (of timeline, position int64, err error) {
	read := func() error {
		return primary.QueryRow(ctx, positionSQL).Scan(&position, &of.system, &of.mark)
	}
	if err := read(); err != nil || of.mark != "" {
		return of, position, err
	}
	var marked bool
	if err := primary.QueryRow(ctx, markSQL).Scan(&marked); err != nil && !errors.Is(err, pgx.ErrNoRows) { // another instance was faster
		return of, 0, err
	}
	if err := read(); err != nil {
		return of, 0, err
	}
	if of.mark == "" {
		return of, 0, fault.New(fault.Unavailable, "the timeline of the primary has changed twice")
	}
	return of, position, nil
}
