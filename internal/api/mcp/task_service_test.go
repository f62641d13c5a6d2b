package mcp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// taskClient sends requests of the revision 2026-07-28, as a client with the extension for tasks does.
type taskClient struct {
	t           *testing.T
	url, secret string
	without     bool // the extension
}

// reply is what a request is answered with.
type reply struct {
	Status int
	Result map[string]any
	Error  *mcphttp.Failure
}

// send sends a request. name is what the header Mcp-Name says.
func (c taskClient) send(method, name string, params map[string]any) (answer reply) {
	c.t.Helper()
	extensions := map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}
	if c.without {
		extensions = map[string]any{}
	}
	params["_meta"] = modernMeta(map[string]any{"elicitation": map[string]any{}, "extensions": extensions})
	status, got := post(c.t, c.url, c.secret, method, params, map[string]string{"Mcp-Name": name})
	raw, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	answer.Status = status
	return answer
}

func (c taskClient) call(tool string, arguments map[string]any) reply {
	c.t.Helper()
	return c.send("tools/call", tool, map[string]any{"name": tool, "arguments": arguments})
}

// of sends a request about a task.
func (c taskClient) of(method, id string, more map[string]any) reply {
	c.t.Helper()
	params := map[string]any{"taskId": id}
	for key, value := range more {
		params[key] = value
	}
	return c.send(method, id, params)
}

// until asks for a task until it has a status.
func (c taskClient) until(id, status string) (task map[string]any) {
	c.t.Helper()
	wait.For(c.t, "the task to be "+status, func() bool {
		task = c.of("tasks/get", id, nil).Result
		return task["status"] == status
	})
	return task
}

// accepted is an answer of the user.
func accepted(content map[string]any) map[string]any {
	return map[string]any{"action": "accept", "content": content}
}

// slowly is a workflow whose step takes until its service answers.
func slowly(address string) string {
	return `{"description": "Takes long.", "steps": [{"id": "ask", "kind": "http", "settings": {"url": "` + address + `", "method": "GET"}}]}`
}

const questions = `{
	"description": "Asks twice at once.",
	"steps": [{"id": "both", "kind": "parallel", "branches": [
		{"id": "a", "steps": [{"id": "colour", "kind": "wait", "message": "Which colour?", "schema": {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}}]},
		{"id": "b", "steps": [{"id": "sizes", "kind": "wait", "message": "Which sizes?", "schema": {"type": "array", "items": {"type": "integer"}}}]}
	]}]
}`

func TestALongCallIsATask(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.0/8"}})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"said": "at last"}`))
	}))
	t.Cleanup(slow.Close)
	makeWorkflow(t, acme, "greet", greeting)
	makeWorkflow(t, acme, "slow", slowly(slow.URL))
	makeWorkflow(t, acme, "wrong", `{"description": "Fails.", "steps": [{"id": "ask", "kind": "wait", "message": "Go on?"}, {"id": "find", "kind": "tool", "tool": "vector_query", "input": {"indexName": {"value": "none"}, "queryText": {"value": "a"}}}]}`)
	c := taskClient{t: t, url: s.URL + mcphttp.Path, secret: acme.Secret}

	if r := c.call("run_greet", map[string]any{"name": "Ada"}); r.Result["resultType"] != "complete" || r.Result["taskId"] != nil {
		t.Errorf("a call that ends at once: %v", r)
	}
	made := c.call("run_slow", map[string]any{}).Result
	id, _ := made["taskId"].(string)
	if made["resultType"] != "task" || made["status"] != "working" || made["content"] != nil || made["pollIntervalMs"] != 1000.0 || made["ttlMs"] != 600_000.0 || made["createdAt"] == "" {
		t.Fatalf("a call that takes long: %v", made)
	}
	if r := c.of("tasks/get", id, nil); r.Status != http.StatusOK || r.Result["status"] != "working" || r.Result["resultType"] != "complete" || r.Result["result"] != nil {
		t.Errorf("while it goes on: %v", r)
	}

	// Nobody else sees, answers or cancels it.
	reader := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
	bound := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, Tools: &ragdv1.AllowedNames{Names: []string{"run_greet"}}})
	for _, secret := range []string{bolt.Secret, reader, bound} {
		other := taskClient{t: t, url: c.url, secret: secret}
		unknown := other.of("tasks/get", "00000000-0000-4000-8000-000000000000", nil)
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			r := other.of(method, id, map[string]any{"inputResponses": map[string]any{"ask": accepted(map[string]any{})}})
			if r.Status != http.StatusBadRequest || r.Error == nil || r.Error.Code != mcpgo.INVALID_PARAMS ||
				r.Error.Message != strings.ReplaceAll(unknown.Error.Message, "00000000-0000-4000-8000-000000000000", id) {
				t.Errorf("%s by another: %v %v", method, r, r.Error)
			}
		}
	}
	close(release)
	task := c.until(id, "completed")
	if raw, _ := json.Marshal(task["result"]); !strings.Contains(string(raw), "at last") || task["error"] != nil {
		t.Errorf("completed: %s", raw)
	}
	if r := c.of("tasks/cancel", id, nil); r.Error != nil || len(r.Result) != 1 || c.of("tasks/get", id, nil).Result["status"] != "completed" {
		t.Errorf("cancelling what has ended: %v", r)
	}

	id, _ = c.call("run_wrong", map[string]any{}).Result["taskId"].(string)
	if asked := c.of("tasks/get", id, nil).Result; asked["status"] != "input_required" || asked["requestState"] != nil {
		t.Errorf("a run that waits: %v", asked)
	}
	if r := c.of("tasks/update", id, map[string]any{"inputResponses": map[string]any{"ask": accepted(map[string]any{"data": `{}`})}}); r.Error != nil || r.Result["resultType"] != "complete" {
		t.Errorf("an answer: %v %v", r, r.Error)
	}
	if failed, _ := c.until(id, "completed")["result"].(map[string]any); failed["isError"] != true {
		t.Errorf("a run that fails: %v", failed)
	}

	id, _ = c.call("run_wrong", map[string]any{}).Result["taskId"].(string)
	if r := c.of("tasks/cancel", id, nil); r.Error != nil {
		t.Errorf("cancel: %v", r.Error)
	}
	c.until(id, "cancelled")
}

