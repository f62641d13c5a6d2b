package provision_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// slowly is a migration that takes long enough to be killed.
const slowly = `ALTER TABLE documents ADD COLUMN later text; SELECT pg_sleep(0.03)`

// killedURLs has the addresses of the database on which TestMigratesUntilKilled works.
const killedURLs = "RAGD_TEST_KILLED_"

// TestMigratesUntilKilled is the process that TestAKilledMigrationGoesOn kills.
func TestMigratesUntilKilled(t *testing.T) {
	if os.Getenv(killedURLs+"ADMIN") == "" {
		t.Skip("run by TestAKilledMigrationGoesOn")
	}
	admin, err := postgres.Open(t.Context(), postgres.Config{URL: os.Getenv(killedURLs + "ADMIN")})
	must(t, err)
	service, err := postgres.Open(t.Context(), postgres.Config{URL: os.Getenv(killedURLs + "SERVICE")})
	must(t, err)
	s, _ := fixture{tenanttest.Fixture{Pool: admin, Service: service}}.newer(t, slowly)
	_, err = s.Migrate(t.Context(), behind(t, s), 2, func(provision.Migrated) {})
	must(t, err)
}

func TestAKilledMigrationGoesOn(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const tenants = 24
	var names []string
	for n := range tenants {
		names = append(names, fmt.Sprintf("t%02d", n))
	}
	f.CreateAll(t, names...)
	newer, newest := f.newer(t, slowly)

	child := exec.Command(os.Args[0], "-test.run=^TestMigratesUntilKilled$")
	child.Env = append(os.Environ(), killedURLs+"ADMIN="+f.Pool.Config().ConnString(), killedURLs+"SERVICE="+f.Service.Config().ConnString())
	must(t, child.Start())
	migrated := func() int { return f.Count(t, `SELECT count(*) FROM ragd.tenants WHERE schema_version = $1`, newest) }
	wait.For(t, "three tenants to be migrated", func() bool { return migrated() >= 3 })
	must(t, child.Process.Kill())
	_ = child.Wait() // it was killed

	left := behind(t, newer)
	if len(left) == 0 || len(left) > tenants-3 {
		t.Fatalf("%d of %d tenants are left after the kill", len(left), tenants)
	}
	applied := 0
	failed, err := newer.Migrate(t.Context(), left, 4, func(m provision.Migrated) { applied += m.Applied })
	must(t, err)
	// A file that was running may be committed by the server after the process is dead.
	if failed != 0 || applied > len(left) || applied < len(left)-2 {
		t.Errorf("the second run migrates %d of %d tenants, %d failed", applied, len(left), failed)
	}
	if n := migrated(); n != tenants {
		t.Errorf("%d of %d tenants are at the newest version", n, tenants)
	}
	if n, err := newer.CorrectVersions(t.Context()); n != 0 || err != nil {
		t.Errorf("%d recorded versions were wrong, %v", n, err)
	}
}
