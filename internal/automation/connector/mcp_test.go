package connector_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// mcpServer is an MCP server of a test.
type mcpServer struct {
	*httptest.Server

	mcp     *server.MCPServer
	mu      sync.Mutex
	texts   map[string]string // by uri
	read    []string          // uris since the last call of take
	headers []http.Header
	before  func(w http.ResponseWriter, r *http.Request) bool // answers instead of the server if it returns true
}

// eras are how servers of a test speak: over streamable HTTP in the era without and with sessions, and
// over the older transport.
var eras = []string{"stateless", "sessions", "sse"}

func newMCPServer(t *testing.T, era string, texts map[string]string, options ...server.ServerOption) *mcpServer {
	t.Helper()
	m := &mcpServer{texts: map[string]string{}}
	options = append([]server.ServerOption{server.WithResourceCapabilities(true, true), server.WithPaginationLimit(2)}, options...)
	m.mcp = server.NewMCPServer("upstream", "1", options...)
	m.set(texts)
	m.mcp.AddResourceTemplate(mcpgo.NewResourceTemplate("note://{name}", "a note"), func(_ context.Context, req mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
		m.saw(req.Params.URI)
		if req.Params.URI == "note://none" {
			return nil, fmt.Errorf("there is no such note")
		}
		return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "The note " + req.Params.URI}}, nil
	})
	var handler http.Handler
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.headers = append(m.headers, r.Header.Clone())
		before := m.before
		m.mu.Unlock()
		if before == nil || !before(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	switch era {
	case "sse":
		handler = server.NewSSEServer(m.mcp, server.WithBaseURL("http://"+m.Listener.Addr().String()))
	case "sessions":
		handler = server.NewStreamableHTTPServer(m.mcp, server.WithStreamableHTTPProtocolVersions(mcpgo.LegacyProtocolVersions()...))
	default:
		handler = server.NewStreamableHTTPServer(m.mcp)
	}
	m.Start()
	t.Cleanup(m.CloseClientConnections)
	return m
}

func (m *mcpServer) saw(uri string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = append(m.read, uri)
}

// take returns the uris that were read since the last call, in order.
func (m *mcpServer) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	read := slices.Sorted(slices.Values(m.read))
	m.read = nil
	return read
}

// set adds and replaces resources; an empty text removes one. "base64:" begins binary content. A text
// after "@TIME " was last modified then.
func (m *mcpServer) set(texts map[string]string) {
	for uri, text := range texts {
		m.mu.Lock()
		m.texts[uri] = text
		m.mu.Unlock()
		if text == "" {
			m.mcp.DeleteResources(uri)
			continue
		}
		resource := mcpgo.NewResource(uri, "name of "+uri, mcpgo.WithResourceDescription("about "+uri), mcpgo.WithMIMEType("text/markdown"))
		resource.Title = "Title of " + uri
		if rest, ok := strings.CutPrefix(text, "@"); ok {
			at, _, _ := strings.Cut(rest, " ")
			resource.Annotations = &mcpgo.Annotations{Audience: []mcpgo.Role{mcpgo.RoleUser}, Priority: new(0.5), LastModified: at}
		}
		m.mcp.AddResource(resource, func(_ context.Context, req mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
			m.saw(req.Params.URI)
			m.mu.Lock()
			defer m.mu.Unlock()
			text := m.texts[req.Params.URI]
			if blob, ok := strings.CutPrefix(text, "base64:"); ok {
				return []mcpgo.ResourceContents{mcpgo.BlobResourceContents{URI: req.Params.URI, Blob: blob}}, nil
			}
			if _, after, ok := strings.Cut(text, " "); ok && strings.HasPrefix(text, "@") {
				text = after
			}
			return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: req.Params.URI, Text: text}}, nil
		})
	}
}

func (m *mcpServer) endpoint(era string) string {
	if era == "sse" {
		return m.URL + "/sse"
	}
	return m.URL + "/mcp"
}

func mcpRequest(m *ragdv1.McpSource) *ragdv1.CreateConnectorRequest {
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_Mcp{Mcp: m}}
}

// versions returns the uris of the documents with their versions.
func versions(t *testing.T, c servicetest.Client) []string {
	t.Helper()
	return documents(t, c, &website{})
}

