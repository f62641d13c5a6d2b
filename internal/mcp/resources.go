package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
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
)

// What the service holds, as resources:
//
//	ragd://indexes                                              the indexes
//	ragd://indexes/{index}                                      one of them
//	ragd://indexes/{index}/documents/{documentId}               what is known of a document
//	ragd://indexes/{index}/documents/{documentId}/chunks/{chunks}  its text: "7" or "0-99"
const indexesURI = "ragd://indexes"

const (
	// resourcePage is how many resources a page of the list has at most.
	resourcePage = 100
	// maxChunksRead bounds the chunks that one read returns.
	maxChunksRead = 100
	// maxEmptyIndexes bounds the indexes without documents that one page passes.
	maxEmptyIndexes = 20
)

func indexURI(name string) string { return indexesURI + "/" + name }

func documentURI(index, documentID string) string {
	return indexURI(index) + "/documents/" + documentID
}

// addResources makes the resources known to a server.
func (s *toolset) addResources(to *server.MCPServer) {
	to.AddResourceTemplate(mcpgo.NewResourceTemplate(indexesURI+"/{index}", "index",
		mcpgo.WithTemplateTitle("Index"), mcpgo.WithTemplateMIMEType("application/json"),
		mcpgo.WithTemplateDescription("How an index is set up and how much it holds."),
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

// readResource answers a read. Its errors are for the caller's eyes: the library
// sends their text.
func (s *toolset) readResource(ctx context.Context, req mcpgo.ReadResourceRequest) (_ []mcpgo.ResourceContents, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			err = shown(ctx, err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	place, err := parseResource(req.Params.URI)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, place)
}

// shown returns an error as its caller may see it, and puts the whole of it on
// the line of the request.
func shown(ctx context.Context, err error) error {
	httpserver.Fail(ctx, err)
	p := problemOf(err)
	if p.kind == fault.Internal {
		p.text += fmt.Sprintf(" (request id %s)", httpserver.RequestID(ctx))
	}
	return errors.New(p.text)
}

// place is what a resource's URI names; what is empty is not part of it.
type place struct {
	uri         string
	index       string
	documentID  string
	first, last int // of its chunks; last is -1 without them
}

// parseResource reads a URI. Errors: NotFound.
func parseResource(uri string) (place, error) {
	p := place{uri: uri, last: -1}
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
	if len(parts) == 3 || len(parts) == 5 { // ends with documents or chunks
		return p, unknown
	}
	return p, nil
}

// parseRange reads "7" or "0-99". Errors: Invalid.
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

func (s *toolset) read(ctx context.Context, p place) ([]mcpgo.ResourceContents, error) {
	switch {
	case p.last >= 0:
		return s.readChunks(ctx, p)
	case p.documentID != "":
		return described(p.uri)(s.api.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: p.index, DocumentId: p.documentID}))
	case p.index != "":
		return described(p.uri)(s.api.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: p.index}))
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
			return described(p.uri)(&all, nil)
		}
	}
}

// described returns a message as the contents of a resource.
func described(uri string) func(proto.Message, error) ([]mcpgo.ResourceContents, error) {
	return func(m proto.Message, err error) ([]mcpgo.ResourceContents, error) {
		if err != nil {
			return nil, err
		}
		raw, err := encode(m)
		if err != nil {
			return nil, fmt.Errorf("encode the resource: %w", err)
		}
		return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: uri, MIMEType: "application/json", Text: string(raw)}}, nil
	}
}

// readChunks returns the texts of a range of chunks, each under its own URI.
// Errors: NotFound when there is none.
func (s *toolset) readChunks(ctx context.Context, p place) ([]mcpgo.ResourceContents, error) {
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

// cursor is where the next page of the list of resources begins: first come the
// indexes, then the documents of one after another.
type cursor struct {
	Documents bool   `json:"d,omitempty"` // past the indexes
	Index     string `json:"i,omitempty"` // page token of the list of indexes
	Document  string `json:"p,omitempty"` // page token of the documents of that index
}

func (c cursor) encode() mcpgo.Cursor {
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // three plain fields
	}
	return mcpgo.Cursor(base64.StdEncoding.EncodeToString(raw))
}

// listResources adds the caller's indexes and documents to a page of the list. A
// hook cannot fail: a cursor that is not ours ends the list.
func (s *toolset) listResources(ctx context.Context, _ any, req *mcpgo.ListResourcesRequest, result *mcpgo.ListResourcesResult) {
	var at cursor
	if given := req.Params.Cursor; given != "" {
		result.Resources = []mcpgo.Resource{} // what the library lists stands on the first page
		raw, err := base64.StdEncoding.DecodeString(string(given))
		if err == nil {
			err = json.Unmarshal(raw, &at)
		}
		if err != nil {
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
		result.NextCursor = next.encode()
	}
}

func (s *toolset) resourcePage(ctx context.Context, at cursor) ([]mcpgo.Resource, *cursor, error) {
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

// documentPage returns the documents from a place in the list on, of one index.
func (s *toolset) documentPage(ctx context.Context, at cursor) ([]mcpgo.Resource, *cursor, error) {
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
