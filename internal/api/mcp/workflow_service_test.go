package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func makeWorkflow(t *testing.T, c servicetest.Client, name, definition string) {
	t.Helper()
	object := &structpb.Struct{}
	if err := object.UnmarshalJSON([]byte(definition)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateWorkflow(t.Context(), &ragdv1.CreateWorkflowRequest{WorkflowName: name, Definition: object}); err != nil {
		t.Fatal(err)
	}
}

const greeting = `{
	"title": "Greeting", "description": "Greets somebody.",
	"inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
	"outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
	"steps": [{"id": "text", "kind": "map", "input": {"text": {"expression": "'Hello, ' + initData.name + '!'"}}}, {"id": "again", "kind": "map", "inputFrom": {"step": "text"}}]
}`

const approval = `{
	"description": "Asks.", "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
	"steps": [{"id": "ask", "kind": "wait", "message": "Publish it?", "schema": {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}},
		{"id": "done", "kind": "map", "input": {"published": {"step": "ask", "path": "approved"}, "what": {"initData": true, "path": "what"}}}]
}`

// Two tenants have workflows of equal names. Each is a tool of its own tenant alone.
func TestAWorkflowIsATool(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	makeWorkflow(t, acme, "greet", greeting)
	makeWorkflow(t, bolt, "greet", strings.ReplaceAll(greeting, "Hello", "Ahoy"))
	makeWorkflow(t, bolt, "theirs", greeting)
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			c := mcptest.Connect(t, s.URL+mcphttp.Path, options, bearer(acme))
			tools := mcptest.Tools(t, c)
			if !offers(tools, "run_greet") || !offers(tools, "resume_run") || offers(tools, "run_theirs") {
				t.Errorf("%v", tools)
			}
			heard := mcptest.WatchProgress(c)
			result, text := mcptest.Call(t, c, "run_greet", map[string]any{"name": "Ada"}, map[string]any{"progressToken": era})
			if result.IsError || text != `{"text":"Hello, Ada!"}` || result.StructuredContent == nil {
				t.Errorf("%v %s", result, text)
			}
			wait.For(t, "both steps, which the client may deliver after the answer", func() bool { return len(heard.Of(era)) >= 2 })
			if got := heard.Of(era); !grows(got) {
				t.Errorf("heard %v", got)
			}
			if result, text := mcptest.Call(t, c, "run_greet", map[string]any{}, nil); !result.IsError || !strings.Contains(text, "name") {
				t.Errorf("without its argument: %s", text)
			}
			other := mcptest.Connect(t, s.URL+mcphttp.Path, options, bearer(bolt))
			if _, text := mcptest.Call(t, other, "run_greet", map[string]any{"name": "Ada"}, nil); text != `{"text":"Ahoy, Ada!"}` {
				t.Errorf("the other tenant: %s", text)
			}
		})
	}
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Tools: &ragdv1.AllowedNames{Names: []string{"vector_query"}}})
	bound := mcptest.Connect(t, s.URL+mcphttp.Path, nil, map[string]string{"Authorization": "Bearer " + key})
	if tools := mcptest.Tools(t, bound); offers(tools, "run_greet") || offers(tools, "resume_run") {
		t.Errorf("a key without the tool sees %v", tools)
	}
	called, err := acme.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: "run_greet", Arguments: servicetest.Object(t, map[string]any{"name": "Bo"})})
	if err != nil || called.Text != `{"text":"Hello, Bo!"}` {
		t.Error(called, err)
	}
	if got, err := acme.GetTool(t.Context(), &ragdv1.GetToolRequest{ToolName: "run_greet"}); err != nil || got.Kind != "workflow" || got.OutputSchema == nil {
		t.Error(got, err)
	}
	if _, err := acme.DeleteWorkflow(t.Context(), &ragdv1.DeleteWorkflowRequest{WorkflowName: "greet"}); err != nil {
		t.Fatal(err)
	}
	if tools := mcptest.Tools(t, mcptest.Connect(t, s.URL+mcphttp.Path, nil, bearer(acme))); offers(tools, "run_greet") || offers(tools, "resume_run") {
		t.Errorf("after the deletion: %v", tools)
	}
}

func offers(tools map[string][]string, name string) bool {
	_, ok := tools[name]
	return ok
}

