package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// oldestCitus is the oldest version of Citus with which the statements of tenants were tested.
const oldestCitus = "13.2"

// node is a server of a Citus cluster.
type node struct {
	Name      string // address and port
	Worker    bool
	Reachable bool
	Prepared  int   // the server's max_prepared_transactions
	Tenants   int64 // whose tables it has
}

// citus checks the servers of a Citus cluster, and shows on which of them tenants are.
func (inspection) citus(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var version *string
	if err := tx.QueryRow(ctx, `SELECT (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus')`).Scan(&version); err != nil {
		return Finding{}, err
	}
	if version == nil {
		return ok("not used: all tenants of this database are on this server"), nil
	}
	// A node that does not answer makes no statement fail: run_command_on_all_nodes tells it as a row.
	rows, err := tx.Query(ctx, `
		SELECT n.nodename || ':' || n.nodeport AS name, n.groupid <> 0 AS worker, coalesce(r.success, false) AS reachable,
			CASE WHEN r.success THEN r.result::int ELSE 0 END AS prepared, (
				SELECT count(DISTINCT s.schemaid) FROM pg_catalog.pg_dist_schema AS s
				JOIN pg_catalog.pg_dist_partition AS p USING (colocationid)
				JOIN pg_catalog.pg_dist_shard AS h USING (logicalrelid)
				JOIN pg_catalog.pg_dist_placement AS l USING (shardid)
				WHERE l.groupid = n.groupid) AS tenants
		FROM pg_catalog.pg_dist_node AS n
		LEFT JOIN pg_catalog.run_command_on_all_nodes('SELECT pg_catalog.current_setting(''max_prepared_transactions'')') AS r USING (nodeid)
		WHERE n.noderole = 'primary' AND n.isactive ORDER BY n.groupid`)
	if err != nil {
		return Finding{}, err
	}
	nodes, err := pgx.CollectRows(rows, pgx.RowToStructByName[node])
	if err != nil {
		return Finding{}, err
	}
	return judgeCitus(strings.ReplaceAll(*version, "-", "."), nodes), nil
}

// judgeCitus returns the finding for a version of Citus and the servers of its cluster.
func judgeCitus(version string, nodes []node) Finding {
	var parts, away, unprepared []string
	workers := 0
	for _, n := range nodes {
		switch {
		case !n.Reachable:
			away = append(away, n.Name)
		case n.Prepared == 0:
			unprepared = append(unprepared, n.Name)
		}
		if n.Worker {
			workers++
		}
		parts = append(parts, fmt.Sprintf("%s (tenants: %d)", n.Name, n.Tenants))
	}
	detail := "Citus " + version + ": " + strings.Join(parts, ", ")
	switch {
	case len(away) > 0:
		return fail(detail+"; the coordinator cannot reach "+strings.Join(away, ", "), "start it, or correct pg_hba.conf there and citus.node_conninfo here; tenants of other servers are served meanwhile")
	case len(unprepared) > 0:
		return fail(detail+"; max_prepared_transactions is 0 at "+strings.Join(unprepared, ", "), "set it to at least max_connections there and restart the server: else tenants cannot be created")
	case workers == 0:
		return warn(detail+"; there are no workers, so that tenants stay on the coordinator", "SELECT citus_add_node(host, port), then restart ragd")
	case older(version, oldestCitus):
		return warn(detail+"; it is older than "+oldestCitus+", with which ragd is tested", "upgrade Citus on all servers")
	}
	return ok("%s", detail)
}
