package connector

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/tool/mcpclient"
)

// Limits of MCP servers.
const (
	maxTemplates         = 100
	maxTemplateArguments = 20
	maxArgumentBytes     = 1000
	maxResourceURIBytes  = 1000
	maxResourceAnswer    = 16 << 20 // bytes of the answer with one resource, or one page of a list
	maxResourceText      = 1000     // bytes of a description
	// maxFailuresInARow is how many resources in a row a broken connection fails before it ends the run.
	maxFailuresInARow = 5
)

// MCP is the resources of an MCP server, and what else the server offers.
type MCP struct {
	URL                 string            `json:"url"`
	Headers             map[string]string `json:"headers,omitempty"` // templates
	TimeoutMS           int               `json:"timeoutMs,omitempty"`
	Templates           []MCPTemplate     `json:"templates,omitempty"`
	OAuth               *OAuth            `json:"oauth,omitempty"`
	Tools               *Offer            `json:"tools,omitempty"`
	Prompts             *Offer            `json:"prompts,omitempty"`
	WithoutResources    bool              `json:"withoutResources,omitempty"`
	WithoutSubscription bool              `json:"withoutSubscription,omitempty"`
}

// MCPTemplate is a template of resources with arguments that make it the uri of one.
type MCPTemplate struct {
	URITemplate string            `json:"uriTemplate"`
	Arguments   map[string]string `json:"arguments,omitempty"`
}

// connection returns how the server is reached. Errors: Invalid; Precondition for an address that the
// guard refuses.
func (m *MCP) connection(guard *outbound.Guard) (*mcpclient.Connection, error) {
	c, err := mcpclient.Parse(mcpclient.Settings{URL: m.URL, Headers: m.Headers, TimeoutMS: m.TimeoutMS}, guard)
	return c, fault.Under("mcp", err)
}

// complete implements kind.
func (m *MCP) complete(guard *outbound.Guard) error {
	c, err := m.connection(guard)
	if err != nil {
		return err
	}
	if m.OAuth != nil {
		if c.Has("Authorization") {
			return fault.Field("mcp.oauth", "and a header Authorization exclude each other")
		}
		if m.OAuth.Issuer != "" {
			if err := guard.CheckURL("oauth.issuer", m.OAuth.Issuer); err != nil {
				return fault.Under("mcp", err)
			}
		}
		if err := m.OAuth.complete(); err != nil {
			return fault.Under("mcp", err)
		}
	}
	for field, o := range map[string]*Offer{"mcp.tools": m.Tools, "mcp.prompts": m.Prompts} {
		if err := o.check(field); err != nil {
			return err
		}
	}
	if len(m.Templates) > maxTemplates {
		return fault.Field("mcp.templates", "must be at most %d, got %d", maxTemplates, len(m.Templates))
	}
	for _, t := range m.Templates {
		if _, err := t.uri(); err != nil {
			return err
		}
	}
	return nil
}

// uri returns the uri of the resource. Errors: Invalid.
func (t MCPTemplate) uri() (string, error) {
	if err := textlimit.Check("mcp.templates.uriTemplate", t.URITemplate, maxResourceURIBytes); err != nil {
		return "", err
	}
	compiled, err := uritemplate.New(t.URITemplate)
	if err != nil || t.URITemplate == "" {
		return "", fault.Field("mcp.templates.uriTemplate", "must be a template as RFC 6570 says, such as file:///{path}")
	}
	if len(t.Arguments) > maxTemplateArguments {
		return "", fault.Field("mcp.templates.arguments", "must be at most %d, got %d", maxTemplateArguments, len(t.Arguments))
	}
	values := uritemplate.Values{}
	for name, value := range t.Arguments {
		if err := textlimit.Check("mcp.templates.arguments", value, maxArgumentBytes); err != nil {
			return "", err
		}
		values.Set(name, uritemplate.String(value))
	}
	for _, name := range compiled.Varnames() {
		if _, ok := t.Arguments[name]; !ok {
			return "", fault.Field("mcp.templates.arguments", "must give %s of %s", name, textlimit.Shorten(t.URITemplate, 100))
		}
	}
	uri, err := compiled.Expand(values)
	if err != nil || uri == "" || len(uri) > maxResourceURIBytes {
		return "", fault.Field("mcp.templates", "%s must become a uri of at most %d bytes", textlimit.Shorten(t.URITemplate, 100), maxResourceURIBytes)
	}
	return uri, nil
}

