//go:build thirdparty

package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

const (
	// onePixel is an image in PNG of one red pixel.
	onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
	// oneSample is a sound in WAV of one silent sample.
	oneSample = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
)

// between is the pause between two notifications that the suite prescribes.
const between = 50 * time.Millisecond

// object is a JSON object.
type object = map[string]any

// clientCall is what an endpoint gets of a call.
type clientCall struct {
	Arguments          object
	InputResponses     map[string]object
	RequestState       string
	ClientCapabilities object
}

// answered returns a field of a form that the user has filled in, nil for none.
func (c clientCall) answered(id, field string) any {
	content, _ := c.InputResponses[id]["content"].(object)
	return content[field]
}

func text(text string) object { return object{"content": []any{object{"type": "text", "text": text}}} }

func formFor(message string, properties object, required ...string) object {
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return object{"method": "elicitation/create", "params": object{"message": message, "requestedSchema": schema}}
}

func sample(prompt string) object {
	return object{"method": "sampling/createMessage", "params": object{
		"maxTokens": 100, "messages": []any{object{"role": "user", "content": object{"type": "text", "text": prompt}}},
	}}
}

func inputFor(state string, requests object) object {
	asked := object{"resultType": "input_required", "inputRequests": requests}
	if state != "" {
		asked["requestState"] = state
	}
	return asked
}

func said(text string) []*ragdv1.PromptMessage {
	return []*ragdv1.PromptMessage{{Content: &ragdv1.PromptMessage_Text{Text: text}}}
}

// fixtures is a service of the tenant's, whose endpoints are the tools that the suite calls.
type fixtures struct {
	t       *testing.T
	tenant  servicetest.Client
	address string
	mux     *http.ServeMux
}

// loadConformanceFixtures creates what the suite uses by its names.
func loadConformanceFixtures(t *testing.T, c servicetest.Client) {
	t.Helper()
	f := &fixtures{t: t, tenant: c, mux: http.NewServeMux()}
	service := httptest.NewServer(f.mux)
	t.Cleanup(service.Close)
	f.address = service.URL
	f.contentTools()
	f.eventTools()
	f.askingTools()
	f.changingTools()
	f.documents()
	f.prompts()
	f.tasks()
}

// taskServer is the name of the server of the tools that are tasks.
const taskServer = "tasks"

