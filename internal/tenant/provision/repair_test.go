package provision_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// dropRole takes its role from a tenant, as a backup that is restored on another server
// does: everything belongs to the role that restored it.
func dropRole(t *testing.T, f fixture, name string) {
	t.Helper()
	role := pgx.Identifier{tenant.ID(name).Schema()}.Sanitize()
	_, err := f.Pool.Exec(t.Context(), strings.ReplaceAll(`REASSIGN OWNED BY <role> TO CURRENT_USER; DROP OWNED BY <role>; DROP ROLE <role>`, "<role>", role))
	must(t, err)
}

// countDocuments runs a statement as the tenant.
func countDocuments(t *testing.T, f fixture, name string) error {
	t.Helper()
	_, err := data.Value[int](t.Context(), data.NewDB(f.Service, 0).Handle(tenant.ID(name)), `SELECT count(*)::int FROM tenant.documents`)
	return err
}

// repairAll repairs all tenants and returns the problems of those that were repaired.
func repairAll(t *testing.T, f fixture, names ...string) map[string]string {
	t.Helper()
	problems := map[string]string{}
	failed, err := f.Tenants.Repair(t.Context(), names, func(r provision.Repaired) {
		must(t, r.Err)
		problems[string(r.Tenant)] = r.Problem
	})
	if failed > 0 || err != nil {
		t.Fatalf("%d tenants failed, %v", failed, err)
	}
	return problems
}

func TestATenantWithoutItsRoleIsRepaired(t *testing.T) {
	t.Parallel()
	f := setup(t)
	lost, intact := tenanttest.Unique("lost"), tenanttest.Unique("intact")
	for _, name := range []string{lost, intact} {
		_, err := f.Tenants.Create(f.Operator, name, "", nil)
		must(t, err)
	}
	dropRole(t, f, lost)
	for _, err := range []error{countDocuments(t, f, lost), data.NewDB(f.Service, 0).Handle(tenant.ID(lost)).Tx(t.Context(), func(*data.Tx) error { return nil })} {
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.Public(err), "ragd tenant repair "+lost) {
			t.Errorf("a call of a tenant without its role: %v", err)
		}
	}
	must(t, countDocuments(t, f, intact))
	health, err := f.Tenants.Health(t.Context())
	must(t, err)
	if unserved := health.Unserved; health.Tenants != 2 || len(unserved) != 1 || unserved[0] != (data.Unserved{Tenant: tenant.ID(lost), Problem: "its database role is missing"}) {
		t.Errorf("health: %+v", health)
	}
	want := map[string]string{lost: "its database role is missing"}
	if diff := cmp.Diff(want, repairAll(t, f)); diff != "" {
		t.Error(diff)
	}
	must(t, countDocuments(t, f, lost))
	if health, err := f.Tenants.Health(t.Context()); err != nil || len(health.Unserved) > 0 {
		t.Errorf("after the repair: %+v, %v", health, err)
	}
	if diff := cmp.Diff(map[string]string{intact: ""}, repairAll(t, f, intact)); diff != "" {
		t.Error(diff)
	}
	compareRights(t, f, lost, intact)
	f.Remove(t, lost)
}

// compareRights fails the test unless all rights of two tenants are the same.
func compareRights(t *testing.T, f fixture, a, b string) {
	t.Helper()
	if diff := cmp.Diff(rights(t, f, a), rights(t, f, b)); diff != "" {
		t.Errorf("rights of %s and %s: %s", a, b, diff)
	}
}

// rights lists owner and privileges of everything in a tenant's schema, and the attributes
// and members of its role.
func rights(t *testing.T, f fixture, name string) []string {
	t.Helper()
	schema := tenant.ID(name).Schema()
	rows, err := f.Pool.Query(t.Context(), `
		WITH found AS (
			SELECT 'schema' AS what, nspowner AS owner, coalesce(nspacl, acldefault('n', nspowner)) AS acl FROM pg_namespace WHERE nspname = $1
			UNION ALL SELECT 'relation ' || relkind::text || ' ' || relname, relowner, coalesce(relacl, acldefault('r', relowner)) FROM pg_class WHERE relnamespace = to_regnamespace($2)
			UNION ALL SELECT 'function ' || proname, proowner, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc WHERE pronamespace = to_regnamespace($2)
			UNION ALL SELECT 'type ' || typname, typowner, coalesce(typacl, acldefault('T', typowner)) FROM pg_type WHERE typnamespace = to_regnamespace($2))
		SELECT what || ': ' || pg_get_userbyid(owner) || coalesce((
			SELECT string_agg(' ' || CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee) END || '=' || a.privilege_type || ' by ' || pg_get_userbyid(a.grantor), '' ORDER BY pg_get_userbyid(a.grantee), a.privilege_type)
			FROM aclexplode(acl) AS a), '') FROM found
		UNION ALL SELECT 'member: ' || m.member::regrole || ' ' || m.admin_option FROM pg_auth_members AS m WHERE m.roleid = to_regrole($2)
		UNION ALL SELECT 'role: ' || concat_ws(' ', rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit) FROM pg_roles WHERE rolname = $1
		ORDER BY 1`, schema, pgx.Identifier{schema}.Sanitize())
	must(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	for i := range found {
		found[i] = strings.ReplaceAll(found[i], schema, "TENANT")
	}
	return found
}

// A tenant that a repair left half-way still counts as one that cannot be served.
func TestAnInterruptedRepairIsCompleted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	half, whole := tenanttest.Unique("half"), tenanttest.Unique("whole")
	for _, name := range []string{half, whole} {
		_, err := f.Tenants.Create(f.Operator, name, "", nil)
		must(t, err)
	}
	dropRole(t, f, half)
	role := pgx.Identifier{tenant.ID(half).Schema()}.Sanitize()
	_, err := f.Pool.Exec(t.Context(), strings.ReplaceAll(`
		CREATE ROLE <role> NOLOGIN NOINHERIT; GRANT <role> TO CURRENT_USER; GRANT <role> TO ragd_service;
		GRANT USAGE, CREATE ON SCHEMA <role> TO <role>; GRANT USAGE ON SCHEMA <role> TO ragd_service; ALTER TABLE <role>.indexes OWNER TO <role>`, "<role>", role))
	must(t, err)
	if err := countDocuments(t, f, half); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a call of a tenant that is repaired half-way: %v", err)
	}
	if diff := cmp.Diff(map[string]string{half: "its schema belongs to another database role"}, repairAll(t, f)); diff != "" {
		t.Error(diff)
	}
	must(t, countDocuments(t, f, half))
	compareRights(t, f, half, whole)
}

