package hook_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// received is a request to a receiver.
type received struct {
	id      string
	header  http.Header
	body    []byte
	payload struct {
		Type, EventID, TenantID string
		Data                    map[string]any
	}
}

// receiver is a server that hooks post to.
type receiver struct {
	URL      string
	requests chan received
	status   atomic.Int32 // that it answers with
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{requests: make(chan received, 1000)}
	r.status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got := received{id: req.Header.Get(webhook.HeaderID), header: req.Header}
		got.body, _ = io.ReadAll(req.Body)
		if err := json.Unmarshal(got.body, &got.payload); err != nil {
			t.Errorf("a delivery is no JSON: %v: %s", err, got.body)
		}
		w.WriteHeader(int(r.status.Load()))
		fmt.Fprint(w, "thanks", req.Header.Get("Authorization"))
		r.requests <- got
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// next returns the next request.
func (r *receiver) next(t *testing.T) received {
	t.Helper()
	select {
	case got := <-r.requests:
		return got
	case <-time.After(time.Minute):
		t.Fatal("nothing was delivered")
		return received{}
	}
}

// local lets hooks post to receivers on this machine.
var local = service.Config{AllowedPrivateNetworks: []string{"127.0.0.1"}, MasterKeys: masterKeys()}

func masterKeys() *seal.Keys {
	keys, err := seal.Parse(strings.Repeat("0123456789abcdef", 4))
	if err != nil {
		panic(err)
	}
	return keys
}

func create(t *testing.T, c servicetest.Client, req *ragdv1.CreateHookRequest) *ragdv1.CreateHookResponse {
	t.Helper()
	made, err := c.CreateHook(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func upload(t *testing.T, c servicetest.Client, uri string) {
	t.Helper()
	c.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: uri, Source: servicetest.Text("text of " + uri), Metadata: servicetest.Object(t, map[string]any{"team": "x"}),
	})
}

// settled waits until a hook has as many deliveries with a status and returns them.
func settled(t *testing.T, c servicetest.Client, hook, status string, n int) []*ragdv1.Delivery {
	t.Helper()
	var list *ragdv1.ListDeliveriesResponse
	wait.For(t, fmt.Sprintf("%d deliveries that are %s", n, status), func() bool {
		var err error
		if list, err = c.ListDeliveries(t.Context(), &ragdv1.ListDeliveriesRequest{HookName: hook, Status: status}); err != nil {
			t.Fatal(err)
		}
		return len(list.Deliveries) == n
	})
	return list.Deliveries
}

func secretOf(t *testing.T, text string) webhook.Secret {
	t.Helper()
	s, err := webhook.ParseSecret("secret", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEventsAreDeliveredAndSigned(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	to := newReceiver(t)
	made := create(t, acme, &ragdv1.CreateHookRequest{HookName: "all", Url: to.URL + "/in?from=ragd", Events: []string{"document.ready", "key.*"}})
	acme.Index(t, "docs")
	upload(t, acme, "a")
	got := to.next(t)
	if err := webhook.Verify(got.header, time.Now(), got.body, secretOf(t, made.Secret)); err != nil {
		t.Error(err)
	}
	if got.payload.Type != "document.ready" || got.payload.TenantID != "acme" || got.payload.Data["uri"] != "a" || got.payload.Data["metadata"] == nil {
		t.Errorf("delivered %s", got.body)
	}
	if _, err := acme.CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{DisplayName: "new"}); err != nil {
		t.Fatal(err)
	}
	if got := to.next(t); got.payload.Type != "key.created" || strings.Contains(string(got.body), "secret") {
		t.Errorf("delivered %s", got.body)
	}
	for _, d := range settled(t, acme, "all", "succeeded", 2) {
		if d.StatusCode != 200 || d.Attempts != 1 || d.Response != "thanks" || d.Error != "" || d.AttemptTime == nil || d.EventId == "" {
			t.Errorf("delivery %v", d)
		}
	}
}

func TestHooksReceiveWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	here, there, off := newReceiver(t), newReceiver(t), newReceiver(t)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "here", Url: here.URL, Events: []string{"*"}, Indexes: []string{"docs"}, IncludeContent: new(false)})
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "there", Url: there.URL, Events: []string{"document.*"}, Indexes: []string{"other"}})
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "off", Url: off.URL, Events: []string{"*"}, Enabled: new(false)})
	acme.Index(t, "docs")
	upload(t, acme, "a")
	for {
		got := here.next(t)
		if got.payload.Type != "document.ready" {
			continue
		}
		if got.payload.Data["metadata"] != nil || got.payload.Data["uri"] != "a" {
			t.Errorf("without content: %s", got.body)
		}
		break
	}
	if n := len(there.requests) + len(off.requests); n != 0 {
		t.Errorf("%d deliveries to others", n)
	}
}

