package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// The extension of MCP for calls that go on after their answer. The library has none of it: what it calls tasks is of
// a draft, and known to one instance.

// tasksExtension is the name of the extension.
const tasksExtension = "io.modelcontextprotocol/tasks"

// pollTask is how often a client should ask for a task.
const pollTask = time.Second

// needsTasks is the data of an error for a client without the extension.
var needsTasks = map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}}

// knowsTasks reports whether a client of the revision 2026-07-28 or later has the extension.
func knowsTasks(has mcpgo.ClientCapabilities) bool {
	_, ok := has.Extensions[tasksExtension]
	return ok
}

// takesTask reports whether the client of a call takes a task instead of its result.
func takesTask(ctx context.Context) bool {
	return clientIsModern(ctx) && knowsTasks(clientCapabilities(ctx))
}

// checkTakesTask returns an error if the tool of a call needs tasks and the client takes none: an rpcError, or
// Precondition for clients with sessions, which know no such error.
func (s *protocol) checkTakesTask(ctx context.Context, call toolset.Call) error {
	if call.TakesTask {
		return nil
	}
	d, err := s.tools.Find(ctx, viewOf(ctx), call.Name)
	if err != nil || !d.NeedsTask {
		return nil //nolint:nilerr // the call says so
	}
	message := "calls of this tool take long: " + mustKnowTasks
	if clientIsModern(ctx) {
		return &rpcError{*lacksTasks(message)}
	}
	return fault.New(fault.Precondition, "%s", message)
}

// taskMethods returns the methods of the extension.
func (s *protocol) taskMethods() map[mcpgo.MCPMethod]mcphttp.Method {
	method := func(run func(ctx context.Context, id string, params json.RawMessage) (map[string]any, error)) mcphttp.Method {
		return mcphttp.Method{Name: "taskId", Run: func(ctx context.Context, has mcpgo.ClientCapabilities, id string, params json.RawMessage) (map[string]any, *mcphttp.Failure) {
			if !knowsTasks(has) {
				return nil, lacksTasks(mustKnowTasks)
			}
			result, err := run(ctx, id, params)
			if err != nil {
				return nil, taskFailure(ctx, err)
			}
			return result, nil
		}}
	}
	return map[mcpgo.MCPMethod]mcphttp.Method{
		"tasks/get": method(func(ctx context.Context, id string, _ json.RawMessage) (map[string]any, error) {
			t, err := s.tools.Task(ctx, id)
			if err != nil {
				return nil, err
			}
			return detailed(ctx, t)
		}),
		"tasks/cancel": method(func(ctx context.Context, id string, _ json.RawMessage) (map[string]any, error) {
			return map[string]any{}, s.tools.CancelTask(ctx, id)
		}),
		"tasks/update": method(s.updateTask),
	}
}

// maxListenedTasks limits the tasks of a tenant of which streams on an instance tell, because each is looked at every
// pollTask. Streams do not agree to tell of others.
const maxListenedTasks = 500

// listenToTasks returns the tasks of the caller of which a stream tells.
func (s *protocol) listenToTasks(ctx context.Context, has mcpgo.ClientCapabilities, ids []string) (agreed []string, failed *mcphttp.Failure) {
	if !knowsTasks(has) {
		return nil, lacksTasks(mustKnowTasks)
	}
	agreed = []string{}
	for _, id := range ids[:min(len(ids), maxListenedTasks)] {
		if _, err := s.tools.Task(ctx, id); err == nil && !slices.Contains(agreed, id) {
			agreed = append(agreed, id)
		}
	}
	r, ok := access.FromContext(ctx)
	n := int64(len(agreed))
	if !ok || n == 0 || !s.told.TryAcquire(r.Tenant, n) {
		return []string{}, nil
	}
	context.AfterFunc(ctx, func() { s.told.Release(r.Tenant, n) })
	return agreed, nil
}

