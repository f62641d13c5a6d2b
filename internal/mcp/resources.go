package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/jsonmessage"
	"github.com/ragdhq/ragd/internal/tenant"
)

// The resources:
//
//	ragd://indexes                                              the indexes
//	ragd://indexes/{index}                                      one of them
//	ragd://indexes/{index}/topics                               what its documents are about
//	ragd://indexes/{index}/documents/{documentId}               title, metadata and status of a document
//	ragd://indexes/{index}/documents/{documentId}/chunks/{chunks}  its text: "7" or "0-99"
const indexesURI = "ragd://indexes"

const (
	// resourcePage is the page size of the resource list.
	resourcePage = 100
	// maxChunksRead limits the chunks that one read returns.
	maxChunksRead = 100
	// maxEmptyIndexes limits the indexes without documents that one page skips.
	maxEmptyIndexes = 20
)

func indexURI(name string) string { return indexesURI + "/" + name }

func documentURI(index, documentID string) string {
	return indexURI(index) + "/documents/" + documentID
}

// addResources registers the resources with a server.
func (s *protocol) addResources(to *server.MCPServer) {
	to.AddResourceTemplate(mcpgo.NewResourceTemplate(indexesURI+"/{index}", "index",
		mcpgo.WithTemplateTitle("Index"), mcpgo.WithTemplateMIMEType("application/json"),
		mcpgo.WithTemplateDescription("How an index is set up and how much it holds."),
	), server.ResourceTemplateHandlerFunc(s.readResource))
	to.AddResourceTemplate(mcpgo.NewResourceTemplate(indexesURI+"/{index}/topics", "topics",
		mcpgo.WithTemplateTitle("Topics"), mcpgo.WithTemplateMIMEType("application/json"),
		mcpgo.WithTemplateDescription("What the documents of an index are about: its topics with their terms, central passages and documents."),
	), server.ResourceTemplateHandlerFunc(s.readResource))
	to.AddResourceTemplate(mcpgo.NewResourceTemplate(indexesURI+"/{index}/documents/{documentId}", "document",
		mcpgo.WithTemplateTitle("Document"), mcpgo.WithTemplateMIMEType("application/json"),
		mcpgo.WithTemplateDescription("What is known of a document: title, uri, metadata, state, and how many chunks it has."),
	), server.ResourceTemplateHandlerFunc(s.readResource))
	to.AddResourceTemplate(mcpgo.NewResourceTemplate(indexesURI+"/{index}/documents/{documentId}/chunks/{chunks}", "chunks",
		mcpgo.WithTemplateTitle("Text of a document"), mcpgo.WithTemplateMIMEType("text/plain"),
		mcpgo.WithTemplateDescription(fmt.Sprintf("The text of a document in chunks: one by its number from 0, such as 7, or up to %d, such as 0-99.", maxChunksRead)),
	), server.ResourceTemplateHandlerFunc(s.readResource))
	to.AddResource(mcpgo.NewResource(indexesURI, "indexes",
		mcpgo.WithResourceTitle("Indexes"), mcpgo.WithMIMEType("application/json"),
		mcpgo.WithResourceDescription("The indexes and how much each holds."),
	), s.readResource)
}

// readResource handles a read. The library sends the text of its errors to the caller.
func (s *protocol) readResource(ctx context.Context, req mcpgo.ReadResourceRequest) (_ []mcpgo.ResourceContents, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			err = publicError(ctx, err)
		}
	}()
	if hidesResources(ctx) {
		return nil, fault.New(fault.NotFound, "no resource has the URI %q", req.Params.URI)
	}
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	r, err := parseResource(req.Params.URI)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, r)
}

// publicError returns the public part of an error and logs the whole of it with the
// request.
func publicError(ctx context.Context, err error) error {
	httpserver.Fail(ctx, err)
	p := problemOf(err)
	if p.kind == fault.Internal {
		p.text += fmt.Sprintf(" (request id %s)", httpserver.RequestID(ctx))
	}
	return errors.New(p.text)
}

// resource is a parsed resource URI; empty fields are not part of it.
type resource struct {
	uri         string
	index       string
	topics      bool
	documentID  string
	first, last int // range of chunks; last is -1 without one
}

