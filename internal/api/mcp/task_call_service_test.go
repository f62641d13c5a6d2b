package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// gate is an endpoint of a tool, whose calls wait until they are let through.
type gate struct {
	t       *testing.T
	through chan string // answers
	left    chan struct{}
}

func newGate(t *testing.T) gate {
	return gate{t, make(chan string), make(chan struct{}, 10)}
}

func (g gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the server notices that the client leaves
	select {
	case answer := <-g.through:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	case <-r.Context().Done():
		g.left <- struct{}{}
	}
}

const painted = `{"content": [{"type": "text", "text": "painted"}]}`

// begun calls a tool and returns the id of its task.
func (c taskClient) begun(tool string, arguments map[string]any) string {
	c.t.Helper()
	r := c.call(tool, arguments)
	id, _ := r.Result["taskId"].(string)
	if r.Result["resultType"] != "task" || r.Result["status"] != "working" || id == "" || r.Result["content"] != nil {
		c.t.Fatalf("%s: %v %v", tool, r, r.Error)
	}
	return id
}

// textIn returns the result of a task as JSON.
func textIn(t *testing.T, task map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(task["result"])
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A call of any tool goes on as a task, which every instance answers for, and nobody but its caller finds.
func TestACallOfAToolIsATask(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	paint := newGate(t)
	ownEndpoint(t, acme, "paint", map[string]any{"timeoutMs": 60_000}, paint.ServeHTTP)
	ownEndpoint(t, acme, "brew", map[string]any{"needsTask": true, "timeoutMs": 600_000}, paint.ServeHTTP)
	c := taskClient{t: t, url: s.URL + mcphttp.Path, secret: acme.Secret}

	id := c.begun("paint", map[string]any{})
	for who, secret := range map[string]string{
		"another tenant":      bolt.Secret,
		"another key":         s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}}),
		"a key with a filter": s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}),
		"a bound key":         s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}}),
	} {
		other := taskClient{t: t, url: c.url, secret: secret}
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			r := other.of(method, id, map[string]any{"inputResponses": map[string]any{"1.c": accepted(map[string]any{})}})
			if r.Status != http.StatusBadRequest || r.Error == nil || r.Error.Code != mcpgo.INVALID_PARAMS || !strings.Contains(r.Error.Message, "not found") {
				t.Errorf("%s by %s: %v %v", method, who, r, r.Error)
			}
		}
	}
	paint.through <- painted
	if task := c.until(id, "completed"); !strings.Contains(textIn(t, task), "painted") || !strings.Contains(textIn(t, task), `"resultType":"complete"`) || task["ttlMs"] != 1_800_000.0 {
		t.Errorf("completed: %v", task)
	}
	if r := c.of("tasks/cancel", id, nil); r.Error != nil || c.of("tasks/get", id, nil).Result["status"] != "completed" {
		t.Errorf("cancelling what has ended: %v", r)
	}

	// What fails is a result that says so.
	id = c.begun("paint", map[string]any{})
	paint.through <- `{"content": [{"type": "text", "text": "no paint"}], "isError": true}`
	if task := c.until(id, "completed"); !strings.Contains(textIn(t, task), "no paint") || !strings.Contains(textIn(t, task), `"isError":true`) {
		t.Errorf("an error of the tool: %v", task)
	}

	// Only for clients that take tasks.
	plain := taskClient{t: t, url: c.url, secret: c.secret, without: true}
	if r := plain.call("brew", map[string]any{}); r.Error == nil || r.Error.Code != mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY || r.Error.Data == nil {
		t.Errorf("a tool that needs tasks, without: %v %v", r, r.Error)
	}
	id = c.begun("brew", map[string]any{})
	paint.through <- painted
	c.until(id, "completed")

	// A document is ready when its task has ended; here another instance processes it, and tells of the task.
	id = c.begun("upload_document", map[string]any{"indexName": "docs", "uri": "a.md", "text": "The harbour is deep."})
	if r := c.call("upload_document", map[string]any{"indexName": "docs", "uri": "b.md", "text": "b", "waitSeconds": 0}); r.Result["taskId"] != nil {
		t.Errorf("a call that does not wait: %v", r)
	}
	waits := c.begun("upload_document", map[string]any{"indexName": "docs", "uri": "c.md", "text": "Nobody reads this."})
	if r := c.of("tasks/cancel", waits, nil); r.Error != nil {
		t.Errorf("cancel an upload: %v", r)
	}
	c.until(waits, "cancelled")
	wait.For(t, "the job of the upload to be cancelled", func() bool {
		jobs, err := acme.ListJobs(t.Context(), &ragdv1.ListJobsRequest{})
		return err == nil && slices.ContainsFunc(jobs.Jobs, func(j *ragdv1.Job) bool { return j.Status == "cancelled" })
	})
	lost := c.begun("paint", map[string]any{})
	cancelled := c.begun("paint", map[string]any{})
	peer := servicetest.New(t, service.Config{AdminPool: s.Pool, AllowedPrivateNetworks: []string{"127.0.0.0/8"}})
	there := taskClient{t: t, url: peer.URL + mcphttp.Path, secret: acme.Secret}
	if ready := textIn(t, there.until(id, "completed")); !strings.Contains(ready, "It can be searched.") || !strings.Contains(ready, `"status":"ready"`) {
		t.Errorf("a document: %s", ready)
	}
	if r := there.of("tasks/cancel", cancelled, nil); r.Error != nil || len(r.Result) != 1 {
		t.Errorf("cancel: %v %v", r, r.Error)
	}
	there.until(cancelled, "cancelled")
	<-paint.left // the request to the endpoint has ended
	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.tool_tasks SET alive_at = now() - interval '1 minute' WHERE task_id = $1`, lost); err != nil {
		t.Fatal(err)
	}
	task := there.of("tasks/get", lost, nil).Result
	if failure, _ := task["error"].(map[string]any); task["status"] != "failed" || !strings.Contains(task["statusMessage"].(string), "stopped") || failure["code"] != float64(mcpgo.INTERNAL_ERROR) {
		t.Errorf("a task whose instance is gone: %v", task)
	}
	<-paint.left // the instance has noticed that it was taken for gone
}

// A task asks its client in the middle, in several rounds, and ends when the client cannot be asked.
func TestACallThatIsATaskAsks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme := s.Tenant(t, "acme")
	paint := newGate(t)
	ownEndpoint(t, acme, "paint", map[string]any{}, paint.ServeHTTP)
	c := taskClient{t: t, url: s.URL + mcphttp.Path, secret: acme.Secret}
	asks := func(state string) string {
		return `{"resultType": "input_required", "requestState": "` + state + `", "inputRequests": {"c": {"method": "elicitation/create", "params": {
			"message": "Which colour?", "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}}}}}}`
	}
	id := c.begun("paint", map[string]any{})
	for round, key := range []string{"1.c", "2.c"} {
		paint.through <- asks("round")
		requests, _ := c.until(id, "input_required")["inputRequests"].(map[string]any)
		if raw, _ := json.Marshal(requests[key]); len(requests) != 1 || !strings.Contains(string(raw), "Which colour?") {
			t.Fatalf("round %d: %v", round, requests)
		}
		if r := c.of("tasks/update", id, map[string]any{"inputResponses": map[string]any{"unknown": accepted(nil), key: "red"}}); r.Error == nil {
			t.Errorf("an answer that is no object: %v", r)
		}
		if r := c.of("tasks/update", id, map[string]any{"inputResponses": map[string]any{key: accepted(map[string]any{"colour": "red"})}}); r.Error != nil {
			t.Fatal(r.Error)
		}
		c.until(id, "working")
	}
	paint.through <- painted
	if task := c.until(id, "completed"); !strings.Contains(textIn(t, task), "painted") || task["inputRequests"] != nil {
		t.Errorf("completed: %v", task)
	}

	id = c.begun("paint", map[string]any{})
	paint.through <- asks("round")
	c.until(id, "input_required")
	if r := c.of("tasks/cancel", id, nil); r.Error != nil {
		t.Error(r.Error)
	}
	c.until(id, "cancelled")

	id = c.begun("paint", map[string]any{})
	paint.through <- `{"resultType": "input_required", "inputRequests": {"roots": {"method": "roots/list"}}}`
	task := c.until(id, "failed")
	if failure, _ := task["error"].(map[string]any); failure["code"] != float64(mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY) || task["result"] != nil {
		t.Errorf("a client that cannot be asked: %v", task)
	}

	t.Run("on an instance that stops", func(t *testing.T) {
		peer := servicetest.New(t, service.Config{AdminPool: s.Pool, AllowedPrivateNetworks: loopback.AllowedPrivateNetworks, NoWorkers: true})
		id = taskClient{t: t, url: peer.URL + mcphttp.Path, secret: acme.Secret}.begun("paint", map[string]any{})
	})
	if task := c.of("tasks/get", id, nil).Result; task["status"] != "failed" || !strings.Contains(task["statusMessage"].(string), "has stopped") || task["error"] == nil {
		t.Errorf("a task whose instance has stopped: %v", task)
	}
}

// listen opens a stream of subscriptions/listen that tells of tasks, and returns its messages. The first one
// acknowledges it.
func (c taskClient) listen(notifications map[string]any) <-chan map[string]any {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": map[string]any{
		"notifications": notifications, "_meta": modernMeta(map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}),
	}})
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + c.secret, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		c.t.Fatal(err)
	}
	messages := make(chan map[string]any, 100)
	go func() {
		defer close(messages)
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			var message map[string]any
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &message) == nil {
				messages <- message
			}
		}
	}()
	return messages
}

