package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// ownEndpoint creates a tool of the kind http that answers in the form of MCP.
func ownEndpoint(t *testing.T, c servicetest.Client, name string, settings map[string]any, handle http.HandlerFunc) {
	t.Helper()
	endpoint := httptest.NewServer(handle)
	t.Cleanup(endpoint.Close)
	settings["method"], settings["url"], settings["response"] = "POST", endpoint.URL, map[string]any{"format": "mcp"}
	_, err := c.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: name, Kind: "http", Description: "Asks.", Settings: servicetest.Object(t, settings)})
	if err != nil {
		t.Fatal(err)
	}
}

// loopback allows endpoints of a test.
var loopback = service.Config{AllowedPrivateNetworks: []string{"127.0.0.0/8"}, NoWorkers: true}

// colours answers a question of the endpoint.
type colours struct{}

func (colours) Elicit(_ context.Context, req mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	answer := mcpgo.ElicitationResponse{Action: mcpgo.ElicitationResponseActionAccept, Content: map[string]any{"colour": "red"}}
	if schema, _ := json.Marshal(req.Params.RequestedSchema); strings.Contains(string(schema), `"order"`) {
		answer.Content = map[string]any{"order": "o7"}
	}
	return &mcpgo.ElicitationResult{ElicitationResponse: answer}, nil
}

// asksForColour asks in two rounds, and answers with everything that it got in the last.
func asksForColour(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var got struct{ RequestState string }
	_ = json.Unmarshal(body, &got)
	w.Header().Set("Content-Type", "application/json")
	if got.RequestState != "round 2" {
		next := map[string]string{"": "round 1", "round 1": "round 2"}[got.RequestState]
		fmt.Fprintf(w, `{"resultType": "input_required", "requestState": %q, "inputRequests": {"c": {"method": "elicitation/create", "params": {
			"message": "Which colour?", "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}}}}}}`, next)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"content": []any{map[string]any{"type": "text", "text": string(body)}}})
}

// An endpoint asks the user of a client of either kind, in several rounds, also after the service
// has asked for an argument.
func TestAnEndpointAsksTheUserOfAClient(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme := s.Tenant(t, "acme")
	ownEndpoint(t, acme, "paint", map[string]any{"inputSchema": map[string]any{
		"type": "object", "properties": map[string]any{"order": map[string]any{"type": "string"}}, "required": []any{"order"},
	}}, asksForColour)
	headers := map[string]string{"Authorization": "Bearer " + acme.Secret}
	for era, options := range mcptest.Eras {
		c := mcptest.Connect(t, s.URL+mcphttp.Path, append([]client.ClientOption{client.WithElicitationHandler(colours{})}, options...), headers)
		result, text := mcptest.Call(t, c, "paint", nil, nil)
		for _, want := range []string{`"order":"o7"`, `"colour":"red"`, `"requestState":"round 2"`, `"elicitation":{`} {
			if result.IsError || !strings.Contains(text, want) {
				t.Errorf("%s: %s lacks %s", era, text, want)
			}
		}
	}
	silent := mcptest.Connect(t, s.URL+mcphttp.Path, mcptest.Eras["legacy"], headers)
	if result, text := mcptest.Call(t, silent, "paint", map[string]any{"order": "o7"}, nil); !result.IsError || !strings.Contains(text, "elicitation") {
		t.Errorf("a client that cannot ask gets %s", text)
	}
	_, err := acme.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: "paint", Arguments: servicetest.Object(t, map[string]any{"order": "o7"})})
	servicetest.WantCode(t, "a call over RPC", err, connect.CodeFailedPrecondition)
}