func TestTheResourcesOfAnMCPServerAreFollowed(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			up := newMCPServer(t, era, map[string]string{
				"doc://a": "# The text of a", "doc://b": "@2026-01-02T03:04:05Z The text of b", "doc://c": "The text of c",
				"doc://pdf": "base64:" + base64.StdEncoding.EncodeToString([]byte("{\\rtf1 A text in RTF.}")), "doc://e": "base64:",
			})
			s := newSealingService(t)
			acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
			if _, err := acme.SetSecret(t.Context(), &ragdv1.SetSecretRequest{SecretName: "wiki", Value: "of-acme"}); err != nil {
				t.Fatal(err)
			}
			req := mcpRequest(&ragdv1.McpSource{
				Url: up.endpoint(era), Headers: map[string]string{"Authorization": "Bearer {{secrets.wiki}}"}, WithoutSubscription: true,
				Templates: []*ragdv1.McpTemplate{{UriTemplate: "note://{name}", Arguments: map[string]string{"name": "one"}}, {UriTemplate: "note://none"}},
			})
			req.Metadata = map[string]string{"name": "item.attributes.name", "about": "item.attributes.description", "for": "item.attributes.audience", "at": "item.modifiedTime", "rank": "item.attributes.priority"}
			got := create(t, acme, req)
			if got.Status != "succeeded" || got.Counts.Added != 5 || got.Counts.Failed != 1 || got.Counts.Skipped != 1 || got.Counts.Bytes == 0 || got.Counts.Requests < 8 {
				t.Fatalf("first run: %v", got)
			}
			equal(t, "documents", versions(t, acme), []string{"doc://a v1", "doc://b v1", "doc://c v1", "doc://pdf v1", "note://one v1"})
			equal(t, "documents of another tenant", versions(t, bolt), []string{})
			list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list.Documents {
				if m := d.Metadata.AsMap(); d.Uri == "doc://b" && (d.Title != "Title of doc://b" || m["name"] != "name of doc://b" || m["about"] != "about doc://b" || fmt.Sprint(m["for"]) != "[user]" || m["at"] != "2026-01-02T03:04:05Z" || m["rank"] != 0.5) {
					t.Errorf("document: %v", d)
				}
			}
			up.mu.Lock()
			for _, h := range up.headers {
				if h.Get("Authorization") != "Bearer of-acme" {
					t.Errorf("a request has the credential %q", h.Get("Authorization"))
				}
			}
			up.mu.Unlock()

			// Nothing has changed: nothing is stored, and what says when it was modified is not read.
			up.take()
			if got := resync(t, acme); got.Status != "succeeded" || got.Counts.Unchanged != 5 || got.Counts.Added+got.Counts.Updated+got.Counts.Deleted != 0 {
				t.Errorf("second run: %v", got)
			}
			if read := up.take(); slices.Contains(read, "doc://b") || !slices.Contains(read, "doc://a") {
				t.Errorf("read again: %v", read)
			}
			equal(t, "documents", versions(t, acme), []string{"doc://a v1", "doc://b v1", "doc://c v1", "doc://pdf v1", "note://one v1"})

			// One comes, two change, one goes.
			up.set(map[string]string{"doc://a": "# Another text of a", "doc://b": "@2026-02-02T03:04:05Z Another text of b", "doc://c": "", "doc://d": "The text of d"})
			if got := resync(t, acme); got.Counts.Added != 1 || got.Counts.Updated != 2 || got.Counts.Deleted != 1 {
				t.Errorf("third run: %v", got)
			}
			equal(t, "documents", versions(t, acme), []string{"doc://a v2", "doc://b v2", "doc://d v1", "doc://pdf v1", "note://one v1"})
		})
	}
}

