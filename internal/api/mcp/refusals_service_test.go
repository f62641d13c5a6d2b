package mcp_test

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// The messages of errors say what is wrong in the service's own words, on all transports.
func TestRefusedNamesAreExplained(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, MCP: mcphttp.Config{LegacySSE: true}})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	credential := map[string]string{"Authorization": "Bearer " + acme.Secret}
	clients := map[string]*client.Client{}
	for era, options := range mcptest.Eras {
		clients[era] = mcptest.Connect(t, s.URL+mcphttp.Path, options, credential)
	}
	sse, err := client.NewSSEMCPClient(s.URL+mcphttp.SSEPath, transport.WithHeaders(credential))
	if err == nil {
		err = sse.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sse.Close() })
	mcptest.Initialize(t, sse)
	clients["2024-11-05"] = sse
	for era, c := range clients {
		t.Run(era, func(t *testing.T) {
			for want, call := range map[string]func() error{
				`tool "vector_qury" not found; did you mean vector_query?`: func() error {
					var req mcpgo.CallToolRequest
					req.Params.Name, req.Params.Arguments = "vector_qury", map[string]any{"queryText": "x"}
					_, err := c.CallTool(t.Context(), req)
					return err
				},
				`prompt "none" not found`: func() error { _, err := getPrompt(t, c, "none", nil); return err },
				"question: is required":   func() error { _, err := getPrompt(t, c, "answer_with_sources", nil); return err },
				`no resource has the URI "http://\"<none>"`: func() error {
					_, err := readResource(t, c, `http://"<none>`)
					return err
				},
				"cursor: is not one that this list gave out: begin again without a cursor": func() error {
					var req mcpgo.ListToolsRequest
					req.Params.Cursor = "none"
					_, err := c.ListToolsByPage(t.Context(), req)
					return err
				},
			} {
				err := call()
				if err == nil {
					t.Errorf("no error %q", want)
					continue
				}
				if text := err.Error(); !strings.HasSuffix(text, want) || strings.Contains(text, "'") {
					t.Errorf("%q, want %q", text, want)
				}
			}
		})
	}
}
