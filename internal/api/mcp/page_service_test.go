package mcp_test

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// fetch shows a page as a picture that models see, to those alone who may see the document.
func TestFetchShowsAPage(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "docs")
	content, err := os.ReadFile("../../ingest/parse/testdata/files/handbook.pdf")
	if err != nil {
		t.Fatal(err)
	}
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "handbook.pdf", Source: &ragdv1.UploadDocumentRequest_Content{Content: content}})
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "note.txt", Source: servicetest.Text("A note.")})
	c := mcptest.Connect(t, s.URL+mcphttp.Path, nil, map[string]string{"Authorization": "Bearer " + acme.Secret})
	stranger := mcptest.Connect(t, s.URL+mcphttp.Path, nil, map[string]string{"Authorization": "Bearer " + bolt.Secret})
	fetch := func(c *client.Client, id string, page any) (*mcpgo.CallToolResult, string) {
		t.Helper()
		var req mcpgo.CallToolRequest
		req.Params.Name, req.Params.Arguments = "fetch", map[string]any{"id": id, "page": page}
		result, err := c.CallTool(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return result, result.Content[0].(mcpgo.TextContent).Text
	}
	var pictures []string
	for _, id := range []string{"handbook.pdf", d.DocumentId, d.DocumentId + ":0"} {
		result, text := fetch(c, id, 1)
		if result.IsError || !strings.Contains(text, "Page 1 of 2") || len(result.Content) != 2 {
			t.Fatalf("%s: %s", id, text)
		}
		picture, ok := result.Content[1].(mcpgo.ImageContent)
		raw, err := base64.StdEncoding.DecodeString(picture.Data)
		if !ok || err != nil || picture.MIMEType != "image/png" {
			t.Fatalf("%s: content %T, %v", id, result.Content[1], err)
		}
		if drawn, err := png.Decode(bytes.NewReader(raw)); err != nil || drawn.Bounds().Dx() != 1000 {
			t.Errorf("%s: %v", id, err)
		}
		pictures = append(pictures, picture.Data)
	}
	if pictures[0] != pictures[1] || pictures[1] == pictures[2] {
		t.Error("the passage that an id names is not highlighted, or another is")
	}
	for id, page := range map[string]any{"handbook.pdf": 3, d.DocumentId: 0, "note.txt": 1, "nothing.pdf": 1} {
		if result, text := fetch(c, id, page); !result.IsError {
			t.Errorf("page %v of %s: %s", page, id, text)
		}
	}
	for _, id := range []string{"handbook.pdf", d.DocumentId, d.DocumentId + ":0"} {
		if result, text := fetch(stranger, id, 1); !result.IsError || !strings.Contains(text, "not found") {
			t.Errorf("another tenant: %s", text)
		}
	}
}
