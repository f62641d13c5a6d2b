package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// rowsIn returns the rows of a tenant in a database by table, as JSON without what belongs to a database, in one order.
func rowsIn(t *testing.T, pool *pgxpool.Pool, name string) map[string][]string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND (n.nspname = 'tenant_' || $1 OR n.nspname = 'ragd_shared' AND c.relrowsecurity)`, name)
	noError(t, err)
	type relation struct{ Schema, Table string }
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[relation])
	noError(t, err)
	found := map[string][]string{}
	for _, r := range all {
		where := ""
		if r.Schema == "ragd_shared" {
			where = fmt.Sprintf(" WHERE tenant_id = '%s'", name)
		}
		rows, err := pool.Query(t.Context(), `SELECT (to_jsonb(r) - '{xid,number}'::text[])::text FROM `+pgx.Identifier{r.Schema, r.Table}.Sanitize()+` AS r`+where+` ORDER BY 1`)
		noError(t, err)
		found[r.Table], err = pgx.CollectRows(rows, pgx.RowTo[string])
		noError(t, err)
	}
	return found
}

// restingRows is rowsIn once nothing changes any more.
func restingRows(t *testing.T, pool *pgxpool.Pool, name string) map[string][]string {
	t.Helper()
	same := func(a, b map[string][]string) bool { return cmp.Equal(a, b) }
	return wait.Rest(t, "the rows of the tenant", time.Second, same, func() map[string][]string { return rowsIn(t, pool, name) })
}

// moveTenant moves a tenant and waits until it lives in its new database.
func moveTenant(t *testing.T, s *servicetest.Service, name, database string) *ragdv1.TenantMove {
	t.Helper()
	m, err := s.Operator().MoveTenant(t.Context(), &ragdv1.MoveTenantRequest{TenantId: name, DatabaseName: database})
	noError(t, err)
	wait.For(t, "the end of the move", func() bool {
		m, err = s.Operator().GetTenantMove(t.Context(), &ragdv1.GetTenantMoveRequest{MoveId: m.MoveId})
		noError(t, err)
		return m.Phase != "copying"
	})
	if m.Phase == "failed" {
		t.Fatalf("the move has failed: %v", m)
	}
	return m
}

// A tenant with something of everything has it all after it was moved, and works as before.
func TestATenantWithEverythingIsMoved(t *testing.T) {
	t.Parallel()
	s := archiveService(t)
	pool := pgtest.Pool(t)
	const name = "mina"
	to, secret := fullTenant(t, s, name, "quince")
	_, _ = fullTenant(t, s, "lucy", "medlar")
	s.Register(t, "east", pool.Config().ConnString()) // later, as new tenants live in the smallest database
	before := restingRows(t, s.Pool, name)
	others := restingRows(t, s.Pool, "lucy")
	watching := make(chan error, 1)
	stream, err := s.Client(secret).WatchEvents(t.Context(), &ragdv1.WatchEventsRequest{})
	noError(t, err)
	go func() {
		for stream.Receive() {
		}
		watching <- stream.Err()
	}()
	m := moveTenant(t, s, name, "east")
	if m.FromDatabaseName != "main" || m.DatabaseName != "east" || m.Rows == 0 || m.KeepUntilTime == nil {
		t.Errorf("moved %v", m)
	}
	t.Logf("%v rows, %v bytes, writes refused for %v ms", m.Rows, m.Bytes, m.WritePauseMs)
	after := rowsIn(t, pool, name)
	for table, rows := range before {
		// Watchers extend their leases, and runs of connectors go on.
		if table == "event_watchers" || table == "connectors" {
			continue
		}
		if diff := cmp.Diff(rows, after[table]); diff != "" {
			t.Errorf("%s (-before +after):\n%s", table, diff)
		}
	}
	if diff := cmp.Diff(others, rowsIn(t, s.Pool, "lucy")); diff != "" {
		t.Errorf("the other tenant has changed (-before +after):\n%s", diff)
	}
	c := s.Client(secret)
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: to["index_name"], Uri: "after-the-move.txt", Source: servicetest.Text("A lighthouse keeper moved to another island.")})
	found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: to["index_name"], QueryText: "lighthouse keeper"})
	noError(t, err)
	if len(found.Sources) == 0 {
		t.Error("nothing is found after the move")
	}
	select { // its positions are those of the old database
	case err := <-watching:
		servicetest.WantCode(t, "a stream that was begun before the move", err, connect.CodeFailedPrecondition)
	case <-time.After(2 * time.Minute):
		t.Error("a stream that was begun before the move goes on")
	}
	got, err := s.Operator().GetTenant(t.Context(), &ragdv1.GetTenantRequest{TenantId: name})
	noError(t, err)
	if got.Database != "east" {
		t.Errorf("the tenant lives in %s", got.Database)
	}
	if _, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: name}); err != nil {
		t.Fatal(err)
	}
	for where, pool := range map[string]*pgxpool.Pool{"main": s.Pool, "east": pool} {
		for _, schema := range []string{"tenant_" + name, "left_tenant_" + name} {
			var left int
			noError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname = $1`, schema).Scan(&left))
			if left > 0 {
				t.Errorf("%s still has the schema %s", where, schema)
			}
		}
	}
}

// Only operators move tenants, to databases that are there.
func TestMovesAreForOperators(t *testing.T) {
	t.Parallel()
	s := archiveService(t)
	acme := s.Tenant(t, "acme")
	_, err := acme.MoveTenant(t.Context(), &ragdv1.MoveTenantRequest{TenantId: "acme", DatabaseName: "main"})
	servicetest.WantCode(t, "MoveTenant by a tenant", err, connect.CodePermissionDenied)
	_, err = acme.GetTenantMove(t.Context(), &ragdv1.GetTenantMoveRequest{MoveId: "x"})
	servicetest.WantCode(t, "GetTenantMove by a tenant", err, connect.CodePermissionDenied)
	_, err = acme.ListTenantMoves(t.Context(), &ragdv1.ListTenantMovesRequest{})
	servicetest.WantCode(t, "ListTenantMoves by a tenant", err, connect.CodePermissionDenied)
	for what, c := range map[string]struct {
		req  *ragdv1.MoveTenantRequest
		code connect.Code
	}{
		"no database":         {&ragdv1.MoveTenantRequest{TenantId: "acme"}, connect.CodeInvalidArgument},
		"an unknown database": {&ragdv1.MoveTenantRequest{TenantId: "acme", DatabaseName: "nowhere"}, connect.CodeNotFound},
		"an unknown tenant":   {&ragdv1.MoveTenantRequest{TenantId: "bolt", DatabaseName: "main"}, connect.CodeNotFound},
		"the same database":   {&ragdv1.MoveTenantRequest{TenantId: "acme", DatabaseName: "main"}, connect.CodeFailedPrecondition},
	} {
		_, err := s.Operator().MoveTenant(t.Context(), c.req)
		servicetest.WantCode(t, what, err, c.code)
		if c.code == connect.CodeInvalidArgument && !strings.Contains(err.Error(), "databaseName: is required") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = s.Operator().GetTenantMove(t.Context(), &ragdv1.GetTenantMoveRequest{MoveId: "x"})
	servicetest.WantCode(t, "a move that is not there", err, connect.CodeNotFound)
	listed, err := s.Operator().ListTenantMoves(t.Context(), &ragdv1.ListTenantMovesRequest{})
	noError(t, err)
	if len(listed.Moves) > 0 {
		t.Errorf("moves without any: %v", listed)
	}
}