// tellOfTasks adds hooks that tell a stream of its tasks as long as it lasts.
func (s *protocol) tellOfTasks(hooks *server.Hooks) {
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, _ *mcpgo.SubscriptionsListenRequest) {
		session := server.ClientSessionFromContext(ctx)
		if ids, acknowledged := mcphttp.ListenedTasks(ctx); session != nil && len(ids) > 0 {
			go s.tell(ctx, session, ids, acknowledged)
		}
	})
	hooks.AddAfterSubscriptionsListen(func(ctx context.Context, _ any, _ *mcpgo.SubscriptionsListenRequest, _ *mcpgo.SubscriptionsListenResult) {
		// The library ends a stream for nothing but tasks at once, and may not send its acknowledgement then.
		switch ids, acknowledged := mcphttp.ListenedTasks(ctx); {
		case len(ids) > 0:
			<-ctx.Done()
		case acknowledged != nil:
			select {
			case <-acknowledged:
			case <-ctx.Done():
			}
		}
	})
}

// tell sends a stream each state of tasks, at first the current one, until they have ended.
func (s *protocol) tell(ctx context.Context, session server.ClientSession, ids []string, acknowledged <-chan struct{}) {
	select {
	case <-acknowledged:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(pollTask)
	defer ticker.Stop()
	last := map[string]string{}
	for len(ids) > 0 {
		ids = slices.DeleteFunc(ids, func(id string) (ended bool) { return s.tellOf(ctx, session, id, last) })
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// tellOf sends the state of a task unless it is the last one, and reports whether there will be no other.
func (s *protocol) tellOf(ctx context.Context, session server.ClientSession, id string, last map[string]string) (ended bool) {
	t, err := s.tools.Task(ctx, id)
	if err != nil {
		return fault.KindOf(err) == fault.NotFound
	}
	state, err := detailed(ctx, t)
	if err != nil {
		return t.Status.Ended()
	}
	raw, err := json.Marshal(state)
	if err != nil || string(raw) == last[id] {
		return err != nil
	}
	last[id] = string(raw)
	select {
	case session.NotificationChannel() <- mcpgo.JSONRPCNotification{
		JSONRPC:      mcpgo.JSONRPC_VERSION,
		Notification: mcpgo.Notification{Method: "notifications/tasks", Params: mcpgo.NotificationParams{AdditionalFields: state}},
	}:
	case <-ctx.Done():
	}
	return t.Status.Ended()
}

// mustKnowTasks is what a client without the extension is told.
const mustKnowTasks = "the client must have the extension " + tasksExtension

// lacksTasks returns the failure of a client without the extension.
func lacksTasks(message string) *mcphttp.Failure {
	return &mcphttp.Failure{Code: mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY, Message: message, Data: needsTasks}
}

// taskFailure returns the error of a method of the extension: a task that is not the caller's is no valid parameter.
func taskFailure(ctx context.Context, err error) *mcphttp.Failure {
	failure := &mcphttp.Failure{Code: mcpgo.INVALID_PARAMS, Message: publicError(ctx, err).Error()}
	if kind := fault.KindOf(err); kind != fault.NotFound && kind != fault.Invalid {
		failure.Code = mcpgo.INTERNAL_ERROR
		httpserver.Fail(ctx, err)
	}
	return failure
}

// stated returns what the answer to the call and each later one say of a task.
func stated(t toolset.Task) map[string]any {
	all := map[string]any{
		"taskId": t.ID, "status": t.Status, "createdAt": t.CreatedAt.UTC().Format(time.RFC3339Nano), "lastUpdatedAt": t.UpdatedAt.UTC().Format(time.RFC3339Nano),
		"ttlMs": t.Keep.Milliseconds(), "pollIntervalMs": pollTask.Milliseconds(),
	}
	if t.Message != "" {
		all["statusMessage"] = t.Message
	}
	return all
}

// deferred answers a call with a task.
func deferred(ctx context.Context, t toolset.Task) error {
	all := stated(t)
	all["resultType"] = "task"
	raw, err := json.Marshal(all)
	if err == nil {
		mcphttp.Answer(ctx, raw)
	}
	return err
}

// detailed returns a task with its result, or with what it asks for.
func detailed(ctx context.Context, t toolset.Task) (map[string]any, error) {
	all := stated(t)
	switch t.Status {
	case toolset.TaskFailed:
		all["error"] = mcphttp.Failure{Code: mcpgo.INTERNAL_ERROR, Message: t.Message}
		if t.Outcome != nil {
			all["error"] = t.Outcome
		}
	case toolset.TaskCompleted:
		switch {
		case t.Outcome != nil:
			all["result"] = t.Outcome
		case t.Err != nil && fault.KindOf(t.Err) == fault.Internal:
			all["status"] = "failed" // which is for the service's own faults
			all["error"] = mcphttp.Failure{Code: mcpgo.INTERNAL_ERROR, Message: publicError(ctx, t.Err).Error()}
		case t.Err != nil:
			all["result"] = complete(problemOf(t.Err).result(httpserver.RequestID(ctx)))
		default:
			result, err := inForm(ctx, t.Result)
			if err != nil {
				return nil, err
			}
			all["result"] = complete(result)
		}
	case toolset.TaskInputRequired:
		requests := map[string]any{}
		for key, request := range t.Requests {
			requests[key] = request
		}
		for key, q := range t.Questions {
			requests[key] = map[string]any{"method": mcpgo.MethodElicitationCreate, "params": map[string]any{"mode": "form", "message": q.Message, "requestedSchema": q.Schema}}
		}
		all["inputRequests"] = requests
	}
	return all, nil
}

// complete returns the result of a call as a task has it: the library does not say there what kind of result it is.
func complete(result *mcpgo.CallToolResult) *mcpgo.CallToolResult {
	result.ResultType = mcpgo.ResultTypeComplete
	return result
}

// updateTask gives a task the answers of the client, as far as it still asks for them.
func (s *protocol) updateTask(ctx context.Context, id string, params json.RawMessage) (map[string]any, error) {
	var given struct {
		InputResponses map[string]json.RawMessage `json:"inputResponses"`
	}
	if err := json.Unmarshal(params, &given); err != nil {
		return nil, fault.Field("inputResponses", "must be an object of results of what the task asks for")
	}
	if _, err := s.tools.Task(ctx, id); err != nil {
		return nil, err
	}
	for key, response := range given.InputResponses {
		if !bytes.HasPrefix(bytes.TrimLeft(response, " \t\r\n"), []byte("{")) {
			return nil, fault.Field("inputResponses."+key, "must be an object")
		}
		if err := s.tools.AnswerTask(ctx, id, key, response); err != nil {
			return nil, fmt.Errorf("inputResponses.%s: %w", key, err)
		}
	}
	return map[string]any{}, nil
}

// outcome returns the function that encodes the end of a task, for a call from this client.
func (s *protocol) outcome(ctx context.Context, tool string) func(toolset.Result, error) (json.RawMessage, bool) {
	form, requestID := formOf(ctx), httpserver.RequestID(ctx)
	return func(r toolset.Result, err error) (json.RawMessage, bool) {
		failed := true
		var whole any
		var refused *rpcError
		switch p := problemOf(err); {
		case errors.As(err, &refused):
			whole = refused.Failure
		case err != nil && p.kind == fault.Internal:
			s.log.ErrorContext(ctx, "mcp task", "tool", tool, "request_id", requestID, "err", err)
			whole = mcphttp.Failure{Code: mcpgo.INTERNAL_ERROR, Message: p.text + " (request id " + requestID + ")"}
		case err != nil:
			whole, failed = complete(p.result(requestID)), false
		default:
			result, err := resultIn(context.Background(), form, r) // the request is answered
			if err != nil {
				whole = mcphttp.Failure{Code: mcpgo.INTERNAL_ERROR, Message: fault.Public(err)}
				break
			}
			whole, failed = complete(result), false
		}
		raw, err := json.Marshal(whole)
		if err != nil {
			s.log.ErrorContext(ctx, "mcp task", "tool", tool, "request_id", requestID, "err", err)
			return nil, true
		}
		return raw, failed
	}
}
