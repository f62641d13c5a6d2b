package main

import (
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"
	"time"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/migrations"
)

// withColumn returns the migrations of tenants and another one, which adds a column.
func withColumn() (fs.FS, error) {
	all := fstest.MapFS{}
	names, err := fs.Glob(migrations.Tenant(), "*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(migrations.Tenant(), name)
		if err != nil {
			return nil, err
		}
		all[name] = &fstest.MapFile{Data: text}
	}
	next := fmt.Sprintf("%06d_bench.up.sql", migrations.Newest(migrations.Tenant())+1)
	all[next] = &fstest.MapFile{Data: []byte(`ALTER TABLE documents ADD COLUMN bench text`)}
	return all, nil
}

// migrate adds a column to a table of every tenant while the service runs, as ragd migrate
// does.
func (b *bench) migrate(ctx context.Context) error {
	files, err := withColumn()
	if err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, postgres.Config{URL: b.daemon.DatabaseURL(), MaxConns: 2*b.parallel + 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	tenants, err := provision.New(ctx, pool, provision.Config{Migrations: files})
	if err != nil {
		return err
	}
	start := time.Now()
	behind, all, err := tenants.Behind(ctx)
	if err != nil {
		return err
	}
	found := time.Since(start)
	failed, err := tenants.Migrate(ctx, behind, b.parallel, func(m provision.Migrated) {
		if m.Err != nil {
			fmt.Printf("tenant %s: %v\n", m.Tenant, m.Err)
		}
	})
	if err != nil {
		return err
	}
	took := time.Since(start)
	start = time.Now()
	if _, err := tenants.CorrectVersions(ctx); err != nil {
		return err
	}
	printTable(fmt.Sprintf("migration of %d tenants by one column, %d at once | is | goal |", len(behind), b.parallel), []string{
		fmt.Sprintf("all | %.1f s | %s for 10,000", took.Seconds(), goalMigrated),
		fmt.Sprintf("a tenant | %s | %s", ms(took/time.Duration(max(1, len(behind)))), ms(goalMigrated/10_000)),
		fmt.Sprintf("find who is behind | %s |", ms(found)),
		fmt.Sprintf("read all versions from the schemas | %s |", ms(time.Since(start))),
		fmt.Sprintf("failed | %d of %d | 0", failed, all),
	})
	return nil
}
