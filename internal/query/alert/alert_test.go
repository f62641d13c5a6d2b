package alert_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// text returns an upload of a document of one passage.
func text(uri, body string, metadata map[string]any, t *testing.T) *ragdv1.UploadDocumentRequest {
	t.Helper()
	return &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text(body), Metadata: servicetest.Object(t, metadata)}
}

func create(t *testing.T, c servicetest.Client, req *ragdv1.CreateAlertRequest) *ragdv1.Alert {
	t.Helper()
	req.IndexName = "docs"
	made, err := c.CreateAlert(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// matches returns the uris of the documents that match an alert, the oldest match first.
func matches(t *testing.T, c servicetest.Client, a *ragdv1.Alert) (uris []string) {
	t.Helper()
	for token := ""; ; {
		res, err := c.ListAlertMatches(t.Context(), &ragdv1.ListAlertMatchesRequest{AlertId: a.AlertId, PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range res.Matches {
			uris = append(uris, m.Source.Uri)
		}
		if token = res.NextPageToken; token == "" {
			slices.Reverse(uris)
			return uris
		}
	}
}

func want(t *testing.T, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// watch returns the types and uris of events of alerts that a caller sees, until an event of the document "last".
func watch(t *testing.T, c servicetest.Client) func() []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	stream, err := c.WatchEvents(ctx, &ragdv1.WatchEventsRequest{Types: []string{"alert.matched", "document.ready"}})
	if err != nil {
		t.Fatal(err)
	}
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	return func() (uris []string) {
		t.Helper()
		defer cancel()
		for stream.Receive() {
			e := stream.Msg().Event
			switch uri := e.GetData().AsMap()["uri"]; {
			case e == nil:
			case e.Type == "alert.matched":
				uris = append(uris, uri.(string))
			case uri == "last":
				return uris
			}
		}
		t.Fatal(stream.Err())
		return nil
	}
}

func TestEachNewPassageMatchesOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	acme.Upload(t, text("before", "The ferry to Ærø is late because of fog.", nil, t))
	some := create(t, acme, &ragdv1.CreateAlertRequest{QueryText: "delayed ferries in fog", MinScore: new(0.2), DisplayName: "late"})
	all := create(t, acme, &ragdv1.CreateAlertRequest{QueryText: "the ferry and the fog", SearchMode: "keyword"})
	near := create(t, acme, &ragdv1.CreateAlertRequest{QueryText: "the ferry to Ærø is late because of fog", SearchMode: "vector", MinScore: new(0.6)})
	recent := create(t, acme, &ragdv1.CreateAlertRequest{QueryText: "ferries", SearchMode: "keyword", Filter: servicetest.Object(t, map[string]any{"year": map[string]any{"$gte": 2020}})})
	seen := watch(t, acme)

	acme.Upload(t, text("fog", "Ferries are delayed: the fog over the sound is thick.", map[string]any{"year": 2024}, t))
	acme.Upload(t, text("old", "The ferry to Ærø is late because of fog, again.", map[string]any{"year": 1998}, t))
	acme.Upload(t, text("soup", "Boil the lentils with cumin and a bay leaf.", map[string]any{"year": 2024}, t))
	want(t, "hybrid", matches(t, acme, some), []string{"fog", "old"})
	want(t, "keyword", matches(t, acme, all), []string{"fog", "old"})
	want(t, "vector", matches(t, acme, near), []string{"old"})
	want(t, "with a filter", matches(t, acme, recent), []string{"fog"})

	// The same passage matches no second time, another one does.
	acme.Upload(t, text("fog", "Ferries are delayed: the fog over the sound is thick.", map[string]any{"year": 2025}, t))
	want(t, "after other metadata", matches(t, acme, some), []string{"fog", "old"})
	acme.Upload(t, text("fog", "Ferries sail again, without delay: the fog has gone.", map[string]any{"year": 2025}, t))
	want(t, "after another text", matches(t, acme, some), []string{"old", "fog"}) // the first passage is gone
	if _, err := acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "old"}); err != nil {
		t.Fatal(err)
	}
	want(t, "after its deletion", matches(t, acme, some), []string{"fog"})
	acme.Upload(t, text("last", "The end.", nil, t))
	events := seen()
	slices.Sort(events)
	want(t, "events", events, []string{"fog", "fog", "fog", "fog", "fog", "fog", "old", "old", "old"})

	// Another question holds from then on.
	changed, err := acme.UpdateAlert(t.Context(), &ragdv1.UpdateAlertRequest{AlertId: all.AlertId, QueryText: new("lentils"), Filter: servicetest.Object(t, nil)})
	if err != nil || changed.QueryText != "lentils" || changed.SearchMode != "keyword" {
		t.Fatalf("%v, %v", changed, err)
	}
	acme.Upload(t, text("stew", "Lentils with carrots.", nil, t))
	if got := matches(t, acme, all); got[len(got)-1] != "stew" {
		t.Errorf("the changed alert has %q", got)
	}

	// A paused alert misses what is ingested, also when it is resumed.
	pause := func(paused bool) {
		t.Helper()
		changed, err := acme.UpdateAlert(t.Context(), &ragdv1.UpdateAlertRequest{AlertId: all.AlertId, Paused: &paused})
		if err != nil || changed.Paused != paused || changed.QueryText != "lentils" {
			t.Fatalf("%v, %v", changed, err)
		}
	}
	before := matches(t, acme, all)
	pause(true)
	acme.Upload(t, text("dal", "Lentils with turmeric.", nil, t))
	want(t, "while it is paused", matches(t, acme, all), before)
	pause(false)
	want(t, "when it is resumed", matches(t, acme, all), before)
	acme.Upload(t, text("salad", "Lentils with parsley.", nil, t))
	want(t, "after it was resumed", matches(t, acme, all), append(before, "salad"))
	if made := create(t, acme, &ragdv1.CreateAlertRequest{QueryText: "rice", SearchMode: "keyword", Paused: true}); !made.Paused {
		t.Errorf("an alert that is made paused: %v", made)
	}
	if _, err := acme.DeleteAlert(t.Context(), &ragdv1.DeleteAlertRequest{AlertId: all.AlertId}); err != nil {
		t.Fatal(err)
	}
	acme.Upload(t, text("curry", "Lentils with coconut.", nil, t))
	_, err = acme.ListAlertMatches(t.Context(), &ragdv1.ListAlertMatchesRequest{AlertId: all.AlertId})
	servicetest.WantCode(t, "matches of a deleted alert", err, connect.CodeNotFound)
	if _, err := acme.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	list, err := acme.ListAlerts(t.Context(), &ragdv1.ListAlertsRequest{})
	if err != nil || len(list.Alerts) != 0 {
		t.Errorf("alerts of a deleted index: %v, %v", list, err)
	}
}

// Two keys of a tenant, another tenant, and a key that ends.
func TestAlertsKeepTheRightsOfTheirKeys(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
	}
	acme.Index(t, "other")
	redKey := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})})
	red := s.Client(redKey)
	elsewhere := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"other"}}}))
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))

	question := func() *ragdv1.CreateAlertRequest {
		return &ragdv1.CreateAlertRequest{QueryText: "merger", SearchMode: "keyword"}
	}
	ofRed, ofAdmin, ofBolt := create(t, red, question()), create(t, acme, question()), create(t, bolt, question())
	_, err := elsewhere.CreateAlert(t.Context(), &ragdv1.CreateAlertRequest{IndexName: "docs", QueryText: "merger", SearchMode: "keyword"})
	servicetest.WantCode(t, "an alert over an index outside the bounds", err, connect.CodeNotFound)

	redSees, readerSees, adminSees := watch(t, red), watch(t, reader), watch(t, acme)
	acme.Upload(t, text("red", "The merger is signed.", map[string]any{"team": "red"}, t))
	acme.Upload(t, text("blue", "The merger is a secret.", map[string]any{"team": "blue"}, t))
	acme.Upload(t, text("none", "A merger without a team.", nil, t))
	acme.Upload(t, text("last", "The end.", map[string]any{"team": "red"}, t))

	want(t, "of the filtered key", matches(t, red, ofRed), []string{"red"})
	want(t, "of the admin", matches(t, acme, ofAdmin), []string{"red", "blue", "none"})
	want(t, "of the filtered key, for the admin", matches(t, acme, ofRed), []string{"red"})
	want(t, "of another tenant", matches(t, bolt, ofBolt), nil)
	want(t, "events of the filtered key", redSees(), []string{"red"})
	want(t, "events of another key", readerSees(), nil)
	seen := adminSees()
	slices.Sort(seen)
	want(t, "events of the admin", seen, []string{"blue", "none", "red", "red"})

	for name, c := range map[string]servicetest.Client{"a reader": reader, "a bound key": elsewhere, "another tenant": bolt} {
		for _, a := range []*ragdv1.Alert{ofRed, ofAdmin} {
			_, err := c.GetAlert(t.Context(), &ragdv1.GetAlertRequest{AlertId: a.AlertId})
			servicetest.WantCode(t, name+" gets an alert", err, connect.CodeNotFound)
			_, err = c.ListAlertMatches(t.Context(), &ragdv1.ListAlertMatchesRequest{AlertId: a.AlertId})
			servicetest.WantCode(t, name+" lists matches", err, connect.CodeNotFound)
			_, err = c.UpdateAlert(t.Context(), &ragdv1.UpdateAlertRequest{AlertId: a.AlertId, QueryText: new("x")})
			servicetest.WantCode(t, name+" changes an alert", err, connect.CodeNotFound)
			_, err = c.DeleteAlert(t.Context(), &ragdv1.DeleteAlertRequest{AlertId: a.AlertId})
			servicetest.WantCode(t, name+" deletes an alert", err, connect.CodeNotFound)
		}
		list, err := c.ListAlerts(t.Context(), &ragdv1.ListAlertsRequest{})
		for _, a := range list.GetAlerts() {
			if err != nil || a.AlertId != ofBolt.AlertId {
				t.Errorf("%s lists %v, %v", name, a, err)
			}
		}
	}
	_, err = acme.UpdateAlert(t.Context(), &ragdv1.UpdateAlertRequest{AlertId: ofRed.AlertId, QueryText: new("x")})
	servicetest.WantCode(t, "the admin changes an alert of the filtered key", err, connect.CodePermissionDenied)

	// What is read from a document's content does not satisfy the filter of a key.
	acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "forged", ContentType: "text/markdown", Source: servicetest.Text("---\nteam: red\n---\nThe merger of a forger."),
	})
	want(t, "after a forged team", matches(t, red, ofRed), []string{"red"})

	if _, err := acme.RevokeApiKey(t.Context(), &ragdv1.RevokeApiKeyRequest{ApiKeyId: s.KeyID(t, redKey)}); err != nil {
		t.Fatal(err)
	}
	acme.Upload(t, text("later", "Another merger.", map[string]any{"team": "red"}, t))
	want(t, "after its key was revoked", matches(t, acme, ofRed), []string{"red"})
	ended, err := acme.GetAlert(t.Context(), &ragdv1.GetAlertRequest{AlertId: ofRed.AlertId})
	if err != nil || !strings.Contains(ended.EndedReason, "revoked") {
		t.Errorf("the alert of a revoked key: %v, %v", ended, err)
	}
	if got := matches(t, acme, ofAdmin); !slices.Contains(got, "later") {
		t.Errorf("the alert of another key has %q", got)
	}
}

