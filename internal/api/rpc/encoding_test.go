package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Text in a common encoding is converted, and its metadata name the encoding. In an
// uncertain one it is rejected at the upload, with what to do.
func TestUploadsOfTextInOtherEncodings(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	raw := func(text string) *ragdv1.UploadDocumentRequest_Content {
		return &ragdv1.UploadDocumentRequest_Content{Content: []byte(text)}
	}
	acme.Upload(t, &ragdv1.UploadDocumentRequest{Uri: "menu.txt", Source: raw("caf\xe9 au lait, cr\xe8me br\xfbl\xe9e")})
	uris, res := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: "crème", SearchMode: "keyword"})
	same(t, "uris", uris, []string{"menu.txt"})
	source := res.GetSources()[0]
	same(t, "text", source.GetDocument(), "café au lait, crème brûlée")
	same(t, "encoding", source.GetMetadata().GetFields()["file"].GetStructValue().GetFields()["encoding"].GetStringValue(), "windows-1252")

	_, err := acme.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{Uri: "b.txt", Source: raw("\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0")})
	servicetest.WantCode(t, "Cyrillic", err, connect.CodeInvalidArgument)
	if !strings.Contains(err.Error(), "content: is not UTF-8 text, and its encoding is not certain: convert it") {
		t.Error(err)
	}
	chunks, err := acme.ChunkText(t.Context(), &ragdv1.ChunkTextRequest{Source: &ragdv1.ChunkTextRequest_Content{Content: []byte("caf\xe9 au lait")}, ContentType: "text/plain"})
	if err != nil || len(chunks.GetChunks()) != 1 || chunks.GetChunks()[0].GetText() != "café au lait" {
		t.Errorf("chunks %v, error %v", chunks.GetChunks(), err)
	}
}