// A stream tells of the tasks of its caller alone, with all that tasks/get says.
func TestAStreamTellsOfTasks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	paint := newGate(t)
	ownEndpoint(t, acme, "paint", map[string]any{}, paint.ServeHTTP)
	c := taskClient{t: t, url: s.URL + mcphttp.Path, secret: acme.Secret}
	plain := taskClient{t: t, url: c.url, secret: c.secret, without: true}
	if r := plain.send("subscriptions/listen", "", map[string]any{"notifications": map[string]any{"taskIds": []string{}}}); r.Status != http.StatusBadRequest || r.Error == nil || r.Error.Code != mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY {
		t.Errorf("without the extension: %v %v", r, r.Error)
	}
	id := c.begun("paint", map[string]any{})
	agreed := func(messages <-chan map[string]any) string {
		t.Helper()
		first := <-messages
		raw, _ := json.Marshal(first["params"])
		if first["method"] != "notifications/subscriptions/acknowledged" {
			t.Fatalf("the first message: %v", first)
		}
		return string(raw)
	}
	asked := map[string]any{"taskIds": []string{id, "unknown"}}
	messages := c.listen(asked)
	if got := agreed(messages); !strings.Contains(got, `"taskIds":["`+id+`"]`) || strings.Contains(got, "toolsListChanged") {
		t.Errorf("agreed: %s", got)
	}
	for who, secret := range map[string]string{"another tenant": bolt.Secret, "another key": s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}})} {
		other := taskClient{t: t, url: c.url, secret: secret}.listen(asked)
		if got := agreed(other); !strings.Contains(got, `"taskIds":[]`) {
			t.Errorf("%s: %s", who, got)
		}
	}
	next := func() map[string]any {
		t.Helper()
		message := <-messages
		params, _ := message["params"].(map[string]any)
		meta, _ := params["_meta"].(map[string]any)
		if message["method"] != "notifications/tasks" || params["taskId"] != id || meta["io.modelcontextprotocol/subscriptionId"] != 7.0 || message["id"] != nil {
			t.Fatalf("told: %v", message)
		}
		return params
	}
	if now := next(); now["status"] != "working" {
		t.Errorf("at first: %v", now)
	}
	paint.through <- painted
	if now := next(); now["status"] != "completed" || !strings.Contains(textIn(t, now), "painted") {
		t.Errorf("at the end: %v", now)
	}
}
