package index_test

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// maxLocks is what PostgreSQL reserves for one transaction by default.
const maxLocks = 64

// large creates an index with as many Postgres indexes on metadata as an index may have.
func large(t *testing.T, c servicetest.Client, name string) {
	t.Helper()
	var fields []string
	for n := range 16 {
		fields = append(fields, fmt.Sprint("field", n))
	}
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: name, MetadataIndexes: fields})
	must(t, err)
}

func TestDeletingAnIndexTakesFewLocks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	for _, client := range []servicetest.Client{c, other} {
		large(t, client, "large")
	}
	theirs := names(t, s, "other", `_1`)
	most := pgtest.CountLocks(t, s.Pool)
	_, err := c.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "large"})
	must(t, err)
	for _, command := range []string{"DROP INDEX", "DROP TABLE"} {
		if locks := most(command); locks == 0 || locks > maxLocks {
			t.Errorf("a transaction with %s holds %d locks, want 1 to %d", command, locks, maxLocks)
		}
	}
	if left := names(t, s, "acme", `^(chunk|term|edge|metadata)_1`); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if got := names(t, s, "other", `_1`); len(got) != len(theirs) {
		t.Errorf("another tenant has %v of %v", got, theirs)
	}
}

// A backup locks all tables until it ends.
func TestADeletionDoesNotWaitForABackup(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	config := s.Pool.Config().ConnConfig.Copy()
	config.RuntimeParams["application_name"] = "pg_dump"
	backup, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	_, err = backup.Exec(t.Context(), `BEGIN; LOCK TABLE tenant_acme.chunk_1 IN ACCESS SHARE MODE`)
	must(t, err)
	_, err = c.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"})
	must(t, err)
	c.Index(t, "docs")
	_, err = backup.Exec(t.Context(), `COMMIT`)
	must(t, err)
	must(t, backup.Close(t.Context()))
	wait.For(t, "maintenance", func() bool { return len(names(t, s, "acme", `^(chunk|term|edge)_1`)) == 0 })
	if got := names(t, s, "acme", `^chunk_2$`); len(got) != 1 {
		t.Errorf("the new index has %v", got)
	}
}

func TestMaintenanceDropsTheTablesThatADeletionLeft(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	large(t, c, "large")
	c.Index(t, "small")
	exec(t, s, `
		CREATE FUNCTION public.interrupt() RETURNS event_trigger LANGUAGE plpgsql AS $$
		BEGIN
			RAISE EXCEPTION 'interrupted';
		END $$;
		CREATE EVENT TRIGGER interrupt ON sql_drop EXECUTE FUNCTION public.interrupt()`)
	_, err := c.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "large"})
	must(t, err)
	if _, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "large"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("the deleted index: %v", err)
	}
	if left := names(t, s, "acme", `^chunk_1$`); len(left) != 1 {
		t.Fatal("the deletion was not interrupted")
	}
	exec(t, s, `DROP EVENT TRIGGER interrupt`)
	wait.For(t, "maintenance", func() bool { return len(names(t, s, "acme", `^(chunk|term|edge|metadata)_1`)) == 0 })
	if got := names(t, s, "acme", `^chunk_2$`); len(got) != 1 {
		t.Errorf("the other index has %v", got)
	}
}
