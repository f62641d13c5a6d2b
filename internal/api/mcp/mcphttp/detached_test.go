package mcphttp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/tenant"
)

// newEcho returns a world with a tool that answers with its arguments, and says what the
// library had of them.
func newEcho(t testing.TB) *world {
	t.Helper()
	var w *world
	w = newWorld(t, func(c *Config) {
		c.Detached, c.LegacySSE = true, true
		c.Server = func(id tenant.ID, name string) *server.MCPServer {
			s := w.server(id, name)
			s.AddTool(mcpgo.NewTool("echo"), func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
				if req.Params.Meta != nil && req.Params.Meta.ProgressToken != nil {
					_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": 1})
				}
				raw := Arguments(ctx)
				if raw == nil {
					given, _ := req.GetRawArguments().(json.RawMessage)
					return Result(ctx, "by the library", given)
				}
				return Result(ctx, "past the library, which had "+string(req.Params.RawArguments)+" <\"\n\u2028>", raw)
			})
			return s
		}
	})
	return w
}

// echoed is what the tool answered.
type echoed struct {
	Result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		ResultType        string
	}
}

func readEcho(t *testing.T, body string) (text, structured string) {
	t.Helper()
	var answer echoed
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Result.Content) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	return answer.Result.Content[0].Text, string(answer.Result.StructuredContent)
}

const pastLibrary = "past the library, which had {} <\"\n\u2028>"

func TestArgumentsAndAnswersPassTheLibraryBy(t *testing.T) {
	t.Parallel()
	w := newEcho(t)
	arguments := map[string]any{"a": []any{1.5, "}\"", nil}, "b": map[string]any{"params": 1.0, "arguments": 2.0}}
	const want = `{"a":[1.5,"}\"",null],"b":{"arguments":2,"params":1}}`
	session := w.open(t, alice)
	for name, request := range map[string]*http.Request{
		"legacy": w.request(t.Context(), http.MethodPost, alice, legacy(1, "tools/call", map[string]any{"name": "echo", "arguments": arguments}), sessionHeader, session),
		"modern": w.modern(t.Context(), alice, 1, "tools/call", map[string]any{"name": "echo", "arguments": arguments}),
	} {
		res, body := w.do(t, request)
		if text, structured := readEcho(t, body); res.StatusCode != http.StatusOK || text != pastLibrary || structured != want {
			t.Errorf("%s: status %d, %q, %s", name, res.StatusCode, text, structured)
		}
	}
}

func TestAnAnswerOnAStreamPassesTheLibraryBy(t *testing.T) {
	t.Parallel()
	w := newEcho(t)
	request := w.modern(t.Context(), alice, 1, "tools/call", map[string]any{
		"name": "echo", "arguments": map[string]any{"a": 1}, "_meta": map[string]any{"progressToken": "p"},
	})
	_, body := w.do(t, request)
	lines := strings.Split(strings.TrimSpace(body), "\n")
	text, structured := readEcho(t, strings.TrimPrefix(lines[len(lines)-1], "data: "))
	if text != pastLibrary || structured != `{"a":1}` {
		t.Errorf("%q, %s", text, structured)
	}

	address, events := w.sse(t, t.Context(), alice)
	w.post(t, alice, address, legacy(1, "tools/call", map[string]any{"name": "echo", "arguments": map[string]any{"a": 1}}))
	within(t, events, "the event")
	text, structured = readEcho(t, strings.TrimPrefix(within(t, events, "the answer"), "data: "))
	if text != pastLibrary || structured != `{"a":1}` {
		t.Errorf("legacy SSE: %q, %s", text, structured)
	}
}

// What decoders may read in different ways stays in the message, where one decoder reads
// it.
func TestOddMessagesStayWithTheLibrary(t *testing.T) {
	t.Parallel()
	w := newEcho(t)
	session := w.open(t, alice)
	for name, body := range map[string]string{
		"params twice":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"},"params":{"name":"echo","arguments":{"a":1}}}`,
		"params in capitals":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":2}},"PARAMS":{"name":"echo","arguments":{"a":1}}}`,
		"arguments twice":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":2},"arguments":{"a":1}}}`,
		"an escaped name":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","p\u0061rams":{"name":"echo","arguments":{"a":1}}}`,
		"an escaped method":      `{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"echo","arguments":{"a":1}}}`,
		"a name that folds":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","paramſ":{"name":"echo","arguments":{"a":1}}}`,
		"the method twice":       `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`,
		"the method in capitals": `{"jsonrpc":"2.0","id":1,"method":"tools/call","METHOD":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`,
	} {
		res, answer := w.do(t, w.request(t.Context(), http.MethodPost, alice, body, sessionHeader, session))
		if text, structured := readEcho(t, answer); res.StatusCode != http.StatusOK || text != "by the library" || structured != `{"a":1}` {
			t.Errorf("%s: status %d, %q, %s", name, res.StatusCode, text, structured)
		}
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":01}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"` + "\xff" + `"}}}`,
	} {
		if res, answer := w.do(t, w.request(t.Context(), http.MethodPost, alice, body, sessionHeader, session)); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", body, res.StatusCode, answer)
		}
	}
}

// The library and the tool read what one decoder of the whole message reads.
func FuzzDetach(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`))
	f.Add([]byte(`{"method":"tools/call","params":{"arguments":{}},"params":{"arguments":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		type call struct {
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		rest, arguments := detach(body)
		if arguments == nil {
			return
		}
		var got, want call
		err, wanted := json.Unmarshal(rest, &got), json.Unmarshal(body, &want)
		if (err == nil) != (wanted == nil) {
			t.Fatalf("%q: %v, %v", body, err, wanted)
		}
		if err != nil {
			return
		}
		if got.Method != want.Method || got.Params.Name != want.Params.Name || string(arguments) != string(want.Params.Arguments) || string(got.Params.Arguments) != "{}" {
			t.Errorf("%q: %q, %q", body, rest, arguments)
		}
	})
}

// BenchmarkToolCall answers a call with a vector of 384 numbers by an answer of 8 kB, over
// HTTP.
func BenchmarkToolCall(b *testing.B) {
	w := newEcho(b)
	values := make([]float64, 384)
	for i := range values {
		values[i] = float64(i) / 7
	}
	b.ReportAllocs()
	for b.Loop() {
		request := w.modern(b.Context(), alice, 1, "tools/call", map[string]any{"name": "echo", "arguments": map[string]any{"queryVector": values}})
		if res, body := w.do(b, request); res.StatusCode != http.StatusOK {
			b.Fatal(body)
		}
	}
}
