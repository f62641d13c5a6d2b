package provision

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// roles are the two PostgreSQL roles of the service. The service role runs the statements
// of requests and jobs: it may use the tables of the control schema and set the role of
// each tenant, and nothing else. The admin role creates and drops schemas and roles. They
// are the same role if the service has only one database URL.
type roles struct {
	service string
	admin   string
	apart   bool // they are different roles
	// owner is the role that the control schema belongs to: the usual admin role if a
	// superuser takes its part for once.
	owner string
	// perGrant is true from PostgreSQL 16 on, where each grant of a role says whether its
	// rights are inherited. Before, that is an attribute of the member.
	perGrant bool
	// distributed is true if the tables of tenants are on the workers of Citus, which connect to
	// each other with the role of the tenant.
	distributed bool
}

// perGrantVersion is the first server_version_num with roles.perGrant.
const perGrantVersion = 160000

// findRoles returns the roles of two pools, which may be the same. Call it after the
// control schema was created.
func findRoles(ctx context.Context, admin, service *pgxpool.Pool) (r roles, err error) {
	var version int
	const whoAmI = `SELECT current_user::text, current_setting('server_version_num')::int`
	if err := admin.QueryRow(ctx, whoAmI).Scan(&r.admin, &version); err != nil {
		return r, postgres.Fault(err)
	}
	if err := service.QueryRow(ctx, whoAmI).Scan(&r.service, &version); err != nil {
		return r, postgres.Fault(err)
	}
	err = admin.QueryRow(ctx, `SELECT pg_catalog.pg_get_userbyid(nspowner)::text FROM pg_catalog.pg_namespace WHERE nspname = $1`, tenant.ControlSchema).Scan(&r.owner)
	if err != nil {
		return r, postgres.Fault(err)
	}
	r.apart, r.perGrant, r.distributed = r.admin != r.service, version >= perGrantVersion, postgres.Distributed(admin)
	return r, nil
}

// unserved returns the tenants that cannot be served; see data.FindUnserved.
func (r roles) unserved(ctx context.Context, on tenant.Querier, id tenant.ID) ([]data.Unserved, error) {
	return data.FindUnserved(ctx, on, r.service, r.names(), id)
}

// names returns the names of the roles that must be able to set the role of each tenant.
func (r roles) names() []string { return []string{r.service, r.admin} }

func (r roles) quoted() string { return pgx.Identifier{r.service}.Sanitize() }

// membership returns statements that let the admin role and the service role set the role
// of a tenant.
func (r roles) membership(id tenant.ID) string {
	sql := `GRANT ` + id.Quoted() + ` TO CURRENT_USER;`
	if r.owner != r.admin {
		sql += `GRANT ` + id.Quoted() + ` TO ` + pgx.Identifier{r.owner}.Sanitize() + ` WITH ADMIN OPTION;`
	}
	if !r.apart {
		return sql
	}
	sql += `GRANT ` + id.Quoted() + ` TO ` + r.quoted()
	if r.perGrant {
		sql += ` WITH INHERIT FALSE`
	}
	return sql + `;`
}

// makeRole returns statements that create the role of a tenant, unless it exists, and let
// the admin role and the service role set it.
func (r roles) makeRole(id tenant.ID, exists bool) string {
	login := `NOLOGIN`
	if r.distributed {
		login = `LOGIN`
	}
	switch {
	case exists && r.distributed:
		return `ALTER ROLE ` + id.Quoted() + ` LOGIN;` + r.membership(id)
	case exists:
		return r.membership(id)
	}
	return `CREATE ROLE ` + id.Quoted() + ` ` + login + ` NOINHERIT;` + r.membership(id)
}

// visibility returns a statement that lets the service role use names in a tenant's
// schema, because the driver prepares statements before it sets the role. It gives no
// right to any table.
func (r roles) visibility(id tenant.ID) string {
	if !r.apart {
		return ``
	}
	return `GRANT USAGE ON SCHEMA ` + id.Quoted() + ` TO ` + r.quoted() + `;`
}

// CheckAdmin returns an error unless the pool's role may change the control schema, which
// need not exist yet, and create the schemas and roles of tenants. setting is the name of
// the setting with its URL. Errors: Precondition, with what to do.
func CheckAdmin(ctx context.Context, pool *pgxpool.Pool, setting string) error {
	if err := checkControlOwner(ctx, pool); err != nil {
		return err
	}
	var role, database string
	var createsRoles, createsSchemas bool
	err := pool.QueryRow(ctx, `
		SELECT rolname::text, current_database()::text, rolsuper OR rolcreaterole, has_database_privilege(current_database(), 'CREATE')
		FROM pg_catalog.pg_roles WHERE rolname = current_user`).Scan(&role, &database, &createsRoles, &createsSchemas)
	if err != nil {
		return postgres.Fault(err)
	}
	var missing, remedies []string
	if !createsRoles {
		missing = append(missing, "roles")
		remedies = append(remedies, `ALTER ROLE `+pgx.Identifier{role}.Sanitize()+` CREATEROLE`)
	}
	if !createsSchemas {
		missing = append(missing, "schemas")
		remedies = append(remedies, `GRANT CREATE ON DATABASE `+pgx.Identifier{database}.Sanitize()+` TO `+pgx.Identifier{role}.Sanitize())
	}
	if len(missing) == 0 {
		return nil
	}
	return fault.New(fault.Precondition, "the role %s of %s may not create %s, and each tenant needs its own: run %s as a superuser, or name another role in database-admin-url",
		role, setting, strings.Join(missing, " and "), strings.Join(remedies, "; "))
}

