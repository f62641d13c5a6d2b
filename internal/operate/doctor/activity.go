package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// longTransaction is the default of Config.LongTransaction.
const longTransaction = 15 * time.Minute

func (i inspection) longTransactions(ctx context.Context, tx pgx.Tx) (Finding, error) {
	found, err := collect(ctx, tx, `
		SELECT what, seconds FROM (
			SELECT format('process %s of %s, %s', pid, coalesce(nullif(application_name, ''), usename, 'unknown'), coalesce(state, 'state unknown')) AS what,
				extract(epoch FROM pg_catalog.clock_timestamp() - xact_start)::bigint AS seconds
			FROM pg_catalog.pg_stat_activity
			WHERE xact_start IS NOT NULL AND backend_type = 'client backend' AND datname = pg_catalog.current_database() AND pid <> pg_catalog.pg_backend_pid()
			UNION ALL
			SELECT format('prepared transaction of %s', owner), extract(epoch FROM pg_catalog.clock_timestamp() - prepared)::bigint
			FROM pg_catalog.pg_prepared_xacts WHERE database = pg_catalog.current_database()) AS t
		WHERE seconds >= $1 ORDER BY 2 DESC, 1`, int64(i.config.LongTransaction/time.Second))
	if err != nil || len(found) == 0 {
		return ok("none of %v or longer", i.config.LongTransaction), err
	}
	seconds := func(n int64) string { return (time.Duration(n) * time.Second).String() }
	return warn("open for long: "+list(found, seconds), "end them (SELECT pg_terminate_backend(PROCESS), or ROLLBACK PREPARED): until then dead rows cannot be cleaned up. An index that is being built counts too: let it end"), nil
}

// slotWAL is how many bytes of log an active slot may hold.
const slotWAL = 4 * gib

// replicationSlots finds slots that make the server keep its log, and so fill its disk.
func (inspection) replicationSlots(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var recovery bool
	if err := tx.QueryRow(ctx, `SELECT pg_catalog.pg_is_in_recovery()`).Scan(&recovery); err != nil {
		return Finding{}, err
	}
	position := "pg_catalog.pg_current_wal_lsn()"
	if recovery {
		position = "pg_catalog.pg_last_wal_receive_lsn()"
	}
	found, err := collect(ctx, tx, `
		SELECT slot_name || CASE WHEN active THEN '' ELSE ', unused' END || CASE wal_status WHEN 'lost' THEN ', lost' ELSE '' END,
			coalesce(pg_catalog.pg_wal_lsn_diff(`+position+`, restart_lsn), 0)::bigint
		FROM pg_catalog.pg_replication_slots
		WHERE NOT active OR wal_status IN ('lost', 'unreserved') OR pg_catalog.pg_wal_lsn_diff(`+position+`, restart_lsn) >= $1
		ORDER BY 2 DESC, 1`, int64(slotWAL))
	if err != nil || len(found) == 0 {
		return ok("none holds much of the log"), err
	}
	return warn("the server keeps its log for: "+list(found, size), "start the replica that belongs to each, or SELECT pg_drop_replication_slot(NAME); max_slot_wal_keep_size bounds them"), nil
}

// logArchive finds an archive of the log that does not take it: it then stays on the server's
// disk, and a restore ends where the archive does.
func (inspection) logArchive(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var mode, segment string
	var failing bool
	err := tx.QueryRow(ctx, `
		SELECT pg_catalog.current_setting('archive_mode'), coalesce(last_failed_wal, ''),
			coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)
		FROM pg_catalog.pg_stat_archiver`).Scan(&mode, &segment, &failing)
	switch {
	case err != nil:
		return Finding{}, err
	case mode == "off":
		return ok("is off"), nil
	case failing:
		return fail("the archive did not take "+segment+": the log stays on the disk of the database", "see the server's log, and make space or the folder writable (archive_command, backup-folder)"), nil
	}
	return ok("takes the log"), nil
}

// maxSkew is the difference of the clocks from which it is a finding.
const maxSkew = 2 * time.Second

// clock compares the clock of the database with that of this machine. Keys and jobs expire
// by either.
func (i inspection) clock(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var there time.Time
	before := i.config.Now()
	if err := tx.QueryRow(ctx, `SELECT pg_catalog.clock_timestamp()`).Scan(&there); err != nil {
		return Finding{}, err
	}
	after := i.config.Now()
	// The answer was made at some time between the two.
	var skew time.Duration
	switch {
	case there.Before(before):
		skew = before.Sub(there)
	case there.After(after):
		skew = there.Sub(after)
	}
	if skew > maxSkew {
		return warn(fmt.Sprintf("the clocks of the database and of this machine differ by %v", skew.Round(time.Second/10)), "synchronize both with NTP: keys and waits end too early or too late"), nil
	}
	return ok("differs from the database's by less than %v", maxSkew), nil
}
