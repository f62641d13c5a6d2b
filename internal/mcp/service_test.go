package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/servicetest"
)

// connectTo returns an MCP client of the running service.
func connectTo(t *testing.T, s *servicetest.Service, secret string, options ...client.ClientOption) *client.Client {
	t.Helper()
	over, err := transport.NewStreamableHTTP(s.URL+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + secret}))
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(over, options...)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Initialize(t.Context(), mcpgo.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func call(t *testing.T, c *client.Client, tool string, arguments map[string]any) *mcpgo.CallToolResult {
	t.Helper()
	req := mcpgo.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = tool, arguments
	res, err := c.CallTool(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The whole service over MCP: two tenants with the same index and the same uris
// upload and ask, and get what Connect gives them.
func TestToolsAnswerAsConnectDoes(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, servicetest.Config{})
	for _, name := range []string{"acme", "bolt"} {
		over := s.Tenant(t, name)
		over.Index(t, "docs")
		c := connectTo(t, s, over.Secret)
		uploaded := call(t, c, "upload_document", map[string]any{
			"indexName": "docs", "uri": "plan.txt", "text": "The plan of " + name + " is to open a harbour.",
		})
		var made struct {
			Document struct{ DocumentID string }
			Job      struct{ JobID string }
		}
		raw, err := json.Marshal(uploaded.StructuredContent)
		if err == nil {
			err = json.Unmarshal(raw, &made)
		}
		if uploaded.IsError || err != nil {
			t.Fatalf("upload_document = %v, %v", uploaded.Content, err)
		}
		over.Await(t, "docs", made.Job.JobID, made.Document.DocumentID)

		answer := call(t, c, "vector_query", map[string]any{"queryText": "what is the plan of acme and bolt"})
		raw, err = json.Marshal(answer.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Sources []struct {
				ID    string
				Score float64
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		want, err := over.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "what is the plan of acme and bolt"})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Sources) != 1 || len(want.Sources) != 1 || got.Sources[0].ID != want.Sources[0].Id || got.Sources[0].Score != want.Sources[0].Score {
			t.Errorf("%s: over MCP %s, over Connect %v", name, raw, want)
		}
	}
}