// A service stops after a match was stored and before it was delivered: another one delivers it, once.
func TestAMatchOutlivesTheService(t *testing.T) {
	t.Parallel()
	config := service.Config{AdminPool: schematest.Pool(t), MasterKeys: servicetest.Keys(t), AllowedPrivateNetworks: []string{"127.0.0.1"}}
	var up atomic.Bool
	delivered := make(chan map[string]any, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var event struct{ Data map[string]any }
		if !up.Load() || json.NewDecoder(req.Body).Decode(&event) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		delivered <- event.Data
	}))
	t.Cleanup(server.Close)
	var secret string
	t.Run("match", func(t *testing.T) {
		acme := servicetest.New(t, config).Tenant(t, "acme")
		secret = acme.Secret
		acme.Index(t, "docs")
		create(t, acme, &ragdv1.CreateAlertRequest{QueryText: "merger", SearchMode: "keyword"})
		if _, err := acme.CreateHook(t.Context(), &ragdv1.CreateHookRequest{HookName: "alerts", Url: server.URL, Events: []string{"alert.matched"}}); err != nil {
			t.Fatal(err)
		}
		acme.Upload(t, text("first", "The merger is signed.", nil, t))
	})
	up.Store(true)
	acme := servicetest.New(t, config).Client(secret)
	acme.Upload(t, text("first", "The merger is signed.", map[string]any{"again": true}, t))
	acme.Upload(t, text("second", "Another merger is near.", nil, t))
	var uris []string
	for range 2 {
		select {
		case data := <-delivered:
			uris = append(uris, data["uri"].(string))
		case <-time.After(time.Minute):
			t.Fatalf("only %q were delivered", uris)
		}
	}
	slices.Sort(uris)
	want(t, "delivered", uris, []string{"first", "second"})
	if len(delivered) > 0 {
		t.Errorf("%v was delivered too", <-delivered)
	}
}

