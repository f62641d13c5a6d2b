package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// durability checks the settings without which a crash loses or damages data.
func (inspection) durability(ctx context.Context, tx pgx.Tx) (Finding, error) {
	rows, err := tx.Query(ctx, `
		SELECT name FROM pg_catalog.pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off' ORDER BY name`)
	if err != nil {
		return Finding{}, err
	}
	off, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return Finding{}, err
	}
	switch {
	case len(off) == 0:
		return ok("fsync, full_page_writes and synchronous_commit are on"), nil
	case len(off) == 1 && off[0] == "synchronous_commit":
		return warn("synchronous_commit is off: a crash loses uploads of the last moments that were acknowledged", "set it on, unless that is meant"), nil
	}
	return fail(strings.Join(off, ", ")+" off: a crash may damage the database", "set them on; a database that crashed meanwhile is to be restored from a backup"), nil
}

const (
	mib = 1 << 20
	gib = 1 << 30
	// dataPerBuffer is how many times larger than shared_buffers the data may be. Parts of
	// an index that are not in memory make a search many times slower.
	dataPerBuffer = 10
	// indexPerMaintenance is how many times larger than maintenance_work_mem a vector index
	// may be. A build that needs more memory goes through the disk.
	indexPerMaintenance = 4
	defaultBuffers      = 128 * mib // PostgreSQL's own
	defaultWAL          = 1 * gib   // PostgreSQL's own max_wal_size
)

// memory checks the sizes of the server's memory and of its log against that of the data.
func (inspection) memory(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var buffers, maintenance, wal, data, largest int64
	err := tx.QueryRow(ctx, `
		SELECT pg_catalog.pg_size_bytes(pg_catalog.current_setting('shared_buffers')),
			pg_catalog.pg_size_bytes(pg_catalog.current_setting('maintenance_work_mem')),
			pg_catalog.pg_size_bytes(pg_catalog.current_setting('max_wal_size')),
			pg_catalog.pg_database_size(pg_catalog.current_database()),
			coalesce((SELECT max(pg_catalog.pg_relation_size(c.oid)) FROM pg_catalog.pg_class AS c
				JOIN pg_catalog.pg_am AS a ON a.oid = c.relam WHERE a.amname IN ('hnsw', 'ivfflat') AND c.relkind = 'i'), 0)`).
		Scan(&buffers, &maintenance, &wal, &data, &largest)
	if err != nil {
		return Finding{}, err
	}
	return judgeMemory(buffers, maintenance, wal, data, largest), nil
}

func judgeMemory(buffers, maintenance, wal, data, largest int64) Finding {
	var details, actions []string
	if data > dataPerBuffer*buffers || (data > buffers && buffers <= defaultBuffers) {
		details = append(details, fmt.Sprintf("shared_buffers is %s, the database has %s", size(buffers), size(data)))
		actions = append(actions, "set shared_buffers to a quarter of the memory of a server of its own, and restart it")
	}
	if largest > indexPerMaintenance*maintenance {
		details = append(details, fmt.Sprintf("maintenance_work_mem is %s, the largest vector index has %s: building it goes through the disk", size(maintenance), size(largest)))
		actions = append(actions, "raise maintenance_work_mem towards the size of the index, as far as the memory allows")
	}
	if wal < defaultWAL && data > defaultWAL {
		details = append(details, fmt.Sprintf("max_wal_size is %s: uploads cause checkpoints all the time", size(wal)))
		actions = append(actions, "raise max_wal_size to 2GB or more")
	}
	if len(details) > 0 {
		return warn(strings.Join(details, "; "), strings.Join(actions, "; "))
	}
	return ok("shared_buffers %s, maintenance_work_mem %s, max_wal_size %s for %s of data", size(buffers), size(maintenance), size(wal), size(data))
}

// planner tells the settings of the planner. jit costs a search more time than it saves, but
// the service turns it off on its own connections, so that it is no warning.
func (inspection) planner(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var jit, random string
	err := tx.QueryRow(ctx, `SELECT pg_catalog.current_setting('jit'), pg_catalog.current_setting('random_page_cost')`).Scan(&jit, &random)
	if err != nil {
		return Finding{}, err
	}
	if jit == "on" {
		jit = "on, but off on the connections of the service"
	}
	return ok("random_page_cost %s; jit %s", random, jit), nil
}

// connections checks that the server takes the connections of an instance, and how many are used.
func (i inspection) connections(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var most, used int
	err := tx.QueryRow(ctx, `
		SELECT pg_catalog.current_setting('max_connections')::int - pg_catalog.current_setting('superuser_reserved_connections')::int,
			(SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend')`).Scan(&most, &used)
	if err != nil {
		return Finding{}, err
	}
	return judgeConnections(most, used, i.config.Connections), nil
}

func judgeConnections(most, used, pools int) Finding {
	const nearly = 0.9 // the part in use from which it is a warning
	action := "raise max_connections, or lower ingest-workers or the number of instances"
	switch {
	case pools > most:
		return warn(fmt.Sprintf("an instance of the service may open %d connections, the server takes %d", pools, most), action)
	case float64(used) >= nearly*float64(most):
		return warn(fmt.Sprintf("%d of %d connections are used", used, most), action)
	}
	return ok("%d of %d are used; an instance of the service may open %d", used, most, pools)
}

// autovacuum checks that the server cleans up and counts.
func (inspection) autovacuum(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var vacuum, counts string
	var without []named
	err := tx.QueryRow(ctx, `SELECT pg_catalog.current_setting('autovacuum'), pg_catalog.current_setting('track_counts')`).Scan(&vacuum, &counts)
	if err == nil {
		without, err = collect(ctx, tx, `
			SELECT n.nspname || '.' || c.relname, coalesce(pg_catalog.pg_total_relation_size(c.oid), 0)
			FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
			WHERE c.relkind = 'r' AND EXISTS (SELECT FROM unnest(c.reloptions) AS o WHERE o IN ('autovacuum_enabled=false', 'autovacuum_enabled=off'))
			ORDER BY 2 DESC, 1`)
	}
	switch {
	case err != nil:
		return Finding{}, err
	case vacuum != "on" || counts != "on":
		return fail(fmt.Sprintf("autovacuum is %s, track_counts is %s: tables grow, and plans go wrong", vacuum, counts), "set both on"), nil
	case len(without) > 0:
		return warn("autovacuum is off for "+list(without, size), "ALTER TABLE ... RESET (autovacuum_enabled)"), nil
	}
	return ok("on"), nil
}

// transactionIDs checks how far the oldest row is from the point where the server stops.
func (inspection) transactionIDs(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var age int64
	err := tx.QueryRow(ctx, `SELECT pg_catalog.age(datfrozenxid) FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()`).Scan(&age)
	if err != nil {
		return Finding{}, err
	}
	return judgeAge(age), nil
}

func judgeAge(age int64) Finding {
	const late, last = 1_000_000_000, 1_900_000_000 // of 2^31, where the server takes no writes
	detail := fmt.Sprintf("the oldest row is %d transactions old", age)
	action := "end long transactions and drop unused replication slots, then VACUUM the database as a superuser"
	switch {
	case age >= last:
		return fail(detail+": the server will soon take no more writes", action)
	case age >= late:
		return warn(detail+": autovacuum does not keep up", action)
	}
	return ok("%s", detail)
}
