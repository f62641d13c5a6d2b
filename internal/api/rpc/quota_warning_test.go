package rpc_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// warnedOf returns the header with the quotas that a tenant has nearly used up.
func warnedOf(t *testing.T, s *servicetest.Service, secret string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/ragd.v1.IndexService/ListIndexes", strings.NewReader("{}"))
	noError(t, err)
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	noError(t, err)
	noError(t, res.Body.Close())
	return res.Header.Get("Ragd-Quota-Warning")
}

// Uploads to two instances at once warn their tenant once when they come near a quota, and once more only after it had
// much less.
func TestATenantIsWarnedOnceNearItsQuota(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	second := servicetest.New(t, service.Config{AdminPool: s.Pool, NoWorkers: true})
	ctx := t.Context()
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	planOf(t, s, "starter", map[string]any{"maxDocuments": 10})
	havePlan(t, s, "acme", "starter")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
	}
	w := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"quota.warning", "document.deleted"}})
	other := watchEvents(t, bolt, &ragdv1.WatchEventsRequest{Types: []string{"quota.warning", "document.deleted"}})
	upload := func(c servicetest.Client, uri string) error {
		_, err := c.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text("text of " + uri)})
		return err
	}
	for n := range 7 {
		noError(t, upload(acme, fmt.Sprint("early ", n)))
	}
	if header := warnedOf(t, s, acme.Secret); header != "" {
		t.Errorf("with 7 of 10 documents, the header is %q", header)
	}
	clients := []servicetest.Client{acme, second.Client(acme.Secret)}
	var group sync.WaitGroup
	for n := range 12 {
		group.Go(func() {
			if err := upload(clients[n%2], fmt.Sprint("late ", n)); err != nil && connect.CodeOf(err) != connect.CodeResourceExhausted {
				t.Error(err)
			}
			if err := upload(bolt, fmt.Sprint(n)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if header := warnedOf(t, second, acme.Secret); header != "maxDocuments" {
		t.Errorf("with all documents, the header is %q", header)
	}
	remove := func(c servicetest.Client, uri string) {
		t.Helper()
		_, err := c.DeleteDocument(ctx, &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: uri})
		noError(t, err)
	}
	remove(acme, "early 0") // also tells that there was no second warning before
	noError(t, upload(acme, "again"))
	for n := 1; n < 5; n++ {
		remove(acme, fmt.Sprint("early ", n))
	}
	for n := range 3 { // from 6 of 10 to 9
		noError(t, upload(acme, fmt.Sprint("more ", n)))
	}
	remove(acme, "again")
	warning := w.next(t) // uploads of several calls may be one transaction, so that more than 8 are there at once
	data := warning.GetData().AsMap()
	if warning.Type != "quota.warning" || data["quota"] != "maxDocuments" || data["used"].(float64) < 8 || data["limit"] != 10.0 || data["plan"] != "starter" {
		t.Errorf("the warning is %v", warning)
	}
	wantTypes(t, w, "document.deleted", "document.deleted", "document.deleted", "document.deleted", "document.deleted", "quota.warning", "document.deleted")

	remove(bolt, "0")
	wantTypes(t, other, "document.deleted")
	if header := warnedOf(t, s, bolt.Secret); header != "" {
		t.Errorf("a tenant without a plan gets the header %q", header)
	}
}

// Tokens that are counted warn their tenant once in a month.
func TestATenantIsWarnedNearItsQuotaOfTokens(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{NoWorkers: true, Providers: service.Providers{
		OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1},
	}})
	planOf(t, s, "small", map[string]any{"maxTokensPerMonth": 1})
	acme := s.Tenant(t, "acme")
	havePlan(t, s, "acme", "small")
	w := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"quota.*", "key.*"}})
	_, err := acme.Embed(t.Context(), &ragdv1.EmbedRequest{Model: "openai/tiny", Texts: []string{"the first words use it up"}})
	noError(t, err)
	for range 2 {
		noError(t, s.Handlers.Usage.Flush(t.Context()))
	}
	s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme"})
	wantTypes(t, w, "quota.warning", "key.created")
}
