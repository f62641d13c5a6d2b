package provision_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/migrations"
)

// next returns the migrations of tenants with one more file.
func next(t testing.TB, sql string) (files fs.FS, newest int) {
	t.Helper()
	all := fstest.MapFS{}
	names, err := fs.Glob(migrations.Tenant(), "*.sql")
	must(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(migrations.Tenant(), name)
		must(t, err)
		all[name] = &fstest.MapFile{Data: text}
	}
	newest = migrations.Newest(migrations.Tenant()) + 1
	all[fmt.Sprintf("%06d_next.up.sql", newest)] = &fstest.MapFile{Data: []byte(sql)}
	return all, newest
}

// newer returns a service on the fixture's database whose migrations have one more file.
func (f fixture) newer(t testing.TB, sql string) (*provision.Service, int) {
	t.Helper()
	files, newest := next(t, sql)
	s, err := provision.New(t.Context(), f.Service, provision.Config{Admin: f.Pool, Migrations: files})
	must(t, err)
	return s, newest
}

func (f fixture) exec(t testing.TB, id tenant.ID, sql string) {
	t.Helper()
	_, err := f.Pool.Exec(t.Context(), strings.NewReplacer("<schema>", `"`+id.Schema()+`"`, "<id>", string(id)).Replace(sql))
	must(t, err)
}

// behind returns the tenants that a service finds to be behind.
func behind(t testing.TB, s *provision.Service) []tenant.ID {
	t.Helper()
	ids, _, err := s.Behind(t.Context())
	must(t, err)
	return ids
}

func TestMigrationOfManyTenantsContinuesAfterAFailure(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ids := f.CreateAll(t, "a-good", "b-dirty", "c-locked", "d-good", "e-deleted")
	good, dirty, broken, also, deleted := ids[0], ids[1], ids[2], ids[3], ids[4]
	newer, newest := f.newer(t, `ALTER TABLE documents ADD COLUMN later text`)
	if got := behind(t, f.Tenants); len(got) != 0 {
		t.Fatalf("new tenants are behind: %v", got)
	}
	todo := behind(t, newer)
	if diff := cmp.Diff(ids, todo); diff != "" {
		t.Fatalf("behind (-want +got):\n%s", diff)
	}
	f.exec(t, dirty, `UPDATE <schema>.schema_migrations SET dirty = true`)
	f.exec(t, broken, `ALTER TABLE <schema>.documents ADD COLUMN later int`)
	f.Remove(t, string(deleted))

	run := func(todo []tenant.ID) (failed int, results map[tenant.ID]string) {
		t.Helper()
		results = map[tenant.ID]string{}
		failed, err := newer.Migrate(t.Context(), todo, 3, func(m provision.Migrated) {
			results[m.Tenant] = fmt.Sprint(m.Applied)
			if m.Err != nil {
				results[m.Tenant] = m.Err.Error()
			}
		})
		must(t, err)
		return failed, results
	}
	failed, results := run(todo)
	if failed != 2 || results[good] != "1" || results[also] != "1" || len(results) != 4 ||
		!strings.Contains(results[dirty], "dirty") || !strings.Contains(results[broken], `"later"`) {
		t.Errorf("%d failed: %v", failed, results)
	}
	if diff := cmp.Diff([]tenant.ID{dirty, broken}, behind(t, newer)); diff != "" {
		t.Errorf("still behind (-want +got):\n%s", diff)
	}
	if n := f.Count(t, `SELECT count(*) FROM ragd.tenants WHERE migration_error LIKE '%later%' OR migration_error LIKE '%dirty%'`); n != 2 {
		t.Errorf("%d errors are stored", n)
	}
	if n := f.Count(t, `SELECT count(*) FROM ragd.tenants WHERE schema_version = $1`, newest); n != 2 {
		t.Errorf("the version of %d tenants is recorded", n)
	}

	f.exec(t, dirty, `UPDATE <schema>.schema_migrations SET dirty = false`)
	f.exec(t, broken, `ALTER TABLE <schema>.documents DROP COLUMN later`)
	if failed, results := run(behind(t, newer)); failed != 0 || len(results) != 2 {
		t.Errorf("after the repair %d failed: %v", failed, results)
	}
	if n := f.Count(t, `SELECT count(*) FROM ragd.tenants WHERE schema_version = $1 AND migration_error IS NULL`, newest); n != 4 {
		t.Errorf("%d tenants are recorded as migrated", n)
	}
}

