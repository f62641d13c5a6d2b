package mcp

import (
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// readDocument returns the start of a document's text, if it has one, and what is known of the
// document.
func (s *protocol) readDocument(ctx context.Context, p resource) ([]mcpgo.ResourceContents, error) {
	text, document, err := s.readText(ctx, p)
	metadata := jsonContents(documentURI(p.index, p.documentID) + "/metadata")
	if problemOf(err).kind == fault.Precondition && err != nil { // there is no text
		return metadata(s.api.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: p.index, DocumentId: p.documentID}))
	}
	if err != nil {
		return nil, err
	}
	known, err := metadata(document, nil)
	return append([]mcpgo.ResourceContents{text}, known...), err
}

// readText returns a range of a document's text.
func (s *protocol) readText(ctx context.Context, p resource) (mcpgo.TextResourceContents, *ragdv1.Document, error) {
	res, err := s.api.ReadDocument(ctx, &ragdv1.ReadDocumentRequest{IndexName: p.index, DocumentId: p.documentID, StartByte: p.start, EndByte: p.end})
	if err != nil {
		return mcpgo.TextResourceContents{}, nil, err
	}
	part := map[string]any{"startByte": res.GetStartByte(), "endByte": res.GetEndByte(), "byteSize": res.GetByteSize()}
	if res.GetEndByte() < res.GetByteSize() {
		part["next"] = fmt.Sprintf("%s/text?start=%d", documentURI(p.index, p.documentID), res.GetEndByte())
	}
	return mcpgo.TextResourceContents{URI: p.uri, MIMEType: res.GetContentType(), Text: res.GetText(), Meta: map[string]any{metaRange: part}}, res.GetDocument(), nil
}

// absoluteURI matches URIs that documents may be read under.
var absoluteURI = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:.`)

// documentWithURI returns the document that was uploaded with a URI. Errors: NotFound; Invalid if
// several indexes have one.
func (s *protocol) documentWithURI(ctx context.Context, uri string) (*ragdv1.Document, error) {
	if !absoluteURI.MatchString(uri) || strings.HasPrefix(uri, "ragd:") {
		return nil, unknownResource(uri)
	}
	var found *ragdv1.Document
	for _, index := range s.tools.IndexNames(ctx) {
		d, err := s.api.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: index, Uri: uri})
		switch {
		case err != nil && fault.KindOf(err) == fault.NotFound:
		case err != nil:
			return nil, err
		case found != nil:
			return nil, fault.Field("uri", "is that of documents in several indexes: read %s or %s", documentURI(found.GetIndexName(), found.GetDocumentId()), documentURI(index, d.GetDocumentId()))
		default:
			found = d
		}
	}
	if found == nil {
		return nil, unknownResource(uri)
	}
	return found, nil
}

// readAs returns a document as it was uploaded, as the resource of its own URI.
func (s *protocol) readAs(ctx context.Context, d *ragdv1.Document, uri string) ([]mcpgo.ResourceContents, error) {
	contents, err := s.readOriginal(ctx, resource{uri: uri, index: d.GetIndexName(), documentID: d.GetDocumentId()})
	if err != nil {
		return nil, err
	}
	blob := contents[0].(mcpgo.BlobResourceContents)
	content, err := base64.StdEncoding.DecodeString(blob.Blob)
	if err != nil || !isText(blob.MIMEType) || !utf8.Valid(content) {
		return contents, err
	}
	return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: uri, MIMEType: blob.MIMEType, Text: string(content)}}, nil
}

// isText reports whether content of a type is a text.
func isText(mimeType string) bool {
	media, _, err := mime.ParseMediaType(mimeType)
	return err == nil && (strings.HasPrefix(media, "text/") || media == "application/json" || media == "application/xml" || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml"))
}

// readOriginal returns a document as it was uploaded. Errors: Precondition for one that is too
// large for a message.
func (s *protocol) readOriginal(ctx context.Context, p resource) ([]mcpgo.ResourceContents, error) {
	var document *ragdv1.Document
	var content []byte
	err := s.api.Download(ctx, &ragdv1.DownloadDocumentRequest{IndexName: p.index, DocumentId: p.documentID}, func(m *ragdv1.DownloadDocumentResponse) error {
		if d := m.GetDocument(); d != nil {
			if d.GetByteSize() > maxOriginalBytes {
				return fault.New(fault.Precondition, "the original has %d bytes, and at most %d are read as a resource: call DownloadDocument, or `ragd document download %s --index %s`", d.GetByteSize(), maxOriginalBytes, p.documentID, p.index)
			}
			document, content = d, make([]byte, 0, d.GetByteSize())
		}
		content = append(content, m.GetContent()...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []mcpgo.ResourceContents{mcpgo.BlobResourceContents{
		URI: p.uri, MIMEType: document.GetContentType(), Blob: base64.StdEncoding.EncodeToString(content),
	}}, nil
}
