package httptool_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/httptool"
)

// callMCP calls a tool whose endpoint answers in the form of MCP.
func callMCP(t *testing.T, settings string, c httptool.Call, handle http.HandlerFunc) (httptool.Result, error) {
	t.Helper()
	service := httptest.NewServer(handle)
	t.Cleanup(service.Close)
	r := runner(t, here)
	var decoded map[string]any
	if err := json.Unmarshal(fmt.Appendf(nil, `{"method": "POST", "url": %q, "response": {"format": "mcp"}%s}`, service.URL, settings), &decoded); err != nil {
		t.Fatal(err)
	}
	ctx := caller(t.Context(), "acme")
	d, err := r.Check(ctx, decoded)
	if err != nil {
		t.Fatal(err)
	}
	c.Request = requestContext
	return r.Call(ctx, d, c)
}

func answerJSON(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}
}

func TestAnAnswerHasContentOfMCP(t *testing.T) {
	t.Parallel()
	got, err := callMCP(t, "", httptool.Call{}, answerJSON(`{"content": [
		{"type": "text", "text": "Two pictures:"},
		{"type": "image", "data": "AAAA", "mimeType": "image/png"}, {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
		{"type": "resource", "resource": {"uri": "a:b", "text": "inside"}}, {"type": "resource", "resource": {"uri": "a:c", "blob": "AAAA"}},
		{"type": "resource_link", "uri": "a:d", "name": "d"}
	], "structuredContent": {"n": 1}}`))
	if err != nil || got.Text != "Two pictures:" || string(got.Structured) != `{"n":1}` || strings.Count(string(got.Content), `"type"`) != 6 {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = callMCP(t, "", httptool.Call{}, answerJSON(`{"structuredContent": {"n": 1}}`))
	if err != nil || got.Text != `{"n":1}` || !strings.Contains(string(got.Content), `"text"`) {
		t.Errorf("without content: %+v, %v", got, err)
	}
	_, err = callMCP(t, "", httptool.Call{}, answerJSON(`{"isError": true, "content": [{"type": "text", "text": "no such order"}]}`))
	if fault.KindOf(err) != fault.Precondition || fault.Public(err) != "no such order" {
		t.Errorf("a call that failed: %v", err)
	}
	for body, want := range map[string]string{
		`[]`:                               "must be an object",
		`{}`:                               "neither content",
		`{"content": {}}`:                  "array",
		`{"content": [{"type": "video"}]}`: "content[0]",
		`{"content": [{"type": "image", "data": "%%%", "mimeType": "image/png"}]}`:                     "base64",
		`{"content": [{"type": "resource", "resource": {"uri": "a:b", "text": "x", "blob": "AAAA"}}]}`: "either",
		`{"content": [{"type": "resource_link", "uri": "a:b"}]}`:                                       "name",
		`{"structuredContent": 1}`:         "object",
		`{"resultType": "task"}`:           "resultType",
		`{"resultType": "input_required"}`: "inputRequests",
		`{"resultType": "input_required", "inputRequests": {"a": {"method": "tools/call"}}}`:                       "inputRequests.a",
		`{"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create", "params": {}}}}`: "requestedSchema",
		`{"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}, "requestState": 1}`:    "requestState",
	} {
		if got, err := callMCP(t, "", httptool.Call{}, answerJSON(body)); fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), want) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	schema := `, "outputSchema": {"type": "object", "required": ["n"]}`
	for _, body := range []string{`{"content": []}`, `{"structuredContent": {}}`} {
		if got, err := callMCP(t, schema, httptool.Call{}, answerJSON(body)); fault.KindOf(err) != fault.Precondition {
			t.Errorf("%s does not fit the outputSchema: %+v, %v", body, got, err)
		}
	}
}

