package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// This file holds the tools that ask their caller something before they can answer. For
// clients of older revisions the library sends the questions as requests of the server.

// form returns an elicitation with one required field.
func form(message, field, kind string) mcpgo.ElicitationParams {
	return mcpgo.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{field: map[string]any{"type": kind}}, "required": []string{field},
	}}
}

// question returns a sampling request to the caller's model.
func question(text string, maxTokens int) mcpgo.CreateMessageParams {
	return mcpgo.CreateMessageParams{MaxTokens: maxTokens, Messages: []mcpgo.SamplingMessage{
		{Role: mcpgo.RoleUser, Content: mcpgo.NewTextContent(text)},
	}}
}

// answered returns a field of a filled-in form, or "".
func answered(answer *mcpgo.ElicitationResult, field string) string {
	content, _ := answer.Content.(map[string]any)
	value, ok := content[field]
	if !ok {
		return ""
	}
	return fmt.Sprint(value)
}

func spoken(answer *mcpgo.CreateMessageResult) string {
	if text, ok := answer.Content.(mcpgo.TextContent); ok {
		return text.Text
	}
	content, _ := answer.Content.(map[string]any)
	return fmt.Sprint(content["text"])
}

// signState returns a state that a caller can carry but not change.
func signState(state string) string {
	mac := hmac.New(sha256.New, []byte("the suite knows no key"))
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

var errTampered = errors.New("the request state was changed")

func readState(signed string) (string, error) {
	state, _, _ := strings.Cut(signed, ".")
	if !hmac.Equal([]byte(signed), []byte(signState(state))) {
		return "", errTampered
	}
	return state, nil
}

func addAskingTools(s *server.MCPServer) {
	addElicitation(s)
	addSampling(s)
	addRounds(s)
	addCapabilities(s)
}

func addElicitation(s *server.MCPServer) {
	ask := func(name, prefix string, params func(mcpgo.CallToolRequest) mcpgo.ElicitationParams, arguments ...mcpgo.ToolOption) {
		tool(s, name, func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			answer := server.ElicitationResponse(req.Params.InputResponses, "form")
			if answer == nil {
				return server.NewInputRequestBuilder("").Elicit("form", params(req)).ToolResult(), nil
			}
			return mcpgo.NewToolResultText(fmt.Sprintf("%s: action=%s, content=%v", prefix, answer.Action, answer.Content)), nil
		}, arguments...)
	}
	fixed := func(properties map[string]any) func(mcpgo.CallToolRequest) mcpgo.ElicitationParams {
		return func(mcpgo.CallToolRequest) mcpgo.ElicitationParams {
			return mcpgo.ElicitationParams{Message: "Please fill in", RequestedSchema: map[string]any{"type": "object", "properties": properties}}
		}
	}
	ask("test_elicitation", "User response", func(req mcpgo.CallToolRequest) mcpgo.ElicitationParams {
		text := func(description string) map[string]any {
			return map[string]any{"type": "string", "description": description}
		}
		return mcpgo.ElicitationParams{Message: req.GetString("message", ""), RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{"username": text("User's response"), "email": text("User's email address")},
			"required":   []string{"username", "email"},
		}}
	}, mcpgo.WithString("message", mcpgo.Required()))
	ask("test_elicitation_sep1034_defaults", "Elicitation completed", fixed(map[string]any{
		"name":     map[string]any{"type": "string", "default": "John Doe"},
		"age":      map[string]any{"type": "integer", "default": 30},
		"score":    map[string]any{"type": "number", "default": 95.5},
		"status":   map[string]any{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
		"verified": map[string]any{"type": "boolean", "default": true},
	}))
	plain := []string{"option1", "option2", "option3"}
	titled := func(noun string) []map[string]any {
		return []map[string]any{{"const": "value1", "title": "First " + noun}, {"const": "value2", "title": "Second " + noun}, {"const": "value3", "title": "Third " + noun}}
	}
	ask("test_elicitation_sep1330_enums", "Elicitation completed", fixed(map[string]any{
		"untitledSingle": map[string]any{"type": "string", "enum": plain},
		"titledSingle":   map[string]any{"type": "string", "oneOf": titled("Option")},
		"legacyEnum":     map[string]any{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}},
		"untitledMulti":  map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": plain}},
		"titledMulti":    map[string]any{"type": "array", "items": map[string]any{"anyOf": titled("Choice")}},
	}))
	tool(s, "test_input_required_result_elicitation", func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		answer := server.ElicitationResponse(req.Params.InputResponses, "user_name")
		if answer == nil || answered(answer, "name") == "" {
			return server.NewInputRequestBuilder("").Elicit("user_name", form("What is your name?", "name", "string")).ToolResult(), nil
		}
		return mcpgo.NewToolResultText("Hello, " + answered(answer, "name") + "!"), nil
	})
	tool(s, "test_streaming_elicitation", func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if server.ElicitationResponse(req.Params.InputResponses, "confirm") == nil {
			return server.NewInputRequestBuilder("").Elicit("confirm", form("Please confirm", "ok", "boolean")).ToolResult(), nil
		}
		return mcpgo.NewToolResultText("Confirmed."), nil
	})
}

