package randomcalls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// kinds maps the tools of MCP whose names are not those of their RPC.
var kinds = map[string]protoreflect.Name{"alerts": "PreviewAlert", "document_chunker": "ChunkText", "fetch": "ListChunks", "search": "VectorQuery"}

// listTools returns the RPCs that the builtin tools call, by the names of the tools, such
// as vector_query.
func (r *run) listTools(ctx context.Context, c *caller) (map[string]protoreflect.MethodDescriptor, error) {
	_, answer, err := r.sendMCP(ctx, http.Header{"Authorization": {"Bearer " + c.keys[0]}}, "tools/list", "", map[string]any{})
	if err != nil {
		return nil, err
	}
	var listed struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(answer, &listed); err != nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	found := map[string]protoreflect.MethodDescriptor{}
	for _, tool := range listed.Result.Tools {
		rpc := kinds[tool.Name]
		for _, method := range r.methods {
			if method.Name() == rpc || snakeCase(string(method.Name())) == tool.Name {
				found[tool.Name] = method
			}
		}
		if found[tool.Name] == nil {
			return nil, fmt.Errorf("no RPC has the name of the tool %s", tool.Name)
		}
	}
	return found, nil
}

// callMCP sends a random request over MCP, without a session, and checks the answer.
func (r *run) callMCP(ctx context.Context, g *generator) {
	kind, name, params := r.mcpRequest(g)
	method := "mcp " + kind
	if kind != "resources/read" { // whose name is a uri
		method = strings.TrimSuffix(method+" "+name, " ")
	}
	status, answer, err := r.sendMCP(ctx, g.header(), kind, name, params)
	if err != nil {
		r.count(method, "left")
		return
	}
	code := fmt.Sprint("HTTP ", status)
	if bytes.Contains(answer, []byte(`"isError":true`)) {
		code = "tool error"
	}
	r.count(method, code)
	if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable || bytes.Contains(answer, []byte("internal error")) {
		r.violate(method+" internal", fmt.Sprintf("HTTP %d %.300s for %.600v", status, answer, params))
	}
	if g.caller.foreign(answer) {
		r.violate(method+" answer with another tenant's marker", fmt.Sprintf("%.600s for %.600v", answer, params))
	}
}

// sendMCP sends a request over MCP, without a session. The error says that there was no
// answer.
func (r *run) sendMCP(ctx context.Context, header http.Header, kind, name string, params map[string]any) (status int, answer []byte, err error) {
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    modern,
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "random", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": kind, "params": params})
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.config.URL+"/mcp", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	copyHeader(req.Header, header)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": modern, "Mcp-Method": kind, "Mcp-Name": name,
	} {
		req.Header.Set(name, value)
	}
	res, err := r.clients.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// modern is the revision of MCP without sessions.
const modern = "2026-07-28"

// mcpRequest returns a random request: its method, the name of its tool, prompt or
// resource, and its parameters.
func (r *run) mcpRequest(g *generator) (kind, name string, params map[string]any) {
	if g.rng.IntN(3) == 0 {
		return g.otherMCP()
	}
	name = one(g, slices.Sorted(maps.Keys(r.tools))...)
	g.method = r.tools[name]
	if g.rng.IntN(20) == 0 {
		name = g.temporary("tool_")
	}
	arguments := map[string]any{}
	if text, err := protojson.Marshal(g.request(g.method.Input())); err == nil {
		_ = json.Unmarshal(text, &arguments) // it is JSON
	}
	if name == "alerts" {
		arguments["action"] = "preview"
	}
	return "tools/call", name, map[string]any{"name": name, "arguments": arguments}
}

// otherMCP returns a random request that is not a call of a tool.
func (g *generator) otherMCP() (kind, name string, params map[string]any) {
	switch g.rng.IntN(6) {
	case 0:
		uri := one(g, "ragd://indexes", "ragd://indexes/docs", "ragd://indexes/docs/documents/"+g.known("document_id"),
			"ragd://indexes/docs/documents/"+g.known("document_id")+"/chunks/0-9", "ragd://nothing")
		return "resources/read", uri, map[string]any{"uri": uri}
	case 1:
		name := one(g, "answer_with_sources", "compare_documents", "summarise_document", "build_filter", "nothing")
		return "prompts/get", name, map[string]any{"name": name, "arguments": map[string]any{
			"question": g.text("query_text"), "uri": g.text("uri"), "firstUri": g.text("uri"), "secondUri": g.text("uri"),
			"wish": "red ones", "metadataKey": "team", "indexName": one(g, "docs", "vectors", "nothing"),
		}}
	case 2:
		return "completion/complete", "", map[string]any{
			"ref":      map[string]any{"type": "ref/prompt", "name": "summarise_document"},
			"argument": map[string]any{"name": one(g, "uri", "indexName"), "value": one(g, "", "d", g.caller.marker)},
		}
	case 3:
		return "resources/list", "", map[string]any{"cursor": g.known("page_token")}
	case 4:
		return "tools/list", "", map[string]any{}
	}
	return "prompts/list", "", map[string]any{}
}

// snakeCase returns a name such as VectorQuery as vector_query.
func snakeCase(name string) string {
	var b strings.Builder
	for i, letter := range name {
		if i > 0 && letter >= 'A' && letter <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(letter)
	}
	return strings.ToLower(b.String())
}
