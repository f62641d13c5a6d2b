package data

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Unserved is a tenant that exists but cannot be served: the database lacks its role, or
// rights that belong to it. That happens when a backup is restored on a server without the
// tenants' roles, which a dump of a database does not contain.
type Unserved struct {
	Tenant  tenant.ID
	Problem string // such as "its database role is missing"
}

// Problems of tenants, see unservedSQL.
const (
	NoTables      = "its schema or its tables are missing"
	noRole        = "its database role is missing"
	foreignOwner  = "its schema belongs to another database role"
	noPermissions = "the service has no right to use its database role or its schema"
)

// unservedSQL lists the tenants that cannot be served. Its cost grows with the number of
// tenants, not with their tables: the repair of a tenant changes the owner of its schema
// last. $1 are the roles that must be able to take the role of each tenant, $2 the one of
// them that runs the statements of requests. oneUnservedSQL limits the list to the tenant
// $3, which it finds by indexes.
const unservedSQL = `
	SELECT t.tenant_id, CASE
		WHEN c.oid IS NULL THEN '` + NoTables + `'
		WHEN r.oid IS NULL THEN '` + noRole + `'
		WHEN n.nspowner <> r.oid OR c.relowner <> r.oid THEN '` + foreignOwner + `'
		ELSE '` + noPermissions + `' END
	FROM ragd.tenants AS t
	LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = 'tenant_' || t.tenant_id
	LEFT JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = 'indexes'
	LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = 'tenant_' || t.tenant_id
	WHERE ` + tenant.HasSchema + ` AND t.database_name = '' AND (
		c.oid IS NULL OR r.oid IS NULL OR n.nspowner <> r.oid OR c.relowner <> r.oid
		OR NOT pg_catalog.has_schema_privilege($2::name, n.oid, 'USAGE')
		OR EXISTS (
			SELECT FROM pg_catalog.pg_roles AS s WHERE s.rolname = ANY($1) AND NOT s.rolsuper AND NOT EXISTS (
				SELECT FROM pg_catalog.pg_auth_members AS m
				WHERE m.roleid = r.oid AND m.member = s.oid
					AND to_jsonb(m) ->> 'set_option' IS DISTINCT FROM 'false'))) -- a column from PostgreSQL 16 on
`

const oneUnservedSQL = unservedSQL + ` AND t.tenant_id = $3`

// FindUnserved returns the tenants of a database that cannot be served, ordered by id; all of them if id
// is empty, else at most this one. service is the database role that runs the statements of requests;
// roles are all those that must be able to take the role of each tenant.
func FindUnserved(ctx context.Context, on tenant.Querier, service string, roles []string, id tenant.ID) ([]Unserved, error) {
	sql, args := unservedSQL+` ORDER BY t.tenant_id`, []any{roles, service}
	if id != "" {
		sql, args = oneUnservedSQL, append(args, id)
	}
	rows, err := on.Query(ctx, sql, args...)
	if err != nil {
		return nil, postgres.Fault(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Unserved])
	return found, postgres.Fault(err)
}
