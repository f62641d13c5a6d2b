package rpc_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// world makes everything that a tenant can have, and returns the names and ids, and the key of an admin. The names are the
// same in every world. The texts contain the marker, those that a filter hides also hiddenText.
func world(t *testing.T, s *servicetest.Service, tenant, marker string) (_ target, secret string) {
	t.Helper()
	return prefixedWorld(t, s, tenant, marker, "")
}

// worldNames are those of a world, by the fields of requests that take them.
var worldNames = target{
	"index_name": "docs", "uri": "plan.txt", "prompt_name": "greet", "policy_name": "rule", "tool_name": "find", "server_name": "desk", "secret_name": "token",
	"endpoint_name": "mine", "name": "tier", "profile_name": "fresh", "hook_name": "tell", "connector_name": "site", "agent_name": "helper", "workflow_name": "flow", "set_name": "set",
}

// prefixed returns the names of a world with a prefix.
func prefixed(prefix string) target {
	to := target{}
	for field, name := range worldNames {
		to[field] = prefix + name
	}
	return to
}

// prefixedWorld makes a world in which all names begin with the prefix.
func prefixedWorld(t *testing.T, s *servicetest.Service, tenant, marker, prefix string) (_ target, secret string) {
	t.Helper()
	to := prefixed(prefix)
	c := s.Tenant(t, tenant)
	make := func(method, body string) map[string]any {
		t.Helper()
		var message, answer map[string]any
		noError(t, json.Unmarshal([]byte(strings.NewReplacer("MARKER", marker, "P-", prefix).Replace(body)), &message))
		status, text := call(t, s, c.Secret, "/ragd.v1."+method, false, message)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", method, status, text)
		}
		noError(t, json.Unmarshal([]byte(text), &answer))
		return answer
	}
	make("IndexService/CreateIndex", `{"indexName": "P-docs", "metadataIndexes": ["team"]}`)
	make("IndexService/CreateRankingProfile", `{"indexName": "P-docs", "profileName": "P-fresh", "description": "of MARKER", "ranking": {"boosts": [{"filter": {"of": "MARKER"}}]}}`)
	alert := make("AlertService/CreateAlert", `{"indexName": "P-docs", "queryText": "trees of MARKER", "displayName": "of MARKER", "searchMode": "keyword"}`)
	shown := c.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: to["index_name"], Uri: to["uri"], Title: "The plan of " + marker, ContentType: "text/markdown",
		Source:   servicetest.Text("The plan of " + marker + " is to open a harbour with trees.\n\n| Tree | Number |\n|---|---|\n| " + marker + " | 3 |\n"),
		Metadata: servicetest.Object(t, map[string]any{"team": "red", "of": marker}),
	})
	jobs, err := c.ListJobs(t.Context(), &ragdv1.ListJobsRequest{})
	noError(t, err)
	c.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: to["index_name"], Uri: hiddenText + ".txt", Title: hiddenText, Source: servicetest.Text("The " + hiddenText + " harbour of " + marker + " has other trees."),
		Metadata: servicetest.Object(t, map[string]any{"team": "blue", "of": hiddenText}),
	})
	make("PromptService/CreatePrompt", `{"promptName": "P-greet", "description": "of MARKER", "messages": [{"text": "Greet MARKER"}]}`)
	make("PolicyService/CreatePolicy", `{"policyName": "P-rule", "description": "of MARKER", "tools": ["MARKER"], "action": "deny", "message": "of MARKER"}`)
	make("ToolService/CreateTool", `{"toolName": "P-find", "kind": "vector_query", "description": "of MARKER", "settings": {"indexName": "P-docs"}}`)
	make("ServerService/CreateServer", `{"serverName": "P-desk", "description": "of MARKER", "instructions": "of MARKER"}`)
	make("SecretService/SetSecret", `{"secretName": "P-token", "value": "secret-of-MARKER", "hosts": {"hosts": ["MARKER.example.com"]}}`)
	make("EndpointService/CreateEndpoint", `{"endpointName": "P-mine", "kind": "openai-compatible", "baseUrl": "https://MARKER.example.com/v1", "apiKey": "key-of-MARKER", "models": [{"model": "MARKER"}]}`)
	make("ContextService/DeclareContextKey", `{"key": {"name": "P-tier", "description": "of MARKER", "source": "caller"}}`)
	make("HookService/CreateHook", `{"hookName": "P-tell", "url": "https://MARKER.example.com", "description": "of MARKER", "events": ["index.*"], "enabled": false}`)
	make("ConnectorService/CreateConnector", `{"connectorName": "P-site", "indexName": "P-docs", "description": "of MARKER", "web": {"url": "https://MARKER.example.com"}, "paused": true}`)
	memory := make("MemoryService/Remember", `{"text": "The user MARKER likes trees."}`)
	make("AgentService/CreateAgent", `{"agentName": "P-helper", "definition": {"description": "of MARKER", "instructions": "Answer for MARKER.", "model": "openai/small"}}`)
	make("AgentService/AskAgent", `{"agentName": "P-helper", "message": "Who is MARKER?", "threadId": "MARKER-1"}`)
	make("WorkflowService/CreateWorkflow", `{"workflowName": "P-flow", "definition": {"description": "of MARKER", "steps": [{"id": "a", "kind": "map", "input": {"of": {"value": "MARKER"}}}]}}`)
	run := make("WorkflowService/StartWorkflow", `{"workflowName": "P-flow", "input": {"of": "MARKER"}}`)
	make("EvaluateService/CreateQuestionSet", `{"setName": "P-set", "indexName": "P-docs", "description": "of MARKER", "questions": [{"questionId": "trees", "text": "Where is MARKER?", "relevant": [{"uri": "P-plan.txt"}]}]}`)
	evaluation, err := c.StartEvaluation(t.Context(), &ragdv1.StartEvaluationRequest{SetName: to["set_name"]})
	noError(t, err)
	watch, err := c.WatchJob(t.Context(), &ragdv1.WatchJobRequest{JobId: evaluation.Job.JobId})
	noError(t, err)
	for watch.Receive() { // until the job has ended
	}
	noError(t, watch.Err())
	key, err := c.CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{DisplayName: "of " + marker, Scopes: []string{"read"}})
	noError(t, err)
	for field, id := range (target{
		"document_id": shown.DocumentId, "job_id": jobs.Jobs[0].JobId, "evaluation_id": evaluation.EvaluationId, "thread_id": marker + "-1",
		"run_id": run["runId"].(string), "alert_id": alert["alertId"].(string), "memory_id": memory["memoryId"].(string), "api_key_id": key.ApiKey.ApiKeyId, "tenant_id": tenant,
	}) {
		to[field] = id
	}
	return to, c.Secret
}

