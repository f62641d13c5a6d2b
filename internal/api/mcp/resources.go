package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// The resources:
//
//	ragd://indexes                                              the indexes
//	ragd://indexes/{index}                                      one of them
//	ragd://indexes/{index}/topics                               what its documents are about
//	ragd://indexes/{index}/documents/{documentId}               text of a document, and what is known of it
//	ragd://indexes/{index}/documents/{documentId}/metadata      what is known of it alone
//	ragd://indexes/{index}/documents/{documentId}/text{?start,end}  a range of its text, in bytes
//	ragd://indexes/{index}/documents/{documentId}/original      its bytes as they were uploaded
//	ragd://indexes/{index}/documents/{documentId}/chunks/{chunks}  its text in chunks: "7" or "0-99"
//
// A document that was uploaded with a URI is also the resource of that URI.
const indexesURI = "ragd://indexes"

const (
	// resourcePage is the page size of the resource list.
	resourcePage = 100
	// maxChunksRead limits the chunks that one read returns.
	maxChunksRead = 100
	// maxEmptyIndexes limits the indexes without documents that one page skips.
	maxEmptyIndexes = 20
	// maxOriginalBytes limits the originals that are read as resources.
	maxOriginalBytes = 8 << 20
)

// metaRange is the key in the _meta of a text that holds which range of the document's text it
// is, and the URI of the next.
const metaRange = "ragd/range"

func indexURI(name string) string { return indexesURI + "/" + name }

func documentURI(index, documentID string) string {
	return indexURI(index) + "/documents/" + documentID
}

// templates are the templates of resources below indexesURI.
var templates = []struct{ path, name, title, mimeType, description string }{
	{"/{index}", "index", "Index", "application/json", "How an index is set up and how much it holds."},
	{"/{index}/topics", "topics", "Topics", "application/json", "What the documents of an index are about: its topics with their terms, central passages and documents."},
	{"/{index}/documents/{documentId}", "document", "Document", "", "The text of a document as it was read, up to 1 MiB of it, and its title, uri, metadata and state as JSON."},
	{"/{index}/documents/{documentId}/metadata", "metadata", "Metadata of a document", "application/json", "What is known of a document: title, uri, metadata, state, and how many chunks it has."},
	{"/{index}/documents/{documentId}/text{?start,end}", "text", "Text of a document", "", "The text of a document as it was read, or a range of it in bytes, in which positions of chunks are counted."},
	{"/{index}/documents/{documentId}/original", "original", "Original of a document", "", "A document as it was uploaded, if it has at most 8 MiB."},
	{"/{index}/documents/{documentId}/chunks/{chunks}", "chunks", "Chunks of a document", "text/plain", "The text of a document in chunks: one by its number from 0, such as 7, or up to 100, such as 0-99."},
}

// addResources registers the resources with a server.
func (s *protocol) addResources(to *server.MCPServer) {
	for _, t := range templates {
		to.AddResourceTemplate(mcpgo.NewResourceTemplate(indexesURI+t.path, t.name,
			mcpgo.WithTemplateTitle(t.title), mcpgo.WithTemplateMIMEType(t.mimeType), mcpgo.WithTemplateDescription(t.description),
		), server.ResourceTemplateHandlerFunc(answerRead))
	}
	to.AddResource(mcpgo.NewResource(indexesURI, "indexes",
		mcpgo.WithResourceTitle("Indexes"), mcpgo.WithMIMEType("application/json"),
		mcpgo.WithResourceDescription("The indexes and how much each holds."),
	), answerRead)
}

// metaRead is the key in the _meta of a read with its outcome. Nothing that a client sends
// decodes to an outcome.
const metaRead = "ragd/read"

type outcome struct {
	contents []mcpgo.ResourceContents
	err      error
}

