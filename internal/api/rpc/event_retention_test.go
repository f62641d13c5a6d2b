package rpc_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
)

// sweep deletes what is no longer kept of all tenants, as the service does every two minutes.
func sweep(t *testing.T, s *servicetest.Service, tenants int) {
	t.Helper()
	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd.event_tenants SET swept_at = now() - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	swept := 0
	err := s.Handlers.Journal.Run(ctx, func(context.Context, tenant.ID) error {
		if swept++; swept == tenants {
			cancel()
		}
		return nil
	})
	if err != nil || swept != tenants {
		t.Fatalf("%d tenants are swept, %v", swept, err)
	}
}

func rowCount(t *testing.T, s *servicetest.Service, sql string) (n int) {
	t.Helper()
	if err := s.Pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Events that are too old or too many are deleted with their deliveries, which then can be neither
// listed nor replayed; those of another tenant stay.
func TestOldEventsAreDeletedWithTheirDeliveries(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(refusing.Close)
	s := servicetest.New(t, service.Config{
		NoWorkers: true, MasterKeys: masterKeys(t, "1"), AllowedPrivateNetworks: thisMachine,
		EventRetention: journal.Retention{Age: 2 * time.Hour, Events: 5},
	})
	acme, bolt, ctx := s.Tenant(t, "acme"), s.Tenant(t, "bolt"), t.Context()
	for _, c := range []servicetest.Client{acme, bolt} {
		if _, err := c.CreateHook(ctx, &ragdv1.CreateHookRequest{HookName: "h", Url: refusing.URL, Events: []string{"index.*"}}); err != nil {
			t.Fatal(err)
		}
		c.Index(t, "first")
	}
	w := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"index.*"}})
	list, err := acme.ListDeliveries(ctx, &ragdv1.ListDeliveriesRequest{HookName: "h"})
	if err != nil || len(list.Deliveries) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	// A delivery that has failed for good waits for a replay as long as its event is kept.
	dead := list.Deliveries[0].DeliveryId
	if _, err := s.Pool.Exec(ctx, `UPDATE ragd_shared.hook_deliveries SET status = 'failed', attempts = 10`); err != nil {
		t.Fatal(err)
	}
	sweep(t, s, 2)
	if _, err := acme.ReplayDelivery(ctx, &ragdv1.ReplayDeliveryRequest{HookName: "h", DeliveryId: dead}); err != nil {
		t.Errorf("a replay of what is kept: %v", err)
	}

	if _, err := s.Pool.Exec(ctx, `UPDATE ragd_shared.events SET created_at = now() - interval '121 minutes' WHERE tenant_id = 'acme'`); err != nil {
		t.Fatal(err)
	}
	sweep(t, s, 2)
	_, err = acme.ReplayDelivery(ctx, &ragdv1.ReplayDeliveryRequest{HookName: "h", DeliveryId: dead})
	servicetest.WantCode(t, "a replay of what is no longer kept", err, connect.CodeNotFound)
	if err == nil || !strings.Contains(err.Error(), "kept for 2 hours") {
		t.Errorf("%v", err)
	}
	if list, err := bolt.ListDeliveries(ctx, &ragdv1.ListDeliveriesRequest{HookName: "h"}); err != nil || len(list.Deliveries) != 1 {
		t.Errorf("another tenant has %v, %v", list, err)
	}

	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		acme.Index(t, name)
	}
	for range 7 {
		w.next(t)
	}
	sweep(t, s, 2)
	if n := rowCount(t, s, `SELECT count(*) FROM ragd_shared.events WHERE tenant_id = 'acme'`); n != 5 {
		t.Errorf("%d events are kept, want the newest 5", n)
	}
	if n := rowCount(t, s, `SELECT count(*) FROM ragd_shared.hook_deliveries WHERE tenant_id = 'acme'`); n != 5 {
		t.Errorf("%d deliveries are kept, want those of the newest 5 events", n)
	}
	if n := rowCount(t, s, `SELECT count(*) FROM ragd_shared.events WHERE tenant_id = 'acme' AND data->>'name' IN ('a', 'b')`); n != 0 {
		t.Errorf("%d of the oldest events are kept", n)
	}
}

