package tenant

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/postgres"
)

// roles are the two PostgreSQL roles of the service. The service role runs the statements
// of requests and jobs: it may use the tables of the control schema and set the role of
// each tenant, and nothing else. The admin role creates and drops schemas and roles. They
// are the same role if the service has only one database URL.
type roles struct {
	service string
	apart   bool // the admin role is another one
	// perGrant is true from PostgreSQL 16 on, where each grant of a role says whether its
	// rights are inherited. Before, that is an attribute of the member.
	perGrant bool
}

// perGrantVersion is the first server_version_num with roles.perGrant.
const perGrantVersion = 160000

func findRoles(ctx context.Context, admin, service *pgxpool.Pool) (r roles, err error) {
	var administrator string
	var version int
	const whoAmI = `SELECT current_user::text, current_setting('server_version_num')::int`
	if err := admin.QueryRow(ctx, whoAmI).Scan(&administrator, &version); err != nil {
		return r, postgres.Fault(err)
	}
	if err := service.QueryRow(ctx, whoAmI).Scan(&r.service, &version); err != nil {
		return r, postgres.Fault(err)
	}
	r.apart, r.perGrant = administrator != r.service, version >= perGrantVersion
	return r, nil
}

func (r roles) quoted() string { return pgx.Identifier{r.service}.Sanitize() }

// membership returns statements that let the admin role and the service role set the role
// of a tenant.
func (r roles) membership(id ID) string {
	sql := `GRANT ` + id.quoted() + ` TO CURRENT_USER;`
	if !r.apart {
		return sql
	}
	sql += `GRANT ` + id.quoted() + ` TO ` + r.quoted()
	if r.perGrant {
		sql += ` WITH INHERIT FALSE`
	}
	return sql + `;`
}

// visibility returns a statement that lets the service role use names in a tenant's
// schema, because the driver prepares statements before it sets the role. It gives no
// right to any table.
func (r roles) visibility(id ID) string {
	if !r.apart {
		return ``
	}
	return `GRANT USAGE ON SCHEMA ` + id.quoted() + ` TO ` + r.quoted() + `;`
}

// grantLock is the advisory lock for GrantService: concurrent grants on one table fail.
const grantLock = 0x72616764_6772616e // "ragdgran"

// GrantService gives the role of the service pool what it needs: rows of the control
// schema, and the roles of all tenants. It does nothing if admin has the same role. Call
// it after the control schema and the job queue's tables were migrated.
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
		if err := r.grantControl(ctx, tx); err != nil {
			return err
		}
		return r.grantTenants(ctx, tx)
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
	schema := pgx.Identifier{ControlSchema}.Sanitize()
	sql := fmt.Sprintf(`
		GRANT USAGE ON SCHEMA %[1]s TO %[2]s;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[1]s TO %[2]s;
		GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %[1]s TO %[2]s;
		REVOKE INSERT, UPDATE, DELETE ON %[1]s.schema_migrations FROM %[2]s`, schema, r.quoted())
	_, err := tx.Exec(ctx, sql)
	return err
}

// grantTenants makes the service role a member of the tenants' roles whose member it is
// not: those that were created while the service had one role.
func (r roles) grantTenants(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		SELECT t.tenant_id FROM ragd.tenants AS t JOIN pg_catalog.pg_roles AS r ON r.rolname = 'tenant_' || t.tenant_id
		WHERE t.status = 'ready' AND NOT EXISTS (
			SELECT FROM pg_catalog.pg_auth_members AS m JOIN pg_catalog.pg_roles AS s ON s.oid = m.member
			WHERE m.roleid = r.oid AND s.rolname = $1)`, r.service)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[ID])
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := tx.Exec(ctx, r.membership(id)+r.visibility(id)); err != nil {
			return err
		}
	}
	return nil
}
