package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func allowed(names ...string) *ragdv1.AllowedNames { return &ragdv1.AllowedNames{Names: names} }

// makeServer creates a server of a tenant.
func makeServer(t *testing.T, c servicetest.Client, req *ragdv1.CreateServerRequest) {
	t.Helper()
	if _, err := c.CreateServer(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

// dial connects a client with a key and returns what the server says about itself.
func dial(t *testing.T, address, secret, era string) (*client.Client, *mcpgo.InitializeResult, error) {
	t.Helper()
	over, err := transport.NewStreamableHTTP(address, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + secret}))
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(over, mcptest.Eras[era]...)
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var req mcpgo.InitializeRequest
	req.Params.ProtocolVersion = mcpgo.LATEST_PROTOCOL_VERSION
	req.Params.ClientInfo = mcpgo.Implementation{Name: "test", Version: "1"}
	result, err := c.Initialize(t.Context(), req)
	return c, result, err
}

func TestNamedServersDescribeThemselves(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, Version: "v9.9.9"})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	makeServer(t, acme, &ragdv1.CreateServerRequest{
		ServerName: "handbook", Version: "2.1.0", Title: "The handbook", Description: "Rules.", Instructions: "Answer from the {{server}} of {{tenant}}{{claims.none}}.",
		WebsiteUrl: "https://example.com/handbook", Icons: []*ragdv1.ServerIcon{{Src: "https://example.com/i.png", Sizes: []string{"48x48"}, Theme: "dark"}},
		Prompts: allowed("answer_with_sources"), HideResources: true,
	})
	makeServer(t, bolt, &ragdv1.CreateServerRequest{ServerName: "handbook", Title: "Bolt's", Tools: allowed("rerank")})
	makeServer(t, bolt, &ragdv1.CreateServerRequest{ServerName: "default", Instructions: "Bolt's instructions."})
	for era := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			identity := func(of servicetest.Client, path string) (*client.Client, mcpgo.Implementation, string, mcpgo.ServerCapabilities) {
				c, result, err := dial(t, s.URL+mcphttp.Path+path, of.Secret, era)
				if err != nil {
					t.Fatal(err)
				}
				return c, result.ServerInfo, result.Instructions, result.Capabilities
			}
			c, info, instructions, capabilities := identity(acme, "/handbook")
			if info.Name != "handbook" || info.Version != "2.1.0" || info.Title != "The handbook" || info.Description != "Rules." ||
				info.WebsiteURL != "https://example.com/handbook" || len(info.Icons) != 1 || info.Icons[0].Theme != "dark" {
				t.Errorf("server info: %+v", info)
			}
			if instructions != "Answer from the handbook of acme." || capabilities.Resources != nil || capabilities.Prompts == nil {
				t.Errorf("instructions %q, capabilities %+v", instructions, capabilities)
			}
			prompts, err := c.ListPrompts(t.Context(), mcpgo.ListPromptsRequest{})
			if err != nil || len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "answer_with_sources" {
				t.Errorf("prompts: %v, %v", prompts, err)
			}
			var hidden, absent mcpgo.GetPromptRequest
			hidden.Params.Name, absent.Params.Name = "build_filter", "build_folder"
			_, wasHidden := c.GetPrompt(t.Context(), hidden)
			_, wasAbsent := c.GetPrompt(t.Context(), absent)
			if wasHidden == nil || wasAbsent == nil || strings.ReplaceAll(wasHidden.Error(), "build_filter", "build_folder") != wasAbsent.Error() {
				t.Errorf("a hidden prompt: %v; one that does not exist: %v", wasHidden, wasAbsent)
			}

			_, info, instructions, capabilities = identity(bolt, "/handbook")
			if info.Title != "Bolt's" || info.Version != "1.0.0" || capabilities.Resources == nil || strings.Contains(instructions, "vector_query") || instructions == "" {
				t.Errorf("the other tenant's: %+v, %q", info, instructions)
			}
			_, info, instructions, _ = identity(bolt, "")
			if info.Name != "ragd" || instructions != "Bolt's instructions." {
				t.Errorf("the other tenant's default server: %+v, %q", info, instructions)
			}
			_, info, instructions, _ = identity(acme, "")
			if info.Name != "ragd" || info.Version != "v9.9.9" || !strings.Contains(instructions, "vector_query") {
				t.Errorf("a default server without a definition: %+v, %q", info, instructions)
			}
			bound := servicetest.Client{Secret: s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Tools: allowed("search")})}
			_, _, instructions, capabilities = identity(bound, "")
			if strings.Contains(instructions, "vector_query") || instructions == "" || capabilities.Resources != nil {
				t.Errorf("for a key of the tool search: %q, %+v", instructions, capabilities)
			}
		})
	}
}

