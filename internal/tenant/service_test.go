package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

type fixture struct {
	pool     *pgxpool.Pool // of a superuser
	service  *pgxpool.Pool // of the role of requests and jobs
	tenants  *tenant.Service
	keys     *tenant.Credentials
	operator context.Context
}

func setup(t testing.TB) fixture {
	t.Helper()
	pool := schematest.Pool(t)
	return setupOn(t, pool, pgtest.ServicePool(t, pool))
}

// setupOn migrates the database of two pools, which may be the same.
func setupOn(t testing.TB, pool, service *pgxpool.Pool) fixture {
	t.Helper()
	must(t, tenant.MigrateControl(t.Context(), pool))
	must(t, job.Migrate(t.Context(), riverpgxv5.New(pool)))
	must(t, tenant.GrantService(t.Context(), pool, service))
	queue, err := job.NewQueue(job.QueueConfig{Driver: riverpgxv5.New(service), Instance: "test", Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	keys, err := tenant.NewCredentials(t.Context(), service, tenant.CredentialConfig{})
	must(t, err)
	tenants, err := tenant.New(t.Context(), service, tenant.Config{Admin: pool, Changed: keys.Auth.Forget, OnDelete: []tenant.DeleteFunc{queue.DeleteTenant, backlog.DeleteTenant}})
	must(t, err)
	operator := tenant.NewContext(t.Context(), &tenant.Request{Principal: tenant.Principal{Scopes: []tenant.Scope{tenant.Operator}}})
	return fixture{pool, service, tenants, keys, operator}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unique returns a tenant name that no other test uses: roles belong to the whole server,
// which tests share.
func unique(name string) string {
	return fmt.Sprintf("%s-%x", name, time.Now().UnixNano()&0xffffffff)
}

func (f fixture) count(t testing.TB, sql string, args ...any) (n int) {
	t.Helper()
	must(t, f.pool.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

func TestDeletingATenantLeavesNothing(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := unique("acme")
	_, err := f.tenants.Create(f.operator, name, "Acme", map[string]any{"plan": "gold"})
	must(t, err)
	_, secret, err := f.keys.CreateKey(f.operator, tenant.NewKey{TenantID: name})
	must(t, err)
	_, err = f.pool.Exec(t.Context(), `
		INSERT INTO ragd.river_job (state, max_attempts, kind, args, queue) VALUES ('available', 1, 'ingest', jsonb_build_object('tenant', $1::text), 'ingest')`, name)
	must(t, err)
	_, err = f.pool.Exec(t.Context(), `
		INSERT INTO ragd.backlog (tenant_id, document_id, index_id, version, job_id, bytes) VALUES ($1, gen_random_uuid(), 1, 1, gen_random_uuid(), 1)`, name)
	must(t, err)
	schema := tenant.ID(name).Schema()
	left := func() [5]int {
		return [5]int{
			f.count(t, `SELECT count(*) FROM pg_namespace WHERE nspname = $1`, schema),
			f.count(t, `SELECT count(*) FROM pg_roles WHERE rolname = $1`, schema),
			f.count(t, `SELECT count(*) FROM ragd.api_keys WHERE tenant_id = $1`, name),
			f.count(t, `SELECT count(*) FROM ragd.river_job WHERE args->>'tenant' = $1`, name),
			f.count(t, `SELECT count(*) FROM ragd.backlog WHERE tenant_id = $1`, name),
		}
	}
	if got := left(); got != [5]int{1, 1, 1, 1, 1} {
		t.Fatalf("schema, role, keys, jobs, backlog = %v before", got)
	}
	f.remove(t, name)
	if got := left(); got != [5]int{} {
		t.Errorf("schema, role, keys, jobs, backlog = %v after", got)
	}
	if _, err := f.keys.Auth.Authenticate(t.Context(), secret); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("its key: %v", err)
	}
	if _, err := f.tenants.Delete(f.operator, name); fault.KindOf(err) != fault.NotFound {
		t.Errorf("deleting it again: %v", err)
	}
	if _, err := f.tenants.Create(f.operator, name, "", nil); err != nil {
		t.Errorf("creating it again: %v", err)
	}
}

// A database must be able to have many thousands of tenants. Their rows in the catalogs count,
// also dead ones until they are vacuumed, whose number varies.
func TestAnEmptyTenantIsSmall(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := unique("small")
	const size, tenants = `SELECT pg_database_size(current_database())`, 40
	_, err := f.tenants.Create(f.operator, name, "", nil)
	must(t, err)
	before := f.count(t, size)
	for i := range tenants {
		_, err := f.tenants.Create(f.operator, fmt.Sprintf("%s-%d", name, i), "", nil)
		must(t, err)
	}
	bytes := (f.count(t, size) - before) / tenants
	relations := f.count(t, `SELECT count(*) FROM pg_class WHERE relnamespace = $1::regnamespace`, `"`+tenant.ID(name).Schema()+`"`)
	t.Logf("an empty tenant has %d relations and %d bytes", relations, bytes)
	if relations > 20 || bytes > 300_000 {
		t.Errorf("an empty tenant has %d relations and %d bytes, want at most 20 and 300000", relations, bytes)
	}
}

func TestConcurrentCreationsCreateOneTenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := unique("race")
	var created, refused int
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			_, err := f.tenants.Create(f.operator, name, "", nil)
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
	name := unique("shared")
	var group sync.WaitGroup
	for range 4 {
		f := setup(t)
		group.Go(func() {
			if _, err := f.tenants.Create(f.operator, name, "", nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestCreateCompletesAnInterruptedCreation(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := unique("half")
	_, err := f.pool.Exec(t.Context(), `INSERT INTO ragd.tenants (tenant_id, status) VALUES ($1, 'creating')`, name)
	must(t, err)
	_, err = f.pool.Exec(t.Context(), `CREATE ROLE "`+tenant.ID(name).Schema()+`" NOLOGIN NOINHERIT`)
	must(t, err)
	if _, err := f.tenants.Get(f.operator, name); fault.KindOf(err) != fault.NotFound {
		t.Errorf("Get of an incomplete tenant: %v", err)
	}
	_, err = f.tenants.Create(f.operator, name, "", nil)
	must(t, err)
	_, err = f.tenants.Get(f.operator, name)
	must(t, err)
}

func TestHandleReachesOnlyItsTenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ours, theirs := unique("ours"), unique("theirs")
	for _, name := range []string{ours, theirs} {
		_, err := f.tenants.Create(f.operator, name, "", nil)
		must(t, err)
	}
	db := tenant.NewDB(f.service, 0)
	h := db.Handle(tenant.ID(ours))
	if _, err := tenant.Value[int](t.Context(), h, `SELECT count(*)::int FROM tenant.documents`); err != nil {
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
			if n, err := tenant.Value[int](t.Context(), h, sql); err == nil {
				t.Errorf("a batch could read it: %d", n)
			}
			err := h.Tx(t.Context(), func(tx *tenant.Tx) error {
				_, err := tenant.Value[int](t.Context(), tx, sql)
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
	f := setup(t)
	name := unique("role")
	_, err := f.tenants.Create(f.operator, name, "", nil)
	must(t, err)
	h := tenant.NewDB(f.service, 0).Handle(tenant.ID(name))
	role, err := tenant.Value[string](t.Context(), h, `SELECT current_user::text`)
	if err != nil || role != tenant.ID(name).Schema() {
		t.Fatalf("role = %q, %v", role, err)
	}
	failing := errors.New("failing")
	if err := h.Tx(t.Context(), func(*tenant.Tx) error { return failing }); !errors.Is(err, failing) {
		t.Fatal(err)
	}
	_, err = h.Exec(t.Context(), `SELECT 1/0`)
	if err == nil {
		t.Fatal("1/0 worked")
	}
	for range 20 {
		var user string
		must(t, f.service.QueryRow(t.Context(), `SELECT current_user::text`).Scan(&user))
		if user == tenant.ID(name).Schema() {
			t.Fatal("a pooled connection still has the tenant's role")
		}
	}
}

func TestADroppedTenantIsNotFound(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := unique("gone")
	_, err := f.tenants.Create(f.operator, name, "", nil)
	must(t, err)
	h := tenant.NewDB(f.service, 0).Handle(tenant.ID(name))
	f.remove(t, name)
	if _, err := h.Exec(t.Context(), `SELECT 1`); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a batch: %v", err)
	}
	if err := h.Tx(t.Context(), func(*tenant.Tx) error { return nil }); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a transaction: %v", err)
	}
}

func TestSecretsAreStoredAsHashes(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := unique("hash")
	_, err := f.tenants.Create(f.operator, name, "", nil)
	must(t, err)
	mandatory, err := filter.Parse(map[string]any{"team": "red"})
	must(t, err)
	key, secret, err := f.keys.CreateKey(f.operator, tenant.NewKey{TenantID: name, MandatoryFilter: mandatory})
	must(t, err)
	if !strings.HasPrefix(secret, key.Prefix()) || len(secret) < len(key.Prefix())+43 {
		t.Errorf("secret %q does not follow prefix %q", secret, key.Prefix())
	}
	random := secret[len(key.Prefix()):]
	if n := f.count(t, `SELECT count(*) FROM ragd.api_keys AS k WHERE k::text LIKE '%' || $1 || '%'`, random); n != 0 {
		t.Error("the secret is in the table")
	}
	principal, err := f.keys.Auth.Authenticate(t.Context(), secret)
	must(t, err)
	if principal.Tenant != tenant.ID(name) || string(principal.MandatoryFilter.JSON()) != string(mandatory.JSON()) {
		t.Errorf("principal = %+v", principal)
	}
}

func TestTheFirstOperatorKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	f := setup(t)
	secret, err := f.keys.EnsureOperatorKey(t.Context())
	must(t, err)
	principal, err := f.keys.Auth.Authenticate(t.Context(), secret)
	if err != nil || !principal.Has(tenant.Operator) {
		t.Errorf("principal = %+v, %v", principal, err)
	}
	if again, err := f.keys.EnsureOperatorKey(t.Context()); err != nil || again != "" {
		t.Errorf("a second key %q, %v", again, err)
	}
	configured, err := tenant.NewCredentials(t.Context(), f.pool, tenant.CredentialConfig{OperatorKey: "from the environment"})
	must(t, err)
	if _, err := configured.Auth.Authenticate(t.Context(), "from the environment"); err != nil {
		t.Errorf("the configured key: %v", err)
	}
}