// routeRead reads a resource and passes the outcome to answerRead, which is the handler of one URI
// that the library knows.
func (s *protocol) routeRead(ctx context.Context, _ any, req *mcpgo.ReadResourceRequest) {
	uri := req.Params.URI
	contents, err := s.readResource(ctx, uri)
	if kind := problemOf(err).kind; err != nil && (kind == fault.NotFound || kind == fault.Invalid) {
		mcphttp.Fail(ctx, mcphttp.Failure{Code: notFoundCode(ctx), Message: publicError(ctx, err).Error(), Data: map[string]any{"uri": uri}})
	}
	meta := mcpgo.Meta{}
	if req.Params.Meta != nil {
		meta = *req.Params.Meta
	}
	meta.AdditionalFields = maps.Clone(meta.AdditionalFields)
	if meta.AdditionalFields == nil {
		meta.AdditionalFields = map[string]any{}
	}
	meta.AdditionalFields[metaRead] = outcome{contents, err}
	req.Params.Meta, req.Params.URI = &meta, indexesURI
}

// notFoundCode returns the code of errors for a URI of no resource.
func notFoundCode(ctx context.Context) int {
	if clientIsModern(ctx) {
		return mcpgo.INVALID_PARAMS
	}
	return mcpgo.RESOURCE_NOT_FOUND
}

// answerRead handles all reads. The library sends the text of its errors to the caller.
func answerRead(ctx context.Context, req mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
	var read outcome
	if req.Params.Meta != nil {
		read, _ = req.Params.Meta.AdditionalFields[metaRead].(outcome)
	}
	if read.err != nil {
		return nil, publicError(ctx, read.err)
	}
	return read.contents, nil
}

// readResource returns the contents of a resource. Errors: NotFound and Invalid for a URI of no
// resource.
func (s *protocol) readResource(ctx context.Context, uri string) (_ []mcpgo.ResourceContents, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if hidesResources(ctx) {
		return nil, fault.New(fault.NotFound, "no resource has the URI %q", uri)
	}
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	if !strings.HasPrefix(uri, indexesURI) {
		d, err := s.documentWithURI(ctx, uri)
		if err != nil {
			return nil, err
		}
		return s.readAs(ctx, d, uri)
	}
	r, err := parseResource(uri)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, r)
}

// badCursor returns a cursor that the library refuses with the code of invalid parameters.
func badCursor(ctx context.Context) mcpgo.Cursor {
	return mcpgo.Cursor(mcphttp.Refuse(ctx, "cursor: is not one that this list gave out: begin again without a cursor"))
}

// refuseBadCursors registers hooks that refuse cursors which a list did not give out. The lists
// of tools and templates have one page.
func (s *protocol) refuseBadCursors(hooks *server.Hooks) {
	hooks.AddBeforeListTools(func(ctx context.Context, _ any, req *mcpgo.ListToolsRequest) {
		if req.Params.Cursor != "" {
			req.Params.Cursor = badCursor(ctx)
		}
	})
	hooks.AddBeforeListPrompts(func(ctx context.Context, _ any, req *mcpgo.ListPromptsRequest) {
		if given := req.Params.Cursor; given != "" {
			if _, err := promptToken(ctx, given); err != nil {
				req.Params.Cursor = badCursor(ctx)
			}
		}
	})
	hooks.AddBeforeListResourceTemplates(func(ctx context.Context, _ any, req *mcpgo.ListResourceTemplatesRequest) {
		if req.Params.Cursor != "" {
			req.Params.Cursor = badCursor(ctx)
		}
	})
	hooks.AddBeforeListResources(func(ctx context.Context, _ any, req *mcpgo.ListResourcesRequest) {
		if given := req.Params.Cursor; given != "" && new(cursor).decode(ctx, given) != nil {
			req.Params.Cursor = badCursor(ctx)
		}
	})
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
	documentID  string
	aspect      string // of an index: topics; of a document: metadata, text, original or chunks
	first, last int    // range of chunks
	start, end  uint32 // range of the text; an end of 0 is none
}

// resourcePattern matches what follows indexesURI.
var resourcePattern = regexp.MustCompile(`^(?:/([^/?]+)(?:/(topics)|/documents/([^/?]+)(?:/(metadata|text|original|chunks)(?:/([^/?]+))?(?:\?(.*))?)?)?)?$`)