// Clients of a server are told of its changes, those of other servers are not.
func TestChangesOfServersAreNotified(t *testing.T) {
	t.Parallel()
	const tools, prompts, resources = "notifications/tools/list_changed ", "notifications/prompts/list_changed ", "notifications/resources/list_changed "
	for era := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{NoWorkers: true})
			acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
			for _, c := range []servicetest.Client{acme, bolt} {
				makeServer(t, c, &ragdv1.CreateServerRequest{ServerName: "front", Indexes: allowed("docs")})
				makeServer(t, c, &ragdv1.CreateServerRequest{ServerName: "back"})
			}
			here, there := s.URL+mcphttp.Path, instance(t, s)
			front := []<-chan string{watching(t, here+"/front", era, acme.Secret), watching(t, there+"/front", era, acme.Secret)}
			others := []<-chan string{watching(t, here+"/back", era, acme.Secret), watching(t, here, era, acme.Secret), watching(t, here+"/front", era, bolt.Secret)}
			tenants := []servicetest.Client{acme, acme, bolt} // of the others
			for i, notified := range others {
				pass(t, tenants[i], notified)
			}
			for _, notified := range front {
				pass(t, acme, notified)
			}
			if _, err := acme.UpdateServer(t.Context(), &ragdv1.UpdateServerRequest{ServerName: "front", Tools: allowed("rerank")}); err != nil {
				t.Fatal(err)
			}
			for _, notified := range front {
				collect(t, notified, tools, prompts, resources)
			}
			quiet := func(c servicetest.Client, notified <-chan string) {
				t.Helper()
				for _, one := range pass(t, c, notified) {
					t.Errorf("told of %s", one)
				}
			}
			for i, notified := range others {
				quiet(tenants[i], notified)
			}
			acme.Index(t, "secret")
			collect(t, others[0], tools, resources)
			quiet(acme, front[0])
		})
	}
}

// A key that is bound to a server reaches that one alone, and what it may not reach looks like
// what does not exist.
func TestKeysOfServersReachThemAlone(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	makeServer(t, acme, &ragdv1.CreateServerRequest{ServerName: "front"})
	makeServer(t, acme, &ragdv1.CreateServerRequest{ServerName: "back"})
	bound := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Servers: allowed("front")})
	initialize := func(path string) error {
		_, _, err := dial(t, s.URL+mcphttp.Path+path, bound, "legacy")
		return err
	}
	if err := initialize("/front"); err != nil {
		t.Errorf("its own server: %v", err)
	}
	absent := initialize("/nowhere")
	for path, name := range map[string]string{"/back": "back", "": "default"} {
		err := initialize(path)
		if err == nil || strings.ReplaceAll(err.Error(), name, "nowhere") != absent.Error() {
			t.Errorf("%q: %v; a server that does not exist: %v", path, err, absent)
		}
	}
	_, err := s.Client(bound).GetServer(t.Context(), &ragdv1.GetServerRequest{ServerName: "back"})
	if err == nil {
		t.Error(errors.New("GetServer answers a key of servers"))
	}
}

