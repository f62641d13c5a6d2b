package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestDocumentsAreSorted(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	acme.Index(t, "docs")
	other.Index(t, "docs")
	other.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "aa.md", Source: servicetest.Text("Of another tenant.")})
	for _, d := range []struct{ uri, title, text string }{
		{"c.md", "berths", strings.Repeat("Berth. ", 300)}, {"d.md", "", "Short."}, {"a.md", "Zone", "Some more."}, {"b.md", "Anchor", "Short."},
	} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: d.uri, Title: d.title, Source: servicetest.Text(d.text),
			Chunking: &ragdv1.Chunking{Strategy: "recursive", MaxSize: new(int32(400))},
		})
	}
	// list returns the uris of all pages of a size.
	list := func(orderBy string, size int32) string {
		var uris []string
		for token := ""; ; {
			res, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", OrderBy: orderBy, PageSize: size, PageToken: token})
			if err != nil {
				t.Fatal(orderBy, err)
			}
			for _, d := range res.GetDocuments() {
				uris = append(uris, strings.TrimSuffix(d.GetUri(), ".md"))
			}
			if token = res.GetNextPageToken(); token == "" {
				return strings.Join(uris, "")
			}
		}
	}
	for orderBy, want := range map[string]string{
		"": "cdab", "createTime": "cdab", "createTime desc": "badc", "uri": "abcd", "uri asc": "abcd", "uri desc": "dcba",
		"title": "bcda", "title desc": "adcb",
	} {
		for _, size := range []int32{1, 3, 100} {
			if got := list(orderBy, size); got != want {
				t.Errorf("%q in pages of %d: %s, want %s", orderBy, size, got, want)
			}
		}
	}
	for _, orderBy := range []string{"byteSize", "chunkCount", "updateTime", "status", "contentType"} {
		up, down := list(orderBy, 1), list(orderBy+" desc", 1)
		if len(up) != 4 || up != list(orderBy, 100) || down != list(orderBy+" desc", 100) || down[0] != up[3] {
			t.Errorf("%s: %s up, %s down", orderBy, up, down)
		}
	}
	if got := list("byteSize desc", 1); got[0] != 'c' {
		t.Errorf("the largest is not first: %s", got)
	}
	for _, bad := range []string{"size", "uri down", "uri desc desc", " uri", "uri; DROP TABLE documents", "Uri"} {
		_, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", OrderBy: bad})
		servicetest.WantCode(t, bad, err, connect.CodeInvalidArgument)
	}
	first, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", OrderBy: "uri", PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", OrderBy: "title", PageSize: 1, PageToken: first.GetNextPageToken()})
	servicetest.WantCode(t, "a token of another order", err, connect.CodeInvalidArgument)
}
