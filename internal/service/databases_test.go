package service_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/faultproxy"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// inThree starts a service with three databases, and a tenant in each.
func inThree(t *testing.T) (s *servicetest.Service, tenants map[string]servicetest.Client) {
	t.Helper()
	east, west := pgtest.URL(t), pgtest.URL(t)
	s = servicetest.New(t, service.Config{MasterKeys: servicetest.Keys(t)})
	s.Register(t, "east", east)
	s.Register(t, "west", west)
	return s, map[string]servicetest.Client{
		"main": s.TenantIn(t, "main", "anna"), "east": s.TenantIn(t, "east", "bert"), "west": s.TenantIn(t, "west", "cleo"),
	}
}

// note uploads a document with a word that no other tenant has.
func note(t *testing.T, c servicetest.Client, word string) {
	t.Helper()
	c.Index(t, "notes")
	d := c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "notes", Source: &ragdv1.UploadDocumentRequest_Text{Text: "A note about " + word + "."}})
	if d.GetStatus() != "ready" {
		t.Fatalf("the document is %v", d)
	}
}

// notesOf returns the texts of a query.
func notesOf(t *testing.T, c servicetest.Client) string {
	t.Helper()
	res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "notes", QueryText: "a note about anything"})
	if err != nil {
		t.Fatal(err)
	}
	return res.GetRelevantContext()
}

