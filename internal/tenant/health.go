package tenant

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// Unserved is a tenant that exists but cannot be served: the database lacks its role, or
// rights that belong to it. That happens when a backup is restored on a server without the
// tenants' roles, which a dump of a database does not contain.
type Unserved struct {
	Tenant  ID
	Problem string // such as "its database role is missing"
}

// Problems of tenants, see unservedSQL.
const (
	noTables      = "its schema or its tables are missing"
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
		WHEN c.oid IS NULL THEN '` + noTables + `'
		WHEN r.oid IS NULL THEN '` + noRole + `'
		WHEN n.nspowner <> r.oid OR c.relowner <> r.oid THEN '` + foreignOwner + `'
		ELSE '` + noPermissions + `' END
	FROM ragd.tenants AS t
	LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = 'tenant_' || t.tenant_id
	LEFT JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = 'indexes'
	LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = 'tenant_' || t.tenant_id
	WHERE t.status = 'ready' AND t.database_name = '' AND (
		c.oid IS NULL OR r.oid IS NULL OR n.nspowner <> r.oid OR c.relowner <> r.oid
		OR NOT pg_catalog.has_schema_privilege($2::name, n.oid, 'USAGE')
		OR EXISTS (
			SELECT FROM pg_catalog.pg_roles AS s WHERE s.rolname = ANY($1) AND NOT s.rolsuper AND NOT EXISTS (
				SELECT FROM pg_catalog.pg_auth_members AS m
				WHERE m.roleid = r.oid AND m.member = s.oid
					AND to_jsonb(m) ->> 'set_option' IS DISTINCT FROM 'false'))) -- a column from PostgreSQL 16 on
`

const oneUnservedSQL = unservedSQL + ` AND t.tenant_id = $3`

// unserved returns the tenants that cannot be served, ordered by id; all of them if id is
// empty, else at most this one.
func (r roles) unserved(ctx context.Context, on querier, id ID) ([]Unserved, error) {
	sql, args := unservedSQL+` ORDER BY t.tenant_id`, []any{r.names(), r.service}
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

// Health says which tenants cannot be served.
type Health struct {
	Tenants  int        // all tenants
	Unserved []Unserved // ordered by id; Service.Repair repairs them
	Behind   int        // tenants that are not migrated to the newest version yet
}

const (
	// healthFor is how long the result of Service.Health is cached at least.
	healthFor = 15 * time.Second
	// healthPause is how many times as long as the check took its result is cached: the
	// check of 10,000 tenants must not keep a CPU busy.
	healthPause = 500
)

// Health returns the health of the tenants. It may be up to healthFor old, or healthPause
// times the duration of the check.
func (s *Service) Health(ctx context.Context) (Health, error) {
	s.health.Lock()
	defer s.health.Unlock()
	now := s.now()
	if !s.health.checked.IsZero() && now.Sub(s.health.checked) < s.health.valid {
		return s.health.last, nil
	}
	var h Health
	var err error
	start := time.Now()
	err = s.eachDatabase(ctx, func(d *Database) error {
		unserved, err := d.store.roles.unserved(ctx, d.store.pool, "")
		if err != nil {
			return err
		}
		h.Unserved = append(h.Unserved, unserved...)
		var behind int
		err = d.store.pool.QueryRow(ctx, `
			SELECT count(*) FROM ragd.tenants WHERE status = 'ready' AND database_name = '' AND schema_version < $1`, d.migrator.Newest()).Scan(&behind)
		h.Behind += behind
		return err
	})
	if err != nil {
		return Health{}, err
	}
	if err := s.store.pool.QueryRow(ctx, `SELECT count(*) FROM ragd.tenants WHERE status = 'ready'`).Scan(&h.Tenants); err != nil {
		return Health{}, postgres.Fault(err)
	}
	slices.SortFunc(h.Unserved, func(a, b Unserved) int { return strings.Compare(string(a.Tenant), string(b.Tenant)) })
	s.health.checked, s.health.last, s.health.valid = now, h, max(healthFor, healthPause*time.Since(start))
	return h, nil
}

// diagnoseTimeout bounds the check of a tenant after a statement of it failed.
const diagnoseTimeout = 2 * time.Second

// diagnose returns the error for a tenant whose role the database refuses or does not
// know: Unavailable if the tenant cannot be served, otherwise if it does not exist
// NotFound, otherwise err itself. The caller must not have a connection of the pool.
func (h *Handle) diagnose(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	var service string
	if h.site.Pool.QueryRow(ctx, `SELECT current_user::text`).Scan(&service) != nil {
		return postgres.Fault(err)
	}
	found, failed := roles{service: service, admin: service}.unserved(ctx, h.site.Pool, h.id)
	if failed != nil {
		return postgres.Fault(err)
	}
	if len(found) > 0 {
		return fault.Wrap(fault.Unavailable, err,
			"tenant %q cannot be served, because %s: the operator of the service must run `ragd tenant repair %[1]s`", h.id, found[0].Problem)
	}
	if postgres.Code(err) == postgres.CodeInsufficientPrivilege {
		return postgres.Fault(err)
	}
	return fault.Wrap(fault.NotFound, err, "tenant %q not found", h.id)
}
