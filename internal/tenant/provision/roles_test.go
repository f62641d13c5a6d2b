package provision_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

const insufficientPrivilege = "42501"

// A statement that an attacker could inject runs on a connection of the service role, with
// a tenant's role set. RESET ROLE leads back to the service role.
func TestTheServiceRoleCannotGetOtherRights(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ours, theirs := tenanttest.Unique("ours"), tenanttest.Unique("theirs")
	for _, name := range []string{ours, theirs} {
		_, err := f.Tenants.Create(f.Operator, name, "", nil)
		must(t, err)
	}
	var admin string
	must(t, f.Pool.QueryRow(t.Context(), `SELECT current_user::text`).Scan(&admin))
	names := strings.NewReplacer("<admin>", pgx.Identifier{admin}.Sanitize(),
		"<ours>", pgx.Identifier{tenant.ID(ours).Schema()}.Sanitize(), "<theirs>", pgx.Identifier{tenant.ID(theirs).Schema()}.Sanitize())
	for _, before := range []string{``, `SET ROLE <ours>; `, `SET ROLE <ours>; RESET ROLE; `, `SET ROLE <ours>; RESET SESSION AUTHORIZATION; `} {
		for _, sql := range []string{
			`SET ROLE <admin>`,
			`SET SESSION AUTHORIZATION <admin>`,
			`SELECT set_config('session_authorization', trim('"' FROM '<admin>'), false)`,
			`SET ROLE pg_execute_server_program`,
			`COPY (SELECT 1) TO PROGRAM 'true'`,
			`CREATE TEMP TABLE got (line text); COPY got FROM PROGRAM 'id'`,
			`CREATE TEMP TABLE got (line text); COPY got FROM '/etc/passwd'`,
			`COPY (SELECT 1) TO '/tmp/ragd-test-written'`,
			`SELECT pg_read_file('PG_VERSION')`,
			`SELECT pg_ls_dir('.')`,
			`SELECT lo_import('/etc/passwd')`,
			`SELECT rolpassword FROM pg_catalog.pg_authid`,
			`CREATE ROLE more SUPERUSER`,
			`ALTER ROLE CURRENT_USER SUPERUSER`,
			`GRANT pg_execute_server_program TO CURRENT_USER`,
			`GRANT <admin> TO CURRENT_USER`,
			`SELECT pg_reload_conf()`,
			`DROP EXTENSION vector CASCADE`,
			`CREATE SCHEMA more`,
			`CREATE TABLE public.more (id int)`,
			`CREATE FUNCTION extensions.more() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
			`DROP TABLE ragd.tenants`,
			`CREATE TRIGGER more BEFORE INSERT ON ragd.api_keys FOR EACH ROW EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()`,
			`TRUNCATE ragd.api_keys CASCADE`,
			`UPDATE ragd.schema_migrations SET version = 0`,
			`SELECT count(*) FROM <theirs>.documents`,
			`SELECT version FROM <theirs>.schema_migrations`,
			`INSERT INTO <theirs>.jobs (kind) VALUES ('mine')`,
			`TRUNCATE ragd_shared.tools`,
			`ALTER TABLE ragd_shared.tools DISABLE ROW LEVEL SECURITY`,
			`DROP FUNCTION ragd_shared.current_tenant() CASCADE`,
			`CREATE TABLE ragd_shared.more (id int)`,
			`CREATE TABLE <theirs>.mine (id int)`,
		} {
			wantDenied(t, f, names.Replace(before+sql))
		}
	}
}

// wantDenied runs statements on a connection of the service role and fails the test unless
// the server denies them.
func wantDenied(t *testing.T, f fixture, sql string) {
	t.Helper()
	conn, err := f.Service.Acquire(t.Context())
	must(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), `BEGIN; `+sql, pgx.QueryExecModeSimpleProtocol)
	if postgres.Code(err) != insufficientPrivilege {
		t.Errorf("%s: got %v, want that it is denied", sql, err)
	}
	_, err = conn.Exec(t.Context(), `ROLLBACK; RESET ROLE`, pgx.QueryExecModeSimpleProtocol)
	must(t, err)
}

// The roles have no other rights and members than they need, and no function runs with the
// rights of its owner.
func TestRolesAndFunctionsHaveNoUnneededRights(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := tenanttest.Unique("bare")
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	schema := tenant.ID(name).Schema()
	login := "rolcanlogin"
	if postgres.Distributed(f.Pool) {
		login = "NOT rolcanlogin" // the servers of a cluster connect to each other with it
	}
	for what, sql := range map[string]string{
		"attributes of the tenant's role":  `SELECT count(*) FROM pg_authid WHERE rolname = $1 AND (rolsuper OR rolinherit OR rolcreaterole OR rolcreatedb OR ` + login + ` OR rolpassword IS NOT NULL OR rolreplication OR rolbypassrls)`,
		"memberships of the tenant's role": `SELECT count(*) FROM pg_auth_members WHERE member = $1::text::regrole`,
		"members that may pass it on":      `SELECT count(*) FROM pg_auth_members AS m JOIN pg_roles AS r ON r.oid = m.member WHERE m.roleid = $1::text::regrole AND m.admin_option AND NOT r.rolsuper`,
		"objects outside its schema":       `SELECT count(*) FROM pg_class AS c WHERE c.relowner = $1::text::regrole AND c.relnamespace <> $1::text::regnamespace AND c.relname NOT LIKE 'pg_toast%'`,
		"functions with their owner's rights": `
			SELECT count(*) FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
			WHERE p.prosecdef AND n.nspname <> 'pg_catalog' AND $1 <> ''`,
	} {
		argument := pgx.Identifier{schema}.Sanitize()
		if strings.Contains(sql, "rolname = $1") {
			argument = schema
		}
		if n := f.Count(t, sql, argument); n != 0 {
			t.Errorf("%s: %d, want none", what, n)
		}
	}
	if n := f.Count(t, `SELECT count(*) FROM pg_roles WHERE rolname = current_user AND rolsuper`); n != 1 {
		t.Error("the test's own pool is not of a superuser: it proves nothing")
	}
}

// An operator who adds a second role later need not create the tenants again.
func TestTheServiceRoleIsGrantedToEarlierTenants(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	f := setupOn(t, pool, pool)
	name := tenanttest.Unique("early")
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	service := pgtest.ServicePool(t, pool)
	h := data.NewDB(service, 0).Handle(tenant.ID(name))
	if _, err := data.Value[int](t.Context(), h, `SELECT count(*)::int FROM tenant.documents`); err == nil {
		t.Fatal("the service role has the tenant's rights without a grant")
	}
	for range 2 {
		f = setupOn(t, pool, service)
		failed, err := f.Tenants.Repair(t.Context(), nil, func(r provision.Repaired) { must(t, r.Err) })
		if failed > 0 || err != nil {
			t.Fatalf("%d tenants failed, %v", failed, err)
		}
	}
	_, err = data.Value[int](t.Context(), h, `SELECT count(*)::int FROM tenant.documents`)
	must(t, err)
	if n := f.Count(t, `SELECT count(*) FROM ragd.tenants`); n != 1 {
		t.Errorf("%d tenants", n)
	}
}

func TestAServiceRoleWithSpecialRightsIsRejected(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	f := setupOn(t, pool, pool)
	role := strings.ReplaceAll(tenanttest.Unique("strong"), "-", "_")
	_, err := pool.Exec(t.Context(), `CREATE ROLE `+role+` LOGIN SUPERUSER PASSWORD 'ragd-test'`)
	must(t, err)
	t.Cleanup(func() { _, _ = f.Pool.Exec(t.Context(), `DROP ROLE `+role) })
	strong := pgtest.PoolOf(t, pool, role, "ragd-test")
	err = provision.GrantService(t.Context(), pool, strong)
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), role) {
		t.Errorf("error %v, want one that names the role", err)
	}
}