// resource is what a server says about a resource, within bounds.
type resource struct {
	uri, name, title, description, mimeType string
	unusable                                bool // uri is a hash of one that cannot be used
	size                                    *int64
	audience                                []any
	priority                                *float64
	lastModified                            string
	template                                string // "" for one that is listed
}

func resourceOf(r mcp.Resource) resource {
	// Clones, so that nothing keeps what is cut off.
	out := resource{
		uri: r.URI, name: strings.Clone(textlimit.OneLine(r.Name, maxReasonBytes)), title: strings.Clone(textlimit.OneLine(r.Title, maxReasonBytes)),
		description: strings.Clone(textlimit.Cut(r.Description, maxResourceText)), mimeType: strings.Clone(textlimit.OneLine(r.MIMEType, maxReasonBytes)), size: r.Size,
	}
	if len(r.URI) > maxResourceURIBytes || !textlimit.IsStorable(r.URI) {
		sum := sha256.Sum256([]byte(r.URI))
		out.uri, out.unusable = "uri:"+hex.EncodeToString(sum[:]), true
	}
	if a := r.Annotations; a != nil {
		for _, role := range a.Audience {
			if role == mcp.RoleUser || role == mcp.RoleAssistant {
				out.audience = append(out.audience, string(role))
			}
		}
		out.audience = out.audience[:min(len(out.audience), 2)]
		out.priority, out.lastModified = a.Priority, strings.Clone(textlimit.OneLine(a.LastModified, maxArgumentBytes/10))
	}
	return out
}

// version returns a hash of what the server says about the resource if that includes when it was last
// modified, else "".
func (r resource) version() string {
	if _, err := time.Parse(time.RFC3339, r.lastModified); err != nil {
		return ""
	}
	said, err := json.Marshal([]any{r.name, r.title, r.description, r.mimeType, r.size, r.audience, r.priority, r.lastModified})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(said)
	return hex.EncodeToString(sum[:])
}

// item returns the resource as an item without content.
func (r resource) item() Item {
	item := Item{ID: r.uri, Title: r.title, State: State{Known: true, ETag: r.version()}}
	if item.Title == "" {
		item.Title = r.name
	}
	audience := r.audience
	if audience == nil {
		audience = []any{}
	}
	item.Attributes = map[string]any{
		"name": r.name, "description": r.description, "audience": audience, "priority": nil, "size": nil, "uriTemplate": r.template,
	}
	if r.priority != nil {
		item.Attributes["priority"] = *r.priority
	}
	if r.size != nil {
		item.Attributes["size"] = *r.size
	}
	if at, err := time.Parse(time.RFC3339, r.lastModified); err == nil {
		item.Modified = at
	}
	return item
}

// walk implements kind.
func (m *MCP) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	s, err := w.dial(ctx, m)
	if err != nil {
		return listing{}, err
	}
	defer s.close()
	can := s.session.GetServerCapabilities()
	found := listing{state: State{Known: true, Follow: m.follows(can)}}
	if w.offer != nil {
		has, err := m.ask(ctx, s, can)
		if err != nil {
			return listing{}, err
		}
		if err := w.offer(ctx, has); err != nil {
			return listing{}, err
		}
	}
	if m.WithoutResources {
		return found, nil
	}
	all, err := m.list(ctx, s, can.Resources != nil, w.maxItems)
	if err != nil {
		return listing{}, err
	}
	broken := 0
	for _, r := range all {
		item, lost, err := m.item(ctx, w, s, r)
		if err != nil {
			return listing{}, err
		}
		if broken++; lost == nil {
			broken = 0
		}
		if broken == maxFailuresInARow {
			return listing{}, lost
		}
		if err := visit(item); err != nil {
			return listing{}, err
		}
	}
	return found, nil
}

// follows reports whether the server announces changes that are to be followed.
func (m *MCP) follows(c mcp.ServerCapabilities) bool {
	return !m.WithoutSubscription &&
		(c.Resources != nil && !m.WithoutResources && (c.Resources.Subscribe || c.Resources.ListChanged) ||
			m.Tools != nil && c.Tools != nil && c.Tools.ListChanged || m.Prompts != nil && c.Prompts != nil && c.Prompts.ListChanged)
}

