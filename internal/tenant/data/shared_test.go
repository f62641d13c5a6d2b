package data_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// twoWithTools creates two tenants, each with a tool that has the tenant's id as its title.
func twoWithTools(t *testing.T, f tenanttest.Fixture) (ours, theirs *data.Handle) {
	t.Helper()
	db := data.NewDB(f.Service, 0)
	var handles [2]*data.Handle
	for i, name := range []string{tenanttest.Unique("ours"), tenanttest.Unique("theirs")} {
		_, err := f.Tenants.Create(f.Operator, name, "", nil)
		must(t, err)
		handles[i] = db.Handle(tenant.ID(name))
		_, err = handles[i].Exec(t.Context(), `
			INSERT INTO ragd_shared.tools (tool_name, kind, title, description, settings, arguments, fixed) VALUES ('find', '', $1, '', '{}', '{}', false)`, name)
		must(t, err)
	}
	return handles[0], handles[1]
}

// titles returns what a tenant's statement without a condition sees.
func titles(t *testing.T, h *data.Handle) string {
	t.Helper()
	found, err := data.Values[string](t.Context(), h, `SELECT title FROM ragd_shared.tools ORDER BY title`)
	must(t, err)
	return strings.Join(found, " ")
}

// What a statement forgets to say or says wrongly, the policy of the table decides.
func TestAStatementOnASharedTableReachesOnlyItsTenantsRows(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	ours, theirs := twoWithTools(t, f)
	insert := `INSERT INTO ragd_shared.tools (tenant_id, tool_name, kind, title, description, settings, arguments, fixed) VALUES ('` + string(theirs.Tenant()) + `', 'more', '', '', '', '{}', '{}', false)`
	for what, sql := range map[string]string{
		"a select":                      `SELECT FROM ragd_shared.tools WHERE tenant_id <> '` + string(ours.Tenant()) + `'`,
		"a select by the other's id":    `SELECT FROM ragd_shared.tools WHERE tenant_id = '` + string(theirs.Tenant()) + `'`,
		"a lock":                        `SELECT FROM ragd_shared.tools WHERE title = '` + string(theirs.Tenant()) + `' FOR UPDATE`,
		"an update of the other's rows": `UPDATE ragd_shared.tools SET fixed = true WHERE tenant_id = '` + string(theirs.Tenant()) + `'`,
		"a delete of the other's rows":  `DELETE FROM ragd_shared.tools WHERE tenant_id = '` + string(theirs.Tenant()) + `'`,
	} {
		if n, err := ours.Exec(t.Context(), sql); n != 0 || err != nil {
			t.Errorf("%s reaches %d rows, %v", what, n, err)
		}
	}
	for what, sql := range map[string]string{
		"an insert for the other":         insert,
		"an upsert for the other":         insert + ` ON CONFLICT (tenant_id, tool_name) DO UPDATE SET title = 'stolen'`,
		"a gift to the other":             `UPDATE ragd_shared.tools SET tenant_id = '` + string(theirs.Tenant()) + `', tool_name = 'more'`,
		"row security switched off":       `ALTER TABLE ragd_shared.tools DISABLE ROW LEVEL SECURITY`,
		"a truncate":                      `TRUNCATE ragd_shared.tools`,
		"the version of the schema":       `SELECT FROM ragd_shared.schema_migrations`,
		"a function of the shared schema": `CREATE OR REPLACE FUNCTION ragd_shared.current_tenant() RETURNS text LANGUAGE sql AS 'SELECT ''''::text'`,
		"a table in the shared schema":    `CREATE TABLE ragd_shared.mine (a int)`,
	} {
		if n, err := ours.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s is accepted, for %d rows", what, n)
		}
	}
	// With the setting row_security off, a statement that the policy would narrow is an error.
	off := ours.Batch()
	off.Set("row_security", "off")
	off.Exec(`SELECT FROM ragd_shared.tools`)
	if err := off.Run(t.Context()); err == nil {
		t.Error("a statement without row security runs")
	}
	if got := titles(t, ours); got != string(ours.Tenant()) {
		t.Errorf("our tools are %s", got)
	}
	if n, err := ours.Exec(t.Context(), `DELETE FROM ragd_shared.tools`); n != 1 || err != nil {
		t.Errorf("a delete without a condition deletes %d rows, %v", n, err)
	}
	if got := titles(t, theirs); got != string(theirs.Tenant()) {
		t.Errorf("their tools are %s", got)
	}
}

func TestCopyReachesOnlyTheTenantsRowsOfASharedTable(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	ours, theirs := twoWithTools(t, f)
	conn, err := f.Service.Acquire(t.Context())
	must(t, err)
	defer conn.Release()
	run := func(copies func() error) error {
		_, err := conn.Exec(t.Context(), `BEGIN; SET LOCAL ROLE `+pgx.Identifier{ours.Tenant().Schema()}.Sanitize(), pgx.QueryExecModeSimpleProtocol)
		must(t, err)
		err = copies()
		_, end := conn.Exec(t.Context(), `ROLLBACK`)
		must(t, end)
		return err
	}
	var out strings.Builder
	must(t, run(func() error {
		_, err := conn.Conn().PgConn().CopyTo(t.Context(), &out, `COPY ragd_shared.tools (title) TO STDOUT`)
		return err
	}))
	if out.String() != string(ours.Tenant())+"\n" {
		t.Errorf("copied out: %s", out.String())
	}
	err = run(func() error {
		_, err := conn.Conn().PgConn().CopyFrom(t.Context(), strings.NewReader(string(theirs.Tenant())+"\tmore\t\t\t\t{}\t{}\tf\n"),
			`COPY ragd_shared.tools (tenant_id, tool_name, kind, title, description, settings, arguments, fixed) FROM STDIN`)
		return err
	})
	if err == nil {
		t.Error("rows of another tenant were copied in")
	}
}

