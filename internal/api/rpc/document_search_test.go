package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestDocumentsAreFoundByPathOrTitle(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	for _, c := range []servicetest.Client{acme, other} {
		c.Index(t, "docs")
	}
	other.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "tides-of-another.md", Source: servicetest.Text("Of another tenant.")})
	for uri, title := range map[string]string{"sea/Tides.md": "High water", "berths.md": "Straße der Gezeiten", "100%_free.md": "Fees"} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Title: title, Source: servicetest.Text(title)})
	}
	for search, want := range map[string]string{
		"tide": "sea/Tides.md", "HIGH WATER": "sea/Tides.md", "straße": "berths.md", "%_": "100%_free.md", "nothing": "", "o": "",
	} {
		res, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", Search: search})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, d := range res.GetDocuments() {
			found = append(found, d.GetUri())
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q found %q, want %q", search, got, want)
		}
	}
	_, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", Search: strings.Repeat("x", 257)})
	servicetest.WantCode(t, "a long search", err, connect.CodeInvalidArgument)
}
