package httptool

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// formatMCP is the format of answers that are results of tools in the JSON of MCP: content
// blocks, structured content, an error, or requests for input of the client.
const formatMCP = "mcp"

// callPaths are what a body may have below call.
var callPaths = []string{"inputResponses", "requestState", "clientCapabilities"}

// Limits of what a tool asks the client for.
const (
	maxInputRequests = 16
	maxStateBytes    = 8 << 10
	maxErrorBytes    = 2 << 10 // of the text of a call that failed
)

// inputMethods are the requests that a client answers.
var inputMethods = []string{"elicitation/create", "sampling/createMessage", "roots/list"}

// wrong returns the error for an answer that is no result of MCP.
func (d *Definition) wrong(format string, values ...any) error {
	return fault.New(fault.Precondition, "the answer of %s is no result of MCP, which settings.response.format asks for: %s", d.host.Host, fmt.Sprintf(format, values...))
}

// converted returns the result of an answer in the JSON of MCP. Errors: Precondition with its
// text for a call that failed, and for an answer that is no result.
func (d *Definition) converted(value any) (Result, error) {
	given, ok := value.(map[string]any)
	if !ok {
		return Result{}, d.wrong("it must be an object")
	}
	if kind := given["resultType"]; kind == "input_required" {
		return d.asks(given)
	} else if kind != nil && kind != "complete" {
		return Result{}, d.wrong("resultType must be complete or input_required")
	}
	blocks, ok := given["content"].([]any)
	structured, isObject := given["structuredContent"].(map[string]any)
	switch {
	case !ok && given["content"] != nil:
		return Result{}, d.wrong("content must be an array")
	case !isObject && given["structuredContent"] != nil:
		return Result{}, d.wrong("structuredContent must be an object")
	case !ok && !isObject:
		return Result{}, d.wrong("it has neither content nor structuredContent")
	}
	var texts []string
	for i, block := range blocks {
		kind, problem := checkBlock(block)
		if problem != "" {
			return Result{}, d.wrong("content[%d] %s", i, problem)
		}
		if kind == "text" {
			texts = append(texts, block.(map[string]any)["text"].(string))
		}
	}
	result := Result{Text: strings.Join(texts, "\n")}
	if given["isError"] == true {
		return Result{}, fault.New(fault.Precondition, "%s", textlimit.Shorten(result.Text, maxErrorBytes))
	}
	return d.finished(result, blocks, structured)
}

// finished adds the content of a result.
func (d *Definition) finished(result Result, blocks []any, structured map[string]any) (_ Result, err error) {
	if d.output != nil {
		if structured == nil {
			return Result{}, d.wrong("structuredContent is missing, which the outputSchema of the tool describes")
		}
		if err := d.output.Validate("result", structured); err != nil {
			return Result{}, fault.Wrap(fault.Precondition, err, "the answer of %s does not match the tool's outputSchema: %s", d.host.Host, fault.Public(err))
		}
	}
	if structured != nil {
		if result.Structured, err = json.Marshal(structured); err != nil {
			return Result{}, err
		}
	}
	if len(blocks) == 0 {
		result.Text = string(result.Structured)
		blocks = []any{map[string]any{"type": "text", "text": result.Text}}
	}
	result.Content, err = json.Marshal(blocks)
	return result, err
}

// checkBlock returns the type of a content block, or what is wrong with it.
func checkBlock(given any) (kind, problem string) {
	block, _ := given.(map[string]any)
	kind, _ = block["type"].(string)
	text := func(in map[string]any, name string) bool { value, ok := in[name].(string); return ok && value != "" }
	encoded := func(in map[string]any, name string) bool {
		value, ok := in[name].(string)
		_, err := base64.StdEncoding.DecodeString(value)
		return ok && err == nil
	}
	switch kind {
	case "text":
		if _, ok := block["text"].(string); !ok {
			return kind, "needs text"
		}
	case "image", "audio":
		if !encoded(block, "data") || !text(block, "mimeType") {
			return kind, "needs data in base64, and mimeType"
		}
	case "resource_link":
		if !text(block, "uri") || !text(block, "name") {
			return kind, "needs uri and name"
		}
	case "resource":
		resource, _ := block["resource"].(map[string]any)
		_, isText := resource["text"].(string)
		if !text(resource, "uri") || isText == encoded(resource, "blob") {
			return kind, "needs a resource with uri, and either text, or blob in base64"
		}
	default:
		return kind, "has a type other than text, image, audio, resource and resource_link"
	}
	return kind, ""
}

// Asked is what a tool asks the client for.
type Asked struct {
	Requests map[string]json.RawMessage // in the JSON of MCP, by id
	State    string                     // comes back with the answers
}

// asks returns the result of an answer that asks for input.
func (d *Definition) asks(given map[string]any) (Result, error) {
	requests, _ := given["inputRequests"].(map[string]any)
	state, isText := given["requestState"].(string)
	switch {
	case len(requests) == 0 || len(requests) > maxInputRequests:
		return Result{}, d.wrong("inputRequests must have 1 to %d requests", maxInputRequests)
	case !isText && given["requestState"] != nil || len(state) > maxStateBytes:
		return Result{}, d.wrong("requestState must be a text of at most %d bytes", maxStateBytes)
	}
	asked := &Asked{map[string]json.RawMessage{}, state}
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		request, _ := requests[id].(map[string]any)
		method, _ := request["method"].(string)
		if !slices.Contains(inputMethods, method) {
			return Result{}, d.wrong("the method of inputRequests.%s must be %s", textlimit.OneLine(id, 100), strings.Join(inputMethods, ", "))
		}
		if params, _ := request["params"].(map[string]any); method == inputMethods[0] && (params["message"] == nil || params["requestedSchema"] == nil && params["url"] == nil) {
			return Result{}, d.wrong("inputRequests.%s needs params with message and requestedSchema, or url", textlimit.OneLine(id, 100))
		}
		raw, err := json.Marshal(request)
		if err != nil {
			return Result{}, err
		}
		asked.Requests[id] = raw
	}
	return Result{Asked: asked}, nil
}