func TestSettingsOfAnMCPServerAreChecked(t *testing.T) {
	t.Parallel()
	s := newSealingService(t)
	acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
	if _, err := bolt.SetSecret(t.Context(), &ragdv1.SetSecretRequest{SecretName: "wiki", Value: "of-bolt"}); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*ragdv1.McpSource{
		"mcp.url":              {Url: "ftp://example.com"},
		"inside the network":   {Url: "http://10.0.0.1/mcp"},
		"mcp.timeoutMs":        {Url: "https://example.com/mcp", TimeoutMs: 100_000},
		"mcp.headers":          {Url: "https://example.com/mcp", Headers: map[string]string{"Host": "else"}},
		"not found":            {Url: "https://example.com/mcp", Headers: map[string]string{"X-Key": "{{secrets.wiki}}"}},
		"uriTemplate":          {Url: "https://example.com/mcp", Templates: []*ragdv1.McpTemplate{{UriTemplate: "note://{"}}},
		"must give name":       {Url: "https://example.com/mcp", Templates: []*ragdv1.McpTemplate{{UriTemplate: "note://{name}"}}},
		"at most 1000 bytes":   {Url: "https://example.com/mcp", Templates: []*ragdv1.McpTemplate{{UriTemplate: "note://{+name}", Arguments: map[string]string{"name": strings.Repeat("x", 999)}}}},
		"mcp.templates: must ": {Url: "https://example.com/mcp", Templates: make([]*ragdv1.McpTemplate, 101)},
	} {
		_, err := acme.CreateConnector(t.Context(), mcpRequest(m))
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A hostile server fails the run of its connector, with a reason, and nothing else.
func TestAHostileMCPServerFailsItsConnectorOnly(t *testing.T) {
	t.Parallel()
	result := func(text string) string { return `{"jsonrpc":"2.0","id":%s,"result":` + text + `}` }
	hello := `{"protocolVersion":"2025-11-25","capabilities":{"resources":{}},"serverInfo":{"name":"x","version":"1"}}`
	for name, c := range map[string]struct {
		list   func(n int) string // nth page
		read   string
		reason string
	}{
		"a cursor returns": {list: func(int) string { return result(`{"resources":[],"nextCursor":"again"}`) }, reason: "does not end"},
		"cursors for ever": {list: func(n int) string { return result(fmt.Sprintf(`{"resources":[],"nextCursor":"c%d"}`, n)) }, reason: "does not end"},
		"items for ever": {list: func(n int) string {
			return result(fmt.Sprintf(`{"resources":[{"uri":"x://%d","name":"x"}],"nextCursor":"c%d"}`, n, n))
		}, reason: "raise maxItems"},
		"no JSON":       {list: func(int) string { return "{" }, reason: ""},
		"another shape": {list: func(int) string { return result(`{"resources":"none"}`) }, reason: ""},
		"a huge list":   {list: func(int) string { return result(`{"resources":[],"x":"` + strings.Repeat("x", 17<<20) + `"}`) }, reason: "longer than 16 MiB"},
		"deep JSON":     {list: func(int) string { return strings.Repeat("[", 1<<20) }, reason: ""},
		"a refusal": {list: func(int) string {
			return `{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"go\naway` + strings.Repeat("x", 10_000) + `"}}`
		}, reason: "go away"},
		"broken connection": {list: func(int) string { return "" }, reason: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pages := 0
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				method, id := calledMethod(r)
				w.Header().Set("Content-Type", "application/json")
				switch method {
				case "initialize":
					fmt.Fprintf(w, result(hello), id)
				case "resources/list":
					pages++
					body := c.list(pages)
					if body == "" {
						panic(http.ErrAbortHandler)
					}
					fmt.Fprint(w, strings.Replace(body, "%s", id, 1))
				case "":
					w.WriteHeader(http.StatusMethodNotAllowed)
				default:
					if strings.HasPrefix(method, "notifications/") {
						w.WriteHeader(http.StatusAccepted)
						return
					}
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, id)
				}
			}))
			t.Cleanup(up.Close)
			s := newService(t)
			acme := newTenant(t, s, "acme")
			req := mcpRequest(&ragdv1.McpSource{Url: up.URL})
			req.MaxItems = 5
			got := create(t, acme, req)
			if got.Status != "failed" || !strings.Contains(got.Error, c.reason) || len(got.Error) > 600 || strings.Contains(got.Error, "\n") {
				t.Errorf("run: %q: %q", got.Status, got.Error)
			}
			if _, err := acme.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Resources that cannot be read fail alone.
func TestAHostileResourceFailsAlone(t *testing.T) {
	t.Parallel()
	up := newMCPServer(t, "stateless", map[string]string{
		"doc://a": "The text of a", "doc://huge": strings.Repeat("x", 17<<20), "doc://bad": "base64:*", "doc://binary": "base64:AAAA", "doc://z": "The text of z",
		"doc://" + strings.Repeat("u", 2000): "The text of u",
	})
	s := newService(t)
	acme := newTenant(t, s, "acme")
	if got := create(t, acme, mcpRequest(&ragdv1.McpSource{Url: up.endpoint("")})); got.Status != "succeeded" || got.Counts.Added != 2 || got.Counts.Failed != 4 {
		t.Errorf("run: %v", got)
	}
	failed, err := acme.ListConnectorItems(t.Context(), &ragdv1.ListConnectorItemsRequest{ConnectorName: "site", Status: "failed"})
	if err != nil || len(failed.Items) != 4 {
		t.Fatalf("%v, %v", failed, err)
	}
	for _, i := range failed.Items {
		if i.Reason == "" {
			t.Errorf("%s has no reason", i.Id)
		}
	}
	if _, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"}); err != nil {
		t.Errorf("test: %v", err)
	}
	if _, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "other"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("test of another: %v", err)
	}
}