// list returns the resources that the server lists, and those of the templates, each once.
func (m *MCP) list(ctx context.Context, s *mcpSession, lists bool, most int) ([]resource, error) {
	var all []resource
	seen := map[string]bool{}
	add := func(r resource) error {
		if r.uri == "" || seen[r.uri] {
			return nil
		}
		if len(all) == most {
			return fault.New(fault.Exhausted, "the server has more than %d resources: raise maxItems", most)
		}
		seen[r.uri] = true
		all = append(all, r)
		return nil
	}
	for _, t := range m.Templates {
		uri, err := t.uri()
		if err != nil {
			return nil, err
		}
		if err := add(resource{uri: uri, name: uri, template: t.URITemplate}); err != nil {
			return nil, err
		}
	}
	if !lists {
		return all, nil
	}
	empty := 0
	err := mcpclient.Pages(func(cursor mcp.Cursor) (mcp.Cursor, error) {
		var page *mcp.ListResourcesResult
		err := s.do(ctx, func(ctx context.Context) (err error) {
			var request mcp.ListResourcesRequest
			request.Params.Cursor = cursor
			page, err = s.session.ListResourcesByPage(ctx, request)
			return err
		})
		if err != nil {
			return "", err
		}
		before := len(all)
		for _, r := range page.Resources {
			if err := add(resourceOf(r)); err != nil {
				return "", err
			}
		}
		if empty++; len(all) > before {
			empty = 0
		}
		if empty > maxEmptyPages {
			return "", fault.New(fault.Precondition, "the server's list does not end: %d pages in a row have nothing new", empty)
		}
		return page.NextCursor, nil
	})
	return all, err
}

// maxEmptyPages is how many pages in a row may have nothing new.
const maxEmptyPages = 10

// item reads a resource. lost is why it could not be read if that was the connection. An error ends the
// run.
func (m *MCP) item(ctx context.Context, w walking, s *mcpSession, r resource) (item Item, lost, err error) {
	item = r.item()
	if r.unusable {
		item.Failed = fmt.Sprintf("its uri is not text of at most %d bytes", maxResourceURIBytes)
		return item, nil, nil
	}
	known, err := w.known(ctx, item.ID)
	if err != nil {
		return Item{}, nil, err
	}
	if item.State.ETag != "" && known.ETag == item.State.ETag && known.Fingerprint != "" {
		item.Unchanged, item.State = true, known
		return item, nil, nil
	}
	var result *mcp.ReadResourceResult
	err = s.do(ctx, func(ctx context.Context) (err error) {
		var request mcp.ReadResourceRequest
		request.Params.URI = r.uri
		result, err = s.session.ReadResource(ctx, request)
		return err
	})
	if err == nil {
		err = item.take(result.Contents, r.mimeType)
	}
	switch {
	case err == nil:
		return item, nil, nil
	case ctx.Err() != nil:
		return Item{}, nil, context.Cause(ctx)
	case errors.Is(err, errSignIn) || fault.KindOf(err) == fault.Exhausted:
		return Item{}, nil, err
	case isLost(err):
		lost = err
	}
	item.Failed, item.State = fault.Public(err), State{Known: true}
	return item, lost, nil
}

// isLost reports whether a request got no usable answer.
func isLost(err error) bool {
	return fault.KindOf(err) == fault.Unavailable || errors.As(err, new(*transport.Error))
}

// take sets the content of an item. Errors: Precondition.
func (i *Item) take(contents []mcp.ResourceContents, listed string) error {
	var texts []string
	for _, one := range contents {
		switch one := one.(type) {
		case mcp.TextResourceContents:
			texts = append(texts, one.Text)
			i.ContentType = mediaType(one.MIMEType, listed, "text/plain")
		case mcp.BlobResourceContents:
			if len(contents) > 1 {
				return fault.New(fault.Precondition, "has several contents, of which some are no text")
			}
			raw, err := base64.StdEncoding.DecodeString(one.Blob)
			if err != nil {
				return fault.New(fault.Precondition, "has content that is no base64")
			}
			i.Content, i.ContentType = raw, mediaType(one.MIMEType, listed, "")
		default:
			return fault.New(fault.Precondition, "has content of an unknown form")
		}
	}
	if texts != nil {
		i.Content = []byte(strings.Join(texts, "\n\n"))
	}
	switch {
	case len(i.Content) == 0:
		i.Skipped = "it is empty"
	case len(i.Content) > maxItemBytes:
		return fault.New(fault.Precondition, "has more than %d bytes", maxItemBytes)
	}
	return nil
}

// mediaType returns the first of two media types that the service can read, else another.
func mediaType(own, listed, otherwise string) string {
	for _, given := range []string{own, listed} {
		media, _, err := mime.ParseMediaType(given)
		if err != nil {
			continue
		}
		if _, ok := parse.FormatOf(media); ok {
			return given
		}
	}
	return otherwise
}
