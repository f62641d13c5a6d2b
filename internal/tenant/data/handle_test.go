package data_test

import (
	"errors"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

func TestHandleReachesOnlyItsTenant(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	ours, theirs := tenanttest.Unique("ours"), tenanttest.Unique("theirs")
	for _, name := range []string{ours, theirs} {
		_, err := f.Tenants.Create(f.Operator, name, "", nil)
		must(t, err)
	}
	db := data.NewDB(f.Service, 0)
	h := db.Handle(tenant.ID(ours))
	if _, err := data.Value[int](t.Context(), h, `SELECT count(*)::int FROM tenant.documents`); err != nil {
		t.Fatalf("its own table: %v", err)
	}
	other := `"` + tenant.ID(theirs).Schema() + `"`
	for name, sql := range map[string]string{
		"another tenant's table":  `SELECT count(*)::int FROM ` + other + `.documents`,
		"the tenants":             `SELECT count(*)::int FROM ragd.tenants`,
		"the API keys":            `SELECT count(*)::int FROM ragd.api_keys`,
		"the job queue":           `SELECT count(*)::int FROM ragd.river_job`,
		"the backlog":             `SELECT count(*)::int FROM ragd.backlog`,
		"a table without schema":  `SELECT count(*)::int FROM documents`,
		"a table in public":       `SELECT count(*)::int FROM public.documents`,
		"another tenant's schema": `SELECT 1 FROM (SELECT set_config('search_path', '` + other + `', true)) AS s, ` + other + `.indexes`,
	} {
		t.Run(name, func(t *testing.T) {
			if n, err := data.Value[int](t.Context(), h, sql); err == nil {
				t.Errorf("a batch could read it: %d", n)
			}
			err := h.Tx(t.Context(), func(tx *data.Tx) error {
				_, err := data.Value[int](t.Context(), tx, sql)
				return err
			})
			if err == nil {
				t.Error("a transaction could read it")
			}
		})
	}
	if _, err := h.Exec(t.Context(), `CREATE TABLE `+other+`.mine (a int)`); err == nil {
		t.Error("a table was created in another tenant's schema")
	}
}

// A connection that is returned to the pool has the service's role again.
func TestTheRoleEndsWithTheTransaction(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	name := tenanttest.Unique("role")
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	h := data.NewDB(f.Service, 0).Handle(tenant.ID(name))
	role, err := data.Value[string](t.Context(), h, `SELECT current_user::text`)
	if err != nil || role != tenant.ID(name).Schema() {
		t.Fatalf("role = %q, %v", role, err)
	}
	failing := errors.New("failing")
	if err := h.Tx(t.Context(), func(*data.Tx) error { return failing }); !errors.Is(err, failing) {
		t.Fatal(err)
	}
	_, err = h.Exec(t.Context(), `SELECT 1/0`)
	if err == nil {
		t.Fatal("1/0 worked")
	}
	for range 20 {
		var user string
		must(t, f.Service.QueryRow(t.Context(), `SELECT current_user::text`).Scan(&user))
		if user == tenant.ID(name).Schema() {
			t.Fatal("a pooled connection still has the tenant's role")
		}
	}
}

func TestADroppedTenantIsNotFound(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	name := tenanttest.Unique("gone")
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	h := data.NewDB(f.Service, 0).Handle(tenant.ID(name))
	f.Remove(t, name)
	if _, err := h.Exec(t.Context(), `SELECT 1`); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a batch: %v", err)
	}
	if err := h.Tx(t.Context(), func(*data.Tx) error { return nil }); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a transaction: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
