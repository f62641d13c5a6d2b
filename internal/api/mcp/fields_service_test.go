package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// The argument filter names the fields and values of the caller's indexes, but no values that
// a filter hides, and none of another tenant.
func TestFiltersNameTheFieldsOfTheIndexes(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	for _, name := range []string{"acme", "bolt"} {
		c := s.Tenant(t, name)
		c.Index(t, "docs")
		for _, team := range []string{"red", "blue"} {
			c.Upload(t, &ragdv1.UploadDocumentRequest{
				IndexName: "docs", Uri: team, Source: servicetest.Text("All about the " + team + " team."),
				Metadata: servicetest.Object(t, map[string]any{"team": name + "-" + team, "secret": map[string]any{"code": name}}),
			})
		}
		for tool, settings := range map[string]map[string]any{
			"ask_docs": {"indexName": "docs"},
			"ask_red":  {"indexName": "docs", "filter": map[string]any{"team": name + "-red"}},
		} {
			if _, err := c.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: tool, Kind: "vector_query", Description: "Asks.", Settings: servicetest.Object(t, settings)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	filters := func(req *ragdv1.CreateApiKeyRequest, header ...string) map[string]string {
		headers := map[string]string{"Authorization": "Bearer " + s.Key(t, req)}
		for i := 0; i+1 < len(header); i += 2 {
			headers[header[i]] = header[i+1]
		}
		list, err := mcptest.Connect(t, s.URL+mcphttp.Path, nil, headers).ListTools(t.Context(), mcpgo.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		described := map[string]string{}
		for _, tool := range list.Tools {
			raw, err := json.Marshal(tool.InputSchema.Properties["filter"])
			if err != nil {
				t.Fatal(err)
			}
			_, fields, _ := strings.Cut(string(raw), " Fields: ")
			described[tool.Name], _, _ = strings.Cut(strings.ReplaceAll(fields, `\"`, `"`), `."`)
		}
		return described
	}

	// A list waits for the fields for a fraction of a second; on a busy machine a later one has them.
	listed := func(tenant string) (got map[string]string) {
		for range wait.Poll(t, "the fields of "+tenant) {
			if got = filters(&ragdv1.CreateApiKeyRequest{TenantId: tenant, Scopes: []string{"read"}}); got["search"] != "" && got["vector_query"] != "" {
				break
			}
		}
		return got
	}
	got := listed("acme")
	const want = `secret.code ("acme"); team ("acme-blue", "acme-red")`
	for _, tool := range []string{"vector_query", "search", "ask_docs"} {
		if got[tool] != want {
			t.Errorf("%s: fields %s, want %s", tool, got[tool], want)
		}
	}
	if got["ask_red"] != "" {
		t.Errorf("a tool with a filter shows %s", got["ask_red"])
	}
	if got := listed("bolt"); !strings.Contains(got["search"], "bolt-red") || strings.Contains(got["search"], "acme") {
		t.Errorf("the other tenant: %s", got["search"])
	}
	hidden := servicetest.Object(t, map[string]any{"team": "acme-red"})
	for name, shown := range map[string]map[string]string{
		"a key with a filter": filters(&ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: hidden}),
		"a context with one":  filters(&ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}, "Ragd-Context", `{"filter": {"team": "acme-red"}}`),
	} {
		for tool, fields := range shown {
			if fields != "" {
				t.Errorf("%s: %s shows %s", name, tool, fields)
			}
		}
	}
}
