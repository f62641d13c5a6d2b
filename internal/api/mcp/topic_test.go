package mcp_test

import (
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// list_topics, the resource of topics and a global answer show only documents of the
// caller's tenant, and nothing to a credential or a request context with a filter.
func TestTopicsShowOnlyTheCallersDocuments(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	for name, text := range map[string]string{"acme": "The coolant pump has greased bearings.", "bolt": "The silent movie has an orchestra."} {
		admin := s.Tenant(t, name)
		admin.Index(t, "docs")
		admin.Upload(t, &ragdv1.UploadDocumentRequest{Uri: name + "-page", Metadata: servicetest.Object(t, map[string]any{"level": "open"}), Source: servicetest.Text(text)})
		admin.Topics(t, "docs")
		secret := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: name, Scopes: []string{"read"}})
		limited := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: name, Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})})
		for era, options := range mcptest.Eras {
			t.Run(era+", "+name, func(t *testing.T) {
				connect := func(secret string) func(string, map[string]any, map[string]any) (*mcpgo.CallToolResult, string) {
					c := mcptest.Connect(t, s.URL+mcphttp.Path, options, map[string]string{"Authorization": "Bearer " + secret})
					return func(tool string, arguments, meta map[string]any) (*mcpgo.CallToolResult, string) {
						return mcptest.Call(t, c, tool, arguments, meta)
					}
				}
				ask := map[string]any{"queryText": "Which coolant pump is in the silent movie?", "scope": "global", "explain": true}
				call := connect(secret)
				for tool, arguments := range map[string]map[string]any{"list_topics": nil, "graph_rag": ask} {
					result, shown := call(tool, arguments, nil)
					if result.IsError || !strings.Contains(shown, name+"-page") {
						t.Errorf("%s: %s", tool, shown)
					}
					for other, word := range map[string]string{"acme": "orchestra", "bolt": "bearings"} {
						if other == name && strings.Contains(shown, word) {
							t.Errorf("%s shows another tenant: %s", tool, shown)
						}
					}
					for what, refused := range map[string]func() (*mcpgo.CallToolResult, string){
						"a mandatory filter": func() (*mcpgo.CallToolResult, string) { return connect(limited)(tool, arguments, nil) },
						"a filter of the context": func() (*mcpgo.CallToolResult, string) {
							return call(tool, arguments, map[string]any{"ragd/context": map[string]any{"filter": map[string]any{"level": "open"}}})
						},
					} {
						if result, shown := refused(); !result.IsError || strings.Contains(shown, "page") {
							t.Errorf("%s under %s: %s", tool, what, shown)
						}
					}
				}
				c := mcptest.Connect(t, s.URL+mcphttp.Path, options, map[string]string{"Authorization": "Bearer " + secret})
				var read mcpgo.ReadResourceRequest
				read.Params.URI = "ragd://indexes/docs/topics"
				topics, err := c.ReadResource(t.Context(), read)
				if err != nil || len(topics.Contents) != 1 {
					t.Fatalf("read %v, %v", topics, err)
				}
				if text := topics.Contents[0].(mcpgo.TextResourceContents).Text; !strings.Contains(text, name+"-page") {
					t.Errorf("the resource has %s", text)
				}
			})
		}
	}
}