// hiddenText is in the texts of the documents that a filter hides.
const hiddenText = "durian"

// withIDs returns the names of a target with the ids of another one.
func (to target) withIDs(other target) target {
	mixed := maps.Clone(to)
	for _, name := range ids {
		mixed[name] = other[name]
	}
	return mixed
}

// ids are the fields of a target that differ in every world.
var ids = []string{"document_id", "job_id", "evaluation_id", "thread_id", "run_id", "alert_id", "memory_id", "api_key_id", "tenant_id"}

// unknown has ids that nothing has.
var unknown = target{
	"document_id": "0198c3a4-0000-7000-8000-000000000001", "job_id": "0198c3a4-0000-7000-8000-000000000002", "evaluation_id": "0198c3a4-0000-7000-8000-000000000003",
	"run_id": "0198c3a4-0000-7000-8000-000000000004", "alert_id": "0198c3a4-0000-7000-8000-000000000005", "memory_id": "0198c3a4-0000-7000-8000-000000000006", "thread_id": "nobody-1", "api_key_id": "abcdefghijkl", "tenant_id": "nobody",
}

// took matches the time that something took.
var took = regexp.MustCompile(`"durationMs":[0-9.e-]+`)

// neutralIDs returns an answer without the ids of the target.
func (to target) neutralIDs(answer string) string {
	answer = took.ReplaceAllString(encoded.ReplaceAllString(answer, ""), "")
	for _, name := range ids {
		answer = strings.ReplaceAll(answer, `"`+to[name]+`"`, `"<`+name+`>"`)
		answer = strings.ReplaceAll(answer, `\"`+to[name]+`\"`, `\"<`+name+`>\"`)
		if len(to[name]) > 10 {
			answer = strings.ReplaceAll(answer, to[name], "<"+name+">")
		}
	}
	return answer
}