// A tenant whose events are gone, and of which nobody wants any, is no longer looked at.
func TestTenantsWithoutEventsAreNoLongerSwept(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, EventRetention: journal.Retention{Bytes: 1}})
	acme := s.Tenant(t, "acme")
	w := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: []string{"index.*"}})
	acme.Index(t, "docs")
	w.next(t)
	sweep(t, s, 1)
	if n := rowCount(t, s, `SELECT count(*) FROM ragd_shared.events`); n != 0 {
		t.Errorf("%d events of more than a byte are kept", n)
	}
	if n := rowCount(t, s, `SELECT count(*) FROM ragd.event_tenants`); n != 1 {
		t.Errorf("%d tenants with watchers are listed", n)
	}
	w.end()
	for range w.messages { // until the watcher has left
	}
	wait.For(t, "the watcher to be gone", func() bool { return rowCount(t, s, `SELECT count(*) FROM ragd_shared.event_watchers`) == 0 })
	sweep(t, s, 1)
	if n := rowCount(t, s, `SELECT count(*) FROM ragd.event_tenants`); n != 0 {
		t.Errorf("%d tenants without events are listed", n)
	}
}

func TestBadRetentionsAreRefused(t *testing.T) {
	t.Parallel()
	for setting, r := range map[string]journal.Retention{"event-retention": {Age: time.Second}, "max-events": {Events: -1}, "max-event-bytes": {Bytes: -1}} {
		if _, err := r.Check(); err == nil || !strings.Contains(err.Error(), setting) {
			t.Errorf("%s: %v", setting, err)
		}
	}
	if r, err := (journal.Retention{Events: 7}).Check(); err != nil || r != (journal.Retention{Age: journal.DefaultAge, Events: 7, Bytes: journal.DefaultBytes}) {
		t.Errorf("%v, %v", r, err)
	}
}

// What a tenant defines is announced to streams and hooks when it is created, changed and deleted.
func TestChangesOfDefinitionsAreEvents(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "1")})
	acme, bolt, ctx := s.Tenant(t, "acme"), s.Tenant(t, "bolt"), t.Context()
	types := []string{"tools.changed", "prompts.changed", "server.changed", "context.changed"}
	for _, c := range []servicetest.Client{acme, bolt} {
		if _, err := c.CreateHook(ctx, &ragdv1.CreateHookRequest{HookName: "h", Url: "https://example.com", Events: types}); err != nil {
			t.Fatal(err)
		}
	}
	w, other := watchEvents(t, acme, &ragdv1.WatchEventsRequest{Types: types}), watchEvents(t, bolt, &ragdv1.WatchEventsRequest{Types: types})
	messages := []*ragdv1.PromptMessage{{Content: &ragdv1.PromptMessage_Text{Text: "hi"}}}
	steps := []struct {
		want string
		do   func() error
	}{
		{"server.changed front created", func() error {
			_, err := acme.CreateServer(ctx, &ragdv1.CreateServerRequest{ServerName: "front"})
			return err
		}},
		{"server.changed front updated", func() error {
			_, err := acme.UpdateServer(ctx, &ragdv1.UpdateServerRequest{ServerName: "front", Title: new("Front")})
			return err
		}},
		{"server.changed front deleted", func() error {
			_, err := acme.DeleteServer(ctx, &ragdv1.DeleteServerRequest{ServerName: "front"})
			return err
		}},
		{"prompts.changed greet created", func() error {
			_, err := acme.CreatePrompt(ctx, &ragdv1.CreatePromptRequest{PromptName: "greet", Messages: messages})
			return err
		}},
		{"prompts.changed greet deleted", func() error {
			_, err := acme.DeletePrompt(ctx, &ragdv1.DeletePromptRequest{PromptName: "greet"})
			return err
		}},
		{"tools.changed cut created", func() error {
			_, err := acme.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: "cut", Kind: "document_chunker"})
			return err
		}},
		{"tools.changed cut updated", func() error {
			_, err := acme.UpdateTool(ctx, &ragdv1.UpdateToolRequest{ToolName: "cut", Title: new("Cut")})
			return err
		}},
		{"tools.changed cut deleted", func() error { _, err := acme.DeleteTool(ctx, &ragdv1.DeleteToolRequest{ToolName: "cut"}); return err }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.want, err)
		}
		e := w.next(t)
		if data := e.Data.AsMap(); fmt.Sprint(e.Type, " ", data["name"], " ", data["change"]) != step.want {
			t.Errorf("%s: the event is %v", step.want, e)
		}
	}
	if list, err := acme.ListDeliveries(ctx, &ragdv1.ListDeliveriesRequest{HookName: "h"}); err != nil || len(list.Deliveries) != len(steps) {
		t.Errorf("deliveries: %v, %v", list, err)
	}
	if list, err := bolt.ListDeliveries(ctx, &ragdv1.ListDeliveriesRequest{HookName: "h"}); err != nil || len(list.Deliveries) != 0 {
		t.Errorf("another tenant: %v, %v", list, err)
	}
	select {
	case m := <-other.messages:
		if m.Event != nil {
			t.Errorf("another tenant hears of %v", m.Event)
		}
	default:
	}
}