func TestAFailedDeliveryIsTriedAgainWithTheSameID(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	to := newReceiver(t)
	to.status.Store(http.StatusInternalServerError)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: to.URL, Events: []string{"document.ready"}})
	upload(t, acme, "a")
	first := to.next(t)
	to.status.Store(http.StatusNoContent)
	second := to.next(t)
	if first.id != second.id || string(first.body) != string(second.body) {
		t.Errorf("attempts differ: %s %s, %s %s", first.id, first.body, second.id, second.body)
	}
	d := settled(t, acme, "h", "succeeded", 1)[0]
	if d.Attempts != 2 || d.DeliveryId != first.id {
		t.Errorf("delivery %v", d)
	}
	if h, err := acme.GetHook(t.Context(), &ragdv1.GetHookRequest{HookName: "h"}); err != nil || h.Failures != 0 || h.FailingSinceTime != nil {
		t.Errorf("hook %v, %v", h, err)
	}
}

// A dead endpoint of a tenant delays neither its other hooks nor other tenants.
func TestADeadEndpointDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	stuck := make(chan struct{})
	var waiting, most atomic.Int32
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.ReadAll(req.Body)
		if n := waiting.Add(1); n > most.Load() {
			most.Store(n)
		}
		select {
		case <-stuck:
		case <-req.Context().Done():
		}
		waiting.Add(-1)
	}))
	t.Cleanup(dead.Close)
	defer close(stuck)
	ours, theirs := newReceiver(t), newReceiver(t)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "dead", Url: dead.URL, Events: []string{"document.ready"}})
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "alive", Url: ours.URL, Events: []string{"document.ready"}})
	create(t, other, &ragdv1.CreateHookRequest{HookName: "dead", Url: theirs.URL, Events: []string{"document.ready"}})
	acme.Index(t, "docs")
	other.Index(t, "docs")
	const documents = 10
	for n := range documents {
		upload(t, acme, fmt.Sprint("ours ", n))
	}
	upload(t, other, "theirs")
	if got := theirs.next(t); got.payload.Data["uri"] != "theirs" || got.payload.TenantID != "other" {
		t.Errorf("the other tenant received %s", got.body)
	}
	for range documents {
		ours.next(t)
	}
	if most.Load() > 4 {
		t.Errorf("%d deliveries to a dead endpoint at once", most.Load())
	}
}

func TestAHookIsDisabledByTheAnswerGone(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	to := newReceiver(t)
	to.status.Store(http.StatusGone)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: to.URL, Events: []string{"document.ready"}})
	upload(t, acme, "a")
	to.next(t)
	d := settled(t, acme, "h", "failed", 1)[0]
	h, err := acme.GetHook(t.Context(), &ragdv1.GetHookRequest{HookName: "h"})
	if err != nil || h.Enabled || !strings.Contains(h.DisabledReason, "410") {
		t.Fatalf("hook %v, %v", h, err)
	}
	_, err = acme.ReplayDelivery(t.Context(), &ragdv1.ReplayDeliveryRequest{HookName: "h", DeliveryId: d.DeliveryId})
	servicetest.WantCode(t, "a replay to a disabled hook", err, connect.CodeFailedPrecondition)
	upload(t, acme, "while it is disabled")

	to.status.Store(http.StatusOK)
	h, err = acme.UpdateHook(t.Context(), &ragdv1.UpdateHookRequest{HookName: "h", Enabled: new(true)})
	if err != nil || !h.Enabled || h.DisabledReason != "" || h.Failures != 0 {
		t.Fatalf("hook %v, %v", h, err)
	}
	replayed, err := acme.ReplayFailed(t.Context(), &ragdv1.ReplayFailedRequest{HookName: "h"})
	if err != nil || replayed.ReplayedCount != 1 {
		t.Fatalf("replayed %v, %v", replayed, err)
	}
	if got := to.next(t); got.id != d.DeliveryId || got.payload.Data["uri"] != "a" {
		t.Errorf("replayed %s", got.body)
	}
	settled(t, acme, "h", "succeeded", 1)
	again, err := acme.ReplayDelivery(t.Context(), &ragdv1.ReplayDeliveryRequest{HookName: "h", DeliveryId: d.DeliveryId})
	if err != nil || again.Status != "pending" || again.Event.GetData().AsMap()["uri"] != "a" {
		t.Errorf("replay of what was delivered: %v, %v", again, err)
	}
	if got := to.next(t); got.id != d.DeliveryId {
		t.Errorf("replayed %s", got.body)
	}
}