// toolsOf returns the names of the tools that a client sees.
func toolsOf(t *testing.T, c *client.Client) string {
	t.Helper()
	list, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// refusal returns the error of a call, with the name of the tool replaced.
func refusal(t *testing.T, c *client.Client, name string) string {
	t.Helper()
	var req mcpgo.CallToolRequest
	req.Params.Name = name
	result, err := c.CallTool(t.Context(), req)
	if err == nil {
		t.Errorf("%s is answered: %v", name, result)
		return ""
	}
	return strings.ReplaceAll(err.Error(), name, "TOOL")
}

func TestNamedServersShowTheirTools(t *testing.T) {
	t.Parallel()
	s, address, acme, bolt := handbooks(t)
	for _, c := range []servicetest.Client{acme, bolt} {
		for name, index := range map[string]string{"own_laws": "laws", "own_recipes": "recipes"} {
			_, err := c.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
				ToolName: name, Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": index}),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	makeServer(t, acme, &ragdv1.CreateServerRequest{
		ServerName: "front", Tools: allowed("vector_query", "own_laws", "own_recipes", "upload_document"), Indexes: allowed("laws"),
		Presented: []*ragdv1.PresentedTool{
			{ToolName: "vector_query", Name: "ask", Title: "Ask", Description: "Ask the law."}, {ToolName: "upload_document", Name: "put"},
			{ToolName: "graph_rag", Name: "own_laws"}, // which is not shown
		},
		DefaultContext: servicetest.Object(t, map[string]any{"topK": 1}),
	})
	makeServer(t, bolt, &ragdv1.CreateServerRequest{ServerName: "front", Tools: allowed("rerank")})
	for era := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			connect := func(path, secret string) *client.Client {
				c, _, err := dial(t, address+path, secret, era)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			c := connect("/front", acme.Secret)
			if got := toolsOf(t, c); got != "ask own_laws put" {
				t.Errorf("tools: %s", got)
			}
			if got := toolsOf(t, connect("/front", bolt.Secret)); got != "rerank" {
				t.Errorf("the other tenant's: %s", got)
			}
			list, _ := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
			if ask := list.Tools[0]; ask.Title != "Ask" || ask.Description != "Ask the law." {
				t.Errorf("presented as %q, %q", ask.Title, ask.Description)
			}
			if names := mcptest.Tools(t, c)["ask"]; strings.Join(names, " ") != "laws" {
				t.Errorf("indexes in the schema: %v", names)
			}
			result, text := mcptest.Call(t, c, "ask", map[string]any{"queryText": "laws"}, nil)
			if found := uris(t, result); strings.Contains(found, " ") || !strings.HasPrefix(found, "laws-") {
				t.Errorf("with the default context: %s: %s", found, text)
			}
			result, _ = mcptest.Call(t, c, "ask", map[string]any{"queryText": "laws"}, map[string]any{"ragd/context": map[string]any{"topK": 2}})
			if found := uris(t, result); found != "laws-blue laws-red" {
				t.Errorf("with a context of the client: %s", found)
			}
			hidden, text := mcptest.Call(t, c, "ask", map[string]any{"queryText": "a", "indexName": "recipes"}, nil)
			absent, other := mcptest.Call(t, c, "ask", map[string]any{"queryText": "a", "indexName": "nothing"}, nil)
			if !hidden.IsError || !absent.IsError || strings.ReplaceAll(text, "recipes", "nothing") != other {
				t.Errorf("a hidden index: %s; one that does not exist: %s", text, other)
			}
			unknown := refusal(t, c, "zzzzzzzzz")
			for _, name := range []string{"vector_query", "rerank", "graph_rag", "upload_document", "own_recipes", "delete_documents"} {
				if got := refusal(t, c, name); !strings.HasPrefix(got, unknown) || strings.Contains(got, "recipes") {
					t.Errorf("%s: %s; a tool that does not exist: %s", name, got, unknown)
				}
			}
			reader := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Servers: allowed("front"), Tools: allowed("vector_query", "rerank")})
			if got := toolsOf(t, connect("/front", reader)); got != "ask" {
				t.Errorf("tools of a bound key: %s", got)
			}
		})
	}
}

