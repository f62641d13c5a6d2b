package mcp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func getPrompt(t *testing.T, c *client.Client, name string, arguments map[string]string) (string, error) {
	t.Helper()
	var req mcpgo.GetPromptRequest
	req.Params.Name, req.Params.Arguments = name, arguments
	res, err := c.GetPrompt(t.Context(), req)
	if err != nil {
		return "", err
	}
	if res.Meta.AdditionalFields["ragd/version"] == nil {
		t.Errorf("%s has no version", name)
	}
	return res.Messages[0].Content.(mcpgo.TextContent).Text, nil
}

// Prompts name only indexes and documents of the caller's tenant.
func TestPromptsOverTheService(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	address := s.URL + mcphttp.Path
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	acme.Index(t, "docs")
	globex.Index(t, "docs")
	for _, uri := range []string{"a.md", "b.md"} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: uri, Source: &ragdv1.UploadDocumentRequest_Text{Text: "About " + uri},
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"codename": structpb.NewStringValue("heron-" + uri)}},
		})
	}
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			as := func(secret string) *client.Client {
				return mcptest.Connect(t, address, options, map[string]string{"Authorization": "Bearer " + secret})
			}
			c, other := as(acme.Secret), as(globex.Secret)
			listed, err := c.ListPrompts(t.Context(), mcpgo.ListPromptsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, p := range listed.Prompts {
				names = append(names, p.Name)
				if p.Meta == nil || p.Meta.AdditionalFields["ragd/version"] == nil || p.Title == "" || p.Description == "" {
					t.Errorf("%s lacks a version, title or description", p.Name)
				}
			}
			if diff := cmp.Diff([]string{"answer_with_sources", "build_filter", "compare_documents", "summarise_document"}, names); diff != "" {
				t.Error(diff)
			}
			for _, tc := range []struct {
				name      string
				arguments map[string]string
				says      []string
			}{
				{"answer_with_sources", map[string]string{"question": "How high?", "indexName": "docs"}, []string{"How high?", `with indexName "docs"`, "[1]"}},
				{"compare_documents", map[string]string{"firstUri": "a.md", "secondUri": "b.md", "aspect": "the tone"}, []string{"the tone", `uri "a.md"`, `uri "b.md"`, "/chunks/0-0"}},
				{"summarise_document", map[string]string{"uri": "a.md"}, []string{`uri "a.md"`, "ragd://indexes/docs/documents/"}},
				{"build_filter", map[string]string{"wish": "only herons", "metadataKey": "codename"}, []string{"only herons", `"codename", such as "heron-a.md", "heron-b.md"`, `Use the field "codename"`}},
			} {
				text, err := getPrompt(t, c, tc.name, tc.arguments)
				if err != nil {
					t.Errorf("%s: %v", tc.name, err)
				}
				for _, part := range tc.says {
					if !strings.Contains(text, part) {
						t.Errorf("%s does not say %q: %s", tc.name, part, text)
					}
				}
			}
			for _, tc := range []struct {
				as        *client.Client
				name      string
				arguments map[string]string
				says      string
			}{
				{c, "answer_with_sources", nil, "question: is required"},
				{c, "summarise_document", map[string]string{"uri": "none.md"}, "not found"},
				{c, "build_filter", map[string]string{"wish": "x", "metadataKey": "colour"}, "there are: codename"},
				{other, "summarise_document", map[string]string{"uri": "a.md"}, "not found"},
				{other, "build_filter", map[string]string{"wish": "x", "metadataKey": "codename"}, `no document has the metadata field "codename"`},
			} {
				text, err := getPrompt(t, tc.as, tc.name, tc.arguments)
				if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "heron") {
					t.Errorf("%s %v: %q, %v", tc.name, tc.arguments, text, err)
				}
			}
			if text, err := getPrompt(t, other, "build_filter", map[string]string{"wish": "x"}); err != nil || strings.Contains(text, "heron") {
				t.Errorf("another tenant's metadata: %q, %v", text, err)
			}
		})
	}
}
