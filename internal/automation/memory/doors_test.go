package memory_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// post calls a method with JSON.
func post(t *testing.T, s *servicetest.Service, secret, path string, message map[string]any, header ...string) (status int, answer string) {
	t.Helper()
	raw, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+secret)
	for n := 0; n+1 < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// The index of the memories does not exist for any method that takes an index, not even for an admin: by its name, in the
// request context, by a pattern, among all indexes, and as a new one.
func TestNoMethodReachesTheMemoryIndex(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	admin := s.Tenant(t, "acme")
	remember(t, reader(t, s, "acme"), &ragdv1.RememberRequest{Text: "I keep the zebra key in the shed."})
	bodies := map[string]map[string]any{ // what makes a method look at its index
		"VectorQuery": {"queryText": "zebra key"}, "BatchQuery": {"queries": []any{map[string]any{"queryText": "zebra key", "indexName": access.MemoryIndex}}},
		"GraphRag": {"queryText": "zebra key"}, "Research": {"question": "zebra key", "indexNames": []any{access.MemoryIndex}},
		"CountChunks": {"queryText": "zebra"}, "Query": {"filter": map[string]any{"subject": map[string]any{"$exists": true}}}, "Delete": {"filter": map[string]any{"subject": map[string]any{"$exists": true}}},
		"Update": {"filter": map[string]any{"subject": map[string]any{"$exists": true}}, "metadata": map[string]any{"subject": "me"}}, "Upsert": {"entries": []any{map[string]any{"id": "x", "values": []any{1}}}},
		"UploadDocument": {"text": "The zebra is mine.", "uri": "x"}, "UpdateIndex": {"recordQuestions": true},
	}
	for _, name := range []string{"DescribeIndex", "TruncateIndex", "DeleteIndex", "BuildIndex", "ListDocuments", "ListTopics", "ListTables"} {
		bodies[name] = map[string]any{}
	}
	takes := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("ragd.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				m := methods.Get(j)
				if m.IsStreamingClient() || m.IsStreamingServer() {
					continue
				}
				path, name := "/ragd.v1."+string(m.Parent().Name())+"/"+string(m.Name()), string(m.Name())
				message := map[string]any{}
				for field, value := range bodies[name] {
					message[field] = value
				}
				if m.Input().Fields().ByName("index_name") == nil && bodies[name] == nil {
					continue
				}
				takes++
				if m.Input().Fields().ByName("index_name") != nil {
					message["indexName"] = access.MemoryIndex
				}
				status, answer := post(t, s, admin.Secret, path, message)
				if strings.Contains(answer, "zebra key in the shed") || bodies[name] != nil && status != http.StatusNotFound && !strings.Contains(answer, `"code":"not_found"`) {
					t.Errorf("%s with the name: %d %s", name, status, answer)
				}
				delete(message, "indexName")
				if status, answer = post(t, s, admin.Secret, path, message, "Ragd-Context", `{"indexName": "`+access.MemoryIndex+`"}`); status == http.StatusOK && strings.Contains(answer, "shed") {
					t.Errorf("%s with the name in the context: %s", name, answer)
				}
				if status, answer = post(t, s, admin.Secret, path, message); status == http.StatusOK && strings.Contains(answer, "shed") {
					t.Errorf("%s without a name: %s", name, answer)
				}
			}
		}
		return true
	})
	if takes < 30 {
		t.Errorf("only %d methods take an index", takes)
	}
	for path, message := range map[string]map[string]any{
		"/ragd.v1.IndexService/ListIndexes": {}, "/ragd.v1.QueryService/VectorQuery": {"queryText": "zebra key", "indexNames": []any{"*"}},
		"/ragd.v1.IndexService/CreateIndex": {"indexName": access.MemoryIndex, "dimension": 3},
	} {
		status, answer := post(t, s, admin.Secret, path, message)
		if strings.Contains(answer, "shed") || strings.Contains(answer, `"`+access.MemoryIndex+`"`) || strings.HasSuffix(path, "CreateIndex") && status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	for name, arguments := range map[string]map[string]any{
		"vector_query": {"queryText": "zebra key", "indexName": access.MemoryIndex}, "search": {"query": "zebra key"}, "list_documents": {"indexName": access.MemoryIndex}, "list_indexes": {},
		"count_chunks": {"indexName": access.MemoryIndex}, "fetch": {"id": access.MemoryIndex}, "recall": {"queryText": "zebra key"}, "forget": {"all": true},
	} {
		_, answer := post(t, s, admin.Secret, "/ragd.v1.ToolService/CallTool", map[string]any{"toolName": name, "arguments": arguments})
		if strings.Contains(answer, "shed") || strings.Contains(answer, `"deletedCount":1`) {
			t.Errorf("the tool %s: %s", name, answer)
		}
	}
	want(t, "the memories", texts(listed(t, admin, &ragdv1.ListMemoriesRequest{AllSubjects: true})), "I keep the zebra key in the shed.")
	// No key opens the index by naming it.
	bound := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, Indexes: &ragdv1.AllowedNames{Names: []string{access.MemoryIndex}}})
	for _, index := range []string{access.MemoryIndex, ""} {
		if _, answer := post(t, s, bound, "/ragd.v1.QueryService/VectorQuery", map[string]any{"queryText": "zebra key", "indexName": index}); !strings.Contains(answer, "not_found") {
			t.Errorf("a key bound to the index, asking %q: %s", index, answer)
		}
	}
}

