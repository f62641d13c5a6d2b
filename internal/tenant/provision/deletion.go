package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Deletion says what the deletion of a tenant deleted.
type Deletion struct {
	// Deleted are the rows of each kind, those with rows. They were counted when the deletion began;
	// one that goes on with an interrupted one counts what was left.
	Deleted []Amount
	// Bytes is the size of the tables of the tenant's own.
	Bytes int64
	// Kept are what is still in the database.
	Kept []Kept
	// RestorableUntil is until when the tenant can be restored: nothing of it was deleted yet. Nil if it was erased.
	RestorableUntil *time.Time
}

// plus returns what two databases had of a tenant.
func (d Deletion) plus(other Deletion) Deletion {
	sum := Deletion{Deleted: slices.Clone(d.Deleted), Bytes: d.Bytes + other.Bytes, Kept: d.Kept}
	for _, a := range other.Deleted {
		if i := slices.IndexFunc(sum.Deleted, func(b Amount) bool { return b.Kind == a.Kind }); i >= 0 {
			sum.Deleted[i].Count += a.Count
		} else {
			sum.Deleted = append(sum.Deleted, a)
		}
	}
	slices.SortFunc(sum.Deleted, func(a, b Amount) int { return strings.Compare(a.Kind, b.Kind) })
	return sum
}

// Amount is how many rows of a kind a tenant has. The kind is plural, such as api keys.
type Amount struct {
	Kind  string
	Count int64
}

// Kept is what the deletion of a tenant leaves.
type Kept struct {
	Amount
	Reason string
}

// keptTables are the tables whose rows outlive their tenant, with their kind and the reason.
var keptTables = map[string]Kept{
	"ragd.audit_log": {Amount{Kind: "audit log entries"}, "the log says who did what, also to deleted tenants; its entries end with audit-retention"},
}

// sharedTables returns the tables with rows of all tenants, which have the column tenant_id.
func sharedTables(ctx context.Context, conn *pgxpool.Conn) ([]string, error) {
	rows, _ := conn.Query(ctx, `
		SELECT n.nspname || '.' || quote_ident(c.relname) FROM pg_catalog.pg_class AS c
		JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
		WHERE n.nspname IN ($1, $2) AND c.relkind = 'r' ORDER BY 1`, tenant.ControlSchema, tenant.SharedSchema)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return tables, postgres.Fault(err)
}

// sharedRows returns how many rows a tenant has in each of the tables that have some.
func sharedRows(ctx context.Context, conn *pgxpool.Conn, id tenant.ID, tables []string) (map[string]int64, error) {
	counts := make([]string, len(tables))
	for i, table := range tables {
		counts[i] = fmt.Sprintf(`SELECT '%s', count(*) FROM %[1]s WHERE tenant_id = $1`, table)
	}
	rows, err := conn.Query(ctx, strings.Join(counts, " UNION ALL "), id)
	if err != nil {
		return nil, postgres.Fault(err)
	}
	found := map[string]int64{}
	var table string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&table, &n}, func() error {
		if n > 0 {
			found[table] = n
		}
		return nil
	})
	return found, postgres.Fault(err)
}

// kindOf returns the kind of the rows of a table, such as api keys of ragd.api_keys.
func kindOf(table string) string {
	_, name, _ := strings.Cut(table, ".")
	return strings.ReplaceAll(name, "_", " ")
}

// measure returns what a tenant has. Its own tables are not read, but for those that count: it
// takes as long for a large tenant as for a small one.
func measure(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) (d Deletion, err error) {
	tables, err := sharedTables(ctx, conn)
	if err != nil {
		return d, err
	}
	found, err := sharedRows(ctx, conn, id, tables)
	if err != nil {
		return d, err
	}
	for _, table := range tables {
		if n := found[table]; n > 0 && keptTables[table].Kind == "" && table != tenant.ControlSchema+".tenants" {
			d.Deleted = append(d.Deleted, Amount{kindOf(table), n})
		}
	}
	own := []string{"indexes", "index_counts", "jobs"}
	var there int
	err = conn.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE c.relname = ANY($2)), coalesce(sum(ragd_shared.total_relation_bytes(c.oid)), 0)::bigint
		FROM pg_catalog.pg_class AS c WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = $1) AND c.relkind = 'r'`,
		id.Schema(), own).Scan(&there, &d.Bytes)
	if err != nil || there < len(own) {
		return d, postgres.Fault(err)
	}
	var indexes, documents, chunks, jobs int64
	err = conn.QueryRow(ctx, fmt.Sprintf(`
		SELECT (SELECT count(*) FROM %[1]s.indexes), coalesce(sum(documents), 0)::bigint, coalesce(sum(chunks), 0)::bigint, (SELECT count(*) FROM %[1]s.jobs)
		FROM %[1]s.index_counts`, id.Quoted())).Scan(&indexes, &documents, &chunks, &jobs)
	for _, r := range []Amount{{"indexes", indexes}, {"documents", documents}, {"chunks", chunks}, {"jobs", jobs}} {
		if r.Count > 0 {
			d.Deleted = append(d.Deleted, r)
		}
	}
	slices.SortFunc(d.Deleted, func(a, b Amount) int { return strings.Compare(a.Kind, b.Kind) })
	return d, postgres.Fault(err)
}

// forget lets the planner's statistics of the tables with rows of all tenants, which have samples of
// their rows, forget a tenant that was deleted. A table without rows keeps its statistics.
func forget(ctx context.Context, conn *pgxpool.Conn) error {
	rows, _ := conn.Query(ctx, `
		SELECT n.nspname || '.' || quote_ident(c.relname) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname IN ($1, $2) AND c.relkind = 'r'
			AND EXISTS (SELECT FROM pg_catalog.pg_stats AS s WHERE s.schemaname = n.nspname AND s.tablename = c.relname) ORDER BY 1`, tenant.ControlSchema, tenant.SharedSchema)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return postgres.Fault(err)
	}
	for _, table := range tables {
		if _, err := conn.Exec(ctx, `ANALYZE `+table); err != nil {
			return postgres.Fault(err)
		}
	}
	return nil
}

// verify looks for what is left of a deleted tenant. Errors: Internal for anything that should be
// gone.
func verify(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) (kept []Kept, err error) {
	if err := forget(ctx, conn); err != nil {
		return nil, err
	}
	tables, err := sharedTables(ctx, conn)
	if err != nil {
		return nil, err
	}
	left, err := sharedRows(ctx, conn, id, tables)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		switch entry, n := keptTables[table], left[table]; {
		case n == 0:
		case entry.Kind == "":
			return nil, fault.New(fault.Internal, "the tenant %s was deleted, but %d of its %s are left: delete it again", id, n, kindOf(table))
		default:
			kept = append(kept, Kept{Amount{entry.Kind, n}, entry.Reason})
		}
	}
	var schemas, roles int64
	err = conn.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1), (SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname = $1)`, id.Schema()).Scan(&schemas, &roles)
	switch {
	case err != nil:
		return nil, postgres.Fault(err)
	case schemas > 0:
		return nil, fault.New(fault.Internal, "the tenant %s was deleted, but its schema is left: delete it again", id)
	case roles > 0:
		kept = append(kept, Kept{Amount{"database roles", roles}, "another database of the server uses the role"})
	}
	return kept, nil
}