// What has failed for long is disabled, and what waits for it becomes a dead letter.
func TestAHookIsDisabledAfterALongFailure(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	to := newReceiver(t)
	to.status.Store(http.StatusBadGateway)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: to.URL, Events: []string{"document.ready"}})
	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.hooks SET failures = 5, failing_since = now() - interval '25 hours'`); err != nil {
		t.Fatal(err)
	}
	upload(t, acme, "a")
	to.next(t)
	settled(t, acme, "h", "failed", 1)
	h, err := acme.GetHook(t.Context(), &ragdv1.GetHookRequest{HookName: "h"})
	if err != nil || h.Enabled || !strings.Contains(h.DisabledReason, "24 hours") || !strings.Contains(h.DisabledReason, "502") {
		t.Errorf("hook %v, %v", h, err)
	}
}

func TestBothSecretsSignWhileOneIsReplaced(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	to := newReceiver(t)
	made := create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: to.URL, Events: []string{"key.*"}})
	test := func() received {
		t.Helper()
		d, err := acme.TestHook(t.Context(), &ragdv1.TestHookRequest{HookName: "h"})
		if err != nil || d.Status != "succeeded" {
			t.Fatalf("delivery %v, %v", d, err)
		}
		return to.next(t)
	}
	rotated, err := acme.RotateHookSecret(t.Context(), &ragdv1.RotateHookSecretRequest{HookName: "h"})
	if err != nil || rotated.Secret == made.Secret || rotated.Hook.PreviousSecretExpireTime == nil {
		t.Fatalf("rotated %v, %v", rotated.GetHook(), err)
	}
	got := test()
	for _, secret := range []string{made.Secret, rotated.Secret} {
		if err := webhook.Verify(got.header, time.Now(), got.body, secretOf(t, secret)); err != nil {
			t.Error(err)
		}
	}
	last, err := acme.RotateHookSecret(t.Context(), &ragdv1.RotateHookSecretRequest{HookName: "h", GraceSeconds: new(int32(0))})
	if err != nil || last.Hook.PreviousSecretExpireTime != nil {
		t.Fatalf("rotated %v, %v", last.GetHook(), err)
	}
	got = test()
	if webhook.Verify(got.header, time.Now(), got.body, secretOf(t, rotated.Secret)) == nil || webhook.Verify(got.header, time.Now(), got.body, secretOf(t, last.Secret)) != nil {
		t.Error("a secret without grace still signs, or the new one does not")
	}
}

func TestATestSaysWhatHappened(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	to := newReceiver(t)
	to.status.Store(http.StatusTeapot)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: to.URL, Events: []string{"*"}, Enabled: new(false)})
	d, err := acme.TestHook(t.Context(), &ragdv1.TestHookRequest{HookName: "h"})
	if err != nil || d.Status != "failed" || d.StatusCode != http.StatusTeapot || d.Response != "thanks" || !strings.Contains(d.Error, "418") || d.Event.GetType() != "hook.test" {
		t.Errorf("delivery %v, %v", d, err)
	}
	if got := to.next(t); got.payload.Type != "hook.test" || got.id != d.DeliveryId {
		t.Errorf("delivered %s", got.body)
	}
	listed := settled(t, acme, "h", "failed", 1)[0]
	if listed.DeliveryId != d.DeliveryId || listed.Type != "hook.test" {
		t.Errorf("listed %v", listed)
	}
}

func TestBadHooksAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys()})
	acme := s.Tenant(t, "acme")
	good := func(change func(*ragdv1.CreateHookRequest)) *ragdv1.CreateHookRequest {
		req := &ragdv1.CreateHookRequest{HookName: "h", Url: "https://example.com/in", Events: []string{"*"}}
		change(req)
		return req
	}
	for what, c := range map[string]struct {
		change func(*ragdv1.CreateHookRequest)
		want   connect.Code
	}{
		"a name":                {func(r *ragdv1.CreateHookRequest) { r.HookName = "a b" }, connect.CodeInvalidArgument},
		"no address":            {func(r *ragdv1.CreateHookRequest) { r.Url = "" }, connect.CodeInvalidArgument},
		"a scheme":              {func(r *ragdv1.CreateHookRequest) { r.Url = "file:///etc/passwd" }, connect.CodeInvalidArgument},
		"a password":            {func(r *ragdv1.CreateHookRequest) { r.Url = "https://u:hidden@example.com" }, connect.CodeInvalidArgument},
		"a fragment":            {func(r *ragdv1.CreateHookRequest) { r.Url = "https://example.com/?a=b#c" }, connect.CodeInvalidArgument},
		"this machine":          {func(r *ragdv1.CreateHookRequest) { r.Url = "http://127.0.0.1:8484/x?y" }, connect.CodeFailedPrecondition},
		"the metadata service":  {func(r *ragdv1.CreateHookRequest) { r.Url = "http://169.254.169.254/latest" }, connect.CodeFailedPrecondition},
		"no events":             {func(r *ragdv1.CreateHookRequest) { r.Events = nil }, connect.CodeInvalidArgument},
		"an unknown event":      {func(r *ragdv1.CreateHookRequest) { r.Events = []string{"document.*", "doc.ready"} }, connect.CodeInvalidArgument},
		"a payload":             {func(r *ragdv1.CreateHookRequest) { r.MaxPayloadBytes = 1000 }, connect.CodeInvalidArgument},
		"a header of ours":      {func(r *ragdv1.CreateHookRequest) { r.Headers = map[string]string{"webhook-id": "1"} }, connect.CodeInvalidArgument},
		"the host":              {func(r *ragdv1.CreateHookRequest) { r.Headers = map[string]string{"host": "a"} }, connect.CodeInvalidArgument},
		"a header in a header":  {func(r *ragdv1.CreateHookRequest) { r.Headers = map[string]string{"X-A": "a\r\nX-B: b"} }, connect.CodeInvalidArgument},
		"a header's name":       {func(r *ragdv1.CreateHookRequest) { r.Headers = map[string]string{"X A": "a"} }, connect.CodeInvalidArgument},
		"a secret that is none": {func(r *ragdv1.CreateHookRequest) { r.Headers = map[string]string{"X-A": "{{secrets.none}}"} }, connect.CodeNotFound},
	} {
		_, err := acme.CreateHook(t.Context(), good(c.change))
		servicetest.WantCode(t, what, err, c.want)
		if err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: the error shows a password: %v", what, err)
		}
	}
	for n := range 20 {
		create(t, acme, good(func(r *ragdv1.CreateHookRequest) { r.HookName = fmt.Sprint("h", n) }))
	}
	_, err := acme.CreateHook(t.Context(), good(func(r *ragdv1.CreateHookRequest) { r.HookName = "more" }))
	servicetest.WantCode(t, "too many", err, connect.CodeResourceExhausted)
	_, err = acme.CreateHook(t.Context(), good(func(r *ragdv1.CreateHookRequest) { r.HookName = "h1" }))
	if code := connect.CodeOf(err); code != connect.CodeResourceExhausted && code != connect.CodeAlreadyExists {
		t.Errorf("a name in use: %v", err)
	}
	_, err = acme.GetHook(t.Context(), &ragdv1.GetHookRequest{HookName: "h99"})
	servicetest.WantCode(t, "a hook that is none", err, connect.CodeNotFound)
}

func TestHooksNeedAnAdministratorOfTheWholeTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys()})
	_, err := s.Tenant(t, "acme").CreateHook(t.Context(), &ragdv1.CreateHookRequest{HookName: "mine", Url: "https://example.com", Events: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	for what, req := range map[string]*ragdv1.CreateApiKeyRequest{
		"a writer":                     {Scopes: []string{"write"}},
		"an admin with a filter":       {Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "x"})},
		"an admin bound to an index":   {Scopes: []string{"admin"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}},
		"an admin bound to its tools":  {Scopes: []string{"admin"}, Tools: &ragdv1.AllowedNames{Names: []string{"find"}}},
		"an admin bound to no servers": {Scopes: []string{"admin"}, Servers: &ragdv1.AllowedNames{}},
	} {
		req.TenantId = "acme"
		c := s.Client(s.Key(t, req))
		ctx := t.Context()
		for method, call := range map[string]func() error{
			"CreateHook": func() error {
				_, err := c.CreateHook(ctx, &ragdv1.CreateHookRequest{HookName: "h", Url: "https://example.com", Events: []string{"*"}})
				return err
			},
			"GetHook":    func() error { _, err := c.GetHook(ctx, &ragdv1.GetHookRequest{HookName: "mine"}); return err },
			"ListHooks":  func() error { _, err := c.ListHooks(ctx, &ragdv1.ListHooksRequest{}); return err },
			"UpdateHook": func() error { _, err := c.UpdateHook(ctx, &ragdv1.UpdateHookRequest{HookName: "mine"}); return err },
			"DeleteHook": func() error { _, err := c.DeleteHook(ctx, &ragdv1.DeleteHookRequest{HookName: "mine"}); return err },
			"RotateHookSecret": func() error {
				_, err := c.RotateHookSecret(ctx, &ragdv1.RotateHookSecretRequest{HookName: "mine"})
				return err
			},
			"TestHook": func() error { _, err := c.TestHook(ctx, &ragdv1.TestHookRequest{HookName: "mine"}); return err },
			"ListDeliveries": func() error {
				_, err := c.ListDeliveries(ctx, &ragdv1.ListDeliveriesRequest{HookName: "mine"})
				return err
			},
			"ReplayDelivery": func() error {
				_, err := c.ReplayDelivery(ctx, &ragdv1.ReplayDeliveryRequest{HookName: "mine", DeliveryId: "d"})
				return err
			},
			"ReplayFailed": func() error {
				_, err := c.ReplayFailed(ctx, &ragdv1.ReplayFailedRequest{HookName: "mine"})
				return err
			},
		} {
			servicetest.WantCode(t, what+" calls "+method, call(), connect.CodePermissionDenied)
		}
	}
}

// Equal names in two tenants.
func TestHooksOfTenantsNeverCross(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	ours, theirs := newReceiver(t), newReceiver(t)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: ours.URL, Events: []string{"document.ready"}})
	create(t, other, &ragdv1.CreateHookRequest{HookName: "h", Url: theirs.URL, Events: []string{"document.ready"}})
	acme.Index(t, "docs")
	other.Index(t, "docs")
	upload(t, acme, "ours")
	d := settled(t, acme, "h", "succeeded", 1)[0]
	if list, err := other.ListDeliveries(t.Context(), &ragdv1.ListDeliveriesRequest{HookName: "h"}); err != nil || len(list.Deliveries) != 0 {
		t.Errorf("the other tenant sees %v, %v", list, err)
	}
	_, err := other.ReplayDelivery(t.Context(), &ragdv1.ReplayDeliveryRequest{HookName: "h", DeliveryId: d.DeliveryId})
	servicetest.WantCode(t, "another tenant's delivery", err, connect.CodeNotFound)
	if _, err := other.UpdateHook(t.Context(), &ragdv1.UpdateHookRequest{HookName: "h", Url: new(theirs.URL + "/new")}); err != nil {
		t.Fatal(err)
	}
	if h, err := acme.GetHook(t.Context(), &ragdv1.GetHookRequest{HookName: "h"}); err != nil || h.Url != ours.URL {
		t.Errorf("our hook %v, %v", h, err)
	}
	if _, err := other.DeleteHook(t.Context(), &ragdv1.DeleteHookRequest{HookName: "h"}); err != nil {
		t.Fatal(err)
	}
	upload(t, acme, "more")
	settled(t, acme, "h", "succeeded", 2)
	if n := len(theirs.requests); n != 0 {
		t.Errorf("the other tenant received %d deliveries", n)
	}
}

func TestDeletingATenantDeletesItsHooksDeliveriesAndTasks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	to := newReceiver(t)
	to.status.Store(http.StatusInternalServerError)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: to.URL, Events: []string{"*"}})
	upload(t, acme, "a")
	to.next(t)
	if _, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"}); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"ragd_shared.hooks", "ragd_shared.hook_deliveries", "ragd_shared.events", "ragd.event_tenants"} {
		var n int
		if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d rows are left, %v", table, n, err)
		}
	}
	wait.For(t, "the end of the tasks, of which a running one ends first", func() bool {
		var n int
		if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.river_job WHERE kind = 'deliver' AND finalized_at IS NULL`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
}

