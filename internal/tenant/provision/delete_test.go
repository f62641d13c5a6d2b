package provision_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// create creates a tenant with a number of tables besides its own, each with 40 Postgres
// indexes, and returns its handle.
func (f fixture) create(t *testing.T, name string, tables int) *data.Handle {
	t.Helper()
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	h := data.NewDB(f.Service, 0).Handle(tenant.ID(name))
	for n := range tables {
		b := h.Batch()
		b.Exec(fmt.Sprintf(`CREATE TABLE tenant.table_%d (id int PRIMARY KEY, body text)`, n))
		for range 40 {
			b.Exec(fmt.Sprintf(`CREATE INDEX ON tenant.table_%d (body)`, n))
		}
		must(t, b.Run(t.Context()))
	}
	return h
}

func (f fixture) relations(t *testing.T, name string) int {
	t.Helper()
	return f.Count(t, `SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1`, tenant.ID(name).Schema())
}

// maxLocks is what the server reserves for one transaction by default.
const maxLocks = 64

// The lock table of the server has max_locks_per_transaction entries for each connection,
// and all tenants use it.
func TestDeletingATenantTakesFewLocks(t *testing.T) {
	t.Parallel()
	f := setup(t)
	large, other := tenanttest.Unique("large"), tenanttest.Unique("other")
	f.create(t, large, 10)
	f.create(t, other, 2)
	before := f.relations(t, other)
	most := pgtest.CountLocks(t, f.Pool)
	f.Remove(t, large)
	for _, command := range []string{"DROP INDEX", "DROP TABLE", "DROP SCHEMA"} {
		locks := most(command)
		t.Logf("%s: %d locks", command, locks)
		if locks == 0 || locks > maxLocks {
			t.Errorf("a transaction with %s holds %d locks, want 1 to %d", command, locks, maxLocks)
		}
	}
	if n := f.relations(t, large); n != 0 {
		t.Errorf("%d relations are left", n)
	}
	if n := f.relations(t, other); n != before {
		t.Errorf("another tenant has %d relations of %d", n, before)
	}
}

// block holds the lock of a query on a tenant's table, as a backup does, until the returned
// function is called.
func (f fixture) block(t *testing.T, name, table string) (release func()) {
	t.Helper()
	config := f.Pool.Config().ConnConfig.Copy()
	config.RuntimeParams["application_name"] = "backup"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	_, err = conn.Exec(t.Context(), `BEGIN; LOCK TABLE "`+tenant.ID(name).Schema()+`".`+table+` IN ACCESS SHARE MODE`)
	must(t, err)
	return func() { must(t, conn.Close(context.WithoutCancel(t.Context()))) }
}

// await waits until a query returns true.
func (f fixture) await(t *testing.T, sql string, args ...any) {
	t.Helper()
	wait.For(t, sql, func() (ok bool) {
		must(t, f.Pool.QueryRow(t.Context(), sql, args...).Scan(&ok))
		return ok
	})
}

// issuer accepts every token, for one tenant.
type issuer struct{ tenant string }

func (issuer) Issuers(string) []credential.Issuer { return nil }
func (issuer) Check(credential.OwnIssuer) error   { return nil }

func (i issuer) Verify(context.Context, string, credential.Resource) (credential.Token, error) {
	return credential.Token{Subject: "user:ada", Tenant: i.tenant, Scopes: []access.Scope{access.Read}}, nil
}

func TestCredentialsOfATenantThatIsBeingDeletedAreRejected(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name, other := tenanttest.Unique("going"), tenanttest.Unique("staying")
	f.create(t, name, 0)
	theirs := f.create(t, other, 0)
	_, secret, err := f.Credentials.CreateKey(f.Operator, credential.NewKey{TenantID: name})
	must(t, err)
	now := time.Now()
	clock := func() time.Time { return now }
	here, err := credential.New(t.Context(), f.Pool, credential.Config{Now: clock, Tokens: issuer{name}})
	must(t, err)
	elsewhere, err := credential.New(t.Context(), f.Pool, credential.Config{Now: clock, Tokens: issuer{name}})
	must(t, err)
	tenants, err := provision.New(t.Context(), f.Pool, provision.Config{Now: clock, Changed: here.Auth.Forget})
	must(t, err)
	for _, s := range []*credential.Service{here, elsewhere} {
		for _, credential := range []string{secret, "token"} {
			_, err := s.Auth.Authenticate(t.Context(), credential) // now it is cached
			must(t, err)
		}
	}
	release := f.block(t, name, "schema_migrations")
	deleted := make(chan error, 1)
	go func() {
		_, err := tenants.Delete(f.Operator, name)
		deleted <- err
	}()
	f.await(t, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`, `"`+tenant.ID(name).Schema()+`".schema_migrations`)

	rejects := func(s *credential.Service, where string) {
		t.Helper()
		for _, credential := range []string{secret, "token"} {
			if _, err := s.Auth.Authenticate(t.Context(), credential); fault.KindOf(err) != fault.Unauthenticated {
				t.Errorf("%s: a credential is accepted: %v", where, err)
			}
		}
	}
	rejects(here, "on the instance that deletes, at once")
	now = now.Add(3 * time.Second)
	rejects(elsewhere, "on another instance, after 3 s")
	if _, err := f.Tenants.Create(f.Operator, name, "", nil); fault.KindOf(err) != fault.Precondition {
		t.Errorf("creating it meanwhile: %v", err)
	}
	if _, _, err := f.Credentials.CreateKey(f.Operator, credential.NewKey{TenantID: name}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("creating a key meanwhile: %v", err)
	}
	if _, err := theirs.Exec(t.Context(), `INSERT INTO tenant.jobs (job_id, kind, status, index_name) VALUES (gen_random_uuid(), '', 'queued', '')`); err != nil {
		t.Errorf("another tenant's statement: %v", err)
	}
	release()
	must(t, <-deleted)
	if n := f.relations(t, name); n != 0 {
		t.Errorf("%d relations are left", n)
	}
}

func TestADeletionCancelsStatementsOfTheTenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	name := tenanttest.Unique("busy")
	h := f.create(t, name, 0)
	ended := make(chan error, 1)
	go func() {
		_, err := h.Exec(t.Context(), `SELECT pg_sleep(600) FROM tenant.schema_migrations`)
		ended <- err
	}()
	sleeps := `wait_event = 'PgSleep'`
	if postgres.Distributed(f.Pool) { // on a worker
		sleeps = `state = 'active' AND query_start < clock_timestamp() - interval '200 ms'`
	}
	f.await(t, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)%' AND `+sleeps+` AND datname = current_database())`)
	f.Remove(t, name)
	if err := <-ended; fault.KindOf(err) != fault.Deadline {
		t.Errorf("the statement ended with %v", err)
	}
	if _, err := h.Exec(t.Context(), `SELECT 1`); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a later statement: %v", err)
	}
}

