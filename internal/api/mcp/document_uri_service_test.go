package mcp_test

import (
	"encoding/base64"
	"errors"
	"os"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A document is also the resource of the URI that it was uploaded with, as it was uploaded. Two
// tenants have documents with equal URIs.
func TestADocumentIsReadByItsOwnURI(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	const page, own, pdf, twice, secret = "https://example.com/fees.html", "https://example.com/own", "crm://handbook", "crm://twice", "crm://secret"
	const html = "<h1>Fees</h1><p>The fee is 7.</p>"
	file, err := os.ReadFile("../../ingest/parse/testdata/files/handbook.pdf")
	if err != nil {
		t.Fatal(err)
	}
	upload := func(c servicetest.Client, index, uri, content string) {
		c.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: index, Uri: uri, Source: &ragdv1.UploadDocumentRequest_Content{Content: []byte(content)},
			Metadata: servicetest.Object(t, map[string]any{"secret": uri == secret}),
		})
	}
	for _, index := range []string{"docs", "more"} {
		acme.Index(t, index)
		upload(acme, index, twice, "There are two.")
	}
	upload(acme, "docs", page, html)
	upload(acme, "docs", own, "Only acme has this.")
	upload(acme, "docs", pdf, string(file))
	upload(acme, "docs", secret, "The code is 12.")
	globex.Index(t, "docs")
	upload(globex, "docs", page, "<p>The fee is 9.</p>")
	guest := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"secret": false})})
	for era, options := range mcptest.Eras {
		read := func(key, uri string) (mcpgo.ResourceContents, error) {
			c := mcptest.Connect(t, s.URL+mcphttp.Path, options, map[string]string{"Authorization": "Bearer " + key})
			var req mcpgo.ReadResourceRequest
			req.Params.URI = uri
			res, err := c.ReadResource(t.Context(), req)
			if err != nil {
				return nil, err
			}
			return res.Contents[0], nil
		}
		for key, want := range map[string]string{acme.Secret: html, guest: html, globex.Secret: "<p>The fee is 9.</p>"} {
			if got, err := read(key, page); err != nil || got.(mcpgo.TextResourceContents).Text != want || got.(mcpgo.TextResourceContents).URI != page {
				t.Errorf("%s: %+v, %v", era, got, err)
			}
		}
		if got, err := read(acme.Secret, pdf); err != nil || got.(mcpgo.BlobResourceContents).Blob != base64.StdEncoding.EncodeToString(file) {
			t.Errorf("%s: the file is %+v, %v", era, got, err)
		}
		for who, given := range map[string][2]string{"another tenant": {globex.Secret, own}, "a filter": {guest, secret}, "no document": {acme.Secret, "crm://none"}, "no URI": {acme.Secret, "fees.html"}} {
			if got, err := read(given[0], given[1]); err == nil || !strings.Contains(err.Error(), "no resource has the URI") {
				t.Errorf("%s: %s: %+v, %v", era, who, got, err)
			}
		}
		if got, err := read(acme.Secret, twice); err == nil || strings.Count(err.Error(), "ragd://indexes/") != 2 {
			t.Errorf("%s: a URI in two indexes: %+v, %v", era, got, err)
		}
	}

	notified := watching(t, s.URL+mcphttp.Path, "legacy", acme.Secret, own)
	upload(acme, "docs", own, "Acme has changed this.")
	collect(t, notified, "notifications/resources/updated "+own)
	stranger := mcptest.Connect(t, s.URL+mcphttp.Path, mcptest.Eras["legacy"], map[string]string{"Authorization": "Bearer " + globex.Secret})
	for _, uri := range []string{own, "crm://none", "ragd://indexes/none"} {
		var req mcpgo.SubscribeRequest
		req.Params.URI = uri
		if err := stranger.Subscribe(t.Context(), req); !errors.Is(err, mcpgo.ErrResourceNotFound) {
			t.Errorf("subscribing to %s: %v", uri, err)
		}
	}
}