// An alert that an other version stored, with a filter that this one does not read, matches nothing and says so, and stops neither
// ingest nor the other alerts.
func TestAnAlertThatCannotBeReadStopsNothing(t *testing.T) {
	t.Parallel()
	pool := schematest.Pool(t)
	acme := servicetest.New(t, service.Config{AdminPool: pool}).Tenant(t, "acme")
	acme.Index(t, "docs")
	broken := create(t, acme, &ragdv1.CreateAlertRequest{QueryText: "merger", SearchMode: "keyword", Filter: servicetest.Object(t, map[string]any{"team": "law"})})
	whole := create(t, acme, &ragdv1.CreateAlertRequest{QueryText: "merger", SearchMode: "keyword"})
	if _, err := pool.Exec(t.Context(), `UPDATE ragd_shared.alerts SET filter = '{"team": {"$sounds": "law"}}' WHERE alert_id = $1`, broken.AlertId); err != nil {
		t.Fatal(err)
	}
	acme.Upload(t, text("first", "The merger is signed.", map[string]any{"team": "law"}, t))
	want(t, "the whole alert", matches(t, acme, whole), []string{"first"})
	want(t, "the one that cannot be read", matches(t, acme, broken), nil)
	listed, err := acme.ListAlerts(t.Context(), &ragdv1.ListAlertsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range listed.Alerts {
		if ended := a.EndedReason != ""; ended != (a.AlertId == broken.AlertId) {
			t.Errorf("alert %s has ended: %q", a.AlertId, a.EndedReason)
		}
	}
	name := "renamed"
	_, err = acme.UpdateAlert(t.Context(), &ragdv1.UpdateAlertRequest{AlertId: broken.AlertId, DisplayName: &name})
	if connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("another name alone: %v, want %v", err, connect.CodeFailedPrecondition)
	}
	mended, err := acme.UpdateAlert(t.Context(), &ragdv1.UpdateAlertRequest{AlertId: broken.AlertId, Filter: servicetest.Object(t, map[string]any{"team": "law"})})
	if err != nil || mended.EndedReason != "" {
		t.Errorf("with a filter: %v, ended: %q", err, mended.GetEndedReason())
	}
	acme.Upload(t, text("second", "A merger again.", map[string]any{"team": "law"}, t))
	want(t, "the mended alert", matches(t, acme, broken), []string{"second"})
}

func TestBadAlertsAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for _, c := range []struct {
		req   *ragdv1.CreateAlertRequest
		field string
	}{
		{&ragdv1.CreateAlertRequest{QueryText: " "}, "minScore"},
		{&ragdv1.CreateAlertRequest{SearchMode: "keyword"}, "queryText"},
		{&ragdv1.CreateAlertRequest{QueryText: strings.Repeat("x", 2001), SearchMode: "keyword"}, "queryText"},
		{&ragdv1.CreateAlertRequest{QueryText: "x"}, "minScore"},
		{&ragdv1.CreateAlertRequest{QueryText: "x", SearchMode: "keyword", MinScore: new(0.5)}, "minScore"},
		{&ragdv1.CreateAlertRequest{QueryText: "x", SearchMode: "fuzzy"}, "searchMode"},
		{&ragdv1.CreateAlertRequest{QueryText: "x", SearchMode: "keyword", Filter: servicetest.Object(t, map[string]any{"$uri": "a"})}, "$uri"},
		{&ragdv1.CreateAlertRequest{QueryText: "x", SearchMode: "keyword", DisplayName: strings.Repeat("n", 201)}, "displayName"},
		{&ragdv1.CreateAlertRequest{QueryText: "x", SearchMode: "keyword", Namespace: strings.Repeat("n", 2001)}, "namespace"},
	} {
		c.req.IndexName = "docs"
		_, err := acme.CreateAlert(t.Context(), c.req)
		servicetest.WantCode(t, c.field, err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), c.field) {
			t.Errorf("the error about %s says %v", c.field, err)
		}
	}
	_, err := acme.CreateAlert(t.Context(), &ragdv1.CreateAlertRequest{IndexName: "nothing", QueryText: "x", SearchMode: "keyword"})
	servicetest.WantCode(t, "an unknown index", err, connect.CodeNotFound)
	// A tenant has its quota.
	_, err = s.Pool.Exec(t.Context(), `
		INSERT INTO ragd_shared.alerts (tenant_id, alert_id, index_id, index_name, namespace, display_name, question, mode, min_score, filter, subject, access, embedded_by)
		SELECT 'acme', gen_random_uuid(), 1, 'docs', 'default', '', 'x', 'keyword', 0, '{}', 'nobody', '{}', '' FROM generate_series(1, 5000)`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = acme.CreateAlert(t.Context(), &ragdv1.CreateAlertRequest{IndexName: "docs", QueryText: "x", SearchMode: "keyword"})
	servicetest.WantCode(t, "one alert too many", err, connect.CodeResourceExhausted)
}