// interrupt makes the drop of a table fail until the returned function is called.
func (f fixture) interrupt(t *testing.T, table string) (repair func()) {
	t.Helper()
	exec := func(sql string) {
		t.Helper()
		_, err := f.Pool.Exec(t.Context(), sql)
		must(t, err)
	}
	exec(strings.ReplaceAll(`
		CREATE FUNCTION public.interrupt() RETURNS event_trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF EXISTS (SELECT FROM pg_event_trigger_dropped_objects() WHERE object_name = 'TABLE') THEN
				RAISE EXCEPTION 'interrupted';
			END IF;
		END $$;
		CREATE EVENT TRIGGER interrupt ON sql_drop EXECUTE FUNCTION public.interrupt()`, "TABLE", table))
	return func() { t.Helper(); exec(`DROP EVENT TRIGGER interrupt`) }
}

func TestAnInterruptedDeletionIsCompleted(t *testing.T) {
	t.Parallel()
	for by, complete := range map[string]func(t *testing.T, f fixture, name string){
		"by a repeated call": func(t *testing.T, f fixture, name string) { f.Remove(t, name) },
		"by the sweep of any instance": func(t *testing.T, f fixture, name string) {
			ctx, cancel := context.WithCancel(t.Context())
			var ended [2]chan error
			for n := range ended {
				ended[n] = make(chan error, 1)
				go func() { ended[n] <- f.Tenants.Run(ctx) }()
			}
			f.await(t, `SELECT NOT EXISTS (SELECT FROM ragd.tenants WHERE tenant_id = $1)`, name)
			f.await(t, `SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, tenant.ID(name).Schema())
			cancel()
			must(t, <-ended[0])
			must(t, <-ended[1])
		},
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			name, ready := tenanttest.Unique("half"), tenanttest.Unique("ready")
			f.create(t, name, 4)
			f.create(t, ready, 1)
			before := f.relations(t, name)
			repair := f.interrupt(t, "table_2")
			if _, err := f.Tenants.Delete(f.Operator, name); err == nil {
				t.Fatal("the deletion was not interrupted")
			}
			if left := f.relations(t, name); left == 0 || left >= before {
				t.Fatalf("%d relations of %d are left after an interruption", left, before)
			}
			repair()
			complete(t, f, name)
			if n := f.relations(t, name); n != 0 {
				t.Errorf("%d relations are left", n)
			}
			if n := f.Count(t, `SELECT count(*) FROM pg_roles WHERE rolname = $1`, tenant.ID(name).Schema()); n != 0 {
				t.Error("the role is left")
			}
			if tenants, _, err := f.Tenants.List(f.Operator, "", 0, ""); err != nil || !slices.ContainsFunc(tenants, func(x provision.Tenant) bool { return x.TenantID == tenant.ID(ready) }) || len(tenants) != 1 {
				t.Errorf("the tenants are %v, %v", tenants, err)
			}
			_, err := f.Tenants.Create(f.Operator, name, "", nil)
			must(t, err)
		})
	}
}

// Services on two databases of a server have tenants of the same name, and so share a role, which
// each creates and drops.
func TestTenantsOfTwoDatabasesShareARole(t *testing.T) {
	t.Parallel()
	name := tenanttest.Unique("acme")
	var group sync.WaitGroup
	for range 2 {
		f := setup(t)
		group.Go(func() {
			for range 30 {
				if _, err := f.Tenants.Create(f.Operator, name, "", nil); err != nil {
					t.Errorf("create: %v", err)
				}
				if _, err := f.Tenants.Delete(f.Operator, name); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
		})
	}
	group.Wait()
}
