package rpc_test

import (
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// A running build whose index gets another config continues with that config.
func TestAConfigSetDuringABuildIsBuilt(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "main", IndexConfig: &ragdv1.IndexConfig{Type: "ivfflat"}}); err != nil {
		t.Fatal(err)
	}
	upload(t, c, film, director)
	tx, err := s.Pool.Begin(t.Context()) // an open write transaction delays the build
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE tenant_acme.chunk_1 IN ROW EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	started, err := c.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the build to wait for the lock", func() (waits bool) {
		err := s.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_progress_create_index WHERE datname = current_database() AND lockers_total > 0)`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		return waits
	})
	if _, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "main", IndexConfig: &ragdv1.IndexConfig{Type: "hnsw"}}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if job := finished(t, c, started.JobId); job.Status != "succeeded" {
		t.Errorf("the build ended as %v", job)
	}
	var built string
	if err := s.Pool.QueryRow(t.Context(), `
		SELECT a.amname FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam WHERE c.oid = 'tenant_acme.embedding_1'::regclass`).Scan(&built); err != nil || built != "hnsw" {
		t.Errorf("built is %q, error %v", built, err)
	}
}

// Builds of several tenants use the same connections one after another, each with its own
// schema.
func TestBuildsOfTenantsAreIndependent(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	for _, name := range []string{"acme", "bolt", "cask", "dory"} {
		c := s.Tenant(t, name)
		c.Index(t, "main")
		upload(t, c, film)
		built, err := c.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "main"})
		if err != nil {
			t.Fatal(err)
		}
		finished(t, c, built.JobId)
		wait.For(t, "the search width of "+name+" to be measured", func() bool {
			var width int
			err := s.Pool.QueryRow(t.Context(), `SELECT search_width FROM tenant_`+name+`.indexes`).Scan(&width)
			if err != nil {
				t.Fatal(err)
			}
			return width > 0
		})
	}
}
