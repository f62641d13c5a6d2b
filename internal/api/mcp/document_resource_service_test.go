package mcp_test

import (
	"encoding/base64"
	"errors"
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

func contentsOf(t *testing.T, c *client.Client, uri string) []mcpgo.ResourceContents {
	t.Helper()
	var req mcpgo.ReadResourceRequest
	req.Params.URI = uri
	res, err := c.ReadResource(t.Context(), req)
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	return res.Contents
}

// A document is read as text and as it was uploaded, by those alone who may read it.
func TestDocumentsAreReadAsResources(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	acme.Index(t, "docs")
	globex.Index(t, "docs")
	pdf, err := os.ReadFile("../../ingest/parse/testdata/files/handbook.pdf")
	if err != nil {
		t.Fatal(err)
	}
	team := func(name string) *ragdv1.CreateApiKeyRequest {
		return &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": name})}
	}
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "handbook.pdf", Source: &ragdv1.UploadDocumentRequest_Content{Content: pdf}, Metadata: servicetest.Object(t, map[string]any{"team": "red"}),
	})
	broken, err := os.ReadFile("../../ingest/parse/testdata/hostile/encrypted.pdf")
	if err != nil {
		t.Fatal(err)
	}
	unread := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "broken.pdf", Source: &ragdv1.UploadDocumentRequest_Content{Content: broken}, Metadata: servicetest.Object(t, map[string]any{"team": "red"}),
	})
	uri := documentURI(d.GetDocumentId())
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			as := func(secret string) *client.Client {
				return mcptest.Connect(t, s.URL+mcphttp.Path, options, map[string]string{"Authorization": "Bearer " + secret})
			}
			for who, c := range map[string]*client.Client{"acme": as(acme.Secret), "its reader": as(s.Key(t, team("red")))} {
				whole := contentsOf(t, c, uri)
				text, known := whole[0].(mcpgo.TextResourceContents), whole[1].(mcpgo.TextResourceContents)
				if !strings.Contains(text.Text, "# Harbour handbook") || text.MIMEType != "text/markdown" || known.URI != uri+"/metadata" || !strings.Contains(known.Text, `"uri":"handbook.pdf"`) {
					t.Errorf("%s reads %+v", who, whole)
				}
				part := contentsOf(t, c, uri+"/text?start=2&end=9")[0].(mcpgo.TextResourceContents)
				if part.Text != text.Text[2:9] || part.Meta["ragd/range"].(map[string]any)["next"] != uri+"/text?start=9" {
					t.Errorf("%s reads the range %+v", who, part)
				}
				original := contentsOf(t, c, uri+"/original")[0].(mcpgo.BlobResourceContents)
				if original.Blob != base64.StdEncoding.EncodeToString(pdf) || original.MIMEType != "application/pdf" {
					t.Errorf("%s reads an original of %d bytes, %s", who, len(original.Blob), original.MIMEType)
				}
				if unreadable := contentsOf(t, c, documentURI(unread.GetDocumentId())); len(unreadable) != 1 || !strings.Contains(unreadable[0].(mcpgo.TextResourceContents).Text, `"status":"failed"`) {
					t.Errorf("%s reads of a document without text %+v", who, unreadable)
				}
				if _, err := readResource(t, c, uri+"/text?end=9999999"); err == nil || !strings.Contains(err.Error(), "4194304") {
					t.Errorf("a range that is too large: %v", err)
				}
			}
			for who, c := range map[string]*client.Client{"another tenant": as(globex.Secret), "another team": as(s.Key(t, team("blue")))} {
				for _, suffix := range []string{"", "/metadata", "/text", "/text?start=1", "/original", "/chunks/0"} {
					text, err := readResource(t, c, uri+suffix)
					unknown := "00000000-0000-7000-8000-000000000000"
					_, same := readResource(t, c, documentURI(unknown)+suffix)
					if err == nil || same == nil || strings.ReplaceAll(err.Error(), d.GetDocumentId(), unknown) != same.Error() {
						t.Errorf("%s reads %s: %q, %v; of an unknown one %v", who, uri+suffix, text, err, same)
					}
				}
			}
		})
	}
}

func TestListedDocumentsHaveSizeTypeAndTime(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a.html", ContentType: "text/html", Source: servicetest.Text("<h1>Tides</h1><p>High at noon.")})
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			c := mcptest.Connect(t, s.URL+mcphttp.Path, options, map[string]string{"Authorization": "Bearer " + acme.Secret})
			list, err := c.ListResources(t.Context(), mcpgo.ListResourcesRequest{})
			if err != nil {
				t.Fatal(err)
			}
			r := list.Resources[len(list.Resources)-1]
			text, err := readResource(t, c, r.URI+"/text")
			if err != nil || r.Size == nil || *r.Size != int64(len(text)) || r.MIMEType != "text/markdown" || r.Annotations == nil || r.Annotations.LastModified == "" || len(r.Annotations.Audience) != 2 {
				t.Errorf("%+v, %v", r, err)
			}
			templates, err := c.ListResourceTemplates(t.Context(), mcpgo.ListResourceTemplatesRequest{})
			if err != nil || len(templates.ResourceTemplates) != 7 {
				t.Errorf("templates %v, %v", templates, err)
			}
		})
	}
}

// A resource that does not exist and a cursor that no list gave out have codes of their own, as
// each revision of the protocol wants.
func TestUnknownResourcesAndCursorsHaveTheirCodes(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for era, notFound := range map[string]error{"legacy": mcpgo.ErrResourceNotFound, "modern": mcpgo.ErrInvalidParams} {
		c := mcptest.Connect(t, s.URL+mcphttp.Path, mcptest.Eras[era], map[string]string{"Authorization": "Bearer " + acme.Secret})
		for _, uri := range []string{"ragd://nothing", "file:///etc/passwd", "ragd://indexes/none", "ragd://indexes/docs/documents/d1", "ragd://indexes/docs/documents/00000000-0000-7000-8000-000000000000/original", "ragd://indexes/docs/documents/d1/text?begin=1"} {
			if _, err := readResource(t, c, uri); !errors.Is(err, notFound) {
				t.Errorf("%s: %q: %v", era, uri, err)
			}
		}
		for _, cursor := range []mcpgo.Cursor{"!", "bm9uc2Vuc2U=", "nonsense"} {
			page := mcpgo.PaginatedRequest{Params: mcpgo.PaginatedParams{Cursor: cursor}}
			_, tools := c.ListToolsByPage(t.Context(), mcpgo.ListToolsRequest{PaginatedRequest: page})
			_, resources := c.ListResourcesByPage(t.Context(), mcpgo.ListResourcesRequest{PaginatedRequest: page})
			_, templates := c.ListResourceTemplatesByPage(t.Context(), mcpgo.ListResourceTemplatesRequest{PaginatedRequest: page})
			_, prompts := c.ListPromptsByPage(t.Context(), mcpgo.ListPromptsRequest{PaginatedRequest: page})
			for list, err := range map[string]error{"tools": tools, "resources": resources, "templates": templates, "prompts": prompts} {
				if !errors.Is(err, mcpgo.ErrInvalidParams) {
					t.Errorf("%s: %s from %q: %v", era, list, cursor, err)
				}
			}
		}
	}
}
