package rpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// stepServer is a service that steps of workflows call. It answers by the path of the request.
type stepServer struct {
	*httptest.Server

	mu       sync.Mutex
	keys     map[string][]string // of idempotency, by path
	bodies   map[string][]string
	blocked  chan struct{} // closed when a call of /block has come
	canceled chan struct{} // closed when it was cancelled
	running  int
	most     int           // calls of /slow at once
	three    chan struct{} // closed when three calls of /slow run at once
	met      sync.Once
}

func newStepServer(t *testing.T) *stepServer {
	t.Helper()
	s := &stepServer{keys: map[string][]string{}, bodies: map[string][]string{}, blocked: make(chan struct{}), canceled: make(chan struct{}), three: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *stepServer) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.keys[r.URL.Path] = append(s.keys[r.URL.Path], r.Header.Get("Idempotency-Key"))
	s.bodies[r.URL.Path] = append(s.bodies[r.URL.Path], string(body))
	calls := len(s.keys[r.URL.Path])
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/flaky":
		if calls < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
	case "/broken":
		w.WriteHeader(http.StatusBadRequest)
		return
	case "/slow":
		s.count(1)
		select {
		case <-s.three:
		case <-r.Context().Done():
		}
		s.count(-1)
	case "/block":
		if calls == 1 {
			close(s.blocked)
		}
		<-r.Context().Done()
		if calls == 1 {
			close(s.canceled)
		}
		return
	}
	fmt.Fprintf(w, `{"path": %q, "calls": %d, "echo": %s}`, r.URL.Path, calls, body)
}

func (s *stepServer) count(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += by
	if s.most = max(s.most, s.running); s.running == 3 {
		s.met.Do(func() { close(s.three) })
	}
}

func (s *stepServer) called(path string) (keys, bodies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[path], s.bodies[path]
}

// tool creates a tool of the kind http that posts its arguments to a path.
func (s *stepServer) tool(t *testing.T, c servicetest.Client, name, path string) {
	t.Helper()
	_, err := c.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: name, Kind: "http", Description: "Posts.", Settings: settings(t, s.settings(path))})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stepServer) settings(path string) string {
	return `{"method": "POST", "url": "` + s.URL + path + `", "body": "{{arguments}}", "inputSchema": {"type": "object", "properties": {"n": {"type": "number"}, "text": {"type": "string"}}},
		"outputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "calls": {"type": "integer"}, "echo": {}}}}`
}