func TestVersionsAreReadFromTheSchemasThemselves(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ids := f.CreateAll(t, "a-good", "b-dirty", "c-restored", "d-migrated", "e-unreadable")
	newest := migrations.Newest(migrations.Tenant())
	f.exec(t, ids[1], `UPDATE <schema>.schema_migrations SET dirty = true`)
	f.exec(t, ids[2], `UPDATE <schema>.schema_migrations SET version = version - 1`)
	f.exec(t, ids[3], `UPDATE ragd.tenants SET schema_version = 0, migration_error = 'lost connection' WHERE tenant_id = '<id>'`)
	f.exec(t, ids[4], `DROP TABLE <schema>.schema_migrations`)

	v, err := provision.ReadVersions(t.Context(), f.Pool)
	must(t, err)
	control, shared := migrations.Newest(migrations.Control()), migrations.Newest(migrations.Shared())
	want := provision.Versions{
		Service: []provision.SchemaVersion{{Schema: "ragd", Version: control, Newest: control}, {Schema: "ragd_shared", Version: shared, Newest: shared}},
		Newest:  newest, Tenants: 5, Behind: 1,
		ByVersion: []provision.VersionCount{{Version: newest - 1, Tenants: 1}, {Version: newest, Tenants: 4}},
		Failed:    []provision.FailedTenant{{Tenant: ids[1], Version: newest, Dirty: true}},
	}
	if diff := cmp.Diff(want, v); diff != "" || v.UpToDate() {
		t.Errorf("versions (-want +got):\n%s", diff)
	}

	if n, err := f.Tenants.CorrectVersions(t.Context()); n != 2 || err != nil {
		t.Errorf("%d versions corrected, %v", n, err)
	}
	if got := behind(t, f.Tenants); !slices.Equal(got, ids[2:3]) {
		t.Errorf("behind: %v, want %v", got, ids[2:3])
	}
}

// The number of statements is that of one tenant.
func TestLookingForTenantsToMigrateIsOneQuery(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.CreateAll(t, "a", "b", "c", "d", "e", "f")
	before := f.Pool.Stat().AcquireCount() + f.Service.Stat().AcquireCount()
	if got := behind(t, f.Tenants); len(got) != 0 {
		t.Errorf("behind: %v", got)
	}
	if n := f.Pool.Stat().AcquireCount() + f.Service.Stat().AcquireCount() - before; n > 2 {
		t.Errorf("%d statements for 6 tenants", n)
	}
}

// A statement that needs what a migration adds says so, and is not taken for one on an
// index that was deleted.
func TestATenantThatIsBehindIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ids := f.CreateAll(t, "old", "new")
	f.exec(t, ids[0], `UPDATE ragd.tenants SET schema_version = schema_version - 1 WHERE tenant_id = '<id>'`)
	db := data.NewDB(f.Service, 0)
	for _, sql := range []string{`SELECT later FROM tenant.documents`, `SELECT FROM tenant.later`, `SELECT later(1)`} {
		_, err := db.Handle(ids[0]).Exec(t.Context(), sql)
		if err == nil || !strings.Contains(err.Error(), "ragd migrate") {
			t.Errorf("%s fails with %v, want what to do", sql, err)
		}
		_, err = db.Handle(ids[1]).Exec(t.Context(), sql)
		if err == nil || strings.Contains(err.Error(), "ragd migrate") {
			t.Errorf("%s of a tenant at the newest version fails with %v", sql, err)
		}
	}
}
