package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/postgres"
)

const (
	// replicaTimeout bounds the check of one replica.
	replicaTimeout = 15 * time.Second
	// maxReplicaLag is the lag from which a replica is a finding: few queries may be that stale.
	maxReplicaLag = 30 * time.Second
)

// replicaState is what a replica says of itself, and how far it is from a position of the primary.
type replicaState struct {
	Recovers bool
	System   int64
	Missing  int64   // bytes of the log up to the position that are not replayed; negative beyond it
	Seconds  float64 // since the last replayed transaction was committed
	Paused   bool
}

// Replicas checks the replicas at the addresses of the setting database-read-urls, against the
// primary of a connection.
func Replicas(ctx context.Context, primary *pgx.Conn, urls []string) []Finding {
	findings := make([]Finding, len(urls))
	for i, url := range urls {
		found := checkReplica(ctx, primary, url)
		found.Check = fmt.Sprintf("replica %d", i+1)
		findings[i] = found
	}
	return findings
}

func checkReplica(ctx context.Context, primary *pgx.Conn, url string) Finding {
	ctx, cancel := context.WithTimeout(ctx, replicaTimeout)
	defer cancel()
	var position string
	var system int64
	err := primary.QueryRow(ctx, `
		SELECT pg_catalog.pg_current_wal_flush_lsn()::text, c.system_identifier FROM pg_catalog.pg_control_system() AS c`).Scan(&position, &system)
	if err != nil {
		return warn("the position of the primary cannot be read: "+reason(err), "check that database-url leads to a primary")
	}
	conn, err := postgres.Connect(ctx, postgres.Config{URL: url, Setting: "database-read-urls", ApplicationName: "ragd doctor"})
	if err != nil {
		return fail(err.Error(), "correct what the message names; until then queries run at the primary")
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, `
		SELECT r.recovers, c.system_identifier AS system,
			coalesce(pg_catalog.pg_wal_lsn_diff($1::pg_lsn, pg_catalog.pg_last_wal_replay_lsn()), 0)::bigint AS missing,
			coalesce(extract(epoch FROM pg_catalog.clock_timestamp() - pg_catalog.pg_last_xact_replay_timestamp()), 0)::float8 AS seconds,
			CASE WHEN r.recovers THEN pg_catalog.pg_is_wal_replay_paused() ELSE false END AS paused
		FROM pg_catalog.pg_control_system() AS c, pg_catalog.pg_is_in_recovery() AS r (recovers)`, position)
	if err != nil {
		return fail(reason(err), "see the log of the replica")
	}
	state, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[replicaState])
	if err != nil {
		return fail(reason(err), "see the log of the replica")
	}
	return state.finding(system)
}

// finding judges the state of a replica of the primary with the system identifier.
func (s replicaState) finding(system int64) Finding {
	lag := time.Duration(s.Seconds * float64(time.Second)).Round(time.Second)
	switch {
	case !s.Recovers:
		return fail("the server is not a replica: it accepts writes", "take it from database-read-urls, or after a failover set database-url to it")
	case s.System != system:
		return fail("the server is a replica of another database server", "correct database-read-urls")
	case s.Paused:
		return warn("replaying the log is paused", "SELECT pg_wal_replay_resume() at the replica")
	case s.Missing > 0 && lag > maxReplicaLag:
		return warn(fmt.Sprintf("%s of the log are not replayed, and the last transaction is %v old", size(s.Missing), lag), "see the logs of both servers, and whether long queries at the replica hold the replay back")
	}
	return ok("replays the log of the primary, and misses %s of it", size(max(0, s.Missing)))
}