func workflowOf(t *testing.T, c servicetest.Client, name, definition string) *ragdv1.Workflow {
	t.Helper()
	made, err := c.CreateWorkflow(t.Context(), &ragdv1.CreateWorkflowRequest{WorkflowName: name, Definition: settings(t, definition)})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// runOf starts a run and returns it once it has ended or waits.
func runOf(t *testing.T, c servicetest.Client, name, input string) *ragdv1.WorkflowRun {
	t.Helper()
	stream, err := c.RunWorkflow(t.Context(), &ragdv1.RunWorkflowRequest{WorkflowName: name, Input: settings(t, input)})
	if err != nil {
		t.Fatal(err)
	}
	return lastRun(t, stream)
}

func lastRun(t *testing.T, stream *connect.ServerStreamForClient[ragdv1.RunWorkflowEvent]) *ragdv1.WorkflowRun {
	t.Helper()
	var run *ragdv1.WorkflowRun
	for stream.Receive() {
		if now := stream.Msg().GetRun(); now != nil {
			run = now
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return run
}

func watchedRun(t *testing.T, c servicetest.Client, id string) *ragdv1.WorkflowRun {
	t.Helper()
	stream, err := c.WatchRun(t.Context(), &ragdv1.WatchRunRequest{RunId: id})
	if err != nil {
		t.Fatal(err)
	}
	return lastRun(t, stream)
}

func wantOutput(t *testing.T, run *ragdv1.WorkflowRun, want string) {
	t.Helper()
	wanted := &structpb.Value{}
	if err := protojson.Unmarshal([]byte(want), wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted.AsInterface(), run.GetOutput().AsInterface()); run.GetStatus() != "succeeded" || diff != "" {
		t.Errorf("run of %s is %s, %s: %s", run.GetWorkflowName(), run.GetStatus(), run.GetError(), diff)
	}
}

func workflowService(t *testing.T) *servicetest.Service {
	t.Helper()
	return servicetest.New(t, service.Config{AllowedPrivateNetworks: thisMachine, MasterKeys: masterKeys(t, "1")})
}

// The four kinds of mapping, expressions, and a tool as a step.
func TestAWorkflowMapsOutputsOfSteps(t *testing.T) {
	t.Parallel()
	s, e := workflowService(t), newStepServer(t)
	c := s.Tenant(t, "acme")
	e.tool(t, c, "post", "/post")
	if _, err := c.DeclareContextKey(t.Context(), &ragdv1.DeclareContextKeyRequest{Key: &ragdv1.ContextKey{Name: "tier"}}); err != nil {
		t.Fatal(err)
	}
	workflowOf(t, c, "mapped", `{
		"description": "Maps.", "inputSchema": {"type": "object", "properties": {"question": {"type": "string"}, "n": {"type": "integer"}}, "required": ["question"]},
		"steps": [
			{"id": "first", "kind": "tool", "tool": "post", "input": {"text": {"initData": true, "path": "question"}, "n": {"expression": "initData.?n.orValue(2) * 2"}}},
			{"id": "joined", "kind": "map", "input": {
				"echoed": {"step": "first", "path": "echo.text"}, "tier": {"requestContextPath": "tier"},
				"limit": {"value": {"max": 5}}, "missing": {"initData": true, "path": "n"}, "loud": {"expression": "steps.first.echo.text.upperAscii()"}}}
		]}`)
	pro := s.Client(c.Secret, "Ragd-Context", `{"tier": "pro"}`)
	wantOutput(t, runOf(t, pro, "mapped", `{"question": "why"}`), `{"echoed": "why", "tier": "pro", "limit": {"max": 5}, "loud": "WHY"}`)
	if _, bodies := e.called("/post"); len(bodies) != 1 || bodies[0] != `{"n":4,"text":"why"}` {
		t.Errorf("the tool was called with %s", bodies)
	}
	_, err := c.StartWorkflow(t.Context(), &ragdv1.StartWorkflowRequest{WorkflowName: "mapped", Input: settings(t, `{"question": 5}`)})
	servicetest.WantCode(t, "an input of the wrong type", err, connect.CodeInvalidArgument)
}

func TestAWorkflowBranchesRunsAtOnceAndForEach(t *testing.T) {
	t.Parallel()
	s, e := workflowService(t), newStepServer(t)
	c := s.Tenant(t, "acme")
	e.tool(t, c, "slow", "/slow")
	workflowOf(t, c, "inner", `{"description": "Doubles.", "inputSchema": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]},
		"steps": [{"id": "double", "kind": "map", "inputFrom": {"expression": "{'n': initData.n * 2}"}}]}`)
	workflowOf(t, c, "outer", `{"description": "All.", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}, "steps": [
		{"id": "size", "kind": "branch", "branches": [
			{"when": "initData.n > 10", "steps": [{"id": "large", "kind": "map", "input": {"size": {"value": "large"}}}]},
			{"when": "initData.n > 5", "steps": [{"id": "middle", "kind": "map", "input": {"size": {"value": "middle"}}}]}],
			"otherwise": [{"id": "small", "kind": "map", "input": {"size": {"value": "small"}}}]},
		{"id": "both", "kind": "parallel", "branches": [
			{"id": "a", "steps": [{"id": "nested", "kind": "workflow", "workflow": "inner", "input": {"n": {"initData": true, "path": "n"}}}]},
			{"id": "b", "steps": [{"id": "one", "kind": "map", "inputFrom": {"value": [1, 2, 3, 4, 5, 6]}}]}]},
		{"id": "each", "kind": "foreach", "items": {"step": "one"}, "concurrency": 3, "steps": [
			{"id": "call", "kind": "tool", "tool": "slow", "input": {"n": {"expression": "item + index"}}},
			{"id": "picked", "kind": "map", "inputFrom": {"step": "call", "path": "echo.n"}}]}],
		"output": {"size": {"step": ["large", "middle", "small"], "path": "size"}, "doubled": {"step": "both", "path": "a.n"}, "each": {"step": "each"}}}`)
	wantOutput(t, runOf(t, c, "outer", `{"n": 7}`), `{"size": "middle", "doubled": 14, "each": [1, 3, 5, 7, 9, 11]}`)
	wantOutput(t, runOf(t, c, "outer", `{"n": 1}`), `{"size": "small", "doubled": 2, "each": [1, 3, 5, 7, 9, 11]}`)
	if e.most != 3 {
		t.Errorf("%d steps ran at once, want 3", e.most)
	}
	runs, err := c.ListRuns(t.Context(), &ragdv1.ListRunsRequest{WorkflowName: "outer"})
	if err != nil || len(runs.Runs) != 2 {
		t.Fatal(runs, err)
	}
	run, err := c.GetRun(t.Context(), &ragdv1.GetRunRequest{RunId: runs.Runs[0].RunId})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, step := range run.Steps {
		paths = append(paths, step.Path)
		if step.Status != "succeeded" {
			t.Errorf("step %s is %s", step.Path, step.Status)
		}
	}
	for _, want := range []string{"size", "small", "both", "nested", "nested/double", "one", "each", "each[0].call", "each[5].picked"} {
		if !strings.Contains(" "+strings.Join(paths, " ")+" ", " "+want+" ") {
			t.Errorf("no step %s in %v", want, paths)
		}
	}
}

func TestAStepIsRetriedAndItsErrorIsHandled(t *testing.T) {
	t.Parallel()
	s, e := workflowService(t), newStepServer(t)
	c := s.Tenant(t, "acme")
	e.tool(t, c, "flaky", "/flaky")
	e.tool(t, c, "broken", "/broken")
	workflowOf(t, c, "careful", `{"description": "Retries.", "steps": [
		{"id": "again", "kind": "tool", "tool": "flaky", "input": {}, "retry": {"attempts": 3, "backoffSeconds": 0.01}},
		{"id": "bad", "kind": "tool", "tool": "broken", "input": {}, "retry": {"attempts": 3},
			"onError": [{"id": "instead", "kind": "map", "inputFrom": {"expression": "{'kind': error.kind, 'step': error.step}"}}]},
		{"id": "direct", "kind": "http", "settings": `+e.settings("/direct")+`, "input": {"n": {"value": 1}}}],
		"output": {"calls": {"step": "again", "path": "calls"}, "error": {"step": "instead"}, "direct": {"step": "direct", "path": "echo.n"}}}`)
	run := runOf(t, c, "careful", `{}`)
	if run.Status != "succeeded" || run.Output.GetStructValue().AsMap()["calls"] != 3.0 || run.Output.GetStructValue().AsMap()["direct"] != 1.0 {
		t.Fatalf("%v", run)
	}
	keys, _ := e.called("/flaky")
	if want := run.RunId + "/again"; len(keys) != 3 || keys[0] != want || keys[2] != want {
		t.Errorf("the idempotency keys are %v, want thrice %s", keys, want)
	}
	if keys, _ := e.called("/broken"); len(keys) != 1 {
		t.Errorf("a permanent error was tried %d times", len(keys))
	}
	workflowOf(t, c, "careless", `{"description": "Fails.", "steps": [{"id": "bad", "kind": "tool", "tool": "broken", "input": {}}, {"id": "next", "kind": "map", "input": {}}]}`)
	failed := runOf(t, c, "careless", `{}`)
	if failed.Status != "failed" || failed.Error == "" || failed.ErrorKind == "" || failed.ErrorKind == "internal" {
		t.Errorf("%v", failed)
	}
}

func TestAWorkflowWaitsToBeResumed(t *testing.T) {
	t.Parallel()
	s := workflowService(t)
	c := s.Tenant(t, "acme")
	workflowOf(t, c, "approval", `{"description": "Asks.", "steps": [
		{"id": "ask", "kind": "wait", "message": "Publish?", "schema": {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}},
		{"id": "done", "kind": "map", "input": {"published": {"step": "ask", "path": "approved"}}}]}`)
	run := runOf(t, c, "approval", `{}`)
	if run.Status != "waiting" {
		t.Fatalf("%v", run)
	}
	ctx := t.Context()
	waiting, err := c.GetRun(ctx, &ragdv1.GetRunRequest{RunId: run.RunId})
	if err != nil || len(waiting.Steps) != 1 || waiting.Steps[0].Message != "Publish?" || waiting.Steps[0].Schema == nil || waiting.Steps[0].WaitUntilTime == nil {
		t.Fatal(waiting, err)
	}
	resume := func(step, data string) error {
		_, err := c.ResumeRun(ctx, &ragdv1.ResumeRunRequest{RunId: run.RunId, StepPath: step, Data: structpb.NewStructValue(settings(t, data))})
		return err
	}
	servicetest.WantCode(t, "data of the wrong type", resume("", `{"approved": "yes"}`), connect.CodeInvalidArgument)
	servicetest.WantCode(t, "another step", resume("done", `{}`), connect.CodeFailedPrecondition)
	if err := resume("ask", `{"approved": true}`); err != nil {
		t.Fatal(err)
	}
	wantOutput(t, watchedRun(t, c, run.RunId), `{"published": true}`)
	servicetest.WantCode(t, "a second time", resume("ask", `{"approved": true}`), connect.CodeFailedPrecondition)

	workflowOf(t, c, "impatient", `{"description": "Waits briefly.", "steps": [{"id": "ask", "kind": "wait", "message": "?", "timeoutSeconds": 0.01,
		"onError": [{"id": "late", "kind": "map", "input": {"kind": {"expression": "error.kind"}}}]}]}`)
	run = runOf(t, c, "impatient", `{}`)
	for until := time.Now().Add(time.Minute); run.Status == "waiting" && time.Now().Before(until); {
		run = watchedRun(t, c, run.RunId)
	}
	wantOutput(t, run, `{"kind": "deadline"}`)
}

func TestARunIsCancelled(t *testing.T) {
	t.Parallel()
	s, e := workflowService(t), newStepServer(t)
	c := s.Tenant(t, "acme")
	e.tool(t, c, "block", "/block")
	workflowOf(t, c, "long", `{"description": "Blocks.", "steps": [{"id": "block", "kind": "tool", "tool": "block", "input": {}}]}`)
	ctx := t.Context()
	started, err := c.StartWorkflow(ctx, &ragdv1.StartWorkflowRequest{WorkflowName: "long"})
	if err != nil {
		t.Fatal(err)
	}
	<-e.blocked
	cancelled, err := c.CancelRun(ctx, &ragdv1.CancelRunRequest{RunId: started.RunId})
	if err != nil || cancelled.Status != "cancelled" {
		t.Fatal(cancelled, err)
	}
	if steps := cancelled.GetSteps(); len(steps) != 1 || steps[0].GetStatus() != "cancelled" || steps[0].GetEndTime() == nil {
		t.Errorf("the step that was running: %v", steps)
	}
	<-e.canceled
	if again, err := c.CancelRun(ctx, &ragdv1.CancelRunRequest{RunId: started.RunId}); err != nil || again.Status != "cancelled" {
		t.Error(again, err)
	}
}

// A run stops when the key that started it is revoked: while a step runs, and while it waits.
func TestARunStopsWithItsKey(t *testing.T) {
	t.Parallel()
	s, e := workflowService(t), newStepServer(t)
	c := s.Tenant(t, "acme")
	e.tool(t, c, "block", "/block")
	workflowOf(t, c, "long", `{"description": "Blocks.", "steps": [{"id": "block", "kind": "tool", "tool": "block", "input": {}}]}`)
	workflowOf(t, c, "ask", `{"description": "Asks.", "steps": [{"id": "ask", "kind": "wait", "message": "?"}, {"id": "done", "kind": "map", "input": {}}]}`)
	ctx := t.Context()
	made, err := s.Operator().CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{TenantId: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	other := s.Client(made.Secret)
	waiting := runOf(t, other, "ask", `{}`)
	running, err := other.StartWorkflow(ctx, &ragdv1.StartWorkflowRequest{WorkflowName: "long"})
	if err != nil {
		t.Fatal(err)
	}
	<-e.blocked
	if _, err := s.Operator().RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: made.GetApiKey().GetApiKeyId()}); err != nil {
		t.Fatal(err)
	}
	<-e.canceled
	if run := watchedRun(t, c, running.RunId); run.Status != "failed" || run.ErrorKind != "unauthenticated" {
		t.Errorf("the running one: %v", run)
	}
	if _, err := c.ResumeRun(ctx, &ragdv1.ResumeRunRequest{RunId: waiting.RunId}); err != nil {
		t.Fatal(err)
	}
	if run := watchedRun(t, c, waiting.RunId); run.Status != "failed" || run.ErrorKind != "unauthenticated" {
		t.Errorf("the waiting one: %v", run)
	}
}

// Steps have the rights of who started the run: its mandatory filter, its bounds and its scopes.
func TestStepsHaveTheRightsOfTheCaller(t *testing.T) {
	t.Parallel()
	s := workflowService(t)
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	for team, text := range map[string]string{"red": "The red harbour.", "blue": "The blue harbour."} {
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: team, Source: servicetest.Text(text), Metadata: servicetest.Object(t, map[string]any{"team": team})})
	}
	workflowOf(t, c, "find", `{"description": "Finds.", "steps": [
		{"id": "query", "kind": "query", "input": {"indexName": {"value": "docs"}, "queryText": {"value": "harbour"}, "topK": {"value": 5}}},
		{"id": "uris", "kind": "map", "inputFrom": {"expression": "{'found': steps.query.sources.map(s, s.metadata.team)}"}}]}`)
	workflowOf(t, c, "write", `{"description": "Writes.", "steps": [
		{"id": "upload", "kind": "upload", "input": {"indexName": {"value": "docs"}, "uri": {"value": "new"}, "text": {"value": "A new text."}}}]}`)
	all := runOf(t, c, "find", `{}`)
	if found := fmt.Sprint(all.Output.GetStructValue().AsMap()["found"]); !strings.Contains(found, "red") || !strings.Contains(found, "blue") {
		t.Errorf("all: %v", all)
	}
	key := func(req *ragdv1.CreateApiKeyRequest) servicetest.Client {
		req.TenantId = "acme"
		return s.Client(s.Key(t, req))
	}
	red := key(&ragdv1.CreateApiKeyRequest{Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})})
	mine := runOf(t, red, "find", `{}`)
	wantOutput(t, mine, `{"found": ["red"]}`)
	if denied := runOf(t, red, "write", `{}`); denied.Status != "failed" || denied.ErrorKind != "denied" && denied.ErrorKind != "not_found" {
		t.Errorf("a reader writes: %v", denied)
	}
	ctx := t.Context()
	_, err := red.GetRun(ctx, &ragdv1.GetRunRequest{RunId: all.RunId})
	servicetest.WantCode(t, "a run of another", err, connect.CodeNotFound)
	_, err = red.CancelRun(ctx, &ragdv1.CancelRunRequest{RunId: all.RunId})
	servicetest.WantCode(t, "cancelling a run of another", err, connect.CodeNotFound)
	if runs, err := red.ListRuns(ctx, &ragdv1.ListRunsRequest{WorkflowName: "find"}); err != nil || len(runs.Runs) != 1 {
		t.Errorf("the runs of the reader: %v, %v", runs, err)
	}
	_, err = red.CreateWorkflow(ctx, &ragdv1.CreateWorkflowRequest{WorkflowName: "x", Definition: settings(t, `{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {}}]}`)})
	servicetest.WantCode(t, "creating as a reader", err, connect.CodePermissionDenied)
	bound := key(&ragdv1.CreateApiKeyRequest{Indexes: &ragdv1.AllowedNames{Names: []string{"other"}}})
	if hidden := runOf(t, bound, "find", `{}`); hidden.Status != "failed" || hidden.ErrorKind != "not_found" {
		t.Errorf("an index outside of the bounds: %v", hidden)
	}
}