// The tools are listed only for those who name their tools.
func TestToolsOfMemoriesAreListedWhereTheyAreNamed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	admin := s.Tenant(t, "acme")
	for secret, wanted := range map[string]bool{
		admin.Secret: false,
		s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Tools: &ragdv1.AllowedNames{Names: []string{"recall", "remember", "search"}}}): true,
	} {
		_, answer := post(t, s, secret, "/ragd.v1.ToolService/ListTools", map[string]any{"includeBuiltin": true})
		if got := strings.Contains(answer, `"recall"`); got != wanted {
			t.Errorf("the list has the tool: %t, want %t: %s", got, wanted, answer)
		}
	}
}

// An agent keeps what its caller says, with the conversation that it comes from, for this caller alone.
func TestAgentsRememberForTheirCaller(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}}})
	admin := s.Tenant(t, "acme")
	if _, err := admin.CreateAgent(t.Context(), &ragdv1.CreateAgentRequest{AgentName: "helper", Definition: servicetest.Object(t, map[string]any{
		"description": "Helps.", "model": "openai/m", "tools": []any{"remember", "recall"}, "mayWrite": []any{"remember"},
	})}); err != nil {
		t.Fatal(err)
	}
	ana, bob := reader(t, s, "acme"), reader(t, s, "acme")
	ask := func(c servicetest.Client, message string, turns ...modelserver.Turn) {
		t.Helper()
		ai.Script(turns...)
		if _, err := c.AskAgent(t.Context(), &ragdv1.AskAgentRequest{AgentName: "helper", Message: message, ThreadId: "t1"}); err != nil {
			t.Fatal(err)
		}
	}
	ask(ana, "I moved to Ghent.", modelserver.Turn{Calls: []modelserver.Call{{Name: "remember", Arguments: `{"text": "The user lives in Ghent."}`}}}, modelserver.Turn{Text: "Noted."})
	kept := listed(t, ana, &ragdv1.ListMemoriesRequest{})
	if len(kept) != 1 || kept[0].Source.AgentName != "helper" || kept[0].Source.ThreadId != "t1" || kept[0].Source.Message != "I moved to Ghent." {
		t.Fatalf("the memories are %v", kept)
	}
	want(t, "the caller", recalled(t, ana, "Where does the user live?", time.Time{}), "The user lives in Ghent.")
	want(t, "another caller", recalled(t, bob, "Where does the user live?", time.Time{}))
}
