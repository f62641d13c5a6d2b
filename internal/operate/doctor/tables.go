package doctor

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

func percent(n int64) string { return fmt.Sprintf("%d%%", n) }
func times(n int64) string   { return fmt.Sprintf("%d times", n) }
func rowsOf(n int64) string  { return fmt.Sprintf("%d rows", n) }

// invalidIndexes finds indexes that PostgreSQL does not use because their build failed.
// Those that are being built do not count.
func (inspection) invalidIndexes(ctx context.Context, tx pgx.Tx) (Finding, error) {
	found, err := collect(ctx, tx, `
		SELECT n.nspname || '.' || c.relname, coalesce(pg_catalog.pg_relation_size(c.oid), 0)
		FROM pg_catalog.pg_index AS i
		JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
		JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE NOT (i.indisvalid AND i.indisready)
			AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_create_index AS p WHERE p.index_relid = c.oid OR p.relid = i.indrelid)
		ORDER BY 2 DESC, 1`)
	if err != nil || len(found) == 0 {
		return ok("none"), err
	}
	return fail("not used, because their build failed: "+list(found, size), "REINDEX INDEX CONCURRENTLY each, or DROP INDEX it; those whose names end with _ccnew are left from a REINDEX that failed: drop them"), nil
}

const (
	bloatRows    = 10_000 // dead rows from which a table counts
	bloatPercent = 25     // dead part of a table from which it counts
	exactTables  = 20     // tables that pgstattuple measures, the largest first
)

// bloat finds tables with many dead rows: by pgstattuple if the database has it and the
// role may use it, else by the server's own estimate.
func (inspection) bloat(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var schema *string
	err := tx.QueryRow(ctx, `
		SELECT (SELECT n.nspname FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
			WHERE e.extname = 'pgstattuple' AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
				AND pg_catalog.pg_has_role('pg_stat_scan_tables', 'USAGE'))`).Scan(&schema)
	if err != nil {
		return Finding{}, err
	}
	way, sql, args := "by the server's estimate", `
		SELECT schemaname || '.' || relname, n_dead_tup * 100 / (n_live_tup + n_dead_tup)
		FROM pg_catalog.pg_stat_user_tables
		WHERE n_dead_tup >= $1 AND n_dead_tup * 100 >= $2 * (n_live_tup + n_dead_tup)
		ORDER BY n_dead_tup DESC, 1`, []any{bloatRows, bloatPercent}
	if schema != nil {
		way, sql = "by pgstattuple", `
		SELECT t.name, a.dead_tuple_percent::bigint
		FROM (SELECT c.oid, n.nspname || '.' || c.relname AS name
			FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
			WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
			ORDER BY c.relpages DESC, c.oid LIMIT $3) AS t,
			`+pgx.Identifier{*schema}.Sanitize()+`.pgstattuple_approx(t.oid) AS a
		WHERE a.dead_tuple_count >= $1 AND a.dead_tuple_percent >= $2
		ORDER BY a.dead_tuple_count DESC, 1`
		args = append(args, exactTables)
	}
	found, err := collect(ctx, tx, sql, args...)
	if err != nil || len(found) == 0 {
		return ok("no table of %d dead rows or more has %d%% of them (%s)", bloatRows, bloatPercent, way), err
	}
	return warn("dead rows, "+way+": "+list(found, percent), "VACUUM these tables; if autovacuum cannot keep up, end long transactions and lower autovacuum_vacuum_cost_delay"), nil
}

const (
	largeIndex  = 64 << 20 // bytes from which an unused index counts
	scannedRows = 50_000   // rows of a table from which its sequential scans count
	manyScans   = 1_000
)

// unusedIndexes finds large indexes that no statement has used since the statistics began.
func (inspection) unusedIndexes(ctx context.Context, tx pgx.Tx) (Finding, error) {
	found, err := collect(ctx, tx, `
		SELECT s.schemaname || '.' || s.indexrelname, coalesce(pg_catalog.pg_relation_size(s.indexrelid), 0)
		FROM pg_catalog.pg_stat_user_indexes AS s JOIN pg_catalog.pg_index AS i USING (indexrelid)
		WHERE s.idx_scan = 0 AND NOT i.indisunique AND i.indisvalid AND pg_catalog.pg_relation_size(s.indexrelid) >= $1
		ORDER BY 2 DESC, 1`, largeIndex)
	if err != nil || len(found) == 0 {
		return ok("none of %s or more", size(largeIndex)), err
	}
	return warn("not used since the statistics began: "+list(found, size), "if these indexes have been searched meanwhile, drop their metadata indexes with `ragd index update`, or make them flat; a fresh server has no statistics yet"), nil
}

// sequentialScans finds large tables that are mostly read from end to end.
func (inspection) sequentialScans(ctx context.Context, tx pgx.Tx) (Finding, error) {
	found, err := collect(ctx, tx, `
		SELECT schemaname || '.' || relname, seq_scan
		FROM pg_catalog.pg_stat_user_tables
		WHERE n_live_tup >= $1 AND seq_scan >= $2 AND seq_scan > coalesce(idx_scan, 0)
		ORDER BY seq_tup_read DESC, 1`, scannedRows, manyScans)
	if err != nil || len(found) == 0 {
		return ok("no table of %d rows or more is mostly read from end to end", scannedRows), err
	}
	return warn("mostly read from end to end: "+list(found, times), "an index of the type flat is meant to be; else build it (`ragd index build`), and add metadata indexes for the fields of filters"), nil
}

// analyzedRows is how many rows a table has before it counts that it was never analyzed: a
// smaller one may have been filled since autovacuum last ran, a minute ago.
const analyzedRows = 100_000

// neverAnalyzed finds tables that were never vacuumed or analyzed.
func (inspection) neverAnalyzed(ctx context.Context, tx pgx.Tx) (Finding, error) {
	found, err := collect(ctx, tx, `
		SELECT schemaname || '.' || relname, n_live_tup
		FROM pg_catalog.pg_stat_user_tables
		WHERE n_live_tup >= $1 AND (coalesce(last_analyze, last_autoanalyze) IS NULL OR coalesce(last_vacuum, last_autovacuum) IS NULL)
		ORDER BY 2 DESC, 1`, analyzedRows)
	if err != nil || len(found) == 0 {
		return ok("every table of %d rows or more was vacuumed and analyzed", analyzedRows), err
	}
	return warn("never vacuumed or never analyzed: "+list(found, rowsOf), "if they were not filled in the last minutes, VACUUM (ANALYZE) these tables, and check that autovacuum runs"), nil
}
