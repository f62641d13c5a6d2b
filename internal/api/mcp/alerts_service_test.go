package mcp_test

import (
	"slices"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// An agent previews and makes an alert, finds what matched, and deletes it. A key that may only read is not offered the tool, and
// another tenant reaches no alert by its id.
func TestAnAgentKeepsAlerts(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	for _, tenant := range []servicetest.Client{acme, globex} {
		tenant.Index(t, "docs")
	}
	upload := func(uri, body string) {
		t.Helper()
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text(body)})
	}
	upload("before", "The ferry is late because of fog.")
	ask := func(t *testing.T, secret string, arguments map[string]any) (*mcpgo.CallToolResult, string) {
		t.Helper()
		c := mcptest.Connect(t, s.URL+mcphttp.Path, nil, map[string]string{"Authorization": "Bearer " + secret})
		return mcptest.Call(t, c, "alerts", arguments, nil)
	}
	agent := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}})

	question := map[string]any{"action": "preview", "queryText": "late ferry", "searchMode": "keyword"}
	if result, text := ask(t, agent, question); result.IsError || !strings.HasPrefix(text, "1 of all 1 passage match") || !strings.Contains(text, "because of fog") {
		t.Errorf("preview: %s", text)
	}
	question["action"] = "create"
	result, text := ask(t, agent, question)
	var made ragdv1.Alert
	structuredInto(t, result, &made)
	if result.IsError || made.AlertId == "" {
		t.Fatal(text)
	}
	upload("after", "Another ferry is late.")
	matches := map[string]any{"action": "matches", "alertId": made.AlertId}
	if result, text := ask(t, agent, matches); result.IsError || !strings.Contains(text, "Another ferry") || strings.Contains(text, "fog") {
		t.Errorf("matches: %s", text)
	}
	if result, text := ask(t, agent, map[string]any{"action": "delete", "alertId": made.AlertId, "queryText": "x"}); !result.IsError || !strings.Contains(text, "queryText") || !strings.Contains(text, "delete") {
		t.Errorf("an argument of another action: %s", text)
	}

	for _, action := range []string{"matches", "update", "delete"} {
		theirs, text := ask(t, globex.Secret, map[string]any{"action": action, "alertId": made.AlertId})
		unknown, nobodys := ask(t, globex.Secret, map[string]any{"action": action, "alertId": "0198c3a4-0000-7000-8000-000000000005"})
		if !theirs.IsError || !unknown.IsError || text != strings.ReplaceAll(nobodys, "0198c3a4-0000-7000-8000-000000000005", made.AlertId) {
			t.Errorf("%s of another tenant: %q, of nobody: %q", action, text, nobodys)
		}
	}
	if _, text := ask(t, globex.Secret, map[string]any{"action": "list"}); strings.Contains(text, made.AlertId) || strings.Contains(text, "ferry") {
		t.Errorf("another tenant lists %s", text)
	}
	question["action"] = "preview"
	if _, text := ask(t, globex.Secret, question); !strings.HasPrefix(text, "0 of all 0 passages") || strings.Contains(text, "fog") {
		t.Errorf("another tenant previews %s", text)
	}

	reader := mcptest.Connect(t, s.URL+mcphttp.Path, nil, map[string]string{"Authorization": "Bearer " + s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})})
	list, err := reader.ListTools(t.Context(), mcpgo.ListToolsRequest{})
	if err != nil || len(list.Tools) == 0 || slices.ContainsFunc(list.Tools, func(tool mcpgo.Tool) bool { return tool.Name == "alerts" }) {
		t.Errorf("a reader is offered %v, %v", list, err)
	}

	if result, text := ask(t, agent, map[string]any{"action": "delete", "alertId": made.AlertId}); result.IsError || !strings.Contains(text, "Deleted") {
		t.Errorf("delete: %s", text)
	}
	if _, text := ask(t, agent, map[string]any{"action": "list"}); text != "There are no alerts." {
		t.Errorf("after it was deleted: %s", text)
	}
}