// reads matches the names of methods that change nothing.
var reads = regexp.MustCompile("^(Get|List|Read|Download|Watch|Compare)")

// walkOrder puts the methods that create, change and delete after those that read, and those that
// delete what others need at the end.
func walkOrder(all []protoreflect.MethodDescriptor) {
	rank := func(m protoreflect.MethodDescriptor) int {
		name := string(m.Name())
		switch {
		case slices.Contains([]string{"DeleteIndex", "DeleteTenant", "RevokeApiKey"}, name):
			return 4
		case strings.HasPrefix(name, "Delete"), name == "TruncateIndex", name == "SyncSource":
			return 3
		case strings.HasPrefix(name, "Update"), strings.HasPrefix(name, "Create"), strings.HasPrefix(name, "Set"), strings.HasPrefix(name, "Rotate"), strings.HasPrefix(name, "Declare"):
			return 2
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b protoreflect.MethodDescriptor) int { return cmp.Compare(rank(a), rank(b)) })
}

// Two tenants have the same of everything, under the same names. Every method is called by one of
// them, with its own ids and with those of the other. No answer has a text or an id of the other; what
// only the other has is answered like what nobody has; no row of the other is changed. A key with a filter
// gets nothing that the filter hides. A new method is called without further ado, and what it takes must be
// in the worlds.
func TestNoMethodReachesAnotherTenant(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{
		MasterKeys: masterKeys(t, "1"), Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
	own, admin := world(t, s, "acme", "apricot")
	theirs, other := world(t, s, "bolt", "kumquat")
	filtered := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})})
	reader := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
	before := s.RowSums(t, "bolt")
	all := methods(t)
	walkOrder(all)
	foreign := []string{"kumquat"} // what is the other's alone
	for _, name := range ids {
		if name != "tenant_id" {
			foreign = append(foreign, theirs[name])
		}
	}
	for _, request := range toolCalls(t, s, admin) {
		_, answer := call(t, s, filtered, callTool, false, request(own))
		clean(t, "CallTool", answer, append(foreign, hiddenText)...)
		_, answer = call(t, s, admin, callTool, false, request(own))
		clean(t, "CallTool", answer, foreign...)
		if !slices.ContainsFunc(ids, func(name string) bool { return strings.Contains(mustJSON(t, request(own)), own[name]) }) {
			continue
		}
		theirStatus, theirAnswer := call(t, s, admin, callTool, false, request(own.withIDs(theirs)))
		noStatus, noAnswer := call(t, s, admin, callTool, false, request(own.withIDs(unknown)))
		if got, want := theirs.neutralIDs(theirAnswer), unknown.neutralIDs(noAnswer); theirStatus != noStatus || got != want {
			t.Errorf("the tool %v answers, for ids of another tenant\n%d %s\nand for those of nobody\n%d %s", request(own)["toolName"], theirStatus, got, noStatus, want)
		}
	}
	taken := map[string]bool{} // ids that some method takes
	for _, m := range all {
		path := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
		streams := m.IsStreamingClient() || m.IsStreamingServer()
		ask := func(secret string, to target) (status int, answer string) {
			message := to.fields(m.Input(), 1)
			if message["documentId"] != nil || message["documentIds"] != nil { // methods take these or uris
				delete(message, "uri")
				delete(message, "uris")
			}
			return call(t, s, secret, path, streams, message)
		}
		_, answer := ask(filtered, own)
		clean(t, string(m.Name())+" with a filter", answer, append(foreign, hiddenText)...)
		for _, secret := range []string{reader, admin} {
			_, answer = ask(secret, own)
			clean(t, string(m.Name()), answer, foreign...)
		}

		// The other's ids, and those that nobody has. What has no id of its own was asked above.
		var named []string
		request := own.fields(m.Input(), 1)
		for _, name := range ids {
			if strings.Contains(mustJSON(t, request), own[name]) {
				named, taken[name] = append(named, name), true
			}
		}
		if len(named) == 0 {
			continue
		}
		theirStatus, theirAnswer := ask(admin, own.withIDs(theirs))
		noStatus, noAnswer := ask(admin, own.withIDs(unknown))
		got, want := theirs.neutralIDs(theirAnswer), unknown.neutralIDs(noAnswer)
		if theirStatus != noStatus || got != want {
			t.Errorf("%s (%v) answers, for ids of another tenant\n%d %s\nand for those of nobody\n%d %s", m.Name(), named, theirStatus, got, noStatus, want)
		}
		clean(t, string(m.Name()), theirAnswer, "kumquat harbour", "of kumquat")
		if reads.MatchString(string(m.Name())) && !slices.Equal(named, []string{"tenant_id"}) { // what a tenant asks for by its own id is found
			foundStatus, found := ask(other, theirs)
			if missingStatus, missing := ask(other, theirs.withIDs(unknown)); foundStatus == missingStatus && theirs.neutralIDs(found) == unknown.neutralIDs(missing) {
				t.Errorf("%s (%v) answers the owner as if there were nothing, so that the test shows nothing: %d %s", m.Name(), named, foundStatus, found)
			}
		}
	}
	for _, name := range ids {
		if !taken[name] {
			t.Errorf("no method takes %s", name)
		}
	}
	after := s.RowSums(t, "bolt")
	for table, sum := range before {
		if after[table] != sum {
			t.Errorf("rows of %s were changed: %s before, %s after", table, sum, after[table])
		}
	}
}