// parseResource parses a URI. Errors: NotFound.
func parseResource(uri string) (resource, error) {
	p := resource{uri: uri, last: -1}
	unknown := fault.New(fault.NotFound, "no resource has the URI %q", uri)
	rest, ok := strings.CutPrefix(uri, indexesURI)
	parts := strings.Split(rest, "/")
	if !ok || parts[0] != "" || len(parts) > 6 {
		return p, unknown
	}
	for i, part := range parts[1:] {
		var err error
		switch {
		case part == "":
			err = unknown
		case i == 0:
			p.index = part
		case i == 1 && part == "topics" && len(parts) == 3:
			p.topics = true
			return p, nil
		case i == 1 && part == "documents", i == 3 && part == "chunks":
		case i == 2:
			p.documentID = part
		case i == 4:
			p.first, p.last, err = parseRange(part)
		default:
			err = unknown
		}
		if err != nil {
			return p, err
		}
	}
	if len(parts) == 3 || len(parts) == 5 { // a URI that ends with "documents" or "chunks"
		return p, unknown
	}
	return p, nil
}

// parseRange parses "7" or "0-99". Errors: Invalid.
func parseRange(text string) (first, last int, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	a, errA := strconv.ParseUint(from, 10, 31)
	b, errB := strconv.ParseUint(to, 10, 31)
	if errA != nil || errB != nil || b < a || b-a >= maxChunksRead {
		return 0, -1, fault.Field("chunks", "must be the number of a chunk, or a range of at most %d such as 0-%d, got %q", maxChunksRead, maxChunksRead-1, text)
	}
	return int(a), int(b), nil
}

func (s *protocol) read(ctx context.Context, p resource) ([]mcpgo.ResourceContents, error) {
	switch {
	case p.last >= 0:
		return s.readChunks(ctx, p)
	case p.documentID != "":
		return jsonContents(p.uri)(s.api.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: p.index, DocumentId: p.documentID}))
	case p.topics:
		return jsonContents(p.uri)(s.api.ListTopics(ctx, &ragdv1.ListTopicsRequest{IndexName: p.index, PageSize: 1000}))
	case p.index != "":
		return jsonContents(p.uri)(s.api.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: p.index}))
	}
	var all ragdv1.ListIndexesResponse
	for token := ""; ; {
		res, err := s.api.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: 1000, PageToken: token})
		if err != nil {
			return nil, err
		}
		proto.Merge(&all, res)
		if token = res.GetNextPageToken(); token == "" {
			all.NextPageToken = ""
			return jsonContents(p.uri)(&all, nil)
		}
	}
}

// jsonContents returns a message as the JSON contents of a resource.
func jsonContents(uri string) func(proto.Message, error) ([]mcpgo.ResourceContents, error) {
	return func(m proto.Message, err error) ([]mcpgo.ResourceContents, error) {
		if err != nil {
			return nil, err
		}
		raw, err := jsonmessage.Append(nil, m)
		if err != nil {
			return nil, fmt.Errorf("encode the resource: %w", err)
		}
		return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: uri, MIMEType: "application/json", Text: string(raw)}}, nil
	}
}

// readChunks returns the texts of a range of chunks, each with its own URI. Errors:
// NotFound if there are none.
func (s *protocol) readChunks(ctx context.Context, p resource) ([]mcpgo.ResourceContents, error) {
	var contents []mcpgo.ResourceContents
	for token := ""; ; {
		res, err := s.api.ListChunks(ctx, &ragdv1.ListChunksRequest{
			IndexName: p.index, DocumentId: p.documentID, PageSize: int32(min(p.last+1, 1000)), PageToken: token,
		})
		if err != nil {
			return nil, err
		}
		for _, chunk := range res.GetChunks() {
			if n := int(chunk.GetOrdinal()); n >= p.first && n <= p.last {
				contents = append(contents, mcpgo.TextResourceContents{
					URI: fmt.Sprintf("%s/chunks/%d", documentURI(p.index, p.documentID), n), MIMEType: "text/plain", Text: chunk.GetText(),
				})
			}
		}
		token = res.GetNextPageToken()
		if read := res.GetChunks(); token == "" || len(read) > 0 && int(read[len(read)-1].GetOrdinal()) >= p.last {
			break
		}
	}
	if len(contents) == 0 {
		return nil, fault.New(fault.NotFound, "the document has no such chunks")
	}
	return contents, nil
}