// tasks creates a tool and workflows, which the server shows under the names that the suite knows.
func (f *fixtures) tasks() {
	f.t.Helper()
	f.mux.HandleFunc("/sleep", func(w http.ResponseWriter, r *http.Request) {
		var given struct{ Seconds float64 }
		if err := json.NewDecoder(r.Body).Decode(&given); err != nil {
			f.t.Errorf("slow_compute: %v", err)
		}
		select {
		case <-time.After(time.Duration(given.Seconds * float64(time.Second))):
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"slept": true}`))
	})
	f.create("failing_job", object{"needsTask": true}, func(w http.ResponseWriter, _ *http.Request) {
		<-time.After(time.Second)
		http.Error(w, "It fails.", http.StatusBadRequest)
	})
	f.tool("protocol_error_job", func(clientCall) object {
		<-time.After(time.Second)
		return inputFor("", object{"roots": roots}) // which the suite's client does not have
	})
	f.tool("test_tool_with_task", func(c clientCall) object {
		name := c.answered("user_name", "name")
		if name == nil {
			return inputFor("asked", object{"user_name": nameForm})
		}
		<-time.After(time.Second)
		return text(fmt.Sprintf("Hello, %v!", name))
	})
	post := func(path string, input object) object {
		return object{"id": "post", "kind": "http", "settings": object{"url": f.address + path, "method": "POST"}, "input": input}
	}
	confirm := func(id string) object {
		return object{"id": id, "kind": "wait", "message": "Is that so?", "schema": object{"type": "object", "properties": object{"confirm": object{"type": "boolean"}}}}
	}
	f.tool("greet", func(c clientCall) object { return text(fmt.Sprintf("Hello, %v!", c.Arguments["name"])) }) // is no task
	shown := []*ragdv1.PresentedTool{{ToolName: "failing_job"}, {ToolName: "protocol_error_job"}, {ToolName: "test_tool_with_task"}}
	for name, definition := range map[string]object{
		"slow_compute": {
			"inputSchema": object{"type": "object", "properties": object{"seconds": object{"type": "number"}, "label": object{"type": "string"}}},
			"steps":       []any{post("/sleep", object{"seconds": object{"initData": true, "path": "seconds"}})},
		},
		"confirm_delete": {"inputSchema": object{"type": "object"}, "steps": []any{confirm("ask")}},
		"multi_input": {"inputSchema": object{"type": "object"}, "steps": []any{object{"id": "both", "kind": "parallel", "branches": []any{
			object{"id": "a", "steps": []any{confirm("first")}}, object{"id": "b", "steps": []any{confirm("second")}},
		}}}},
	} {
		definition["description"] = "The suite calls it."
		if _, err := f.tenant.CreateWorkflow(f.t.Context(), &ragdv1.CreateWorkflowRequest{WorkflowName: name, Definition: servicetest.Object(f.t, definition)}); err != nil {
			f.t.Fatalf("%s: %v", name, err)
		}
		shown = append(shown, &ragdv1.PresentedTool{ToolName: "run_" + name, Name: name})
	}
	makeServer(f.t, f.tenant, &ragdv1.CreateServerRequest{ServerName: taskServer, Presented: shown})
}

// create creates a tool with an endpoint.
func (f *fixtures) create(name string, settings object, handle http.HandlerFunc) {
	f.t.Helper()
	f.mux.HandleFunc("/"+name, handle)
	settings["url"] = f.address + "/" + name
	if settings["method"] == nil {
		settings["method"], settings["response"] = "POST", object{"format": "mcp"}
	}
	if _, err := f.tenant.CreateTool(f.t.Context(), &ragdv1.CreateToolRequest{
		ToolName: name, Kind: "http", Description: "The suite calls it.", Settings: servicetest.Object(f.t, settings),
	}); err != nil {
		f.t.Fatalf("%s: %v", name, err)
	}
}

// tool creates a tool that answers in the form of MCP.
func (f *fixtures) tool(name string, answer func(c clientCall) object) {
	f.t.Helper()
	f.create(name, object{}, func(w http.ResponseWriter, r *http.Request) {
		var c clientCall
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			f.t.Errorf("%s: %v", name, err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer(c))
	})
}

// events creates a tool that answers in events.
func (f *fixtures) events(name string, events ...[2]string) {
	f.t.Helper()
	f.create(name, object{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, event := range append(events, [2]string{"result", `{"content": [{"type": "text", "text": "done"}]}`}) {
			if i > 0 {
				<-time.After(between)
			}
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event[0], event[1])
			_ = http.NewResponseController(w).Flush()
		}
	})
}

func (f *fixtures) contentTools() {
	plain := func(name, contentType string, body []byte) {
		f.create(name, object{"method": "GET"}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(body)
		})
	}
	decoded := func(encoded string) []byte {
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			f.t.Fatal(err)
		}
		return raw
	}
	plain("test_simple_text", "text/plain", []byte("This is a simple text response for testing."))
	plain("test_image_content", "image/png", decoded(onePixel))
	plain("test_audio_content", "audio/wav", decoded(oneSample))
	f.create("test_error_handling", object{"method": "GET"}, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This tool intentionally returns an error for testing", http.StatusBadRequest)
	})
	resource := func(uri, mimeType, text string) object {
		return object{"type": "resource", "resource": object{"uri": uri, "mimeType": mimeType, "text": text}}
	}
	f.tool("test_embedded_resource", func(clientCall) object {
		return object{"content": []any{resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")}}
	})
	f.tool("test_multiple_content_types", func(clientCall) object {
		return object{"content": []any{
			object{"type": "text", "text": "Multiple content types test:"},
			object{"type": "image", "data": onePixel, "mimeType": "image/png"},
			resource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		}}
	})
	f.create("json_schema_2020_12_tool", object{"inputSchema": conformanceSchema(f.t)}, func(http.ResponseWriter, *http.Request) {})
	f.create("test_param_header", object{"method": "GET", "inputSchema": object{
		"type": "object", "properties": object{"region": object{"type": "string", "x-mcp-header": "Region"}},
	}}, func(http.ResponseWriter, *http.Request) {})
}

// conformanceSchema has the keywords that the suite expects to find unchanged.
func conformanceSchema(t *testing.T) (schema object) {
	t.Helper()
	const text = `{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"$defs": {
			"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
		},
		"properties": {
			"name": {"type": "string"},
			"address": {"$ref": "#/$defs/address"},
			"contactMethod": {"type": "string", "enum": ["phone", "email"]},
			"phone": {"type": "string"},
			"email": {"type": "string"}
		},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]},
		"else": {"required": ["email"]},
		"additionalProperties": false
	}`
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

func (f *fixtures) eventTools() {
	log := func(text string) [2]string { return [2]string{"log", `{"level": "info", "data": "` + text + `"}`} }
	progress := func(done int) [2]string {
		return [2]string{"progress", fmt.Sprintf(`{"progress": %d, "total": 100}`, done)}
	}
	f.events("test_tool_with_logging", log("Tool execution started"), log("Tool processing data"), log("Tool execution completed"))
	f.events("test_logging_tool", log("logged"))
	f.events("test_tool_with_progress", progress(0), progress(50), progress(100))
	f.events("test_reconnection")
}

func (f *fixtures) askingTools() {
	fixed := func(name string, requests func(c clientCall) object) {
		f.tool(name, func(c clientCall) object {
			if form := c.InputResponses["form"]; form != nil {
				return text(fmt.Sprintf("action=%v, content=%v", form["action"], form["content"]))
			}
			return inputFor("", requests(c))
		})
	}
	fixed("test_elicitation", func(c clientCall) object {
		return object{"form": formFor(fmt.Sprint(c.Arguments["message"]), object{
			"username": object{"type": "string", "description": "User's response"}, "email": object{"type": "string", "description": "User's email address"},
		}, "username", "email")}
	})
	fixed("test_elicitation_sep1034_defaults", func(clientCall) object {
		return object{"form": formFor("Please fill in", object{
			"name":     object{"type": "string", "default": "John Doe"},
			"age":      object{"type": "integer", "default": 30},
			"score":    object{"type": "number", "default": 95.5},
			"status":   object{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
			"verified": object{"type": "boolean", "default": true},
		})}
	})
	titled := func(noun string) []object {
		return []object{{"const": "value1", "title": "First " + noun}, {"const": "value2", "title": "Second " + noun}, {"const": "value3", "title": "Third " + noun}}
	}
	options := []string{"option1", "option2", "option3"}
	fixed("test_elicitation_sep1330_enums", func(clientCall) object {
		return object{"form": formFor("Please choose", object{
			"untitledSingle": object{"type": "string", "enum": options},
			"titledSingle":   object{"type": "string", "oneOf": titled("Option")},
			"legacyEnum":     object{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}},
			"untitledMulti":  object{"type": "array", "items": object{"type": "string", "enum": options}},
			"titledMulti":    object{"type": "array", "items": object{"anyOf": titled("Choice")}},
		})}
	})
	f.tool("test_sampling", func(c clientCall) object {
		if answer := c.InputResponses["completion"]; answer != nil {
			return text(fmt.Sprint("LLM response: ", answer["content"]))
		}
		return inputFor("", object{"completion": sample(fmt.Sprint(c.Arguments["prompt"]))})
	})
	f.inputRequired()
	f.states()
}

var (
	nameForm    = formFor("What is your name?", object{"name": object{"type": "string"}}, "name")
	confirmForm = formFor("Please confirm", object{"ok": object{"type": "boolean"}}, "ok")
	roots       = object{"method": "roots/list"}
)

// inputRequired creates tools that ask once.
func (f *fixtures) inputRequired() {
	once := func(name, id string, request object) {
		f.tool(name, func(c clientCall) object {
			if answer := c.InputResponses[id]; answer != nil {
				return text(fmt.Sprint(answer))
			}
			return inputFor("", object{id: request})
		})
	}
	f.tool("test_input_required_result_elicitation", func(c clientCall) object {
		if name := c.answered("user_name", "name"); name != nil {
			return text(fmt.Sprintf("Hello, %v!", name))
		}
		return inputFor("", object{"user_name": nameForm})
	})
	once("test_streaming_elicitation", "confirm", confirmForm)
	once("test_input_required_result_sampling", "capital_question", sample("What is the capital of France?"))
	once("test_input_required_result_list_roots", "client_roots", roots)
	once("test_missing_capability", "completion", sample("Who are you?"))
	f.tool("test_input_required_result_capabilities", func(c clientCall) object {
		requests := object{}
		if c.ClientCapabilities["elicitation"] != nil {
			requests["user_name"] = nameForm
		}
		if c.ClientCapabilities["sampling"] != nil {
			requests["greeting"] = sample("Generate a greeting")
		}
		return inputFor("", requests)
	})
}

// states creates tools that carry a state from one round to the next. They need not sign it: the
// service does.
func (f *fixtures) states() {
	for _, name := range []string{"test_input_required_result_request_state", "test_input_required_result_tampered_state"} {
		f.tool(name, func(c clientCall) object {
			if c.RequestState == "asked" && c.answered("confirm", "ok") == true {
				return text("state-ok")
			}
			return inputFor("asked", object{"confirm": confirmForm})
		})
	}
	f.tool("test_input_required_result_multiple_inputs", func(c clientCall) object {
		if c.RequestState == "asked" && len(c.InputResponses) == 3 {
			return text("All three were answered.")
		}
		return inputFor("asked", object{"user_name": nameForm, "greeting": sample("Generate a greeting"), "client_roots": roots})
	})
	f.tool("test_input_required_result_multi_round", func(c clientCall) object {
		switch c.RequestState {
		case "one":
			return inputFor("two", object{"step2": formFor("Step 2: What is your favorite color?", object{"color": object{"type": "string"}}, "color")})
		case "two":
			return text("Both steps were answered.")
		}
		return inputFor("one", object{"step1": formFor("Step 1: What is your name?", object{"name": object{"type": "string"}}, "name")})
	})
}

// changingTools creates tools that change the lists of the tenant while the suite listens.
func (f *fixtures) changingTools() {
	f.tool("test_trigger_tool_change", func(clientCall) object {
		const name = "test_changed_tool"
		_, err := f.tenant.CreateTool(f.t.Context(), &ragdv1.CreateToolRequest{
			ToolName: name, Kind: "document_chunker", Description: "Comes and goes.",
		})
		if err == nil {
			_, err = f.tenant.DeleteTool(f.t.Context(), &ragdv1.DeleteToolRequest{ToolName: name})
		}
		return text(fmt.Sprint("Changed the list of tools: ", err))
	})
	f.tool("test_trigger_prompt_change", func(clientCall) object {
		const name = "test_changed_prompt"
		_, err := f.tenant.CreatePrompt(f.t.Context(), &ragdv1.CreatePromptRequest{PromptName: name, Messages: said("Comes and goes.")})
		if err == nil {
			_, err = f.tenant.DeletePrompt(f.t.Context(), &ragdv1.DeletePromptRequest{PromptName: name})
		}
		return text(fmt.Sprint("Changed the list of prompts: ", err))
	})
}

// documents uploads documents whose URIs the suite reads.
func (f *fixtures) documents() {
	f.tenant.Index(f.t, "docs")
	pdf, err := os.ReadFile("../../ingest/parse/testdata/files/handbook.pdf")
	if err != nil {
		f.t.Fatal(err)
	}
	for uri, content := range map[string]string{
		"test://static-text":       "This is the content of the static text resource.",
		"test://static-binary":     string(pdf),
		"test://template/123/data": `{"id":"123","templateTest":true,"data":"Data for ID: 123"}`,
		"test://watched-resource":  "The suite watches this.",
		"test://example-resource":  "Embedded resource content for testing.",
	} {
		f.tenant.Upload(f.t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: uri, Source: &ragdv1.UploadDocumentRequest_Content{Content: []byte(content)},
		})
	}
}

func (f *fixtures) prompts() {
	pixel, err := base64.StdEncoding.DecodeString(onePixel)
	if err != nil {
		f.t.Fatal(err)
	}
	needs := func(names ...string) (arguments []*ragdv1.PromptArgument) {
		for _, name := range names {
			arguments = append(arguments, &ragdv1.PromptArgument{Name: name, Required: true})
		}
		return arguments
	}
	for _, req := range []*ragdv1.CreatePromptRequest{
		{PromptName: "test_simple_prompt", Messages: said("This is a simple prompt for testing.")},
		{
			PromptName: "test_prompt_with_arguments", Arguments: needs("arg1", "arg2"),
			Messages: said("Prompt with arguments: arg1='{{arguments.arg1}}', arg2='{{arguments.arg2}}'"),
		},
		{
			PromptName: "test_prompt_with_embedded_resource", Arguments: needs("resourceUri"),
			Messages: append([]*ragdv1.PromptMessage{{Content: &ragdv1.PromptMessage_Resource{Resource: &ragdv1.PromptResource{Uri: "{{arguments.resourceUri}}"}}}},
				said("Please process the embedded resource above.")...),
		},
		{
			PromptName: "test_prompt_with_image",
			Messages: append([]*ragdv1.PromptMessage{{Content: &ragdv1.PromptMessage_Image{Image: &ragdv1.PromptMedia{MimeType: "image/png", Data: pixel}}}},
				said("Please analyze the image above.")...),
		},
		{PromptName: "test_input_required_result_prompt", Arguments: needs("context"), Messages: said("Use this context: {{arguments.context}}")},
	} {
		req.Description = "The suite gets it."
		if _, err := f.tenant.CreatePrompt(f.t.Context(), req); err != nil {
			f.t.Fatal(err)
		}
	}
}
