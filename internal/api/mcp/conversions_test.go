//go:build thirdparty

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Client libraries convert the schemas of tools to the dialect of each model provider,
// and drop what it does not have. This test lets them send the tools to a server in the
// place of the models and compares what it gets with the definitions. The libraries are
// installed in the directory RAGD_TEST_MCP_CLIENTS by hack/mcp-clients.sh.
func TestConversionsOfToolSchemas(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("RAGD_TEST_MCP_CLIENTS")
	if folder == "" {
		t.Fatal("RAGD_TEST_MCP_CLIENTS is not set: run make test-mcp-clients")
	}
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{Providers: service.Providers{
		OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, Models: []string{"*"}},
	}})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	makeAgent(t, acme, "docs_expert", map[string]any{})
	makeWorkflow(t, acme, "order", `{
		"description": "Orders goods.",
		"inputSchema": {"type": "object", "required": ["items", "speed"], "properties": {
			"items": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["name"], "properties": {
				"name": {"type": "string", "description": "What to order."}, "count": {"type": "integer", "minimum": 1}}, "additionalProperties": false}},
			"speed": {"type": "string", "enum": ["slow", "fast"], "description": "How fast it is needed."},
			"gift": {"type": "boolean"}}},
		"steps": [{"id": "ask", "kind": "wait", "message": "Order it?"}]
	}`)
	for name, made := range map[string]*ragdv1.CreateToolRequest{
		"ask_docs":  {Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs", "topK": 4})},
		"walk_docs": {Kind: "graph_rag", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})},
		"cut":       {Kind: "document_chunker"},
	} {
		made.ToolName, made.Description = name, "A tool of the tenant's own, "+name+"."
		if _, err := acme.CreateTool(t.Context(), made); err != nil {
			t.Fatal(err)
		}
	}
	address := s.URL + mcphttp.Path
	definitions := definitionsOf(t, address, acme.Secret)
	models := &modelServer{bodies: map[string][]byte{}}
	server := httptest.NewServer(models)
	t.Cleanup(server.Close)
	for _, command := range [][]string{
		{filepath.Join(folder, "node_modules", "node", "bin", "node"), "convert.mjs"},
		{filepath.Join(folder, "venv", "bin", "python"), "convert.py"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "RAGD_MCP_URL="+address, "RAGD_KEY="+acme.Secret, "RAGD_MODELS_URL="+server.URL)
		var log bytes.Buffer
		cmd.Stderr = &log // libraries report the error of the models there
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v\n%s", command[1], err, log.String())
		}
		if len(out) > 0 {
			t.Errorf("%s: %s", command[1], out)
		}
	}
	for _, library := range []string{
		"AI SDK, OpenAI", "AI SDK, OpenAI chat", "AI SDK, Gemini", "AI SDK, Anthropic",
		"Mastra, OpenAI", "Mastra, OpenAI chat", "Mastra, Gemini", "Mastra, Anthropic",
		"LangChain.js, OpenAI", "LangChain.js, Gemini", "Google Gen AI for JavaScript",
		"LangChain, OpenAI", "LangChain, OpenAI strict", "LangChain, Gemini", "Google Gen AI for Python",
		"OpenAI Agents, responses", "OpenAI Agents, responses strict", "OpenAI Agents, chat", "OpenAI Agents, chat strict",
	} {
		t.Run(library, func(t *testing.T) {
			body := models.bodies[library]
			if folder := os.Getenv("RAGD_KEEP_CONVERSIONS"); folder != "" {
				_ = os.WriteFile(filepath.Join(folder, library+".json"), body, 0o600)
			}
			sent, err := convertedTools(body)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range slices.Sorted(maps.Keys(definitions)) {
				for _, loss := range definitions[name].losses(sent[name]) {
					t.Errorf("%s%s", name, loss)
				}
			}
		})
	}
}

// modelServer keeps the request of each library, which is the first segment of the path.
type modelServer struct {
	mu     sync.Mutex
	bodies map[string][]byte
}

