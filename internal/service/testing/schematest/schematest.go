// Package schematest gives a test a database with the schemas of the service.
package schematest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io/fs"
	"log/slog"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/migrations"
)

// Pool returns a pool on a new database in which the schemas of the service are at the newest version,
// as service.New leaves them. It is closed when the test ends.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	template, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	pool := template.Pool(t)
	if _, err := pool.Exec(t.Context(), renew); err != nil {
		t.Fatal(err)
	}
	return pool
}

// renew changes the random values that the migrations have written.
const renew = `
	UPDATE ragd.secrets SET value = sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));
	WITH made AS (SELECT gen_random_uuid() AS id) UPDATE ragd.identity SET database_id = made.id, service_id = made.id FROM made`

// migrated returns the template of the databases of Pool.
var migrated = sync.OnceValues(func() (pgtest.Template, error) {
	sum := sha256.New()
	for _, files := range []fs.FS{migrations.Control(), migrations.Shared()} {
		if err := hashFiles(sum, files); err != nil {
			return pgtest.Template{}, err
		}
	}
	queue, err := rivermigrate.New(riverpgxv5.New(nil), nil)
	if err != nil {
		return pgtest.Template{}, err
	}
	for _, m := range queue.AllVersions() {
		_, _ = fmt.Fprintln(sum, m.Version, m.SQLUp) // never fails
	}
	return pgtest.Template{Key: fmt.Sprintf("service_%x", sum.Sum(nil)[:8]), Fill: migrate}, nil
})

// hashFiles adds the names and contents of files to a hash.
func hashFiles(sum hash.Hash, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		_, _ = fmt.Fprintf(sum, "%s %d %s\n", path, len(text), text)
		return err
	})
}

// migrate brings the schemas of the service in a database to the newest version.
func migrate(ctx context.Context, url string) error {
	pool, err := postgres.Open(ctx, postgres.Config{URL: url, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := provision.MigrateControl(ctx, pool); err != nil {
		return err
	}
	return job.Migrate(ctx, riverpgxv5.New(pool))
}
