package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// rpcError is an error of the kind Invalid that answers a request with a code of JSON-RPC. Its
// message is public.
type rpcError struct{ mcphttp.Failure }

func (e *rpcError) Error() string { return e.Message }

// Unwrap makes it an error of the caller, which is not logged as one of the service.
func (e *rpcError) Unwrap() error { return fault.New(fault.Invalid, "%s", e.Message) }

func invalidParams(format string, values ...any) *rpcError {
	return &rpcError{mcphttp.Failure{Code: mcpgo.INVALID_PARAMS, Message: fmt.Sprintf(format, values...)}}
}

// failed answers the request in ctx with err if it is an rpcError, and reports whether it is.
func failed(ctx context.Context, err error) bool {
	var chosen *rpcError
	if !errors.As(err, &chosen) {
		return false
	}
	mcphttp.Fail(ctx, chosen.Failure)
	return true
}

// carried is what a client carries from a call that asked for input to the call with its answers.
type carried struct {
	Answers json.RawMessage `json:"answers,omitempty"` // of the user, to a toolset.Question
	State   string          `json:"state,omitempty"`   // of the tool
}

// states returns the codec of the states that calls of a tool give out. They are not accepted from
// other callers, nor for other tools.
func states(ctx context.Context, tool string) interface {
	Encode(position any) string
	Decode(token string, position any) error
} {
	return access.Pages(ctx, "mcp call", tool)
}

// resumed adds what the client has sent to a call of a tool: its capabilities, and its answers to an
// earlier call. Errors: rpcError for a state that the tool did not give out, and for answers that
// are no objects.
func resumed(ctx context.Context, req mcpgo.CallToolRequest, call *toolset.Call) error {
	var before carried
	if state := req.Params.RequestState; state != "" && states(ctx, call.Name).Decode(state, &before) != nil {
		return invalidParams("requestState is not one that this tool gave out to you")
	}
	call.Answers = answersIn(req.Params.InputResponses)
	if call.Answers == nil {
		call.Answers = before.Answers
	}
	responses := map[string]json.RawMessage{}
	for id, response := range req.Params.InputResponses {
		raw, err := json.Marshal(response)
		if err != nil || !bytes.HasPrefix(raw, []byte("{")) {
			return invalidParams("inputResponses.%s must be an object", id)
		}
		if id != questionKey {
			responses[id] = raw
		}
	}
	capabilities, err := json.Marshal(clientCapabilities(ctx))
	call.Client = &toolset.Client{Capabilities: capabilities, Responses: responses, State: before.State}
	return err
}

// requestsOf returns the requests of a tool to the client. Errors: Precondition for such that MCP does not allow, and with
// the addresses for a client that cannot have its user open some; rpcError for one that cannot do anything else that it
// is asked for.
func requestsOf(ctx context.Context, tool string, a *toolset.Asked) (mcpgo.InputRequests, error) {
	if addresses := a.Addresses(); len(addresses) > 0 && !canOpen(ctx) {
		return nil, toolset.ErrOpen(tool, addresses)
	}
	requests := mcpgo.InputRequests{}
	for id, raw := range a.Requests {
		var request mcpgo.InputRequest
		if err := json.Unmarshal(raw, &request); err != nil {
			return nil, fault.Wrap(fault.Precondition, err, "the tool asks for input in a way that MCP does not allow (inputRequests.%s)", id)
		}
		if request.Elicitation != nil {
			if err := request.Elicitation.Validate(); err != nil {
				return nil, fault.New(fault.Precondition, "the tool asks for input in a way that MCP does not allow: inputRequests.%s: %s", id, err)
			}
		}
		requests[id] = request
	}
	return requests, checkCapabilities(ctx, requests)
}

// asked returns the result of a call whose tool asks the client. Errors: those of requestsOf.
func asked(ctx context.Context, call toolset.Call, a *toolset.Asked) (*mcpgo.CallToolResult, error) {
	requests, err := requestsOf(ctx, call.Name, a)
	if err != nil {
		return nil, err
	}
	state := ""
	if a.State != "" || call.Answers != nil {
		state = states(ctx, call.Name).Encode(carried{call.Answers, a.State})
	}
	return &mcpgo.CallToolResult{
		Result:               mcpgo.Result{ResultType: mcpgo.ResultTypeInputRequired},
		MultiRoundTripResult: mcpgo.MultiRoundTripResult{InputRequests: requests, RequestState: state},
	}, nil
}

// checkCapabilities returns an rpcError if the client lacks a capability that a request needs; for
// clients with sessions, which know no such error, Precondition.
func checkCapabilities(ctx context.Context, requests mcpgo.InputRequests) error {
	has := clientCapabilities(ctx)
	missing := map[string]any{}
	for _, request := range requests {
		switch e := has.Elicitation; {
		case request.Method == mcpgo.MethodElicitationCreate && (e == nil || e.Form == nil && e.URL != nil && request.Elicitation.Mode != mcpgo.ElicitationModeURL):
			missing["elicitation"] = map[string]any{}
		case request.Method == mcpgo.MethodSamplingCreateMessage && has.Sampling == nil:
			missing["sampling"] = map[string]any{}
		case request.Method == mcpgo.MethodListRoots && has.Roots == nil:
			missing["roots"] = map[string]any{}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	message := "the tool asks its client for what it does not support: " + strings.Join(slices.Sorted(maps.Keys(missing)), ", ")
	if clientIsModern(ctx) {
		return &rpcError{mcphttp.Failure{Code: mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY, Message: message, Data: map[string]any{"requiredCapabilities": missing}}}
	}
	return fault.New(fault.Precondition, "%s", message)
}

// canOpen reports whether the client can have its user open an address.
func canOpen(ctx context.Context) bool {
	e := clientCapabilities(ctx).Elicitation
	return e != nil && e.URL != nil
}

// clientIsModern reports whether the client has revision 2026-07-28 or later.
func clientIsModern(ctx context.Context) bool {
	info := server.RequestProtocolInfoFromContext(ctx)
	return info != nil && info.Modern
}

// clientCapabilities returns what the client has declared and can be asked for over its transport.
func clientCapabilities(ctx context.Context) mcpgo.ClientCapabilities {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientCapabilities == nil {
			return mcpgo.ClientCapabilities{}
		}
		return *info.ClientCapabilities
	}
	session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	if !ok {
		return mcpgo.ClientCapabilities{}
	}
	has := session.GetClientCapabilities()
	if _, ok := session.(server.SessionWithElicitation); !ok {
		has.Elicitation = nil
	}
	if _, ok := session.(server.SessionWithSampling); !ok {
		has.Sampling = nil
	}
	if _, ok := session.(server.SessionWithRoots); !ok {
		has.Roots = nil
	}
	return has
}
