package mcp_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/forward"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// inTurn returns the address of a proxy that sends each request to the next of some services.
func inTurn(t *testing.T, services ...*servicetest.Service) string {
	t.Helper()
	var proxies []http.Handler
	for _, s := range services {
		address, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(address)
		proxy.FlushInterval = -1
		proxies = append(proxies, forward.Handler(proxy))
	}
	var turn atomic.Uint64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxies[turn.Add(1)%uint64(len(proxies))].ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL + mcphttp.Path
}

// three starts three services on one database.
func three(t *testing.T) []*servicetest.Service {
	t.Helper()
	first := servicetest.New(t, service.Config{})
	return []*servicetest.Service{
		first, servicetest.New(t, service.Config{AdminPool: first.Pool, NoWorkers: true}), servicetest.New(t, service.Config{AdminPool: first.Pool, NoWorkers: true}),
	}
}

// A client whose every request goes to another instance finds what it has set, is asked and is
// notified as by one instance.
func TestASessionOverThreeInstances(t *testing.T) {
	t.Parallel()
	services := three(t)
	address := inTurn(t, services...)
	acme := services[0].Tenant(t, "acme")
	acme.Index(t, "docs")
	upload := func(text string) *ragdv1.Document {
		return acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a.md", Source: servicetest.Text(text)})
	}
	uri := documentURI(upload("The harbour has two gates.").GetDocumentId())
	_, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "ask_docs", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})})
	if err != nil {
		t.Fatal(err)
	}

	asking := append([]client.ClientOption{client.WithElicitationHandler(form{"queryText": "gates"})}, mcptest.Eras["legacy"]...)
	c := mcptest.Connect(t, address, asking, map[string]string{"Authorization": "Bearer " + acme.Secret})
	heard := &heard{}
	c.OnNotification(heard.receive)
	var level mcpgo.SetLevelRequest
	level.Params.Level = mcpgo.LoggingLevelInfo
	if err := c.SetLevel(t.Context(), level); err != nil {
		t.Fatal(err)
	}
	for range len(services) { // each asks, and gets the answer from another one
		if result, text := mcptest.Call(t, c, "ask_docs", nil, nil); result.IsError || !strings.Contains(text, "two gates") {
			t.Errorf("a call with a question: %s", text)
		}
		mcptest.Call(t, c, "list_indexes", nil, nil)
	}
	if got := heard.await(t, "tool called list_indexes", len(services)); strings.Count(got, "tool called list_indexes") != len(services) {
		t.Errorf("log messages %s", got)
	}

	notified := watching(t, address, "legacy", acme.Secret, uri)
	pass(t, acme, notified)
	upload("The harbour has three gates.")
	collect(t, notified, "notifications/resources/updated "+uri, "notifications/resources/list_changed ")
	if slices.Contains(pass(t, acme, notified), "notifications/resources/updated "+uri) {
		t.Error("the client is notified twice of one change")
	}
}

// A client that comes back for notifications of an instance that is gone is told that anything may have
// changed.
func TestAClientIsToldWhatItMayHaveMissed(t *testing.T) {
	t.Parallel()
	services := three(t)
	acme := services[0].Tenant(t, "acme")
	acme.Index(t, "docs")
	request := func(at *servicetest.Service, verb, id, body string, headers ...string) (string, io.Reader) {
		req, err := http.NewRequestWithContext(t.Context(), verb, at.URL+mcphttp.Path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + acme.Secret}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		if id != "" {
			req.Header.Set("Mcp-Session-Id", id)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		if res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
		return res.Header.Get("Mcp-Session-Id"), res.Body
	}
	id, _ := request(services[0], http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	request(services[1], http.MethodPost, id, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"ragd://indexes/docs"}}`)
	_, stream := request(services[2], http.MethodGet, id, "", "Last-Event-ID", "xxxxxxxxxx-1-0")
	want := []string{"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed", `"uri":"ragd://indexes/docs"`}
	for lines := bufio.NewScanner(stream); len(want) > 0 && lines.Scan(); {
		want = slices.DeleteFunc(want, func(one string) bool { return strings.Contains(lines.Text(), one) })
	}
	if len(want) > 0 {
		t.Errorf("not told: %v", want)
	}
}

// A session of a tenant is of no use to another one at any instance, whatever it sends there.
func TestASessionIsItsTenantsAtEveryInstance(t *testing.T) {
	t.Parallel()
	services := three(t)
	acme, globex := services[0].Tenant(t, "acme"), services[0].Tenant(t, "globex")
	post := func(s *servicetest.Service, secret, id, verb, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), verb, s.URL+mcphttp.Path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if id != "" {
			req.Header.Set("Mcp-Session-Id", id)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode, res.Header.Get("Mcp-Session-Id")
	}
	_, id := post(services[0], acme.Secret, "", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	another := services[0].Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
	for _, s := range services {
		for name, thief := range map[string]string{"another tenant": globex.Secret, "another key of the tenant": another} {
			for verb, body := range map[string]string{http.MethodPost: ping, http.MethodGet: "", http.MethodDelete: ""} {
				if status, _ := post(s, thief, id, verb, body); status != http.StatusNotFound {
					t.Errorf("%s by %s: status %d", verb, name, status)
				}
			}
		}
		if status, _ := post(s, acme.Secret, id, http.MethodPost, ping); status != http.StatusOK {
			t.Errorf("the session's own caller: status %d", status)
		}
	}
	if status, _ := post(services[1], acme.Secret, id, http.MethodDelete, ""); status != http.StatusNoContent {
		t.Errorf("DELETE: status %d", status)
	}
	for _, s := range services {
		wait.For(t, "the end of the session", func() bool {
			status, _ := post(s, acme.Secret, id, http.MethodPost, ping)
			return status == http.StatusNotFound
		})
	}
}