// post sends a request of revision 2026-07-28 and returns its status and answer. If params have no _meta, the client
// can ask its user.
func post(t *testing.T, address, key, method string, params map[string]any, headers map[string]string) (int, map[string]any) {
	t.Helper()
	if params["_meta"] == nil {
		params["_meta"] = modernMeta(map[string]any{"elicitation": map[string]any{}})
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	name, _ := params["name"].(string)
	for header, value := range map[string]string{
		"Authorization": "Bearer " + key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(header, value)
	}
	for header, value := range headers {
		req.Header.Set(header, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}

// modernMeta returns the _meta of a client with these capabilities.
func modernMeta(capabilities map[string]any) map[string]any {
	return map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capabilities}
}

// codeOf returns the code of an answer's error, 0 for none.
func codeOf(t *testing.T, answer map[string]any) int {
	t.Helper()
	if answer["id"] != 7.0 {
		t.Errorf("the answer has the id %v", answer["id"])
	}
	failure, _ := answer["error"].(map[string]any)
	code, _ := failure["code"].(float64)
	return int(code)
}

// What a client carries from one call to the next is accepted unchanged, from the same caller, and
// for the same tool.
func TestStatesOfAToolAreSigned(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	for _, c := range []servicetest.Client{acme, globex} {
		ownEndpoint(t, c, "paint", map[string]any{}, asksForColour)
		ownEndpoint(t, c, "print", map[string]any{}, asksForColour)
	}
	colleague := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
	call := func(key, tool, state string) (int, map[string]any) {
		return post(t, s.URL+mcphttp.Path, key, "tools/call", map[string]any{
			"name": tool, "arguments": map[string]any{}, "requestState": state,
			"inputResponses": map[string]any{"c": map[string]any{"action": "accept", "content": map[string]any{"colour": "red"}}},
		}, nil)
	}
	_, answer := post(t, s.URL+mcphttp.Path, acme.Secret, "tools/call", map[string]any{"name": "paint", "arguments": map[string]any{}}, nil)
	result, _ := answer["result"].(map[string]any)
	state, _ := result["requestState"].(string)
	if result["resultType"] != "input_required" || state == "" {
		t.Fatalf("the first answer is %v", answer)
	}
	if status, answer := call(acme.Secret, "paint", state); status != http.StatusOK || codeOf(t, answer) != 0 {
		t.Errorf("the caller's own state: %d, %v", status, answer)
	}
	for who, given := range map[string][3]string{
		"changed": {acme.Secret, "paint", state + "x"}, "another tool": {acme.Secret, "print", state},
		"another tenant": {globex.Secret, "paint", state}, "another key": {colleague, "paint", state},
	} {
		if status, answer := call(given[0], given[1], given[2]); status != http.StatusBadRequest || codeOf(t, answer) != mcpgo.INVALID_PARAMS {
			t.Errorf("%s: %d, %v", who, status, answer)
		}
	}
}

func TestAnArgumentIsRepeatedInAHeader(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme := s.Tenant(t, "acme")
	ownEndpoint(t, acme, "weather", map[string]any{"inputSchema": map[string]any{
		"type": "object", "properties": map[string]any{"region": map[string]any{"type": "string", "x-mcp-header": "Region"}},
	}}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"content": []}`)
	})
	for header, want := range map[string]int{"north": 0, "south": mcpgo.HEADER_MISMATCH, "": mcpgo.HEADER_MISMATCH} {
		headers := map[string]string{}
		if header != "" {
			headers["Mcp-Param-Region"] = header
		}
		status, answer := post(t, s.URL+mcphttp.Path, acme.Secret, "tools/call", map[string]any{"name": "weather", "arguments": map[string]any{"region": "north"}}, headers)
		if code := codeOf(t, answer); code != want || (status == http.StatusOK) != (want == 0) {
			t.Errorf("the header %q: %d, %v", header, status, answer)
		}
	}
}

// Progress and log messages of an endpoint reach the client that has asked for them.
func TestEventsOfAnEndpointReachTheClient(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme := s.Tenant(t, "acme")
	ownEndpoint(t, acme, "slow", map[string]any{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: progress\ndata: {\"progress\": 1}\n\nevent: log\ndata: {\"data\": {\"message\": \"half\", \"tool\": \"way\"}}\n\n"+
			"event: progress\ndata: {\"progress\": 2}\n\nevent: result\ndata: {\"content\": [{\"type\": \"text\", \"text\": \"done\"}]}\n\n")
	})
	for era, options := range mcptest.Eras {
		log := &heard{}
		c := mcptest.Connect(t, s.URL+mcphttp.Path, options, map[string]string{"Authorization": "Bearer " + acme.Secret})
		progress := mcptest.WatchProgress(c)
		c.OnNotification(log.receive)
		if result, text := mcptest.Call(t, c, "slow", nil, map[string]any{"progressToken": era}); result.IsError || text != "done" {
			t.Errorf("%s: %s", era, text)
		}
		wait.For(t, "both notifications of progress", func() bool { return len(progress.Of(era)) >= 2 })
		if got := log.await(t, "", 0); got != "" || len(progress.Of(era)) != 2 {
			t.Errorf("%s: heard %q and progress %v", era, got, progress.Of(era))
		}
		meta := map[string]any{mcpgo.MetaKeyLogLevel: "info"}
		if era == "legacy" {
			var level mcpgo.SetLevelRequest
			level.Params.Level = mcpgo.LoggingLevelInfo
			if err := c.SetLevel(t.Context(), level); err != nil {
				t.Fatal(err)
			}
			meta = nil
		}
		mcptest.Call(t, c, "slow", nil, meta)
		if got := log.await(t, "", 2); got != "half way, tool called slow" {
			t.Errorf("%s: heard %q", era, got)
		}
	}
}
