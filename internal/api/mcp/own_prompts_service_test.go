package mcp_test

import (
	"errors"
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

func promptNames(t *testing.T, c *client.Client) string {
	t.Helper()
	list, err := c.ListPrompts(t.Context(), mcpgo.ListPromptsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list.Prompts {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

// A tenant's prompts are listed beside the builtin ones. What they embed is read with the rights of
// the caller.
func TestPromptsOfTenantsOverTheService(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	acme.Index(t, "docs")
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "fees.md", Source: servicetest.Text("The fee is 7."), Metadata: servicetest.Object(t, map[string]any{"team": "red"})})
	uri := documentURI("{{arguments.documentId}}")
	_, err := acme.CreatePrompt(t.Context(), &ragdv1.CreatePromptRequest{
		PromptName: "explain_fees", Description: "Explain a document about fees.", VersionName: "first", Arguments: []*ragdv1.PromptArgument{{Name: "documentId", Title: "Document", Required: true}},
		Messages: []*ragdv1.PromptMessage{
			{Content: &ragdv1.PromptMessage_Text{Text: "Explain this of {{tenant}}."}},
			{Content: &ragdv1.PromptMessage_Resource{Resource: &ragdv1.PromptResource{Uri: uri + "/text"}}},
			{Role: "assistant", Content: &ragdv1.PromptMessage_ResourceLink{ResourceLink: &ragdv1.PromptResource{Uri: uri + "/original", Name: "original"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	blue := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "blue"})})
	bound := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Prompts: allowed("build_filter")})
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			as := func(secret string) *client.Client {
				return mcptest.Connect(t, s.URL+mcphttp.Path, options, map[string]string{"Authorization": "Bearer " + secret})
			}
			const builtin = "answer_with_sources build_filter compare_documents summarise_document"
			c := as(acme.Secret)
			for who, want := range map[*client.Client]string{c: builtin + " explain_fees", as(globex.Secret): builtin, as(bound): "build_filter"} {
				if got := promptNames(t, who); got != want {
					t.Errorf("listed are %s, want %s", got, want)
				}
			}
			var req mcpgo.GetPromptRequest
			req.Params.Name, req.Params.Arguments = "explain_fees", map[string]string{"documentId": d.DocumentId}
			for _, version := range []any{nil, 1, "1", "first", "latest"} {
				req.Params.Meta = mcpgo.NewMetaFromMap(map[string]any{"ragd/version": version})
				got, err := c.GetPrompt(t.Context(), req)
				if err != nil || len(got.Messages) != 3 || got.Meta.AdditionalFields["ragd/versionName"] != "first" {
					t.Fatalf("version %v: %+v, %v", version, got, err)
				}
				text := got.Messages[0].Content.(mcpgo.TextContent).Text
				embedded := got.Messages[1].Content.(mcpgo.EmbeddedResource).Resource.(mcpgo.TextResourceContents)
				link := got.Messages[2].Content.(mcpgo.ResourceLink)
				if text != "Explain this of acme." || embedded.Text != "The fee is 7." || link.URI != documentURI(d.DocumentId)+"/original" || got.Messages[2].Role != mcpgo.RoleAssistant {
					t.Errorf("messages %+v", got.Messages)
				}
			}
			refused := func(who string, c *client.Client, name, documentID string, version any) {
				t.Helper()
				req.Params.Name, req.Params.Arguments = name, map[string]string{}
				if documentID != "" {
					req.Params.Arguments["documentId"] = documentID
				}
				req.Params.Meta = mcpgo.NewMetaFromMap(map[string]any{"ragd/version": version})
				if got, err := c.GetPrompt(t.Context(), req); !errors.Is(err, mcpgo.ErrInvalidParams) || strings.Contains(err.Error(), "fee is") {
					t.Errorf("%s: %+v, %v", who, got, err)
				}
			}
			refused("an unknown version", c, "explain_fees", d.DocumentId, 2)
			refused("an unknown name of a version", c, "explain_fees", d.DocumentId, "second")
			refused("an unknown version of a builtin", c, "build_filter", "", 9)
			refused("no version", c, "explain_fees", d.DocumentId, []any{1})
			refused("a missing argument", c, "explain_fees", "", nil)
			refused("an unknown prompt", c, "nothing", "", nil)
			refused("the library's prompt", c, "any", "", nil)
			refused("an argument that leaves its path", c, "explain_fees", "../../other", nil)
			refused("another tenant", as(globex.Secret), "explain_fees", d.DocumentId, nil)
			refused("a hidden document", as(blue), "explain_fees", d.DocumentId, nil)
			refused("a bound key", as(bound), "explain_fees", d.DocumentId, nil)
			refused("a bound key and a builtin prompt", as(bound), "answer_with_sources", "", nil)
		})
	}
}