// The role of the service owns no rows: it reaches those of a tenant only by the tenant's role.
func TestTheServiceRoleSeesNoRowsOfSharedTables(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	ours, _ := twoWithTools(t, f)
	for _, sql := range []string{`SELECT FROM ragd_shared.tools`, `UPDATE ragd_shared.tools SET fixed = true`, `DELETE FROM ragd_shared.tools`} {
		if tag, err := f.Service.Exec(t.Context(), sql); err != nil || tag.RowsAffected() != 0 {
			t.Errorf("%s: %d rows, %v", sql, tag.RowsAffected(), err)
		}
	}
	for _, owner := range []string{`DEFAULT`, `'` + string(ours.Tenant()) + `'`} {
		if _, err := f.Service.Exec(t.Context(), `
			INSERT INTO ragd_shared.tools (tenant_id, tool_name, kind, title, description, settings, arguments, fixed) VALUES (`+owner+`, 'more', '', '', '', '{}', '{}', false)`); err == nil {
			t.Errorf("the service's role inserted a row of the tenant %s", owner)
		}
	}
}

func TestDeletingATenantDeletesItsRowsOfSharedTables(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	ours, theirs := twoWithTools(t, f)
	f.Remove(t, string(ours.Tenant()))
	if n := f.Count(t, `SELECT count(*) FROM ragd_shared.tools WHERE tenant_id = $1`, string(ours.Tenant())); n != 0 {
		t.Errorf("%d tools are left", n)
	}
	if got := titles(t, theirs); got != string(theirs.Tenant()) {
		t.Errorf("another tenant's tools are %s", got)
	}
	_, err := f.Tenants.Create(f.Operator, string(ours.Tenant()), "", nil)
	must(t, err)
	if got := titles(t, ours); got != "" {
		t.Errorf("a tenant of the same name has the tools %s", got)
	}
}

// A table that lacks one of these would show a tenant the rows of others, keep rows of
// deleted tenants, or search through the rows of all.
func TestEverySharedTableSeparatesTenants(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	tables := f.Count(t, `SELECT count(*) FROM pg_class WHERE relnamespace = 'ragd_shared'::regnamespace AND relkind = 'r' AND relname <> 'schema_migrations'`)
	if tables == 0 {
		t.Fatal("there are no shared tables")
	}
	for what, sql := range map[string]string{
		"row level security": `SELECT count(*) FROM pg_class WHERE relnamespace = 'ragd_shared'::regnamespace AND relrowsecurity`,
		"one policy, for all commands and roles, that compares tenant_id": `
			SELECT count(*) FROM pg_policies WHERE schemaname = 'ragd_shared' AND policyname = 'own_rows' AND permissive = 'PERMISSIVE' AND cmd = 'ALL'
				AND roles = '{public}' AND qual = '(tenant_id = ragd_shared.current_tenant())' AND with_check IS NULL`,
		"no other policy": `SELECT count(*) FROM pg_policies WHERE schemaname = 'ragd_shared'`,
		"a reference to the tenants that cascades": `
			SELECT count(*) FROM pg_constraint WHERE connamespace = 'ragd_shared'::regnamespace AND contype = 'f' AND confrelid = 'ragd.tenants'::regclass AND confdeltype = 'c'`,
		"a primary key that begins with tenant_id": `
			SELECT count(*) FROM pg_constraint AS c JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
			WHERE c.connamespace = 'ragd_shared'::regnamespace AND c.contype = 'p' AND a.attname = 'tenant_id'`,
		"the tenant as default": `
			SELECT count(*) FROM pg_attrdef AS d JOIN pg_attribute AS a ON a.attrelid = d.adrelid AND a.attnum = d.adnum JOIN pg_class AS c ON c.oid = d.adrelid
			WHERE c.relnamespace = 'ragd_shared'::regnamespace AND a.attname = 'tenant_id' AND pg_get_expr(d.adbin, d.adrelid) = 'ragd_shared.current_tenant()'`,
	} {
		if n := f.Count(t, sql); n != tables {
			t.Errorf("%d of %d tables have %s", n, tables, what)
		}
	}
	if n := f.Count(t, `SELECT count(*) FROM pg_proc WHERE pronamespace = 'ragd_shared'::regnamespace AND prosecdef`); n != 0 {
		t.Errorf("%d functions run with the rights of their owner", n)
	}
}

// A query of a tenant with few rows does not read those of others.
func TestAQueryOfASharedTableFindsTheTenantsRowsByIndex(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	ours, theirs := twoWithTools(t, f)
	_, err := theirs.Exec(t.Context(), `
		INSERT INTO ragd_shared.tools (tool_name, kind, title, description, settings, arguments, fixed)
		SELECT 'tool' || n, '', '', '', '{}', '{}', false FROM generate_series(1, 5000) AS n`)
	must(t, err)
	_, err = f.Pool.Exec(t.Context(), `ANALYZE ragd_shared.tools`)
	must(t, err)
	for _, sql := range []string{`SELECT * FROM ragd_shared.tools`, `SELECT * FROM ragd_shared.tools WHERE tool_name = 'find'`, `SELECT * FROM ragd_shared.tools WHERE tool_name > 'a' ORDER BY tool_name LIMIT 10`} {
		plan, err := data.Values[string](t.Context(), ours, `EXPLAIN `+sql)
		must(t, err)
		if text := strings.Join(plan, "\n"); !strings.Contains(text, "tools_pkey") || !strings.Contains(text, "Index Cond: ((tenant_id") && !strings.Contains(text, "Index Cond: (tenant_id") {
			t.Errorf("%s:\n%s", sql, text)
		}
	}
}
