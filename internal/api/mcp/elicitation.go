package mcp

import (
	"context"
	"encoding/json"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// questionKey is the key of a question in the result of a call.
const questionKey = "arguments"

// ask returns a result that has the client ask its user, and repeat the call.
func ask(q *toolset.Question) *mcpgo.CallToolResult {
	return new(server.InputRequestBuilder).Elicit(questionKey, mcpgo.ElicitationParams{
		Message: q.Message, RequestedSchema: q.Schema,
	}).ToolResult()
}

// answersIn returns the user's answers that came with a call as an object, nil if the user was
// not asked.
func answersIn(given mcpgo.InputResponses) json.RawMessage {
	if _, answered := server.InputResponse(given, questionKey); !answered {
		return nil
	}
	none := json.RawMessage("{}")
	answer := server.ElicitationResponse(given, questionKey)
	if answer == nil || answer.Action != mcpgo.ElicitationResponseActionAccept {
		return none
	}
	content, ok := answer.Content.(map[string]any)
	if !ok {
		return none
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return none
	}
	return raw
}

// canElicit reports whether the client can show its user a form.
func canElicit(ctx context.Context) bool {
	e := clientCapabilities(ctx).Elicitation
	return e != nil && (e.Form != nil || e.URL == nil) // clients without modes support forms
}

// elicit returns the function that asks the user of a client with a session while a call is under way; nil
// for other clients.
func elicit(ctx context.Context) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	to := server.ServerFromContext(ctx)
	if to == nil || clientIsModern(ctx) || !canElicit(ctx) {
		return nil
	}
	return func(asking context.Context, params json.RawMessage) (json.RawMessage, error) {
		var request mcpgo.ElicitationRequest
		if err := json.Unmarshal(params, &request.Params); err != nil {
			return nil, err
		}
		within, cancel := context.WithCancel(ctx) // whose session it is
		defer cancel()
		defer context.AfterFunc(asking, cancel)()
		result, err := to.RequestElicitation(within, request)
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	}
}