// What a server fixes, no client can change, and its filter holds for more than queries.
func TestTheFixedContextOfAServerHolds(t *testing.T) {
	t.Parallel()
	_, address, acme, _ := handbooks(t)
	makeServer(t, acme, &ragdv1.CreateServerRequest{
		ServerName: "red", FixedContext: servicetest.Object(t, map[string]any{"indexName": "laws", "filter": map[string]any{"team": "red"}}),
	})
	for era := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			for _, meta := range []map[string]any{
				nil, {"ragd/context": map[string]any{"indexName": "recipes"}}, {"ragd/context": map[string]any{"filter": map[string]any{"team": "blue"}}},
			} {
				c, _, err := dial(t, address+"/red", acme.Secret, era)
				if err != nil {
					t.Fatal(err)
				}
				result, text := mcptest.Call(t, c, "vector_query", map[string]any{"queryText": "team", "indexName": "recipes"}, meta)
				if found := uris(t, result); found != "laws-red" && (found != "" || meta == nil) {
					t.Errorf("%v: %s: %s", meta, found, text)
				}
				result, text = mcptest.Call(t, c, "list_documents", map[string]any{"indexName": "laws"}, meta)
				if result.IsError || strings.Contains(text, "laws-blue") || meta == nil && !strings.Contains(text, "laws-red") {
					t.Errorf("list_documents: %s", text)
				}
				result, text = mcptest.Call(t, c, "delete_document", map[string]any{"indexName": "laws", "uri": "laws-blue"}, meta)
				if structured, _ := json.Marshal(result.StructuredContent); !result.IsError && !strings.Contains(string(structured), "false") {
					t.Errorf("delete_document: %s %s", text, structured)
				}
			}
		})
	}
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "laws"})
	if err != nil || len(list.GetDocuments()) != 2 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// Clients of the transport of 2024-11-05 use a tenant's server as others do, and so do tools of the
// kind mcp of another tenant.
func TestNamedServersAreUsedOverSSE(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.1"}, MCP: mcphttp.Config{LegacySSE: true}})
	acme, bolt, ctx := s.Tenant(t, "acme"), s.Tenant(t, "bolt"), t.Context()
	acme.Index(t, "docs")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "fees.md", Source: servicetest.Text("The fee is 7.")})
	makeServer(t, acme, &ragdv1.CreateServerRequest{
		ServerName: "front", Tools: allowed("vector_query"), Presented: []*ragdv1.PresentedTool{{ToolName: "vector_query", Name: "ask"}},
	})
	address := s.URL + mcphttp.SSEPath + "/front"
	credential := map[string]string{"Authorization": "Bearer " + acme.Secret}
	c, err := client.NewSSEMCPClient(address, transport.WithHeaders(credential))
	if err == nil {
		err = c.Start(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	notified := make(chan string, 100)
	c.OnNotification(func(n mcpgo.JSONRPCNotification) { notified <- n.Method + " " })
	mcptest.Initialize(t, c)
	list, err := c.ListTools(ctx, mcpgo.ListToolsRequest{})
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "ask" {
		t.Fatalf("tools: %v, %v", list, err)
	}
	if result, text := mcptest.Call(t, c, "ask", map[string]any{"queryText": "fee"}, nil); result.IsError || !strings.Contains(text, "fee is 7") {
		t.Errorf("ask: %s", text)
	}
	if _, err := acme.UpdateServer(ctx, &ragdv1.UpdateServerRequest{ServerName: "front", AllTools: true}); err != nil {
		t.Fatal(err)
	}
	collect(t, notified, "notifications/tools/list_changed ")

	_, err = bolt.CreateTool(ctx, &ragdv1.CreateToolRequest{
		ToolName: "ask_acme", Kind: "mcp", Settings: servicetest.Object(t, map[string]any{"url": address, "toolName": "ask", "headers": map[string]any{"Authorization": "Bearer " + acme.Secret}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := bolt.CallTool(ctx, &ragdv1.CallToolRequest{ToolName: "ask_acme", Arguments: servicetest.Object(t, map[string]any{"queryText": "fee"})})
	if err != nil || !strings.Contains(got.String(), "fee is 7") {
		t.Errorf("a tool of another tenant: %v, %v", got, err)
	}
	for path, secret := range map[string]string{"/nowhere": acme.Secret, "/front": bolt.Secret} {
		if refused, err := client.NewSSEMCPClient(s.URL+mcphttp.SSEPath+path, transport.WithHeaders(map[string]string{"Authorization": "Bearer " + secret})); err == nil {
			if err = refused.Start(ctx); err == nil {
				t.Errorf("%s opens a stream", path)
			}
			_ = refused.Close()
		}
	}
}
