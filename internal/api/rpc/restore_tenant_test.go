package rpc_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
)

// states returns the ids of the tenants in a state.
func states(t *testing.T, s *servicetest.Service, state string) (ids []string) {
	t.Helper()
	res, err := s.Operator().ListTenants(t.Context(), &ragdv1.ListTenantsRequest{State: state})
	noError(t, err)
	for _, tenant := range res.Tenants {
		ids = append(ids, tenant.TenantId)
	}
	return ids
}

// A tenant with something of everything is deleted: nobody uses it, and it is found under no name. Then it is restored: all of its
// rows and keys are the same, and another tenant has noticed nothing.
func TestADeletedTenantComesBackAsItWas(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{
		DeletedRetention: time.Hour, AllowedPrivateNetworks: thisMachine, MasterKeys: masterKeys(t, "1"), Sleep: sleep.StoreConfig{Place: t.TempDir()},
		Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
	const name = "lazarus"
	_, secret := fullTenant(t, s, name, "apricot")
	_, other := world(t, s, "bolt", "kumquat")
	before, theirs := tenantRows(t, s, name, []string{}), tenantRows(t, s, "bolt", []string{})
	delete(before, "events") // some end with time
	operator := s.Operator()

	_, err := operator.RestoreTenant(t.Context(), &ragdv1.RestoreTenantRequest{TenantId: name})
	wantCode(t, "a refused call", err, connect.CodeFailedPrecondition, "is not deleted")
	done, err := operator.DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: name})
	noError(t, err)
	if left := time.Until(done.EraseTime.AsTime()); left < 55*time.Minute || left > time.Hour || len(done.Deleted) < 10 || len(done.Kept) > 0 {
		t.Errorf("the deletion says %v", done)
	}

	_, err = s.Client(secret).ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
	wantCode(t, "a call of a deleted tenant", err, connect.CodeUnauthenticated)
	for _, door := range []string{"/mcp", "/v1/models"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+door, http.NoBody)
		noError(t, err)
		req.Header.Set("Authorization", "Bearer "+secret)
		res, err := http.DefaultClient.Do(req)
		noError(t, err)
		noError(t, res.Body.Close())
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s answers %s", door, res.Status)
		}
	}
	if diff := cmp.Diff([]string{"bolt"}, states(t, s, "")); diff != "" {
		t.Errorf("tenants (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{name}, states(t, s, "deleted")); diff != "" {
		t.Errorf("deleted tenants (-want +got):\n%s", diff)
	}
	again, err := operator.DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: name})
	noError(t, err)
	if !again.EraseTime.AsTime().Equal(done.EraseTime.AsTime()) {
		t.Errorf("a repeated deletion has put off the erasure to %v", again.EraseTime.AsTime())
	}
	for call, do := range map[string]func() error{
		"GetTenant": func() error {
			_, err := operator.GetTenant(t.Context(), &ragdv1.GetTenantRequest{TenantId: name})
			return err
		},
		"UpdateTenant": func() error {
			_, err := operator.UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: name, DisplayName: new("Other")})
			return err
		},
		"CreateApiKey": func() error {
			_, err := operator.CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{TenantId: name})
			return err
		},
		"ListApiKeys": func() error {
			_, err := operator.ListApiKeys(t.Context(), &ragdv1.ListApiKeysRequest{TenantId: name})
			return err
		},
		"SleepTenant": func() error {
			_, err := operator.SleepTenant(t.Context(), &ragdv1.SleepTenantRequest{TenantId: name})
			return err
		},
	} {
		if err := do(); connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "ragd tenant restore") {
			t.Errorf("%s answers %v", call, err)
		}
	}
	_, err = operator.CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: name})
	wantCode(t, "a refused call", err, connect.CodeFailedPrecondition, "ragd tenant delete "+name+" --erase")
	_, err = s.Client(other).RestoreTenant(t.Context(), &ragdv1.RestoreTenantRequest{TenantId: name})
	wantCode(t, "a call of a deleted tenant", err, connect.CodePermissionDenied)
	_, err = operator.RestoreTenant(t.Context(), &ragdv1.RestoreTenantRequest{TenantId: "nobody"})
	wantCode(t, "a refused call", err, connect.CodeNotFound, "nobody")

	restored, err := operator.RestoreTenant(t.Context(), &ragdv1.RestoreTenantRequest{TenantId: name})
	noError(t, err)
	if restored.State != "active" || restored.DeleteTime != nil || restored.EraseTime != nil {
		t.Errorf("restored as %v", restored)
	}
	after := tenantRows(t, s, name, []string{})
	delete(after, "events")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("rows before and after (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(theirs, tenantRows(t, s, "bolt", []string{})); diff != "" {
		t.Errorf("rows of another tenant (-before +after):\n%s", diff)
	}
	found, err := s.Client(secret).VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "where is apricot"})
	noError(t, err)
	if len(found.Sources) == 0 {
		t.Error("the restored tenant finds nothing")
	}
}