// parseResource parses a URI. Errors: NotFound; Invalid for a range that cannot be.
func parseResource(uri string) (resource, error) {
	p := resource{uri: uri}
	rest, ok := strings.CutPrefix(uri, indexesURI)
	match := resourcePattern.FindStringSubmatch(rest)
	if !ok || match == nil {
		return p, unknownResource(uri)
	}
	p.index, p.documentID, p.aspect = match[1], match[3], match[2]+match[4]
	chunks, query := match[5], match[6]
	if (chunks != "") != (p.aspect == "chunks") || strings.Contains(rest, "?") && p.aspect != "text" {
		return p, unknownResource(uri)
	}
	var err error
	switch p.aspect {
	case "chunks":
		p.first, p.last, err = parseRange(chunks)
	case "text":
		err = p.parseQuery(query)
	}
	return p, err
}

func unknownResource(uri string) error {
	return fault.New(fault.NotFound, "no resource has the URI %q", textlimit.Shorten(uri, 200))
}

// parseQuery parses "start=0&end=1000". Errors: Invalid.
func (p *resource) parseQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fault.Field("uri", "has a query that cannot be read: write ?start=0&end=1000")
	}
	for name, given := range values {
		into := map[string]*uint32{"start": &p.start, "end": &p.end}[name]
		n, err := strconv.ParseUint(given[0], 10, 32)
		if into == nil || err != nil || len(given) > 1 {
			return fault.Field("uri", "has a query with %q, which is no position in bytes: write ?start=0&end=1000", textlimit.Shorten(name, 50))
		}
		*into = uint32(n)
	}
	return nil
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
		return 0, 0, fault.Field("chunks", "must be the number of a chunk, or a range of at most %d such as 0-%d, got %q", maxChunksRead, maxChunksRead-1, text)
	}
	return int(a), int(b), nil
}

func (s *protocol) read(ctx context.Context, p resource) ([]mcpgo.ResourceContents, error) {
	switch {
	case p.aspect == "chunks":
		return s.readChunks(ctx, p)
	case p.aspect == "text":
		text, _, err := s.readText(ctx, p)
		return []mcpgo.ResourceContents{text}, err
	case p.aspect == "original":
		return s.readOriginal(ctx, p)
	case p.aspect == "metadata":
		return jsonContents(p.uri)(s.api.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: p.index, DocumentId: p.documentID}))
	case p.documentID != "":
		return s.readDocument(ctx, p)
	case p.aspect == "topics":
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
	return mcpgo.Cursor(base64.StdEncoding.EncodeToString([]byte(access.Pages(ctx, "resources").Encode(c))))
}

// decode stores what encode returned for the same caller. Errors: Invalid.
func (c *cursor) decode(ctx context.Context, given mcpgo.Cursor) error {
	token, err := base64.StdEncoding.DecodeString(string(given))
	if err != nil {
		return fault.Field("cursor", "is not one that this list gave out")
	}
	return fault.Rename("pageToken", "cursor", access.Pages(ctx, "resources").Decode(string(token), c))
}

// listResources adds the caller's indexes and documents to a page of the list.
func (s *protocol) listResources(ctx context.Context, _ any, req *mcpgo.ListResourcesRequest, result *mcpgo.ListResourcesResult) {
	if hidesResources(ctx) {
		result.Resources = []mcpgo.Resource{}
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
		options := []mcpgo.ResourceOption{
			mcpgo.WithResourceTitle(d.GetTitle()), mcpgo.WithMIMEType(d.GetTextContentType()),
			mcpgo.WithResourceDescription(fmt.Sprintf("Document of index %s, %s, %d chunks", index, d.GetStatus(), d.GetChunkCount())),
			func(r *mcpgo.Resource) {
				r.Annotations = &mcpgo.Annotations{
					Audience: []mcpgo.Role{mcpgo.RoleUser, mcpgo.RoleAssistant}, LastModified: d.GetUpdateTime().AsTime().UTC().Format(time.RFC3339),
				}
			},
		}
		if d.GetTextByteSize() > 0 {
			options = append(options, mcpgo.WithResourceSize(int64(d.GetTextByteSize())))
		}
		list[i] = mcpgo.NewResource(documentURI(index, d.GetDocumentId()), d.GetUri(), options...)
	}
	return list
}
