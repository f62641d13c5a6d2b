package provision_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

type fixture struct{ tenanttest.Fixture }

func setup(t testing.TB) fixture {
	t.Helper()
	return fixture{tenanttest.Setup(t)}
}

// setupOn migrates the database of two pools, which may be the same.
func setupOn(t testing.TB, pool, service *pgxpool.Pool) fixture {
	t.Helper()
	return fixture{tenanttest.SetupOn(t, pool, service)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDeletingATenantLeavesNothing(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := tenanttest.Unique("acme")
	_, err := f.Tenants.Create(f.Operator, name, "Acme", map[string]any{"plan": "gold"})
	must(t, err)
	_, secret, err := f.Credentials.CreateKey(f.Operator, credential.NewKey{TenantID: name})
	must(t, err)
	_, err = f.Pool.Exec(t.Context(), `
		INSERT INTO ragd.river_job (state, max_attempts, kind, args, queue) VALUES ('available', 1, 'ingest', jsonb_build_object('tenant', $1::text), 'ingest')`, name)
	must(t, err)
	_, err = f.Pool.Exec(t.Context(), `
		INSERT INTO ragd.backlog (tenant_id, document_id, index_id, version, job_id, bytes) VALUES ($1, gen_random_uuid(), 1, 1, gen_random_uuid(), 1)`, name)
	must(t, err)
	schema := tenant.ID(name).Schema()
	left := func() [5]int {
		return [5]int{
			f.Count(t, `SELECT count(*) FROM pg_namespace WHERE nspname = $1`, schema),
			f.Count(t, `SELECT count(*) FROM pg_roles WHERE rolname = $1`, schema),
			f.Count(t, `SELECT count(*) FROM ragd.api_keys WHERE tenant_id = $1`, name),
			f.Count(t, `SELECT count(*) FROM ragd.river_job WHERE args->>'tenant' = $1`, name),
			f.Count(t, `SELECT count(*) FROM ragd.backlog WHERE tenant_id = $1`, name),
		}
	}
	if got := left(); got != [5]int{1, 1, 1, 1, 1} {
		t.Fatalf("schema, role, keys, jobs, backlog = %v before", got)
	}
	f.Remove(t, name)
	if got := left(); got != [5]int{} {
		t.Errorf("schema, role, keys, jobs, backlog = %v after", got)
	}
	if _, err := f.Credentials.Auth.Authenticate(t.Context(), secret); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("its key: %v", err)
	}
	if _, err := f.Tenants.Delete(f.Operator, name); fault.KindOf(err) != fault.NotFound {
		t.Errorf("deleting it again: %v", err)
	}
	if _, err := f.Tenants.Create(f.Operator, name, "", nil); err != nil {
		t.Errorf("creating it again: %v", err)
	}
}

// A database must be able to have many thousands of tenants. Their rows in the catalogs count,
// also dead ones until they are vacuumed, whose number varies.
func TestAnEmptyTenantIsSmall(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := tenanttest.Unique("small")
	const size, tenants = `SELECT pg_database_size(current_database())`, 40
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	before := f.Count(t, size)
	for i := range tenants {
		_, err := f.Tenants.Create(f.Operator, fmt.Sprintf("%s-%d", name, i), "", nil)
		must(t, err)
	}
	bytes := (f.Count(t, size) - before) / tenants
	relations := f.Count(t, `SELECT count(*) FROM pg_class WHERE relnamespace = $1::regnamespace`, `"`+tenant.ID(name).Schema()+`"`)
	t.Logf("an empty tenant has %d relations and %d bytes", relations, bytes)
	if relations > 20 || bytes > 300_000 {
		t.Errorf("an empty tenant has %d relations and %d bytes, want at most 20 and 300000", relations, bytes)
	}
}

func TestConcurrentCreationsCreateOneTenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := tenanttest.Unique("race")
	var created, refused int
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			_, err := f.Tenants.Create(f.Operator, name, "", nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				created++
			case fault.KindOf(err) == fault.Exists:
				refused++
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if created != 1 || refused != 3 {
		t.Errorf("%d created, %d refused", created, refused)
	}
}

// Roles belong to the server, so services on several of its databases conflict when they
// create tenants of the same name.
func TestServicesOnOneServerMayCreateTheSameTenant(t *testing.T) {
	t.Parallel()
	name := tenanttest.Unique("shared")
	var group sync.WaitGroup
	for range 4 {
		f := setup(t)
		group.Go(func() {
			if _, err := f.Tenants.Create(f.Operator, name, "", nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestCreateCompletesAnInterruptedCreation(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := tenanttest.Unique("half")
	_, err := f.Pool.Exec(t.Context(), `INSERT INTO ragd.tenants (tenant_id, status) VALUES ($1, 'creating')`, name)
	must(t, err)
	_, err = f.Pool.Exec(t.Context(), `CREATE ROLE "`+tenant.ID(name).Schema()+`" NOLOGIN NOINHERIT`)
	must(t, err)
	if _, err := f.Tenants.Get(f.Operator, name); fault.KindOf(err) != fault.NotFound {
		t.Errorf("Get of an incomplete tenant: %v", err)
	}
	_, err = f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	_, err = f.Tenants.Get(f.Operator, name)
	must(t, err)
}
