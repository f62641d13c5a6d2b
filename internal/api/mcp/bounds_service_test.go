package mcp_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// ask sends one request to an MCP endpoint and returns the whole answer.
func ask(t *testing.T, address, secret, method string, params map[string]any) string {
	t.Helper()
	all := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}}
	for name, value := range params {
		all[name] = value
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": all})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + secret,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method,
	} {
		req.Header.Set(name, value)
	}
	for _, name := range []string{"name", "uri"} {
		if value, ok := params[name].(string); ok {
			req.Header.Set("Mcp-Name", value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

var varying = regexp.MustCompile(`"requestId":"[^"]*"|"durationMs":[0-9.]+|"(created?|updated?)Time":"[^"]*"`)

// properties returns the arguments of the tools in a list, by the name of the tool.
func properties(t *testing.T, answer string) map[string]map[string]any {
	t.Helper()
	var message struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Properties map[string]any }
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &message); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	all := map[string]map[string]any{}
	for _, tool := range message.Result.Tools {
		all[tool.Name] = tool.InputSchema.Properties
	}
	return all
}

// listed returns the values of a field in the result of a list.
func listed(t *testing.T, answer, list, field string) []string {
	t.Helper()
	_, data, ok := strings.Cut(answer, "data: ")
	if !ok {
		data = answer
	}
	var message struct{ Result map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(data), &message); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	var items []map[string]any
	if err := json.Unmarshal(message.Result[list], &items); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	var values []string
	for _, item := range items {
		if value, ok := item[field].(string); ok {
			values = append(values, value)
		}
	}
	return values
}

// A key that is bound to an index gets from every tool, resource, prompt and completion the same
// answer for another index as for one that does not exist.
func TestNothingShowsABoundKeyAnotherIndex(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	address := s.URL + mcphttp.Path
	var job string
	for _, name := range []string{"faq", "zebra-secret"} {
		acme.Index(t, name)
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: name, Uri: name + ".txt", Source: servicetest.Text("The " + name + " is about trees.")})
	}
	secret, err := acme.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "zebra-secret", Uri: "zebra-secret.txt"})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := acme.ListJobs(t.Context(), &ragdv1.ListJobsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs.Jobs {
		if j.DocumentId == secret.DocumentId {
			job = j.JobId
		}
	}
	if _, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
		ToolName: "zebra_secret", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "zebra-secret"}),
	}); err != nil {
		t.Fatal(err)
	}
	bound := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Indexes: allowed("faq")})
	names := strings.NewReplacer("zebra-secret", "<index>", "zebra-absent", "<index>", "zebra_secret", "<tool>", "zebra_absent", "<tool>",
		secret.DocumentId, "<document>", "0198c3a4-0000-7000-8000-000000000001", "<document>", job, "<job>", "0198c3a4-0000-7000-8000-000000000002", "<job>")
	same := func(what, method string, params func(index, document, job, tool string) map[string]any) {
		t.Helper()
		hidden := ask(t, address, bound, method, params("zebra-secret", secret.DocumentId, job, "zebra_secret"))
		absent := ask(t, address, bound, method, params("zebra-absent", "0198c3a4-0000-7000-8000-000000000001", "0198c3a4-0000-7000-8000-000000000002", "zebra_absent"))
		hidden, absent = varying.ReplaceAllString(hidden, ""), varying.ReplaceAllString(absent, "")
		if names.Replace(hidden) != names.Replace(absent) {
			t.Errorf("%s answers\n%s\nfor a hidden index, and for an absent one\n%s", what, hidden, absent)
		}
		if strings.Contains(hidden, "secret is about") {
			t.Errorf("%s shows %s", what, hidden)
		}
	}
	lists := map[string]string{}
	for method, list := range map[string]string{"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts"} {
		lists[list] = ask(t, address, bound, method, nil)
		if strings.Contains(lists[list], "zebra") || strings.Contains(lists[list], secret.DocumentId) {
			t.Errorf("%s shows %s", method, lists[list])
		}
		if unbound := ask(t, address, acme.Secret, method, nil); (list == "tools" || list == "resources") && !strings.Contains(unbound, "zebra") {
			t.Errorf("%s does not show an unbound key the index, so that the test shows nothing: %s", method, unbound)
		}
	}
	known := properties(t, lists["tools"])
	for _, tool := range append(listed(t, lists["tools"], "tools", "name"), "zebra_secret") {
		for _, arguments := range []func(index, document, job string) map[string]any{
			func(index, _, _ string) map[string]any {
				return map[string]any{"indexName": index, "queryText": "trees"}
			},
			func(index, _, _ string) map[string]any { return map[string]any{"indexName": index} },
			func(index, _, _ string) map[string]any {
				return map[string]any{"indexName": index, "uri": index + ".txt"}
			},
			func(index, _, _ string) map[string]any {
				return map[string]any{"indexName": index, "uri": index + ".txt", "text": "x"}
			},
			func(index, document, _ string) map[string]any {
				return map[string]any{"indexName": index, "documentId": document}
			},
			func(index, document, _ string) map[string]any {
				return map[string]any{"indexName": index, "documentIds": []string{document}}
			},
			func(_, document, _ string) map[string]any { return map[string]any{"documentId": document} },
			func(_, _, job string) map[string]any { return map[string]any{"jobId": job} },
		} {
			same(tool, "tools/call", func(index, document, job, own string) map[string]any {
				called := tool
				if called == "zebra_secret" {
					called = own
				}
				taken := arguments(index, document, job)
				maps.DeleteFunc(taken, func(name string, _ any) bool { return known[tool] != nil && known[tool][name] == nil })
				return map[string]any{"name": called, "arguments": taken}
			})
		}
		same(tool+" with a request context", "tools/call", func(index, _, _, _ string) map[string]any {
			return map[string]any{"name": tool, "arguments": map[string]any{"queryText": "trees"}, "_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
				"ragd/context": map[string]any{"indexName": index},
			}}
		})
	}
	for _, uri := range append(listed(t, lists["resourceTemplates"], "resourceTemplates", "uriTemplate"), "ragd://indexes/faq/documents/{documentId}") {
		same(uri, "resources/read", func(index, document, _, _ string) map[string]any {
			return map[string]any{"uri": strings.NewReplacer("{index}", index, "{documentId}", document, "{chunks}", "0", "{?start,end}", "").Replace(uri)}
		})
		if unbound := ask(t, address, acme.Secret, "resources/read", map[string]any{
			"uri": strings.NewReplacer("{index}", "zebra-secret", "{documentId}", secret.DocumentId, "{chunks}", "0", "{?start,end}", "").Replace(uri),
		}); !strings.Contains(unbound, "contents") && !strings.Contains(uri, "/faq/") {
			t.Errorf("%s is not read by an unbound key, so that the test shows nothing: %s", uri, unbound)
		}
	}
	for _, prompt := range listed(t, lists["prompts"], "prompts", "name") {
		same(prompt, "prompts/get", func(index, _, _, _ string) map[string]any {
			return map[string]any{"name": prompt, "arguments": map[string]any{
				"indexName": index, "question": "trees", "uri": index + ".txt", "firstUri": index + ".txt", "secondUri": "b", "wish": "trees",
			}}
		})
	}
	for _, argument := range []string{"index", "documentId", "uri", "metadataKey"} {
		same("completion of "+argument, "completion/complete", func(index, _, _, _ string) map[string]any {
			return map[string]any{
				"ref": map[string]any{"type": "ref/resource", "uri": "ragd://indexes/{index}/documents/{documentId}"}, "argument": map[string]any{"name": argument, "value": ""},
				"context": map[string]any{"arguments": map[string]any{"index": index}},
			}
		})
	}
}