// An operator repairs a tenant by a request, and again without effect.
func TestATenantIsRepairedOnRequest(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := tenanttest.Unique("lost")
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	dropRole(t, f, name)
	if _, err := f.Tenants.RepairNamed(t.Context(), name); err == nil {
		t.Error("a request without the scope operator repaired a tenant")
	}
	for _, want := range []string{"its database role is missing", ""} {
		if problem, err := f.Tenants.RepairNamed(f.Operator, name); err != nil || problem != want {
			t.Errorf("the repair found %q, %v, want %q", problem, err, want)
		}
		must(t, countDocuments(t, f, name))
	}
	if _, err := f.Tenants.RepairNamed(f.Operator, "nobody"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the repair of a tenant that does not exist: %v", err)
	}
	f.Remove(t, name)
}

func TestWhatARepairCannotDoIsSaid(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := tenanttest.Unique("gone")
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	_, err = f.Pool.Exec(t.Context(), `DROP SCHEMA `+pgx.Identifier{tenant.ID(name).Schema()}.Sanitize()+` CASCADE`)
	must(t, err)
	var got error
	failed, err := f.Tenants.Repair(t.Context(), nil, func(r provision.Repaired) { got = r.Err })
	if failed != 1 || err != nil || fault.KindOf(got) != fault.Precondition || !strings.Contains(got.Error(), "ragd tenant delete "+name) {
		t.Errorf("%d failed, %v: %v", failed, err, got)
	}
	if _, err := f.Tenants.Repair(t.Context(), []string{"nobody"}, nil); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the repair of a tenant that does not exist: %v", err)
	}
	f.Remove(t, name)
}

// adminRole makes a role with the rights that docs ask of the admin role, and no others.
func adminRole(t *testing.T, f fixture) string {
	t.Helper()
	role := strings.ReplaceAll(tenanttest.Unique("admin"), "-", "_")
	var database string
	must(t, f.Pool.QueryRow(t.Context(), `SELECT current_database()`).Scan(&database))
	_, err := f.Pool.Exec(t.Context(), `CREATE ROLE `+role+` LOGIN CREATEROLE PASSWORD 'ragd-test'; GRANT CREATE ON DATABASE `+database+` TO `+role)
	must(t, err)
	t.Cleanup(func() { _, _ = f.Pool.Exec(t.Context(), `DROP OWNED BY `+role+`; DROP ROLE `+role) })
	return role
}

// The service needs no superuser: a role that may create roles repairs what it restored.
// What a superuser restored it may not change, and the error says so; a repair by the
// superuser then leaves tenants that the role administers.
func TestARepairWithoutASuperuser(t *testing.T) {
	t.Parallel()
	super := pgtest.Pool(t)
	f := fixture{tenanttest.Fixture{Pool: super}}
	role := adminRole(t, f)
	admin := pgtest.PoolOf(t, super, role, "ragd-test")
	service := pgtest.ServicePool(t, super)
	f = setupOn(t, admin, service)
	name := tenanttest.Unique("plain")
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)

	f.Pool = super
	schema := pgx.Identifier{tenant.ID(name).Schema()}.Sanitize()
	_, err = super.Exec(t.Context(), strings.NewReplacer("<role>", schema, "<admin>", role).Replace(
		`REASSIGN OWNED BY <role> TO <admin>; DROP OWNED BY <role>; DROP ROLE <role>`))
	must(t, err)
	repairAll(t, f)
	must(t, countDocuments(t, f, name))

	dropRole(t, f, name) // everything belongs to the superuser now
	var got error
	failed, err := f.Tenants.Repair(t.Context(), nil, func(r provision.Repaired) { got = r.Err })
	if failed != 1 || err != nil || fault.KindOf(got) != fault.Precondition || !strings.Contains(fault.Public(got), "--role="+role) {
		t.Errorf("%d failed, %v: %v", failed, err, got)
	}
	repairAll(t, setupOn(t, super, service))
	must(t, countDocuments(t, f, name))
	if diff := cmp.Diff(map[string]string{}, repairAll(t, f)); diff != "" {
		t.Errorf("the admin's role finds something to repair: %s", diff)
	}
	f.Remove(t, name)
}

func TestAControlSchemaOfAnotherRoleIsRejected(t *testing.T) {
	t.Parallel()
	f := setup(t)
	role := adminRole(t, f)
	err := provision.CheckAdmin(t.Context(), pgtest.PoolOf(t, f.Pool, role, "ragd-test"), "database-admin-url")
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "--role="+role) {
		t.Errorf("error %v, want one that names the role", err)
	}
}