const callTool = "/ragd.v1.ToolService/CallTool"

// toolCalls returns requests for a call of each tool that deletes nothing, with arguments about a target.
// Those that delete call the methods of their names.
func toolCalls(t *testing.T, s *servicetest.Service, secret string) (calls []func(to target) map[string]any) {
	t.Helper()
	status, text := call(t, s, secret, "/ragd.v1.ToolService/ListTools", false, map[string]any{"includeBuiltin": true, "pageSize": 100})
	var listed struct {
		Tools []struct {
			ToolName    string
			InputSchema struct{ Properties map[string]map[string]any }
		}
	}
	noError(t, json.Unmarshal([]byte(text), &listed))
	if status != http.StatusOK || len(listed.Tools) < 10 {
		t.Fatalf("%d tools: %s", len(listed.Tools), text)
	}
	words := regexp.MustCompile("[A-Z]")
	for _, tool := range listed.Tools {
		if strings.HasPrefix(tool.ToolName, "delete_") {
			continue
		}
		calls = append(calls, func(to target) map[string]any {
			arguments := map[string]any{}
			for name, schema := range tool.InputSchema.Properties {
				field := strings.ToLower(words.ReplaceAllString(name, "_$0"))
				value, known := to[strings.TrimSuffix(field, "s")]
				if field == "query" || field == "query_text" || field == "text" {
					value, known = "harbour", true
				}
				switch {
				case !known || field == "uri" || field == "uris":
				case schema["type"] == "array":
					arguments[name] = []any{value}
				default:
					arguments[name] = value
				}
			}
			return map[string]any{"toolName": tool.ToolName, "arguments": arguments}
		})
	}
	return calls
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	noError(t, err)
	return string(text)
}