func TestATaskAsksSeveralQuestions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	makeWorkflow(t, acme, "both", questions)
	c := taskClient{t: t, url: s.URL + mcphttp.Path, secret: acme.Secret}
	id, _ := c.call("run_both", map[string]any{}).Result["taskId"].(string)
	asked := func() map[string]any {
		t.Helper()
		requests, _ := c.until(id, "input_required")["inputRequests"].(map[string]any)
		return requests
	}
	var keys [2]string
	for key, request := range asked() {
		switch raw, _ := json.Marshal(request); {
		case strings.Contains(string(raw), "elicitation/create") && strings.Contains(string(raw), "Which colour?"):
			keys[0] = key
		case strings.Contains(string(raw), "elicitation/create") && strings.Contains(string(raw), "Which sizes?"):
			keys[1] = key
		}
	}
	answer := func(key string, response map[string]any) reply {
		t.Helper()
		return c.of("tasks/update", id, map[string]any{"inputResponses": map[string]any{key: response, "unknown": accepted(nil)}})
	}
	if r := answer(keys[0], accepted(map[string]any{"colour": 7})); r.Error == nil || r.Error.Code != mcpgo.INVALID_PARAMS || !strings.Contains(r.Error.Message, "colour") {
		t.Errorf("an answer that does not fit: %v %v", r, r.Error)
	}
	if r := answer(keys[0], map[string]any{"action": "decline"}); r.Error != nil || len(asked()) != 2 {
		t.Errorf("declined: %v %v", r, r.Error)
	}
	if r := answer(keys[0], accepted(map[string]any{"colour": "red"})); r.Error != nil {
		t.Fatal(r.Error)
	}
	if left := asked(); len(left) != 1 || left[keys[1]] == nil {
		t.Errorf("after one answer: %v", left)
	}
	if r := answer(keys[1], accepted(map[string]any{"data": "[1, 2]"})); r.Error != nil {
		t.Fatal(r.Error)
	}
	if raw, _ := json.Marshal(c.until(id, "completed")["result"]); !strings.Contains(string(raw), "red") {
		t.Errorf("completed: %s", raw)
	}
}

// Clients without the extension get results as before, and wrong requests are refused.
func TestTasksNeedTheExtension(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	makeWorkflow(t, acme, "approve", approval)
	c := taskClient{t: t, url: s.URL + mcphttp.Path, secret: acme.Secret}
	plain := taskClient{t: t, url: c.url, secret: c.secret, without: true}
	if r := plain.call("run_approve", map[string]any{"what": "a"}); r.Result["taskId"] != nil || r.Result["resultType"] != "input_required" {
		t.Errorf("without the extension: %v", r)
	}
	made := c.call("run_approve", map[string]any{"what": "a"}).Result
	id, _ := made["taskId"].(string)
	if made["resultType"] != "task" || made["inputRequests"] != nil {
		t.Errorf("with it: %v", made)
	}
	c.until(id, "input_required")
	for name, tc := range map[string]struct {
		got  reply
		code int
	}{
		"without the extension": {plain.of("tasks/get", id, nil), mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY},
		"another name":          {c.send("tasks/get", "another", map[string]any{"taskId": id}), mcpgo.HEADER_MISMATCH},
		"no name":               {c.send("tasks/get", "", map[string]any{"taskId": id}), mcpgo.HEADER_MISMATCH},
		"no task":               {c.send("tasks/get", id, map[string]any{}), mcpgo.INVALID_PARAMS},
		"a number":              {c.send("tasks/cancel", "7", map[string]any{"taskId": 7}), mcpgo.INVALID_PARAMS},
		"no answers":            {c.of("tasks/update", id, map[string]any{"inputResponses": "yes"}), mcpgo.INVALID_PARAMS},
		"list":                  {c.of("tasks/list", id, nil), mcpgo.METHOD_NOT_FOUND},
		"result":                {c.of("tasks/result", id, nil), mcpgo.METHOD_NOT_FOUND},
	} {
		if tc.got.Error == nil || tc.got.Error.Code != tc.code {
			t.Errorf("%s: %v %v", name, tc.got, tc.got.Error)
		}
	}
}