// grows reports whether each value is above the one before, as the protocol requires of progress.
func grows(values []float64) bool {
	for i := 1; i < len(values); i++ {
		if values[i] <= values[i-1] {
			return false
		}
	}
	return true
}

// yes approves.
type yes struct{}

func (yes) Elicit(context.Context, mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	return &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{Action: mcpgo.ElicitationResponseActionAccept, Content: map[string]any{"approved": true}}}, nil
}

// no declines.
type no struct{}

func (no) Elicit(context.Context, mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	return &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{Action: mcpgo.ElicitationResponseActionDecline}}, nil
}

func bearer(c servicetest.Client) map[string]string {
	return map[string]string{"Authorization": "Bearer " + c.Secret}
}

// A workflow that waits asks the user of a client that can show a form; others get what they need
// to resume the run.
func TestAWorkflowAsksTheUser(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	makeWorkflow(t, c, "publish", approval)
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			asking := append([]client.ClientOption{client.WithElicitationHandler(yes{})}, options...)
			asked := mcptest.Connect(t, s.URL+mcphttp.Path, asking, bearer(c))
			heard := mcptest.WatchProgress(asked)
			result, text := mcptest.Call(t, asked, "run_publish", map[string]any{"what": era}, map[string]any{"progressToken": era})
			wait.For(t, "both steps, which the client may deliver after the answer", func() bool { return len(heard.Of(era)) >= 2 })
			if got := heard.Of(era); era == "legacy" && !grows(got) {
				t.Errorf("heard %v", got)
			}
			if result.IsError || !strings.Contains(text, `"published":true`) || !strings.Contains(text, era) {
				t.Errorf("asked: %s", text)
			}
			declining := mcptest.Connect(t, s.URL+mcphttp.Path, append([]client.ClientOption{client.WithElicitationHandler(no{})}, options...), bearer(c))
			if result, text := mcptest.Call(t, declining, "run_publish", map[string]any{"what": era}, nil); result.IsError || !strings.Contains(text, "did not answer") || !strings.Contains(text, "resume_run") {
				t.Errorf("declined: %s", text)
			}
			plain := mcptest.Connect(t, s.URL+mcphttp.Path, options, bearer(c))
			result, text = mcptest.Call(t, plain, "run_publish", map[string]any{"what": era}, nil)
			said, _ := result.StructuredContent.(map[string]any)
			id, _ := said["runId"].(string)
			next, _ := said["next"].(string) // some clients show a model nothing but the structured content
			if result.IsError || said["status"] != "waiting" || id == "" || !strings.Contains(text, "resume_run") || !strings.Contains(next, "resume_run") {
				t.Fatalf("%v %s", result, text)
			}
			if result, text := mcptest.Call(t, plain, "resume_run", map[string]any{"runId": id, "data": map[string]any{"approved": "no"}}, nil); !result.IsError || !strings.Contains(text, "approved") {
				t.Errorf("data of the wrong type: %s", text)
			}
			// Strict conversions of schemas leave nothing but a text of an object with any fields.
			result, text = mcptest.Call(t, plain, "resume_run", map[string]any{"runId": id, "data": `{"approved": false}`}, nil)
			if result.IsError || !strings.Contains(text, `"published":false`) {
				t.Errorf("resumed: %s", text)
			}
		})
	}
}

// A client that cancels its call cancels the run, down to the call of a service.
func TestACancelledCallCancelsItsRun(t *testing.T) {
	t.Parallel()
	blocked, canceled := make(chan struct{}), make(chan struct{})
	e := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(blocked)
		<-r.Context().Done()
		close(canceled)
	}))
	t.Cleanup(e.Close)
	s := servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.0/8"}})
	c := s.Tenant(t, "acme")
	makeWorkflow(t, c, "long", `{"description": "Blocks.", "steps": [{"id": "block", "kind": "http", "settings": {"method": "GET", "url": "`+e.URL+`", "inputSchema": {"type": "object"}}, "input": {}}]}`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &ragdv1.CallToolRequest{ToolName: "run_long"})
		done <- err
	}()
	<-blocked
	cancel()
	<-canceled
	if err := <-done; err == nil {
		t.Error("the call succeeded")
	}
	wait.For(t, "the run to be cancelled", func() bool {
		runs, err := c.ListRuns(t.Context(), &ragdv1.ListRunsRequest{Status: "cancelled"})
		return err == nil && len(runs.Runs) == 1
	})
}
