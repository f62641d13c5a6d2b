package placement_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
)

// A service on one server has tenants in a registered Citus cluster, on each of its workers.
func TestTenantsOfARegisteredClusterAreSpread(t *testing.T) {
	t.Parallel()
	cluster, single := pgtest.Cluster(t)
	s := servicetest.New(t, service.Config{AdminPool: pgtest.OpenPool(t, single), MasterKeys: servicetest.Keys(t)})
	d, err := s.Operator().RegisterDatabase(t.Context(), &ragdv1.RegisterDatabaseRequest{DatabaseName: "wide", Url: cluster, Distribution: "citus"})
	if err != nil || d.Distribution != "citus" || d.Bytes == 0 {
		t.Fatalf("registered as %v, %v", d, err)
	}
	res, err := s.Operator().ListDatabases(t.Context(), &ragdv1.ListDatabasesRequest{})
	if err != nil || res.Databases[0].Distribution != "" || res.Databases[1].Distribution != "citus" {
		t.Errorf("listed as %v, %v", res, err)
	}
	ids := []string{"acme", "bolt", "cork", "dune"}
	for _, id := range ids {
		c := s.TenantIn(t, "wide", id)
		c.Index(t, "docs")
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour of " + id + ".")})
		found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour"})
		if err != nil || len(found.Sources) != 1 {
			t.Errorf("%s finds %v, %v", id, found, err)
		}
	}
	rows, err := pgtest.OpenPool(t, cluster).Query(t.Context(), `
		SELECT l.groupid::int FROM pg_dist_partition AS p JOIN pg_dist_shard AS s USING (logicalrelid) JOIN pg_dist_placement AS l USING (shardid)
		WHERE p.logicalrelid::text LIKE '%chunk_1'`)
	must(t, err)
	workers, err := pgx.CollectRows(rows, pgx.RowTo[int])
	must(t, err)
	slices.Sort(workers)
	if len(workers) != len(ids) || len(slices.Compact(workers)) != 2 {
		t.Errorf("the tables of chunks are on the workers %v", workers)
	}
	for from, to := range map[string]string{"acme": "main", "single": "wide"} {
		if to == "wide" {
			s.TenantIn(t, "main", from)
		}
		_, err := s.Operator().MoveTenant(t.Context(), &ragdv1.MoveTenantRequest{TenantId: from, DatabaseName: to})
		wantError(t, "a move to "+to, err, connect.CodeFailedPrecondition, "spread by Citus")
	}

	// A deletion ends connections for the role of the tenant, but not those of other databases of a worker.
	elsewhere, err := pgx.ParseConfig(single)
	must(t, err)
	elsewhere.User = tenant.ID("acme").Schema()
	beside, err := pgx.ConnectConfig(t.Context(), elsewhere)
	must(t, err)
	defer beside.Close(t.Context())
	if _, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"}); err != nil {
		t.Error(err)
	}
	s.TenantIn(t, "wide", "acme") // which ends those for roles that are gone
	if err := beside.Ping(t.Context()); err != nil {
		t.Errorf("a connection to another database: %v", err)
	}
}

// An operator empties a worker by Citus's own means while its tenants are used.
func TestAClusterIsRebalancedWhileItIsUsed(t *testing.T) {
	t.Parallel()
	cluster, single := pgtest.Cluster(t)
	s := servicetest.New(t, service.Config{AdminPool: pgtest.OpenPool(t, single), MasterKeys: servicetest.Keys(t)})
	s.Register(t, "wide", cluster)
	var clients []servicetest.Client
	for _, id := range []string{"acme", "bolt", "cork"} {
		c := s.TenantIn(t, "wide", id)
		c.Index(t, "docs")
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "first", Source: servicetest.Text("The harbour of " + id + ".")})
		clients = append(clients, c)
	}
	pool := pgtest.OpenPool(t, cluster)
	busy := func() (workers int) {
		t.Helper()
		must(t, pool.QueryRow(t.Context(), `
			SELECT count(DISTINCT l.groupid) FROM pg_dist_schema AS s JOIN pg_dist_partition AS p USING (colocationid)
			JOIN pg_dist_shard AS h USING (logicalrelid) JOIN pg_dist_placement AS l USING (shardid)`).Scan(&workers))
		return workers
	}
	if n := busy(); n != 2 {
		t.Fatalf("%d workers have tenants", n)
	}
	ended := make(chan struct{})
	var written sync.Map
	var group sync.WaitGroup
	for i, c := range clients {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				default:
				}
				uri := fmt.Sprint("meanwhile-", n)
				_, err := c.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text("Another harbour.")})
				if err == nil {
					written.Store([2]any{i, uri}, true)
				} else if code := connect.CodeOf(err); code != connect.CodeUnavailable && code != connect.CodeDeadlineExceeded && code != connect.CodeAborted {
					t.Errorf("an upload: %v", err)
				}
				if found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour"}); err != nil || len(found.Sources) == 0 {
					t.Errorf("a query finds %v, %v", found, err)
				}
			}
		})
	}
	_, err := pool.Exec(t.Context(), `
		SELECT citus_set_node_property(n.nodename, n.nodeport, 'shouldhaveshards', false)
		FROM pg_dist_node AS n WHERE n.groupid <> 0 ORDER BY n.nodeid LIMIT 1`)
	must(t, err)
	_, err = pool.Exec(t.Context(), `SELECT citus_rebalance_start(shard_transfer_mode := 'block_writes')`)
	must(t, err)
	wait.For(t, "the end of the rebalance", func() bool {
		var state string
		must(t, pool.QueryRow(t.Context(), `SELECT state::text FROM citus_rebalance_status()`).Scan(&state))
		if state == "failed" || state == "cancelled" {
			t.Fatal("the rebalance has " + state)
		}
		return state == "finished"
	})
	close(ended)
	group.Wait()
	if n := busy(); n != 1 {
		t.Errorf("%d workers have tenants", n)
	}
	written.Range(func(key, _ any) bool {
		of := key.([2]any)
		if _, err := clients[of[0].(int)].GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: of[1].(string)}); err != nil {
			t.Errorf("a document that was acknowledged: %v", err)
		}
		return true
	})
}

// An archive takes a tenant with its keys to a cluster, and back to one server.
func TestArchivesTakeTenantsToAClusterAndBack(t *testing.T) {
	t.Parallel()
	cluster, single := pgtest.Cluster(t)
	s := servicetest.New(t, service.Config{AdminPool: pgtest.OpenPool(t, single), MasterKeys: servicetest.Keys(t)})
	s.Register(t, "wide", cluster)
	operator := s.Operator()
	c := s.TenantIn(t, "main", "elms")
	c.Index(t, "docs")
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour of elms.")})
	for _, database := range []string{"wide", "main"} {
		archive := exportTenant(t, operator, "elms")
		_, err := operator.DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "elms"})
		must(t, err)
		imported := importTenant(t, operator, &ragdv1.ImportOptions{Database: database}, archive)
		found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour"})
		if err != nil || imported.Tenant.Database != database || len(found.Sources) != 1 {
			t.Errorf("in %s of %s: %v, %v", imported.Tenant.Database, database, found, err)
		}
	}
}