// checkControlOwner returns an error if the control schema belongs to a role whose rights
// the pool's role does not have.
func checkControlOwner(ctx context.Context, pool *pgxpool.Pool) error {
	var owner, role string
	var member bool
	err := pool.QueryRow(ctx, `
		SELECT pg_catalog.pg_get_userbyid(nspowner)::text, current_user::text, pg_catalog.pg_has_role(nspowner, 'MEMBER')
		FROM pg_catalog.pg_namespace WHERE nspname = $1`, tenant.ControlSchema).Scan(&owner, &role, &member)
	if member || errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return postgres.Fault(err)
	}
	return fault.New(fault.Precondition,
		"the schema %s belongs to the database role %s, but ragd migrates as %s: name %[2]s in database-admin-url, or if a backup was restored with the wrong owner, restore it again with pg_restore --no-owner --role=%[3]s", tenant.ControlSchema, owner, role)
}

// grantLock is the advisory lock for GrantService: concurrent grants on one table fail.
const grantLock = 0x72616764_6772616e // "ragdgran"

// GrantService gives the role of the service pool the rows of the control schema. It does
// nothing if admin has the same role. Call it after the control schema and the job queue's
// tables were migrated. Service.Repair gives the role those of tenants that it lacks.
//
// Errors: Precondition for a service role that has more rights than that.
func GrantService(ctx context.Context, admin, service *pgxpool.Pool) error {
	r, err := findRoles(ctx, admin, service)
	if err != nil || !r.apart {
		return err
	}
	err = pgx.BeginFunc(ctx, admin, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(grantLock)); err != nil {
			return err
		}
		if err := r.check(ctx, tx); err != nil {
			return err
		}
		return r.grantControl(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("grant the role %s its rights: %w", r.service, postgres.Fault(err))
	}
	return nil
}

// check returns an error if the service role could get other rights than those that it
// is granted, and makes it not inherit those of tenants.
func (r roles) check(ctx context.Context, tx pgx.Tx) error {
	var super, creates, inherits bool
	err := tx.QueryRow(ctx, `
		SELECT rolsuper, rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls, rolinherit FROM pg_catalog.pg_roles WHERE rolname = $1`,
		r.service).Scan(&super, &creates, &inherits)
	if err != nil {
		return err
	}
	if super || creates {
		return fault.New(fault.Precondition,
			"database-url connects as %s, a role with special rights, although database-admin-url names another role for what needs them: ALTER ROLE %[1]s NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS, or use another role", r.quoted())
	}
	if inherits && !r.perGrant {
		_, err = tx.Exec(ctx, `ALTER ROLE `+r.quoted()+` NOINHERIT`)
	}
	return err
}

// grantControl gives the service role the rows of the control schema, but not those that
// tell its version.
func (r roles) grantControl(ctx context.Context, tx pgx.Tx) error {
	schema := pgx.Identifier{tenant.ControlSchema}.Sanitize()
	sql := fmt.Sprintf(`
		GRANT USAGE ON SCHEMA %[1]s TO %[2]s;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[1]s TO %[2]s;
		GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %[1]s TO %[2]s;
		REVOKE INSERT, UPDATE, DELETE ON %[1]s.schema_migrations FROM %[2]s`, schema, r.quoted())
	_, err := tx.Exec(ctx, sql)
	return err
}

// SQLSTATEs of errors when roles are created or dropped.
const (
	duplicateObject  = "42710"
	internalError    = "XX000"
	dependentObjects = "2BP01"
)

// withRole runs do, which creates a role, in a transaction. Roles belong to the whole
// server: a service on another of its databases may create or drop the same role at the same
// time. Then the attempt fails and the next one finds what is there.
func withRole(ctx context.Context, conn *pgxpool.Conn, do func(tx pgx.Tx) error) error {
	return withoutConflict(ctx, func() error { return pgx.BeginFunc(ctx, conn, do) })
}

const (
	// conflictAttempts is how often something is done with a role that others create and drop.
	conflictAttempts = 10
	maxConflictPause = 50 * time.Millisecond
)

// withoutConflict repeats do while it fails because of what another service does with the same role.
func withoutConflict(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		switch postgres.Code(err) {
		case duplicateObject, postgres.CodeUndefinedObject, postgres.CodeUniqueViolation, internalError, postgres.CodeDeadlock: // "tuple concurrently updated", and Citus reports conflicts of workers as deadlocks
		default:
			return postgres.Fault(err)
		}
		if attempt == conflictAttempts {
			return postgres.Fault(err)
		}
		select {
		case <-ctx.Done():
			return postgres.Fault(err)
		case <-time.After(rand.N(maxConflictPause)):
		}
	}
}

// ensureRole creates the role of a tenant, unless it exists, and grants the roles of the
// service what they need.
func ensureRole(ctx context.Context, conn *pgxpool.Conn, r roles, id tenant.ID) error {
	return withRole(ctx, conn, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, provisionedSQL, id.Schema())
		if err != nil {
			return err
		}
		has, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[provisioned])
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, r.makeRole(id, has.HasRole)+r.visibility(id))
		return err
	})
}

// DropRole drops the role of a tenant that was deleted or has left a database, unless another database of the server uses it.
func DropRole(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	return withoutConflict(ctx, func() error {
		_, err := conn.Exec(ctx, `DROP ROLE IF EXISTS `+id.Quoted())
		if postgres.Code(err) == dependentObjects {
			return nil
		}
		return err
	})
}