func addSampling(s *server.MCPServer) {
	tool(s, "test_sampling", func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		answer := server.SamplingResponse(req.Params.InputResponses, "completion")
		if answer == nil {
			return server.NewInputRequestBuilder("").Sample("completion", question(req.GetString("prompt", ""), 100)).ToolResult(), nil
		}
		return mcpgo.NewToolResultText("LLM response: " + spoken(answer)), nil
	}, mcpgo.WithString("prompt", mcpgo.Required()))
	tool(s, "test_input_required_result_sampling", func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		answer := server.SamplingResponse(req.Params.InputResponses, "capital_question")
		if answer == nil {
			return server.NewInputRequestBuilder("").Sample("capital_question", question("What is the capital of France?", 100)).ToolResult(), nil
		}
		return mcpgo.NewToolResultText(spoken(answer)), nil
	})
	tool(s, "test_input_required_result_list_roots", func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		answer := server.RootsResponse(req.Params.InputResponses, "client_roots")
		if answer == nil {
			return server.NewInputRequestBuilder("").Roots("client_roots").ToolResult(), nil
		}
		var uris []string
		for _, root := range answer.Roots {
			uris = append(uris, root.URI)
		}
		return mcpgo.NewToolResultText("Roots: " + strings.Join(uris, ", ")), nil
	})
}

// addRounds adds the tools that carry a state from one round to the next.
func addRounds(s *server.MCPServer) {
	confirm := func(name string) {
		tool(s, name, func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			if server.ElicitationResponse(req.Params.InputResponses, "confirm") == nil {
				return server.NewInputRequestBuilder(signState("asked")).Elicit("confirm", form("Please confirm", "ok", "boolean")).ToolResult(), nil
			}
			if _, err := readState(req.Params.RequestState); err != nil {
				return nil, err
			}
			return mcpgo.NewToolResultText("state-ok"), nil
		})
	}
	confirm("test_input_required_result_request_state")
	confirm("test_input_required_result_tampered_state")
	tool(s, "test_input_required_result_multiple_inputs", func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		given := req.Params.InputResponses
		if server.ElicitationResponse(given, "user_name") == nil || server.SamplingResponse(given, "greeting") == nil || server.RootsResponse(given, "client_roots") == nil {
			return server.NewInputRequestBuilder(signState("asked")).
				Elicit("user_name", form("What is your name?", "name", "string")).
				Sample("greeting", question("Generate a greeting", 50)).
				Roots("client_roots").ToolResult(), nil
		}
		_, err := readState(req.Params.RequestState)
		return mcpgo.NewToolResultText("All three were answered."), err
	})
	tool(s, "test_input_required_result_multi_round", func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if req.Params.RequestState == "" {
			return server.NewInputRequestBuilder(signState("one")).Elicit("step1", form("Step 1: What is your name?", "name", "string")).ToolResult(), nil
		}
		round, err := readState(req.Params.RequestState)
		if err != nil {
			return nil, err
		}
		if round == "one" {
			return server.NewInputRequestBuilder(signState("two")).Elicit("step2", form("Step 2: What is your favorite color?", "color", "string")).ToolResult(), nil
		}
		return mcpgo.NewToolResultText("Both steps were answered."), nil
	})
}

// addCapabilities adds the tools that check the client's capabilities.
func addCapabilities(s *server.MCPServer) {
	can := func(ctx context.Context) mcpgo.ClientCapabilities {
		if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientCapabilities != nil {
			return *info.ClientCapabilities
		}
		return mcpgo.ClientCapabilities{}
	}
	tool(s, "test_missing_capability", func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		if can(ctx).Sampling == nil {
			answerWith(ctx, mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool needs sampling",
				map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}})
		}
		return mcpgo.NewToolResultText("The client can sample."), nil
	})
	tool(s, "test_input_required_result_capabilities", func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		asked := server.NewInputRequestBuilder(signState("asked"))
		if can(ctx).Elicitation != nil {
			asked.Elicit("user_name", form("What is your name?", "name", "string"))
		}
		if can(ctx).Sampling != nil {
			asked.Sample("greeting", question("Generate a greeting", 50))
		}
		return asked.ToolResult(), nil
	})
}