// Two tenants have workflows of equal names; each sees and runs its own.
func TestWorkflowsOfTenantsNeverCross(t *testing.T) {
	t.Parallel()
	s := workflowService(t)
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	definition := func(who string) string {
		return `{"description": "` + who + `", "steps": [{"id": "ask", "kind": "wait", "message": "?"}, {"id": "who", "kind": "map", "input": {"who": {"value": "` + who + `"}}}]}`
	}
	workflowOf(t, acme, "same", definition("acme"))
	workflowOf(t, bolt, "same", definition("bolt"))
	workflowOf(t, bolt, "theirs", definition("bolt"))
	theirs := runOf(t, bolt, "same", `{}`)
	for what, err := range map[string]error{
		"GetRun":      second(acme.GetRun(ctx, &ragdv1.GetRunRequest{RunId: theirs.RunId})),
		"CancelRun":   second(acme.CancelRun(ctx, &ragdv1.CancelRunRequest{RunId: theirs.RunId})),
		"ResumeRun":   second(acme.ResumeRun(ctx, &ragdv1.ResumeRunRequest{RunId: theirs.RunId})),
		"GetWorkflow": second(acme.GetWorkflow(ctx, &ragdv1.GetWorkflowRequest{WorkflowName: "theirs"})),
		"Update":      second(acme.UpdateWorkflow(ctx, &ragdv1.UpdateWorkflowRequest{WorkflowName: "theirs", Definition: settings(t, definition("x"))})),
		"Delete":      second(acme.DeleteWorkflow(ctx, &ragdv1.DeleteWorkflowRequest{WorkflowName: "theirs"})),
		"Start":       second(acme.StartWorkflow(ctx, &ragdv1.StartWorkflowRequest{WorkflowName: "theirs"})),
	} {
		servicetest.WantCode(t, what, err, connect.CodeNotFound)
	}
	if runs, err := acme.ListRuns(ctx, &ragdv1.ListRunsRequest{}); err != nil || len(runs.Runs) != 0 {
		t.Errorf("acme's runs: %v, %v", runs, err)
	}
	if _, err := acme.DeleteWorkflow(ctx, &ragdv1.DeleteWorkflowRequest{WorkflowName: "same"}); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.ResumeRun(ctx, &ragdv1.ResumeRunRequest{RunId: theirs.RunId}); err != nil {
		t.Fatal(err)
	}
	wantOutput(t, watchedRun(t, bolt, theirs.RunId), `{"who": "bolt"}`)
}