func TestAnEndpointAsksTheClientAndGetsItsAnswers(t *testing.T) {
	t.Parallel()
	asks := func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		raw, _ := json.Marshal(body)
		w.Header().Set("X-Body", string(raw))
		if body["requestState"] == nil {
			answerJSON(`{"resultType": "input_required", "requestState": "one", "inputRequests": {"a": {"method": "roots/list"}}}`)(w, r)
			return
		}
		text, _ := json.Marshal(string(raw))
		answerJSON(`{"content": [{"type": "text", "text": `+string(text)+`}]}`)(w, r)
	}
	got, err := callMCP(t, "", httptool.Call{Arguments: json.RawMessage(`{"x": 1}`)}, asks)
	if err != nil || got.Asked == nil || got.Asked.State != "one" || string(got.Asked.Requests["a"]) != `{"method":"roots/list"}` {
		t.Fatalf("%+v, %v", got, err)
	}
	got, err = callMCP(t, "", httptool.Call{Arguments: json.RawMessage(`{"x": 1}`), Client: map[string]any{
		"inputResponses": map[string]any{"a": map[string]any{"roots": []any{}}}, "requestState": "one", "clientCapabilities": map[string]any{"roots": map[string]any{}},
	}}, asks)
	want := `{"arguments":{"x":1},"clientCapabilities":{"roots":{}},"inputResponses":{"a":{"roots":[]}},"requestState":"one"}`
	if err != nil || got.Text != want {
		t.Errorf("the endpoint got %s, want %s: %v", got.Text, want, err)
	}
}

func TestAnAnswerInEventsReportsProgressAndLogs(t *testing.T) {
	t.Parallel()
	stream := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, body)
		}
	}
	var heard []string
	c := httptool.Call{Events: httptool.Events{
		Progress: func(done, total float64, message string) {
			heard = append(heard, fmt.Sprintf("%v/%v %s", done, total, message))
		},
		Log: func(level string, data any) { heard = append(heard, fmt.Sprintf("%s %v", level, data)) },
	}}
	const result = "event: result\ndata: {\"content\": [{\"type\": \"text\",\ndata:  \"text\": \"done\"}]}\n\n"
	got, err := callMCP(t, `, "headers": {"X-Key": "{{secrets.crm}}"}`, c, stream(": a comment\n\n"+
		"event: progress\ndata: {\"progress\": 0, \"total\": 2, \"message\": \"begins\"}\n\n"+
		"event: log\ndata: {\"level\": \"warning\", \"data\": \"the key is sk-acme+1/2\"}\n\n"+
		"event: log\ndata: {\"level\": \"loud\", \"data\": {\"n\": 1}}\n\n"+
		"event: progress\ndata: {\"progress\": 0}\n\nevent: progress\ndata: nonsense\n\nevent: other\ndata: {}\n\n"+
		"event: progress\r\ndata: {\"progress\": 2, \"total\": 2}\r\n\r\n"+result+"event: progress\ndata: {\"progress\": 3}\n\n"))
	want := "0/2 begins, warning the key is ***, info map[n:1], 2/2 "
	if err != nil || got.Text != "done" || strings.Join(heard, ", ") != want {
		t.Errorf("heard %q, want %q; %+v, %v", strings.Join(heard, ", "), want, got, err)
	}
	if got, err := callMCP(t, "", httptool.Call{}, stream(result)); err != nil || got.Text != "done" {
		t.Errorf("nobody listens: %+v, %v", got, err)
	}
	for name, body := range map[string]string{"no result": "event: progress\ndata: {\"progress\": 1}\n\n", "too long": ": " + strings.Repeat("x", 300<<10) + "\n\n" + result} {
		if got, err := callMCP(t, "", httptool.Call{}, stream(body)); fault.KindOf(err) != fault.Precondition {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestSettingsOfTheFormatMCP(t *testing.T) {
	t.Parallel()
	for settings, field := range map[string]string{
		`"response": {"format": "xml"}`:                                            "settings.response.format",
		`"response": {"format": "mcp", "text": "{{result.a}}"}`:                    "settings.response.text",
		`"body": {"s": "{{call.requestState}}"}`:                                   "settings.body",
		`"response": {"format": "mcp"}, "body": {"s": "{{call.secrets}}"}`:         "settings.body",
		`"response": {"format": "mcp"}, "headers": {"A": "{{call.requestState}}"}`: "settings.headers.A",
	} {
		_, err := call(t, runner(t, here), `{"method": "POST", "url": "http://127.0.0.1:1", `+settings+`}`, `{}`)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(fmt.Sprint(err), field) {
			t.Errorf("%s: %v, want an error about %s", settings, err, field)
		}
	}
}
