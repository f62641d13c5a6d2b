package mcp_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// signIn is an address that a server has its users open.
const signIn = "https://accounts.example.com/sign-in?state=1"

// addressed returns a server of a tool whose user has to open an address before its first call, and which address
// that is.
func addressed(t *testing.T, era string, address string) *httptest.Server {
	t.Helper()
	var opened atomic.Bool
	up := server.NewMCPServer("up", "1", server.WithToolCapabilities(true), server.WithElicitation())
	up.AddTool(mcpgo.NewTool("mail"), func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		params := mcpgo.ElicitationParams{Mode: mcpgo.ElicitationModeURL, Message: "Sign in.", URL: address, ElicitationID: "e1"}
		info := server.RequestProtocolInfoFromContext(ctx)
		switch answer := server.ElicitationResponse(req.Params.InputResponses, "sign-in"); {
		case answer != nil:
			return mcpgo.NewToolResultText("sent after " + string(answer.Action)), nil
		case era == "modern" && info != nil && info.ClientCapabilities != nil && info.ClientCapabilities.Elicitation != nil && info.ClientCapabilities.Elicitation.URL != nil:
			return new(server.InputRequestBuilder).Elicit("sign-in", params).ToolResult(), nil
		case era == "modern":
			return mcpgo.NewToolResultError("the client cannot open addresses"), nil
		case len(req.Params.InputResponses) > 0:
			return mcpgo.NewToolResultError("answers that nobody asked for"), nil
		case opened.Swap(true):
			return mcpgo.NewToolResultText("sent"), nil
		}
		return nil, mcpgo.URLElicitationRequiredError{Elicitations: []mcpgo.ElicitationParams{params}}
	})
	var options []server.StreamableHTTPOption
	if era == "legacy" {
		options = append(options, server.WithStreamableHTTPProtocolVersions(mcpgo.LegacyProtocolVersions()...))
	}
	web := httptest.NewServer(server.NewStreamableHTTPServer(up, options...))
	t.Cleanup(web.Close)
	return web
}

// The user of a client that can open addresses is asked to open the one of another server, and the call goes on then.
// Other callers get an error with the address.
func TestUsersOpenAddressesOfOtherServers(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme := s.Tenant(t, "acme")
	const address = signIn
	tool := func(name, era, address string) {
		t.Helper()
		_, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: name, Kind: "mcp", Description: "Sends.", Settings: servicetest.Object(t, map[string]any{
			"url": addressed(t, era, address).URL, "toolName": "mail",
		})})
		if err != nil {
			t.Fatal(err)
		}
	}
	call := func(name, state string, answers map[string]any, can map[string]any) map[string]any {
		t.Helper()
		_, answer := post(t, s.URL+mcphttp.Path, acme.Secret, "tools/call", map[string]any{
			"name": name, "arguments": map[string]any{}, "requestState": state, "inputResponses": answers, "_meta": modernMeta(can),
		}, nil)
		result, _ := answer["result"].(map[string]any)
		if result == nil {
			t.Fatalf("%v", answer)
		}
		return result
	}
	opens := map[string]any{"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}}}
	forms := map[string]any{"elicitation": map[string]any{}}
	for _, era := range []string{"modern", "legacy"} {
		tool(era, era, address)
		asked := call(era, "", nil, opens)
		requests, _ := asked["inputRequests"].(map[string]any)
		if asked["resultType"] != "input_required" || len(requests) != 1 {
			t.Fatalf("%s: %v", era, asked)
		}
		state, _ := asked["requestState"].(string)
		for key, request := range requests {
			params, _ := request.(map[string]any)["params"].(map[string]any)
			if params["mode"] != "url" || params["url"] != address || !strings.Contains(params["message"].(string), "asks: Sign in.") || params["requestedSchema"] != nil {
				t.Errorf("%s: %v", era, params)
			}
			if done := call(era, state, map[string]any{key: map[string]any{"action": "accept"}}, opens); done["isError"] == true || !strings.Contains(textOf(t, done), "sent") {
				t.Errorf("%s: %v", era, done)
			}
		}
	}
	// Nobody who can open it.
	tool("plain", "legacy", address)
	if refused := call("plain", "", nil, forms); refused["isError"] != true || !strings.Contains(textOf(t, refused), address) || !strings.Contains(textOf(t, refused), "call the tool again") {
		t.Errorf("a client with forms alone: %v", refused)
	}
	if done := call("plain", "", nil, forms); done["isError"] == true || textOf(t, done) != "sent" {
		t.Errorf("after it was opened: %v", done)
	}
	tool("session", "legacy", address)
	silent := mcptest.Connect(t, s.URL+mcphttp.Path, mcptest.Eras["legacy"], map[string]string{"Authorization": "Bearer " + acme.Secret})
	if result, text := mcptest.Call(t, silent, "session", nil, nil); !result.IsError || !strings.Contains(text, address) {
		t.Errorf("a client with a session: %s", text)
	}
	tool("rpc", "legacy", address)
	_, err := acme.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: "rpc"})
	servicetest.WantCode(t, "a call over RPC", err, connect.CodeFailedPrecondition)
	if err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("over RPC: %v", err)
	}

	// Addresses that are not what they seem are not passed on.
	for name, bad := range map[string]string{"script": "javascript:alert(1)", "user": "https://accounts.example.com@evil.example.net/", "clear": "http://accounts.example.com/"} {
		tool(name, "legacy", bad)
		if refused := call(name, "", nil, opens); refused["isError"] != true || strings.Contains(textOf(t, refused), bad) {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

// textOf returns the first text of a result.
func textOf(t *testing.T, result map[string]any) string {
	t.Helper()
	blocks, _ := result["content"].([]any)
	if len(blocks) == 0 {
		t.Fatalf("%v has no content", result)
	}
	text, _ := blocks[0].(map[string]any)["text"].(string)
	return text
}