// What a run keeps of its request has no secrets, and steps do not see them.
func TestARunKeepsNoSecrets(t *testing.T) {
	t.Parallel()
	s := workflowService(t)
	c := s.Tenant(t, "acme")
	ctx := t.Context()
	declare := func(key *ragdv1.ContextKey) {
		if _, err := c.DeclareContextKey(ctx, &ragdv1.DeclareContextKeyRequest{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []*ragdv1.ContextKey{{Name: "token"}, {Name: "city"}, {Name: "trace", Secret: true, Source: "header", From: "X-Trace"}} {
		declare(key)
	}
	const show = `{"description": "Shows.", "steps": [{"id": "a", "kind": "map", "inputFrom": {"expression": "context"}}, {"id": "b", "kind": "map", "input": {"all": {"step": "a"}, "token": {"requestContextPath": "token"}}}]}`
	workflowOf(t, c, "show", show)
	declare(&ragdv1.ContextKey{Name: "token", Secret: true}) // a workflow that names it already is refused no more
	_, err := c.CreateWorkflow(ctx, &ragdv1.CreateWorkflowRequest{WorkflowName: "later", Definition: settings(t, show)})
	servicetest.WantCode(t, "a step that takes a secret", err, connect.CodeInvalidArgument)
	caller := s.Client(c.Secret, "Ragd-Context", `{"token": "s3cret-1", "city": "Kiel"}`, "X-Trace", "s3cret-2")
	wantOutput(t, runOf(t, caller, "show", `{}`), `{"all": {"city": "Kiel"}}`)
	var kept string
	if err := s.Pool.QueryRow(ctx, `SELECT string_agg(r::text, '') || (SELECT string_agg(s::text, '') FROM ragd_shared.workflow_steps AS s) FROM ragd_shared.workflow_runs AS r`).Scan(&kept); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(kept, "Kiel") || strings.Contains(kept, "s3cret") || strings.Contains(kept, c.Secret) {
		t.Errorf("kept is %s", kept)
	}
}

func second[T any](_ T, err error) error { return err }

func TestWorkflowsHaveVersions(t *testing.T) {
	t.Parallel()
	s := workflowService(t)
	c := s.Tenant(t, "acme")
	ctx := t.Context()
	definition := func(value string) *structpb.Struct {
		return settings(t, `{"description": "Says.", "steps": [{"id": "ask", "kind": "wait", "message": "?"}, {"id": "say", "kind": "map", "input": {"value": {"value": "`+value+`"}}}]}`)
	}
	workflowOf(t, c, "say", `{"description": "Says.", "steps": [{"id": "ask", "kind": "wait", "message": "?"}, {"id": "say", "kind": "map", "input": {"value": {"value": "one"}}}]}`)
	old := runOf(t, c, "say", `{}`)
	for _, value := range []string{"two", "two"} {
		if changed, err := c.UpdateWorkflow(ctx, &ragdv1.UpdateWorkflowRequest{WorkflowName: "say", Definition: definition(value)}); err != nil || changed.Version != 2 {
			t.Fatal(changed, err)
		}
	}
	if _, err := c.ResumeRun(ctx, &ragdv1.ResumeRunRequest{RunId: old.RunId}); err != nil {
		t.Fatal(err)
	}
	wantOutput(t, watchedRun(t, c, old.RunId), `{"value": "one"}`)
	if got, err := c.GetWorkflow(ctx, &ragdv1.GetWorkflowRequest{WorkflowName: "say", Version: 1}); err != nil || got.Version != 1 || !cmp.Equal(got.Versions, []int32{2, 1}) {
		t.Error(got, err)
	}
	_, err := c.GetWorkflow(ctx, &ragdv1.GetWorkflowRequest{WorkflowName: "say", Version: 3})
	servicetest.WantCode(t, "a version that is not there", err, connect.CodeNotFound)
	_, err = c.DeleteWorkflow(ctx, &ragdv1.DeleteWorkflowRequest{WorkflowName: "say", Version: 2})
	servicetest.WantCode(t, "deleting the latest", err, connect.CodeFailedPrecondition)
	if _, err := c.DeleteWorkflow(ctx, &ragdv1.DeleteWorkflowRequest{WorkflowName: "say", Version: 1}); err != nil {
		t.Fatal(err)
	}
}

func TestADefinitionThatCannotRunIsRefused(t *testing.T) {
	t.Parallel()
	s, e := workflowService(t), newStepServer(t)
	c := s.Tenant(t, "acme")
	e.tool(t, c, "post", "/post")
	workflowOf(t, c, "inner", `{"description": "x", "inputSchema": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}, "steps": [{"id": "a", "kind": "map", "input": {}}]}`)
	input := `"inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}`
	for want, definition := range map[string]string{
		"definition.description":                         `{"steps": [{"id": "a", "kind": "map", "input": {}}]}`,
		"definition.steps":                               `{"description": "x", "steps": []}`,
		"definition.steps[0].inputs":                     `{"description": "x", "steps": [{"id": "a", "kind": "map", "inputs": {}}]}`,
		"definition.steps[0].retry.attempt":              `{"description": "x", "steps": [{"id": "a", "kind": "tool", "tool": "post", "input": {}, "retry": {"attempt": 3}}]}`,
		"definition.steps[0].input.q":                    `{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {"q": "text"}}]}`,
		"definition.steps[0].input.x.requestContextPath": `{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {"x": {"requestContextPath": "teir"}}}]}`,
		"definition.steps[0].input.y.expression":         `{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {"y": {"expression": "context.?teir.orValue(1)"}}}]}`,
		"definition.steps[0].agent":                      `{"description": "x", "steps": [{"id": "a", "kind": "agent", "agent": "nobody", "input": {"prompt": {"value": "x"}}}]}`,
		"definition.steps[0].kind":                       `{"description": "x", "steps": [{"id": "a", "kind": "mapp"}]}`,
		"definition.steps[0].id":                         `{"description": "x", "steps": [{"id": "1 a", "kind": "map", "input": {}}]}`,
		"definition.steps[1].id":                         `{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {}}, {"id": "a", "kind": "map", "input": {}}]}`,
		"definition.steps[0].tool":                       `{"description": "x", "steps": [{"id": "a", "kind": "tool", "tool": "pots", "input": {}}]}`,
		"definition.steps[0].workflow":                   `{"description": "x", "steps": [{"id": "a", "kind": "workflow", "workflow": "iner", "input": {}}]}`,
		"definition.steps[0].input.text":                 `{"description": "x", "steps": [{"id": "a", "kind": "tool", "tool": "post", "input": {"text": {"value": 5}}}]}`,
		"definition.steps[0].input.n":                    `{"description": "x", "steps": [{"id": "a", "kind": "workflow", "workflow": "inner", "input": {}}]}`,
		"definition.steps[0].input.x.path":               `{"description": "x", ` + input + `, "steps": [{"id": "a", "kind": "map", "input": {"x": {"initData": true, "path": "p"}}}]}`,
		"definition.steps[0].input.x.step":               `{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {"x": {"step": "b"}}}, {"id": "b", "kind": "map", "input": {}}]}`,
		"definition.steps[0].input.x":                    `{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {"x": {"step": "b", "value": 1}}}]}`,
		"definition.steps[0].input.x.expression":         `{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {"x": {"expression": "steps.b"}}}]}`,
		"definition.steps[0].branches[0].when":           `{"description": "x", "steps": [{"id": "a", "kind": "branch", "branches": [{"when": "1 + 1", "steps": [{"id": "b", "kind": "map", "input": {}}]}]}]}`,
		"definition.steps[0].items":                      `{"description": "x", "steps": [{"id": "a", "kind": "foreach", "items": {"value": "x"}, "steps": [{"id": "b", "kind": "map", "input": {}}]}]}`,
		"definition.steps[1].input.x.path":               `{"description": "x", "steps": [{"id": "a", "kind": "tool", "tool": "post", "input": {}}, {"id": "b", "kind": "map", "input": {"x": {"step": "a", "path": "nothing"}}}]}`,
		"definition.steps[0].retry":                      `{"description": "x", "steps": [{"id": "a", "kind": "tool", "tool": "post", "input": {}, "retry": {"attempts": 99}}]}`,
		"definition.steps[0].timeoutSeconds":             `{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {}, "timeoutSeconds": 1e9}]}`,
		"definition.steps[0].settings.url":               `{"description": "x", "steps": [{"id": "a", "kind": "http", "settings": {"method": "GET", "url": "ftp://x"}, "input": {}}]}`,
		"definition.inputSchema":                         `{"description": "x", "inputSchema": {"type": "string"}, "steps": [{"id": "a", "kind": "map", "input": {}}]}`,
		"definition.output.n":                            `{"description": "x", "outputSchema": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}, "steps": [{"id": "a", "kind": "map", "input": {}}]}`,
		"definition.steps[0].schema":                     `{"description": "x", "steps": [{"id": "a", "kind": "wait", "message": "?", "schema": {"type": "nothing"}}]}`,
		"definition.steps[0].branches[1].id":             `{"description": "x", "steps": [{"id": "a", "kind": "parallel", "branches": [{"id": "l", "steps": [{"id": "b", "kind": "map", "input": {}}]}, {"id": "l", "steps": [{"id": "c", "kind": "map", "input": {}}]}]}]}`,
	} {
		_, err := c.CreateWorkflow(t.Context(), &ragdv1.CreateWorkflowRequest{WorkflowName: "bad", Definition: settings(t, definition)})
		servicetest.WantCode(t, want, err, connect.CodeInvalidArgument)
		if fields := violated(err); !strings.Contains(" "+fields+" ", " "+want+" ") {
			t.Errorf("%s: %v names %s", want, err, fields)
		}
	}
	_, err := c.UpdateWorkflow(t.Context(), &ragdv1.UpdateWorkflowRequest{WorkflowName: "inner", Definition: settings(t, `{"description": "x", "steps": [{"id": "a", "kind": "workflow", "workflow": "inner", "input": {"n": {"value": 1}}}]}`)})
	servicetest.WantCode(t, "a workflow that runs itself", err, connect.CodeInvalidArgument)
}

// violated returns the fields that an error names.
func violated(err error) string {
	var wired *connect.Error
	if !errors.As(err, &wired) {
		return ""
	}
	var fields []string
	for _, detail := range wired.Details() {
		value, err := detail.Value()
		if err != nil {
			continue
		}
		raw, err := protojson.Marshal(value)
		if err != nil {
			continue
		}
		var said struct {
			FieldViolations []struct{ Field string }
		}
		if json.Unmarshal(raw, &said) == nil {
			for _, v := range said.FieldViolations {
				fields = append(fields, v.Field)
			}
		}
	}
	return strings.Join(fields, " ")
}