// An address may be public when the hook is made, and another one later.
func TestDeliveriesDoNotReachTheNetworkOfTheService(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{MasterKeys: masterKeys()})
	acme := s.Tenant(t, "acme")
	to := newReceiver(t)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: "https://example.com", Events: []string{"*"}})
	for _, address := range []string{to.URL, strings.Replace(to.URL, "127.0.0.1", "localhost", 1), strings.Replace(to.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1), strings.Replace(to.URL, "127.0.0.1", "2130706433", 1)} {
		if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.hooks SET url = $1`, address); err != nil {
			t.Fatal(err)
		}
		d, err := acme.TestHook(t.Context(), &ragdv1.TestHookRequest{HookName: "h"})
		if err != nil || d.Status != "failed" || d.StatusCode != 0 || strings.Contains(d.Error, "127.") {
			t.Errorf("%s: %v, %v", address, d, err)
		}
	}
	if n := len(to.requests); n != 0 {
		t.Errorf("%d deliveries", n)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	to := newReceiver(t)
	redirects := httptest.NewServer(http.RedirectHandler(to.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirects.Close)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: redirects.URL, Events: []string{"*"}})
	d, err := acme.TestHook(t.Context(), &ragdv1.TestHookRequest{HookName: "h"})
	if err != nil || d.Status != "failed" || !strings.Contains(d.Error, "redirects are not followed") || len(to.requests) != 0 {
		t.Errorf("delivery %v, %v; %d followed", d, err, len(to.requests))
	}
}

// An answer without end is read to a limit, and its beginning is kept.
func TestHugeAnswersAreCut(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	var wrote atomic.Int64
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for chunk := []byte(strings.Repeat("\x00\xff", 8<<10)); ; {
			n, err := w.Write(chunk)
			if wrote.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(endless.Close)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: endless.URL, Events: []string{"*"}})
	d, err := acme.TestHook(t.Context(), &ragdv1.TestHookRequest{HookName: "h"})
	if err != nil || d.Status != "succeeded" || len([]rune(d.Response)) > 1024 || d.Response == "" {
		t.Errorf("delivery %v, %v", d, err)
	}
	if wrote.Load() > 64<<20 {
		t.Errorf("%d bytes were read", wrote.Load())
	}
}

func TestSecretsOfHooksAreNeverShown(t *testing.T) {
	t.Parallel()
	logged := &logtest.Buffer{}
	config := local
	config.Logger = slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := servicetest.New(t, config)
	acme := s.Tenant(t, "acme")
	to := newReceiver(t)
	const value = "a-very-private-value"
	if _, err := acme.SetSecret(t.Context(), &ragdv1.SetSecretRequest{SecretName: "token", Value: value}); err != nil {
		t.Fatal(err)
	}
	made := create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: to.URL, Events: []string{"*"}, Headers: map[string]string{"Authorization": "Bearer {{secrets.token}}"}})
	if d, err := acme.TestHook(t.Context(), &ragdv1.TestHookRequest{HookName: "h"}); err != nil || d.Status != "succeeded" {
		t.Fatalf("delivery %v, %v", d, err)
	}
	if got := to.next(t); got.header.Get("Authorization") != "Bearer "+value {
		t.Errorf("header %q", got.header.Get("Authorization"))
	}
	list, err := acme.ListHooks(t.Context(), &ragdv1.ListHooksRequest{})
	if err != nil || len(list.Hooks) != 1 || list.Hooks[0].Headers["Authorization"] != "Bearer {{secrets.token}}" {
		t.Fatalf("%v, %v", list, err)
	}
	deliveries, err := acme.ListDeliveries(t.Context(), &ragdv1.ListDeliveriesRequest{HookName: "h"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acme.DeleteSecret(t.Context(), &ragdv1.DeleteSecretRequest{SecretName: "token"}); err != nil {
		t.Fatal(err)
	}
	broken, err := acme.TestHook(t.Context(), &ragdv1.TestHookRequest{HookName: "h"})
	if err != nil || broken.Status != "failed" || !strings.Contains(broken.Error, "token") {
		t.Errorf("without its secret: %v, %v", broken, err)
	}
	var stored string
	if err := s.Pool.QueryRow(t.Context(), `SELECT to_jsonb(h)::text || encode(h.secret, 'escape') FROM ragd_shared.hooks AS h`).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	bare := strings.TrimPrefix(made.Secret, webhook.Prefix)
	for what, text := range map[string]string{"the list": list.String(), "deliveries": deliveries.String() + broken.String(), "the log": logged.String(), "the table": stored} {
		if strings.Contains(text, bare) || strings.Contains(text, value) {
			t.Errorf("%s shows a secret", what)
		}
	}
}

// What an instance that died has not delivered, the next one delivers.
func TestDeliveriesOutliveTheInstance(t *testing.T) {
	t.Parallel()
	config := local
	config.NoWorkers = true
	first := servicetest.New(t, config)
	acme := first.Tenant(t, "acme")
	to := newReceiver(t)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: to.URL, Events: []string{"tools.changed"}})
	acme.Index(t, "docs")
	// This instance only commits.
	if _, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "find", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})}); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Pool.Exec(t.Context(), `UPDATE ragd.event_tenants SET swept_at = now() - interval '10 seconds'`); err != nil {
		t.Fatal(err)
	}
	config.AdminPool, config.NoWorkers = first.Pool, false
	servicetest.New(t, config)
	if got := to.next(t); got.payload.Type != "tools.changed" {
		t.Errorf("delivered %s", got.body)
	}
}

func TestPayloadsAreShortenedToValidJSON(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	to := newReceiver(t)
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: to.URL, Events: []string{"document.ready"}, MaxPayloadBytes: 2048})
	long := strings.Repeat("ä€😀", 1000)
	many := map[string]any{}
	for n := range 500 {
		many[fmt.Sprint("key", n)] = n
	}
	for _, metadata := range []map[string]any{{"a": long}, {"b": many}, {"c": slices.Repeat([]any{"x"}, 3000)}, {strings.Repeat("k", 200): strings.Repeat("v", 3000)}} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text("a"), Metadata: servicetest.Object(t, metadata)})
		got := to.next(t)
		if len(got.body) > 2048 || got.payload.Data["truncated"] != true || got.payload.Data["documentId"] == nil {
			t.Errorf("%d bytes: %.300s", len(got.body), got.body)
		}
	}
}

// A receiver that causes two events for each that it gets keeps only itself busy.
func TestAHookThatTriggersItselfIsBounded(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, local)
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	acme.Index(t, "docs")
	other.Index(t, "docs")
	if _, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "find", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})}); err != nil {
		t.Fatal(err)
	}
	change := func() error {
		_, err := acme.UpdateTool(t.Context(), &ragdv1.UpdateToolRequest{ToolName: "find", Title: new("Find")})
		return err
	}
	var busy, most, got atomic.Int32
	const enough = 60
	turned := make(chan struct{})
	loop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.ReadAll(req.Body)
		if n := busy.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer busy.Add(-1)
		switch n := got.Add(1); {
		case n == enough:
			close(turned)
		case n < enough:
			_, _ = change(), change() // concurrent changes of one tool may fail
		}
	}))
	t.Cleanup(loop.Close)
	theirs := newReceiver(t)
	create(t, other, &ragdv1.CreateHookRequest{HookName: "h", Url: theirs.URL, Events: []string{"document.ready"}})
	create(t, acme, &ragdv1.CreateHookRequest{HookName: "h", Url: loop.URL, Events: []string{"tools.changed"}})
	if err := change(); err != nil {
		t.Fatal(err)
	}
	upload(t, other, "theirs")
	theirs.next(t)
	select {
	case <-turned:
	case <-time.After(time.Minute):
		t.Fatalf("the loop got %d events", got.Load())
	}
	if most.Load() > 4 {
		t.Errorf("%d deliveries of a hook at once", most.Load())
	}
}