func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	library, _, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	library, _ = url.PathUnescape(library)
	m.mu.Lock()
	m.bodies[library] = body
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"type": "error", "error": {"message": "kept", "type": "invalid_request_error", "code": 400, "status": "INVALID_ARGUMENT"}}`)
}

// toolSchema is a tool as a model gets it.
type toolSchema struct {
	description string
	input       map[string]any
	dialect     string // of a provider; "" for a definition
}

func definitionsOf(t *testing.T, address, secret string) map[string]toolSchema {
	t.Helper()
	c := mcptest.Connect(t, address, nil, map[string]string{"Authorization": "Bearer " + secret})
	list, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(list.Tools)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tools in %d bytes", len(list.Tools), len(raw))
	var tools []struct {
		Name, Description string
		InputSchema       map[string]any
	}
	if err := json.Unmarshal(raw, &tools); err != nil {
		t.Fatal(err)
	}
	definitions := map[string]toolSchema{}
	for _, tool := range tools {
		definitions[tool.Name] = toolSchema{tool.Description, tool.InputSchema, ""}
	}
	return definitions
}

// convertedTools returns the tools in a request to a provider.
func convertedTools(body []byte) (map[string]toolSchema, error) {
	type function struct {
		Name, Description    string
		Parameters           map[string]any
		ParametersJSONSchema map[string]any `json:"parametersJsonSchema"`
		InputSchema          map[string]any `json:"input_schema"`
		Strict               bool
		Function             json.RawMessage
		FunctionDeclarations []json.RawMessage
	}
	var request struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("no request: %w", err)
	}
	found := map[string]toolSchema{}
	var add func(raw json.RawMessage, dialect string) error
	add = func(raw json.RawMessage, dialect string) error {
		var f function
		if err := json.Unmarshal(raw, &f); err != nil {
			return err
		}
		for _, declaration := range f.FunctionDeclarations {
			if err := add(declaration, "Gemini"); err != nil {
				return err
			}
		}
		input := f.Parameters
		switch {
		case f.Function != nil:
			return add(f.Function, "OpenAI")
		case f.InputSchema != nil:
			input, dialect = f.InputSchema, "Anthropic"
		case f.ParametersJSONSchema != nil:
			input, dialect = f.ParametersJSONSchema, "Gemini JSON Schema"
		case f.Strict:
			dialect = "OpenAI strict"
		}
		if f.Name != "" {
			found[f.Name] = toolSchema{f.Description, input, dialect}
		}
		return nil
	}
	for _, raw := range request.Tools {
		if err := add(raw, "OpenAI"); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// losses lists what the definition has and its conversion has not, and what the provider
// would reject.
func (d toolSchema) losses(sent toolSchema) (all []string) {
	if sent.input == nil {
		return []string{": is not sent"}
	}
	if !strings.Contains(squeeze(sent.description), squeeze(d.description)) {
		all = append(all, ": description is lost")
	}
	all = append(all, lossesOf("", d.input, sent.input)...)
	return append(all, rejections(sent.dialect, "", sent.input)...)
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func lossesOf(path string, want map[string]any, got any) (all []string) {
	say := func(format string, args ...any) { all = append(all, path+": "+fmt.Sprintf(format, args...)) }
	options := optionsOf(got)
	if len(options) == 0 {
		say("is lost")
		return all
	}
	types, descriptions, enums := []string{}, "", []string{}
	for _, option := range options {
		types = append(types, typesOf(option)...)
		description, _ := option["description"].(string)
		descriptions += description + "\n"
		enums = append(enums, textsOf(option["enum"])...)
	}
	for _, kind := range typesOf(want) {
		if !slices.Contains(types, kind) {
			say("type %s is lost: %v", kind, types)
		}
	}
	if description, _ := want["description"].(string); !strings.Contains(squeeze(descriptions), squeeze(description)) {
		say("description is lost")
	}
	for _, value := range textsOf(want["enum"]) {
		if !slices.Contains(enums, value) {
			say("enum value %s is lost", value)
		}
	}
	// Of an object or its text one is enough.
	if alternatives := optionsOf(want); want["anyOf"] != nil && !slices.ContainsFunc(alternatives, func(alternative map[string]any) bool {
		return len(lossesOf(path, alternative, got)) == 0
	}) {
		say("all alternatives are lost")
	}
	properties, _ := want["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		var sent any
		for _, option := range options {
			if inner, _ := option["properties"].(map[string]any); inner[name] != nil {
				sent = inner[name]
			}
		}
		all = append(all, lossesOf(path+"."+name, property, sent)...)
	}
	for _, name := range textsOf(want["required"]) {
		if !slices.ContainsFunc(options, func(o map[string]any) bool { return slices.Contains(textsOf(o["required"]), name) }) {
			say("%s is no longer required", name)
		}
	}
	if isOpen(want) && !slices.ContainsFunc(options, func(o map[string]any) bool { return isOpen(o) || slices.Contains(typesOf(o), "string") }) {
		say("its fields are lost: nothing but {} can be given")
	}
	if items, ok := want["items"].(map[string]any); ok {
		var sent any
		for _, option := range options {
			if option["items"] != nil {
				sent = option["items"]
			}
		}
		all = append(all, lossesOf(path+"[]", items, sent)...)
	}
	return all
}

// isOpen reports whether a schema is one of objects with any fields.
func isOpen(schema map[string]any) bool {
	properties, _ := schema["properties"].(map[string]any)
	return slices.Contains(typesOf(schema), "object") && len(properties) == 0 && schema["additionalProperties"] != false
}

// choices are the keywords that hold alternatives. The API of Gemini takes names in both
// styles.
var choices = []string{"anyOf", "oneOf", "any_of"}

// hasChoices reports whether a schema has alternatives.
func hasChoices(schema map[string]any) bool {
	return slices.ContainsFunc(choices, func(keyword string) bool { return schema[keyword] != nil })
}

// optionsOf returns the alternatives of a schema, each with what is said of all of them,
// without null.
func optionsOf(schema any) (options []map[string]any) {
	object, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	outer := maps.Clone(object)
	var alternatives []any
	for _, keyword := range choices {
		more, _ := object[keyword].([]any)
		alternatives = append(alternatives, more...)
		delete(outer, keyword)
	}
	for _, alternative := range alternatives {
		for _, inner := range optionsOf(alternative) {
			joined := maps.Clone(outer)
			maps.Copy(joined, inner)
			if said, _ := outer["description"].(string); said != "" {
				more, _ := inner["description"].(string)
				joined["description"] = said + " " + more
			}
			if len(typesOf(inner)) > 0 {
				options = append(options, joined)
			}
		}
	}
	if len(alternatives) == 0 {
		return []map[string]any{outer}
	}
	return options
}

// typesOf returns the types of a schema in lower case, without null and without those of
// its alternatives.
func typesOf(schema map[string]any) (types []string) {
	for _, name := range textsOf(schema["type"]) {
		if name = strings.ToLower(name); name != "null" {
			types = append(types, name)
		}
	}
	return types
}

// textsOf returns the texts in a list, or a single text, without null.
func textsOf(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, v := range value {
			if v != nil {
				texts = append(texts, fmt.Sprint(v))
			}
		}
	}
	return texts
}

// dialects holds the keywords that a provider knows in a schema.
var dialects = map[string][]string{
	"Gemini": {
		"type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties", "required",
		"minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "example", "anyOf", "any_of", "propertyOrdering", "default",
	},
	"Gemini JSON Schema": {
		"$schema", "$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems",
		"minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering", "nullable", "default",
	},
	"OpenAI strict": {
		"$schema", "$defs", "$ref", "type", "title", "description", "enum", "const", "anyOf", "properties", "required", "additionalProperties", "items",
		"minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "format",
	},
}

// rejections lists what the provider would reject in a schema.
func rejections(dialect, path string, schema map[string]any) (all []string) {
	say := func(format string, args ...any) {
		all = append(all, path+": "+dialect+" refuses "+fmt.Sprintf(format, args...))
	}
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		if known := dialects[dialect]; known != nil && !slices.Contains(known, keyword) {
			say("the keyword %s", keyword)
		}
	}
	types := textsOf(schema["type"])
	if slices.Contains(textsOf(schema["enum"]), "") && strings.HasPrefix(dialect, "Gemini") {
		say("an empty text in an enum")
	}
	if path == "" && (len(types) != 1 || !strings.EqualFold(types[0], "object") || hasChoices(schema)) {
		say("arguments that are not simply an object")
	}
	if dialect == "Gemini" && len(types) > 1 {
		say("several types")
	}
	if len(types) == 0 && !hasChoices(schema) && schema["$ref"] == nil {
		say("no type")
	}
	if slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(t, "array") }) && schema["items"] == nil {
		say("a list without items")
	}
	properties, _ := schema["properties"].(map[string]any)
	if dialect == "OpenAI strict" && slices.Contains(types, "object") {
		if schema["additionalProperties"] != false {
			say("an open object")
		}
		for name := range properties {
			if !slices.Contains(textsOf(schema["required"]), name) {
				say("the optional property %s", name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if inner, ok := properties[name].(map[string]any); ok {
			all = append(all, rejections(dialect, path+"."+name, inner)...)
		}
	}
	for _, keyword := range choices {
		alternatives, _ := schema[keyword].([]any)
		for i, alternative := range alternatives {
			if inner, ok := alternative.(map[string]any); ok {
				all = append(all, rejections(dialect, fmt.Sprintf("%s|%d", path, i), inner)...)
			}
		}
	}
	if inner, ok := schema["items"].(map[string]any); ok {
		all = append(all, rejections(dialect, path+"[]", inner)...)
	}
	return all
}