// Tenants in different databases upload and find their own documents, and no others.
func TestTenantsLiveInSeveralDatabases(t *testing.T) {
	t.Parallel()
	s, tenants := inThree(t)
	words := map[string]string{"main": "apricots", "east": "bananas", "west": "cherries"}
	for database, c := range tenants {
		note(t, c, words[database])
	}
	for database, c := range tenants {
		text := notesOf(t, c)
		for other, word := range words {
			if strings.Contains(text, word) != (other == database) {
				t.Errorf("the tenant in %s finds %q", database, text)
			}
		}
	}
	list, err := s.Operator().ListDatabases(t.Context(), &ragdv1.ListDatabasesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"main", "east", "west"} {
		d := list.GetDatabases()[i]
		if d.GetDatabaseName() != name || d.GetTenants() != 1 || !d.GetAnswers() || d.GetBytes() < 1 || d.GetSchemaVersion() != d.GetNewestSchemaVersion() {
			t.Errorf("the list has %v", d)
		}
	}
	var left int
	if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname IN ('tenant_bert', 'tenant_cleo')`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d schemas of other databases' tenants are in the first one, %v", left, err)
	}
	for _, name := range []string{"anna", "bert", "cleo"} {
		done, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: name})
		if err != nil || done.GetDeletedBytes() == 0 {
			t.Errorf("%v, %v", done, err)
		}
	}
	if _, err := s.Operator().DeleteDatabase(t.Context(), &ragdv1.DeleteDatabaseRequest{DatabaseName: "east"}); err != nil {
		t.Error(err)
	}
}

// A tenant of a registered database is deleted and restored there. A call that broke off between the two databases is completed by
// its repeat.
func TestATenantOfARegisteredDatabaseIsRestored(t *testing.T) {
	t.Parallel()
	east := pgtest.URL(t)
	s := servicetest.New(t, service.Config{MasterKeys: servicetest.Keys(t), DeletedRetention: time.Hour})
	s.Register(t, "east", east)
	c := s.TenantIn(t, "east", "bert")
	note(t, c, "bananas")
	there := pgtest.OpenPool(t, east)
	status := func() (status string) {
		if err := there.QueryRow(t.Context(), `SELECT status FROM ragd.tenants WHERE tenant_id = 'bert'`).Scan(&status); err != nil {
			t.Fatal(err)
		}
		return status
	}
	for _, broken := range []bool{false, true} {
		for range 2 { // the second completes the first, or finds nothing to do
			if _, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "bert"}); err != nil {
				t.Fatal(err)
			}
			if now := status(); now != "deleted" {
				t.Fatalf("the tenant is %s in its database", now)
			}
			if broken {
				_, err := there.Exec(t.Context(), `UPDATE ragd.tenants SET status = 'ready', kept_status = NULL, deleted_at = NULL, erase_at = NULL WHERE tenant_id = 'bert'`)
				if err != nil {
					t.Fatal(err)
				}
				broken = false
			}
		}
		if _, err := c.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{}); connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("a call of a deleted tenant: %v", err)
		}
		if _, err := s.Operator().RestoreTenant(t.Context(), &ragdv1.RestoreTenantRequest{TenantId: "bert"}); err != nil {
			t.Fatal(err)
		}
		if now := status(); now != "ready" {
			t.Fatalf("the restored tenant is %s in its database", now)
		}
		if found := notesOf(t, c); !strings.Contains(found, "bananas") {
			t.Errorf("the restored tenant finds %q", found)
		}
	}
}

// A database that does not answer takes only its own tenants with it, and they come back with it.
func TestADatabaseThatIsDownTakesOnlyItsTenantsWithIt(t *testing.T) {
	t.Parallel()
	admin := pgtest.Pool(t)
	there := pgtest.Pool(t)
	proxy := faultproxy.New(t, there)
	config := service.Config{MasterKeys: servicetest.Keys(t), AdminPool: admin}
	s := servicetest.New(t, config)
	s.Register(t, "east", proxy.URL(t, there))
	anna, bert := s.TenantIn(t, "main", "anna"), s.TenantIn(t, "east", "bert")
	note(t, anna, "apricots")
	note(t, bert, "bananas")
	proxy.Begin(t, faultproxy.Down)
	wait.For(t, "the database is seen to be down", func() bool {
		_, err := bert.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
		var wire *connect.Error
		return errors.As(err, &wire) && wire.Code() == connect.CodeUnavailable && strings.Contains(wire.Message(), `database "east"`)
	})
	start := time.Now()
	_, err := bert.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
	if took := time.Since(start); connect.CodeOf(err) != connect.CodeUnavailable || took > 30*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	notesOf(t, anna)
	second := servicetest.New(t, config) // starts without the database
	notesOf(t, second.Client(anna.Secret))
	if _, err := second.Client(bert.Secret).ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{}); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("the second instance answers %v", err)
	}
	proxy.End(t)
	for _, of := range []servicetest.Client{bert, second.Client(bert.Secret)} {
		wait.For(t, "the database answers again", func() bool {
			_, err := of.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
			return err == nil
		})
		if text := notesOf(t, of); !strings.Contains(text, "bananas") {
			t.Errorf("found %q", text)
		}
	}
}

// An instance that has served a tenant in a database finds it elsewhere after a move, also when that database is down or
// was removed and so cannot say that the tenant has left it.
func TestATenantIsFoundWhenItsOldDatabaseIsGone(t *testing.T) {
	t.Parallel()
	admin := pgtest.Pool(t)
	west := pgtest.Pool(t)
	proxy := faultproxy.New(t, west)
	config := service.Config{MasterKeys: servicetest.Keys(t), AdminPool: admin, KeepMoved: time.Second}
	s := servicetest.New(t, config)
	s.Register(t, "east", pgtest.URL(t))
	s.Register(t, "west", proxy.URL(t, west))
	bert, cleo := s.TenantIn(t, "east", "bert"), s.TenantIn(t, "west", "cleo")
	note(t, bert, "bananas")
	note(t, cleo, "cherries")
	second := servicetest.New(t, config)
	found := func(c servicetest.Client, word string) {
		t.Helper()
		for _, of := range []servicetest.Client{c, second.Client(c.Secret)} {
			if text := notesOf(t, of); !strings.Contains(text, word) {
				t.Errorf("found %q, not %s", text, word)
			}
		}
	}
	found(bert, "bananas")
	found(cleo, "cherries")
	moveTo := func(tenant, database string, phases ...string) {
		t.Helper()
		m, err := s.Operator().MoveTenant(t.Context(), &ragdv1.MoveTenantRequest{TenantId: tenant, DatabaseName: database})
		if err != nil {
			t.Fatal(err)
		}
		wait.For(t, "the move", func() bool {
			now, err := s.Operator().GetTenantMove(t.Context(), &ragdv1.GetTenantMoveRequest{MoveId: m.GetMoveId()})
			if err != nil || now.GetPhase() == "failed" {
				t.Fatalf("the move is %v, %v", now, err)
			}
			return slices.Contains(phases, now.GetPhase())
		})
	}
	remove := func(database string) error {
		_, err := s.Operator().DeleteDatabase(t.Context(), &ragdv1.DeleteDatabaseRequest{DatabaseName: database})
		return err
	}
	moveTo("bert", "main", "switching", "dropping", "done")
	if err := remove("east"); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("the source of a move is removed: %v", err)
	}
	wait.For(t, "the old copy is dropped", func() bool { return remove("east") == nil })
	found(bert, "bananas")

	moveTo("cleo", "main", "switching", "dropping", "done")
	proxy.Begin(t, faultproxy.Down)
	for _, of := range []servicetest.Client{cleo, second.Client(cleo.Secret)} {
		wait.For(t, "the tenant is found elsewhere", func() bool {
			_, err := of.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
			return err == nil
		})
	}
	found(cleo, "cherries")
}