// A key that is bound to tools reads with them alone.
func TestKeysOfToolsReadNoResources(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "faq")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "faq", Uri: "oak.txt", Source: servicetest.Text("The faq is about trees.")})
	bound := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Tools: allowed("vector_query")})
	address := s.URL + mcphttp.Path
	if tools := listed(t, ask(t, address, bound, "tools/list", nil), "tools", "name"); len(tools) != 1 || tools[0] != "vector_query" {
		t.Errorf("tools = %v", tools)
	}
	if answer := ask(t, address, bound, "tools/call", map[string]any{"name": "vector_query", "arguments": map[string]any{"queryText": "trees"}}); !strings.Contains(answer, "about trees") {
		t.Errorf("the tool of the key: %s", answer)
	}
	for what, answer := range map[string]string{
		"another tool":   ask(t, address, bound, "tools/call", map[string]any{"name": "list_documents", "arguments": map[string]any{}}),
		"resources/list": ask(t, address, bound, "resources/list", nil),
		"resources/read": ask(t, address, bound, "resources/read", map[string]any{"uri": "ragd://indexes/faq"}),
		"a completion": ask(t, address, bound, "completion/complete", map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": "summarise_document"}, "argument": map[string]any{"name": "uri", "value": ""},
		}),
		"completion of a resource": ask(t, address, bound, "completion/complete", map[string]any{
			"ref": map[string]any{"type": "ref/resource", "uri": "ragd://indexes/{index}"}, "argument": map[string]any{"name": "index", "value": ""},
		}),
	} {
		if strings.Contains(answer, "oak.txt") || strings.Contains(answer, "about trees") || strings.Contains(answer, `"faq"`) || strings.Contains(answer, `documentCount`) {
			t.Errorf("%s shows %s", what, answer)
		}
	}
}