// tasks returns the kinds of the tasks of a tenant that have not ended, and how many documents wait for ingest.
func tasks(t *testing.T, s *servicetest.Service, name string) (kinds []string, documents int) {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), `
		SELECT DISTINCT j.kind FROM ragd.river_job AS j
		WHERE j.args->>'tenant' = $1 AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled') ORDER BY 1`, name)
	noError(t, err)
	kinds, err = pgx.CollectRows(rows, pgx.RowTo[string])
	noError(t, err)
	noError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.backlog WHERE tenant_id = $1`, name).Scan(&documents))
	return kinds, documents
}

// While a tenant is deleted its work rests: no document is embedded at a provider's price, and no connector runs. It goes on when the
// tenant is restored.
func TestTheWorkOfADeletedTenantRests(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{
		DeletedRetention: time.Hour, Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
	c := s.Tenant(t, "resting")
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/text-embedding-3-small", Dimension: 8})
	noError(t, err)
	ai.Set(modelserver.Fault{Status: http.StatusServiceUnavailable})
	uploaded, err := c.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("Waiting for a provider.")})
	noError(t, err)
	wait.For(t, "an attempt to embed", func() bool { return len(ai.Requests()) > 0 })
	kinds, _ := tasks(t, s, "resting")

	_, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "resting"})
	noError(t, err)
	ai.AwaitIdle(t)
	ai.Set(modelserver.Fault{})
	if _, documents := tasks(t, s, "resting"); documents != 0 {
		t.Errorf("%d documents of a deleted tenant wait for ingest", documents)
	}
	calls := len(ai.Requests())
	busy := s.Tenant(t, "busy") // whose work is done meanwhile
	busy.Index(t, "docs")
	busy.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "b", Source: servicetest.Text("Somebody else's.")})
	if now := len(ai.Requests()); now != calls {
		t.Errorf("%d calls of a provider for a deleted tenant", now-calls)
	}

	_, err = s.Operator().RestoreTenant(t.Context(), &ragdv1.RestoreTenantRequest{TenantId: "resting"})
	noError(t, err)
	wait.For(t, "the document", func() bool {
		d, err := c.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: uploaded.Document.DocumentId})
		noError(t, err)
		return d.Status == "ready"
	})
	if after, _ := tasks(t, s, "resting"); len(after) < len(kinds) {
		t.Errorf("tasks %v before, %v after", kinds, after)
	}
}

// A tenant that is asleep is deleted, which does not wake it, and restored asleep.
func TestATenantIsDeletedAsleep(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{DeletedRetention: time.Hour, MasterKeys: masterKeys(t, "1"), Sleep: sleep.StoreConfig{Place: t.TempDir()}})
	c := s.Tenant(t, "dozing")
	c.Index(t, "docs")
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour is closed.")})
	wait.For(t, "the end of the tenant's work", func() bool {
		_, err := s.Operator().SleepTenant(t.Context(), &ragdv1.SleepTenantRequest{TenantId: "dozing"})
		if connect.CodeOf(err) != connect.CodeFailedPrecondition {
			noError(t, err)
		}
		return err == nil
	})
	_, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "dozing"})
	noError(t, err)
	_, err = c.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
	wantCode(t, "a call of a deleted tenant", err, connect.CodeUnauthenticated)
	restored, err := s.Operator().RestoreTenant(t.Context(), &ragdv1.RestoreTenantRequest{TenantId: "dozing"})
	noError(t, err)
	if restored.State != "asleep" {
		t.Errorf("restored as %v", restored)
	}
	wait.For(t, "the tenant to wake", func() bool {
		found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour"})
		if connect.CodeOf(err) != connect.CodeUnavailable {
			noError(t, err)
			return len(found.Sources) == 1
		}
		return false
	})
}

// What a deleted tenant has is erased on request, and at once where its settings say so.
func TestADeletedTenantIsErasedOnRequest(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{DeletedRetention: time.Hour})
	for _, name := range []string{"first", "second"} {
		s.Tenant(t, name)
	}
	_, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "first"})
	noError(t, err)
	done, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "first", Erase: true})
	noError(t, err)
	if done.EraseTime != nil || len(done.Kept) == 0 {
		t.Errorf("the erasure says %v", done)
	}
	_, err = s.Operator().RestoreTenant(t.Context(), &ragdv1.RestoreTenantRequest{TenantId: "first"})
	wantCode(t, "a refused call", err, connect.CodeNotFound, "first")

	_, err = s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "second", Settings: servicetest.Object(t, map[string]any{"deletedRetention": "0s"})})
	noError(t, err)
	done, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "second"})
	noError(t, err)
	if done.EraseTime != nil || len(states(t, s, "deleted")) > 0 {
		t.Errorf("a tenant without retention was kept: %v", done)
	}
}
