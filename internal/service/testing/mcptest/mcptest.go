// Package mcptest calls an MCP endpoint in tests, as clients with sessions and clients
// without them do.
package mcptest

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// Eras are the options of the two kinds of client, by name: "legacy" clients open a
// session, "modern" ones speak a revision of the protocol without sessions.
var Eras = map[string][]client.ClientOption{
	"modern": nil,
	"legacy": {client.WithLegacyProtocolOnly()},
}

// Connect returns an initialized client that sends the headers, until the test ends.
func Connect(t testing.TB, address string, options []client.ClientOption, headers map[string]string) *client.Client {
	t.Helper()
	over, err := transport.NewStreamableHTTP(address, transport.WithHTTPHeaders(headers))
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(over, options...)
	t.Cleanup(func() { _ = c.Close() })
	Initialize(t, c)
	return c
}

// Initialize starts a client and sends the initialize request.
func Initialize(t testing.TB, c *client.Client) {
	t.Helper()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var req mcpgo.InitializeRequest
	req.Params.ProtocolVersion = mcpgo.LATEST_PROTOCOL_VERSION
	req.Params.ClientInfo = mcpgo.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

// Call calls a tool and returns its result and the text of it. meta is the request's
// _meta, nil for none.
func Call(t testing.TB, c *client.Client, name string, arguments any, meta map[string]any) (*mcpgo.CallToolResult, string) {
	t.Helper()
	var req mcpgo.CallToolRequest
	req.Params.Name, req.Params.Arguments = name, arguments
	if meta != nil {
		req.Params.Meta = mcpgo.NewMetaFromMap(meta)
	}
	result, err := c.CallTool(t.Context(), req)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result, Text(t, result)
}

// Text returns the text of a result. It fails the test if the result is not one text.
func Text(t testing.TB, result *mcpgo.CallToolResult) string {
	t.Helper()
	if len(result.Content) != 1 {
		t.Fatalf("%d content items, want 1", len(result.Content))
	}
	text, ok := result.Content[0].(mcpgo.TextContent)
	if !ok {
		t.Fatalf("content is a %T", result.Content[0])
	}
	return text.Text
}

// Tools returns the tools that a client can call: by name, the index names that the
// tool's schema allows.
func Tools(t testing.TB, c *client.Client) map[string][]string {
	t.Helper()
	res, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for _, tool := range res.Tools {
		raw, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		var wire struct {
			InputSchema struct {
				Properties struct {
					IndexName struct{ Enum []string }
				}
			}
		}
		if err := json.Unmarshal(raw, &wire); err != nil {
			t.Fatal(err)
		}
		names[tool.Name] = wire.InputSchema.Properties.IndexName.Enum
	}
	return names
}

// Progress collects the progress notifications of a client. Safe for concurrent use.
type Progress struct {
	mu      sync.Mutex
	byToken map[any][]float64
}

// WatchProgress collects the progress notifications of a client from now on.
func WatchProgress(c *client.Client) *Progress {
	p := &Progress{byToken: map[any][]float64{}}
	c.OnNotification(func(n mcpgo.JSONRPCNotification) {
		if n.Method != string(mcpgo.MethodNotificationProgress) {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		done, _ := n.Params.AdditionalFields["progress"].(float64)
		token := n.Params.AdditionalFields["progressToken"]
		p.byToken[token] = append(p.byToken[token], done)
	})
	return p
}

// Of returns the progress reported for a token, in the order of arrival.
func (p *Progress) Of(token string) []float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byToken[token]
}

// Calls returns the number of calls that reported progress.
func (p *Progress) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byToken)
}
