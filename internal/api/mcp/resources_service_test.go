package mcp_test

import (
	"slices"
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

// allResources returns all pages of the resource list.
func allResources(t *testing.T, c *client.Client) (uris []string) {
	t.Helper()
	var req mcpgo.ListResourcesRequest
	for range 20 {
		page, err := c.ListResourcesByPage(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Resources {
			uris = append(uris, r.URI)
		}
		if req.Params.Cursor = page.NextCursor; req.Params.Cursor == "" {
			return uris
		}
	}
	t.Fatal("the list has no end")
	return nil
}

func readResource(t *testing.T, c *client.Client, uri string) (string, error) {
	t.Helper()
	var req mcpgo.ReadResourceRequest
	req.Params.URI = uri
	res, err := c.ReadResource(t.Context(), req)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, content := range res.Contents {
		texts = append(texts, content.(mcpgo.TextResourceContents).Text)
	}
	return strings.Join(texts, "\n"), nil
}

// Resources are listed, read and completed for their own tenant only, and for a
// restricted key only as far as its filter allows.
func TestResourcesOverTheService(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	address := s.URL + mcphttp.Path
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	acme.Index(t, "docs")
	acme.Index(t, "empty")
	globex.Index(t, "docs")
	upload := func(uri, audience string) *ragdv1.Document {
		return acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: uri, Source: &ragdv1.UploadDocumentRequest_Text{Text: "The " + audience + " lighthouse."},
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"audience": structpb.NewStringValue(audience)}},
		})
	}
	public, secret := upload("public.md", "public"), upload("secret.md", "staff")
	publicURI, secretURI := documentURI(public.GetDocumentId()), documentURI(secret.GetDocumentId())
	restricted := s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"},
		MandatoryFilter: &structpb.Struct{Fields: map[string]*structpb.Value{"audience": structpb.NewStringValue("public")}},
	})
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			as := func(secret string) *client.Client {
				return mcptest.Connect(t, address, options, map[string]string{"Authorization": "Bearer " + secret})
			}
			c, other, guest := as(acme.Secret), as(globex.Secret), as(restricted)
			indexes := []string{"ragd://indexes", "ragd://indexes/docs", "ragd://indexes/empty"}
			if diff := cmp.Diff(append(slices.Clone(indexes), publicURI, secretURI), allResources(t, c)); diff != "" {
				t.Errorf("acme: %s", diff)
			}
			if diff := cmp.Diff([]string{"ragd://indexes", "ragd://indexes/docs"}, allResources(t, other)); diff != "" {
				t.Errorf("globex: %s", diff)
			}
			if diff := cmp.Diff(append(slices.Clone(indexes), publicURI), allResources(t, guest)); diff != "" {
				t.Errorf("the restricted key: %s", diff)
			}
			for uri, want := range map[string]string{
				"ragd://indexes":           `"empty"`,
				"ragd://indexes/docs":      `"documentCount":2`,
				secretURI:                  `"uri":"secret.md"`,
				secretURI + "/chunks/0":    "The staff lighthouse.",
				secretURI + "/chunks/0-99": "The staff lighthouse.",
				publicURI + "/chunks/0-0":  "The public lighthouse.",
			} {
				if text, err := readResource(t, c, uri); err != nil || !strings.Contains(text, want) {
					t.Errorf("%s: %q, %v", uri, text, err)
				}
			}
			for _, uri := range []string{secretURI, secretURI + "/chunks/0"} {
				for name, stranger := range map[string]*client.Client{"globex": other, "the restricted key": guest} {
					if text, err := readResource(t, stranger, uri); err == nil || strings.Contains(err.Error(), "staff") {
						t.Errorf("%s reads %s: %q, %v", name, uri, text, err)
					}
				}
			}
			for _, uri := range []string{"ragd://indexes/none", publicURI + "/chunks/1", publicURI + "/chunks/x"} {
				if text, err := readResource(t, c, uri); err == nil {
					t.Errorf("%s: %q", uri, text)
				}
			}

			complete := func(c *client.Client, name, value string) []string {
				t.Helper()
				var req mcpgo.CompleteRequest
				req.Params.Ref = mcpgo.ResourceReference{Type: "ref/resource", URI: "ragd://indexes/{index}/documents/{documentId}"}
				req.Params.Argument = mcpgo.CompleteArgument{Name: name, Value: value}
				req.Params.Context = mcpgo.CompleteContext{Arguments: map[string]string{"index": "docs"}}
				res, err := c.Complete(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				return res.Completion.Values
			}
			for _, tc := range []struct {
				as          *client.Client
				name, value string
				want        []string
			}{
				{c, "index", "D", []string{"docs"}},
				{other, "index", "", []string{"docs"}},
				{c, "documentId", secret.GetDocumentId()[:12], []string{secret.GetDocumentId()}},
				{other, "documentId", "", []string{}},
				{c, "uri", "", []string{"public.md", "secret.md"}},
				{guest, "uri", "", []string{"public.md"}},
				{c, "metadataKey", "a", []string{"audience"}},
				{other, "metadataKey", "", []string{}},
				{c, "nothing", "", []string{}},
			} {
				got := complete(tc.as, tc.name, tc.value)
				if tc.name == "documentId" && tc.value != "" && !slices.Contains(got, tc.want[0]) || tc.value == "" && cmp.Diff(tc.want, got) != "" {
					t.Errorf("%s %q: %v, want %v", tc.name, tc.value, got, tc.want)
				}
			}
		})
	}
}
