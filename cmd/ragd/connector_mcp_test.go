package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func TestAnMCPServerIsConnectedInOneStep(t *testing.T) {
	t.Parallel()
	needsDatabase(t)
	up := server.NewMCPServer("notes", "1", server.WithResourceCapabilities(false, true), server.WithToolCapabilities(false))
	up.AddResource(mcp.NewResource("note://plan", "plan"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "note://plan", Text: "The plan is a harbour."}}, nil
	})
	up.AddTool(mcp.NewTool("greet"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("Hello."), nil
	})
	site := httptest.NewServer(server.NewStreamableHTTPServer(up))
	t.Cleanup(site.Close)
	h := newHome(t, "RAGD_ALLOWED_PRIVATE_NETWORKS=127.0.0.1")
	h.serve()
	h.ragd("index", "create", "docs")
	out := h.ragd("connect", "mcp", site.URL+"/mcp", "--index", "docs", "--name", "notes", "--tool", "*", "--no-subscription")
	if !strings.Contains(out, "1 seen, 1 added") {
		t.Errorf("connect: %s", out)
	}
	if out := h.ragd("document", "list", "--index", "docs"); !strings.Contains(out, "note://plan") {
		t.Errorf("documents: %s", out)
	}
	if out := h.ragd("tool", "call", "notes_greet"); !strings.Contains(out, "Hello.") {
		t.Errorf("tool: %s", out)
	}
}