// cursor is the start of the next page of the resource list, which holds first the
// indexes, then the documents of one index after another.
type cursor struct {
	Documents bool   `json:"d,omitempty"` // the indexes are listed
	Index     string `json:"i,omitempty"` // page token of ListIndexes
	Document  string `json:"p,omitempty"` // page token of ListDocuments for that index
}

// encode returns the cursor as a page token, in the encoding that the library demands.
func (c cursor) encode(ctx context.Context) mcpgo.Cursor {
	return mcpgo.Cursor(base64.StdEncoding.EncodeToString([]byte(tenant.Pages(ctx, "resources").Encode(c))))
}

// decode stores what encode returned for the same caller. Errors: Invalid.
func (c *cursor) decode(ctx context.Context, given mcpgo.Cursor) error {
	token, err := base64.StdEncoding.DecodeString(string(given))
	if err != nil {
		return fault.Field("cursor", "is not one that this list gave out")
	}
	return fault.Rename("pageToken", "cursor", tenant.Pages(ctx, "resources").Decode(string(token), c))
}

// listResources adds the caller's indexes and documents to a page of the list. A hook
// cannot return an error, so an invalid cursor yields an empty last page.
func (s *protocol) listResources(ctx context.Context, _ any, req *mcpgo.ListResourcesRequest, result *mcpgo.ListResourcesResult) {
	if hidesResources(ctx) {
		result.Resources, result.NextCursor = []mcpgo.Resource{}, ""
		return
	}
	var at cursor
	if given := req.Params.Cursor; given != "" {
		result.Resources = []mcpgo.Resource{} // the library's own entries are on the first page only
		if err := at.decode(ctx, given); err != nil {
			httpserver.Fail(ctx, err)
			return
		}
	}
	page, next, err := s.resourcePage(ctx, at)
	if err != nil {
		httpserver.Fail(ctx, err)
		return
	}
	result.Resources = append(result.Resources, page...)
	result.NextCursor = ""
	if next != nil {
		result.NextCursor = next.encode(ctx)
	}
}

func (s *protocol) resourcePage(ctx context.Context, at cursor) ([]mcpgo.Resource, *cursor, error) {
	if at.Documents {
		return s.documentPage(ctx, at)
	}
	res, err := s.api.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: resourcePage, PageToken: at.Index})
	if err != nil {
		return nil, nil, err
	}
	page := make([]mcpgo.Resource, len(res.GetIndexNames()))
	for i, name := range res.GetIndexNames() {
		page[i] = mcpgo.NewResource(indexURI(name), name, mcpgo.WithMIMEType("application/json"),
			mcpgo.WithResourceDescription("Index "+name))
	}
	switch {
	case res.GetNextPageToken() != "":
		return page, &cursor{Index: res.GetNextPageToken()}, nil
	case len(page) == 0:
		return page, nil, nil
	}
	return page, &cursor{Documents: true}, nil
}

// documentPage returns a page of the documents of one index, starting at a cursor.
func (s *protocol) documentPage(ctx context.Context, at cursor) ([]mcpgo.Resource, *cursor, error) {
	for range maxEmptyIndexes {
		index, err := s.api.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: 1, PageToken: at.Index})
		if err != nil || len(index.GetIndexNames()) == 0 {
			return nil, nil, err
		}
		name := index.GetIndexNames()[0]
		res, err := s.api.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: name, PageSize: resourcePage, PageToken: at.Document})
		if err != nil {
			return nil, nil, err
		}
		next := &cursor{Documents: true, Index: at.Index, Document: res.GetNextPageToken()}
		if next.Document == "" {
			next.Index = index.GetNextPageToken()
		}
		if next.Document == "" && next.Index == "" {
			next = nil
		}
		if len(res.GetDocuments()) > 0 || next == nil {
			return documentResources(name, res.GetDocuments()), next, nil
		}
		at = *next
	}
	return nil, &at, nil
}

func documentResources(index string, documents []*ragdv1.Document) []mcpgo.Resource {
	list := make([]mcpgo.Resource, len(documents))
	for i, d := range documents {
		list[i] = mcpgo.NewResource(documentURI(index, d.GetDocumentId()), d.GetUri(),
			mcpgo.WithResourceTitle(d.GetTitle()), mcpgo.WithMIMEType("application/json"),
			mcpgo.WithResourceDescription(fmt.Sprintf("Document of index %s, %s, %d chunks", index, d.GetStatus(), d.GetChunkCount())))
	}
	return list
}
