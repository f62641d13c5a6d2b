package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Repaired is the result of repairing one tenant.
type Repaired struct {
	Tenant  tenant.ID
	Problem string // what was wrong; empty if nothing was
	Err     error  // nil if the tenant can be served now
}

// repairParallel is the number of tenants that are repaired at once.
const repairParallel = 4

// Repair makes tenants usable that cannot be served, such as those of a backup that was
// restored on another server: it creates their roles, gives them their schemas with
// everything in them, and lets the service use them. Afterwards a tenant has the same
// rights as one that was created on this server. names are the tenants to look at; without
// names Repair looks at all of them. report is called for each tenant that was named or
// that needed a repair, one call at a time. A tenant that fails does not stop the others;
// failed is their number. The error concerns the list of tenants.
//
// It checks no principal: it is for commands of an operator, not for requests.
func (s *Service) Repair(ctx context.Context, names []string, report func(Repaired)) (failed int, err error) {
	ids, err := s.toRepair(ctx, names)
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(repairParallel)
	for _, id := range ids {
		group.Go(func() error {
			problem, err := s.repair(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
			}
			report(Repaired{id, problem, err})
			return nil
		})
	}
	err = group.Wait()
	s.health.Lock()
	defer s.health.Unlock()
	s.health.valid = 0 // the cached result is no longer true
	return failed, err
}

// RepairNamed is Repair of one tenant, for a request of the operator. It returns what was wrong, empty if nothing
// was. Errors: NotFound; Precondition for a schema that is missing or belongs to another role.
func (s *Service) RepairNamed(ctx context.Context, name string) (problem string, err error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return "", err
	}
	var done Repaired
	if _, err := s.Repair(ctx, []string{name}, func(r Repaired) { done = r }); err != nil {
		return "", err
	}
	return done.Problem, done.Err
}

// toRepair returns the named tenants, or without names those that cannot be served.
func (s *Service) toRepair(ctx context.Context, names []string) ([]tenant.ID, error) {
	var ids []tenant.ID
	for _, name := range names {
		row, err := tenant.FindReady(ctx, s.store.pool, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, row.TenantID)
	}
	if len(names) > 0 {
		return ids, nil
	}
	err := s.eachDatabase(ctx, func(d *Database) error {
		unserved, err := d.store.roles.unserved(ctx, d.store.admin, "")
		for _, u := range unserved {
			ids = append(ids, u.Tenant)
		}
		return err
	})
	return ids, err
}

// repair repairs one tenant and returns its problem, empty if it had none.
func (s *Service) repair(ctx context.Context, id tenant.ID) (problem string, err error) {
	d, err := s.databaseOf(ctx, id)
	if err != nil {
		return "", err
	}
	err = s.lockedIn(ctx, d, id, func(conn *pgxpool.Conn) error {
		found, err := d.store.roles.unserved(ctx, conn, id)
		if err != nil || len(found) == 0 {
			return err // nothing is wrong with it, or it has been deleted
		}
		if problem = found[0].Problem; problem == data.NoTables {
			return fault.New(fault.Precondition, "the schema %s is missing or incomplete: restore it from a backup, or delete the tenant with `ragd tenant delete %s`", id.Schema(), id)
		}
		err = d.store.roles.restore(ctx, conn, id)
		if postgres.Code(err) == postgres.CodeInsufficientPrivilege {
			return d.store.roles.notOwner(ctx, conn, id, err)
		}
		return postgres.Fault(err)
	})
	return problem, err
}

// notOwner returns the error for a schema that the admin role cannot give to its tenant.
func (r roles) notOwner(ctx context.Context, conn *pgxpool.Conn, id tenant.ID, cause error) error {
	var owner string
	err := conn.QueryRow(ctx, `SELECT pg_catalog.pg_get_userbyid(nspowner) FROM pg_catalog.pg_namespace WHERE nspname = $1`, id.Schema()).Scan(&owner)
	if err != nil {
		return postgres.Fault(err)
	}
	return fault.Wrap(fault.Precondition, cause,
		"the role %s may not change the schema %s, which belongs to %s: run `ragd tenant repair` once with the URL of a superuser in RAGD_DATABASE_ADMIN_URL, or restore the backup again with pg_restore --no-owner --role=%[1]s", r.admin, id.Schema(), owner)
}

// restore creates the role of a tenant, unless it exists, and gives it the tenant's schema.
// The owner of the schema changes last: until then the tenant counts as one that cannot be
// served.
func (r roles) restore(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	if err := ensureRole(ctx, conn, r, id); err != nil {
		return err
	}
	statements, err := ownerStatements(ctx, conn, id)
	if err != nil || len(statements) == 0 {
		return err
	}
	// Only a role that may create objects in the schema can become their owner.
	if _, err := conn.Exec(ctx, `GRANT USAGE, CREATE ON SCHEMA `+id.Quoted()+` TO `+id.Quoted()); err != nil {
		return err
	}
	// Few at a time, because each locks a table with its indexes and all tenants use the
	// server's table of locks.
	const together = 16
	for some := range slices.Chunk(statements, together) {
		if _, err := conn.Exec(ctx, strings.Join(some, ";")); err != nil {
			return err
		}
	}
	return nil
}

// ownerStatements returns statements that give a tenant's schema to the tenant's role, with
// everything in it that belongs to another one; the schema itself last.
func ownerStatements(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) ([]string, error) {
	rows, err := conn.Query(ctx, `
		WITH schema AS (SELECT oid, nspowner FROM pg_catalog.pg_namespace WHERE nspname = $1),
			owner AS (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = $1)
		SELECT 'TABLE ' || c.oid::regclass FROM pg_catalog.pg_class AS c, schema AS n, owner AS o
		WHERE c.relnamespace = n.oid AND c.relowner <> o.oid AND c.relkind IN ('r', 'p', 'v', 'm')
		UNION ALL
		SELECT 'ROUTINE ' || p.oid::regprocedure FROM pg_catalog.pg_proc AS p, schema AS n, owner AS o
		WHERE p.pronamespace = n.oid AND p.proowner <> o.oid
		UNION ALL
		SELECT 'TYPE ' || t.oid::regtype FROM pg_catalog.pg_type AS t, schema AS n, owner AS o
		WHERE t.typnamespace = n.oid AND t.typowner <> o.oid AND t.typtype IN ('e', 'd', 'r')
		UNION ALL
		SELECT 'SCHEMA ' || n.oid::regnamespace FROM schema AS n, owner AS o WHERE n.nspowner <> o.oid`, id.Schema())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		object, err := pgx.RowTo[string](row)
		return fmt.Sprintf(`ALTER %s OWNER TO %s`, object, id.Quoted()), err
	})
}
