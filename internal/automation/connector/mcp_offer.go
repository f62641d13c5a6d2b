package connector

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tool"
	"github.com/ragdhq/ragd/internal/tool/mcptool"
	"github.com/ragdhq/ragd/internal/tool/prompt"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// Limits of what is offered of a server.
const (
	maxOffered            = 50 // tools, and prompts
	maxToolPrefixBytes    = 32
	maxOfferedDescription = 4 << 10 // bytes
	maxOfferedNameBytes   = 128
	maxOffersBytes        = 1 << 20 // tools and prompts of a server together, as JSON
	maxPromptArguments    = 20
	maxPromptMessages     = 50
	maxPromptBytes        = 1 << 20 // of the messages of a prompt
)

// Offer is what is offered of a server's tools or prompts.
type Offer struct {
	Names        []string          `json:"names,omitempty"` // at the server; none means all
	Prefix       *string           `json:"prefix,omitempty"`
	Descriptions map[string]string `json:"descriptions,omitempty"`
}

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// check checks the settings. Errors: Invalid.
func (o *Offer) check(field string) error {
	if o == nil {
		return nil
	}
	if len(o.Names) > maxOffered || len(o.Descriptions) > maxOffered {
		return fault.Field(field+".names", "and descriptions must be at most %d", maxOffered)
	}
	for _, name := range append(slices.Collect(maps.Keys(o.Descriptions)), o.Names...) {
		if name == "" || len(name) > maxReasonBytes {
			return fault.Field(field+".names", "must have 1 to %d bytes", maxReasonBytes)
		}
	}
	if o.Prefix != nil && (len(*o.Prefix) > maxToolPrefixBytes || !prefixPattern.MatchString(*o.Prefix)) {
		return fault.Field(field+".prefix", "must be at most %d letters, digits, _ and -", maxToolPrefixBytes)
	}
	for _, text := range o.Descriptions {
		if err := textlimit.Check(field+".descriptions", text, maxOfferedDescription); err != nil {
			return err
		}
	}
	return nil
}

var notInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// name returns the tenant's name of something of a server. ok is false if there can be none.
func (o *Offer) name(connector, at string) (name string, ok bool) {
	prefix := connector + "_"
	if o.Prefix != nil {
		prefix = *o.Prefix
	}
	name = prefix + notInToolName.ReplaceAllString(at, "_")
	return name, catalog.IsName(name, 64) && !tool.Reserved(name)
}

// wants reports whether something of a server is offered.
func (o *Offer) wants(at string) bool { return len(o.Names) == 0 || slices.Contains(o.Names, at) }

// description returns what is said about something of a server.
func (o *Offer) description(at, said string) string {
	if own, ok := o.Descriptions[at]; ok {
		return own
	}
	if said = textlimit.Cut(said, maxOfferedDescription); said == "" {
		return at
	}
	return said
}

// offers is what a server had when it was last asked. It is stored as JSON.
type offers struct {
	Tools   []offeredTool   `json:"tools,omitempty"`
	Prompts []offeredPrompt `json:"prompts,omitempty"`
}

type offeredTool struct {
	Name string              `json:"name"`
	Said mcptool.Description `json:"said"`
}

type offeredPrompt struct {
	Name        string            `json:"name"`
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	Arguments   []prompt.Argument `json:"arguments,omitempty"`
}

// ask asks a server for what is to be offered. Tools that cannot be offered, such as those with too large a
// schema, are left out.
func (m *MCP) ask(ctx context.Context, s *mcpSession, can mcp.ServerCapabilities) (out offers, err error) {
	if m.Tools != nil && can.Tools != nil {
		if out.Tools, err = m.askTools(ctx, s); err != nil {
			return out, err
		}
	}
	if m.Prompts != nil && can.Prompts != nil {
		out.Prompts, err = m.askPrompts(ctx, s)
	}
	return out, err
}

func (m *MCP) askTools(ctx context.Context, s *mcpSession) (found []offeredTool, err error) {
	err = s.pages(ctx, func(ctx context.Context, cursor mcp.Cursor) (next mcp.Cursor, err error) {
		var request mcp.ListToolsRequest
		request.Params.Cursor = cursor
		page, err := s.session.ListToolsByPage(ctx, request)
		if err != nil {
			return "", err
		}
		for _, t := range page.Tools {
			twice := slices.ContainsFunc(found, func(o offeredTool) bool { return o.Name == t.Name })
			if !lendable(t.Name) || !m.Tools.wants(t.Name) || twice || len(found) == maxOffered {
				continue
			}
			said, err := mcptool.Describe(t, s.mask)
			if err == nil && toolset.CheckProvided(toolset.Definition{Name: t.Name, InputSchema: said.InputSchema, OutputSchema: said.OutputSchema}) == nil {
				found = append(found, offeredTool{t.Name, *said})
			}
		}
		return unlessFull(page.NextCursor, len(found)), nil
	})
	return found, err
}

// unlessFull returns the next cursor of a list, "" if there is as much of it as a connector lends.
func unlessFull(next mcp.Cursor, found int) mcp.Cursor {
	if found == maxOffered {
		return ""
	}
	return next
}

func (m *MCP) askPrompts(ctx context.Context, s *mcpSession) (found []offeredPrompt, err error) {
	err = s.pages(ctx, func(ctx context.Context, cursor mcp.Cursor) (next mcp.Cursor, err error) {
		var request mcp.ListPromptsRequest
		request.Params.Cursor = cursor
		page, err := s.session.ListPromptsByPage(ctx, request)
		if err != nil {
			return "", err
		}
		for _, p := range page.Prompts {
			twice := slices.ContainsFunc(found, func(o offeredPrompt) bool { return o.Name == p.Name })
			if !lendable(p.Name) || !m.Prompts.wants(p.Name) || twice || len(found) == maxOffered || len(p.Arguments) > maxPromptArguments {
				continue
			}
			found = append(found, offeredPromptOf(p))
		}
		return unlessFull(page.NextCursor, len(found)), nil
	})
	return found, err
}

// lendable reports whether a name of a server can be lent.
func lendable(name string) bool {
	return name != "" && textlimit.Check("name", name, maxOfferedNameBytes) == nil && textlimit.OneLine(name, maxOfferedNameBytes) == name
}

func offeredPromptOf(p mcp.Prompt) offeredPrompt {
	out := offeredPrompt{Name: p.Name, Title: textlimit.OneLine(p.Title, maxReasonBytes), Description: textlimit.Cut(p.Description, maxResourceText)}
	for _, a := range p.Arguments {
		out.Arguments = append(out.Arguments, prompt.Argument{
			Name: textlimit.OneLine(a.Name, maxMetadataName), Title: textlimit.OneLine(a.Title, maxReasonBytes), Description: textlimit.Cut(a.Description, maxReasonBytes), Required: a.Required,
		})
	}
	return out
}

// storeOffers stores what a server has, if it has changed.
func storeOffers(ctx context.Context, q data.Queryer, r row, has offers) error {
	raw, err := json.Marshal(has)
	if err != nil {
		return err
	}
	if len(raw) > maxOffersBytes { // they are read with each list of tools
		return fault.New(fault.Precondition, "the tools and prompts of the server have more than %d bytes together: name those that are to be lent", maxOffersBytes)
	}
	_, err = data.Values[string](ctx, q, `
		UPDATE ragd_shared.connectors SET offers = $2 WHERE connector_name = $1 AND updated_at = $3 AND offers::text IS DISTINCT FROM $2::json::text RETURNING connector_name`,
		r.ConnectorName, json.RawMessage(raw), r.UpdatedAt)
	return err
}

type offeringRow struct {
	ConnectorName string
	Definition    json.RawMessage
	Offers        json.RawMessage
}

// offering is a connector with what its server has.
type offering struct {
	ConnectorName string
	source        *MCP
	has           offers
}

// offered returns the caller's connectors whose servers have something, in the order of their names.
func (s *Service) offered(ctx context.Context) (*access.Request, []offering, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, nil, err
	}
	all, err := data.Select[offeringRow](ctx, s.DB.Handle(r.Tenant), `SELECT connector_name, definition, offers FROM ragd_shared.connectors WHERE offers::text <> '{}' ORDER BY connector_name`)
	if err != nil {
		return nil, nil, err
	}
	var out []offering
	for _, one := range all {
		var d Definition
		o := offering{ConnectorName: one.ConnectorName}
		if err := json.Unmarshal(one.Definition, &d); err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(one.Offers, &o.has); err != nil {
			return nil, nil, err
		}
		if o.source = d.MCP; o.source != nil {
			out = append(out, o)
		}
	}
	return r, out, nil
}

// ToolKind is the kind of the tools that servers of connectors have.
const ToolKind = "connector"

// lentTools are the tools of servers of connectors.
type lentTools struct{ service *Service }

// Source returns the tools that the servers of the caller's connectors lend.
func (s *Service) Source() toolset.Source { return lentTools{s} }

// Tools implements toolset.Source.
func (l lentTools) Tools(ctx context.Context) ([]toolset.Definition, error) {
	_, all, err := l.service.offered(ctx)
	if err != nil {
		return nil, err
	}
	var out []toolset.Definition
	seen := map[string]bool{}
	for _, o := range all {
		for _, t := range o.has.Tools {
			if o.source.Tools == nil || !o.source.Tools.wants(t.Name) {
				continue
			}
			name, ok := o.source.Tools.name(o.ConnectorName, t.Name)
			if !ok || seen[name] {
				continue
			}
			seen[name] = true
			out = append(out, toolset.Definition{
				Name: name, Title: t.Said.Title, Description: o.source.Tools.description(t.Name, t.Said.Description), Kind: ToolKind, Host: hostOf(o.source.URL),
				InputSchema: t.Said.InputSchema, OutputSchema: t.Said.OutputSchema, Annotations: mcptool.Hints(t.Said),
			})
		}
	}
	return out, nil
}

// hostOf returns the host of an address.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Host
}

// Run implements toolset.Source.
func (l lentTools) Run(ctx context.Context, d toolset.Definition, c toolset.Call) (toolset.Result, error) {
	if err := access.CheckFeature(ctx, quota.Connectors); err != nil {
		return toolset.Result{}, err
	}
	r, all, err := l.service.offered(ctx)
	if err != nil {
		return toolset.Result{}, err
	}
	for _, o := range all {
		for _, t := range o.has.Tools {
			if o.source.Tools == nil || !o.source.Tools.wants(t.Name) {
				continue
			}
			if name, ok := o.source.Tools.name(o.ConnectorName, t.Name); ok && name == d.Name {
				return l.service.call(ctx, r, o, t, c)
			}
		}
	}
	return toolset.Result{}, fault.New(fault.NotFound, "tool %q not found", d.Name)
}

// call calls a tool of a server.
func (s *Service) call(ctx context.Context, r *access.Request, o offering, t offeredTool, c toolset.Call) (toolset.Result, error) {
	connection, err := o.source.connection(s.Guard)
	if err != nil {
		return toolset.Result{}, err
	}
	to := mcptool.NewDefinition(connection, t.Name, &t.Said)
	if !connection.Has("Authorization") && s.Keys != nil {
		to.Authorize = func(ctx context.Context, renew bool) (string, error) {
			return s.bearer(ctx, r.Tenant, o.ConnectorName, o.source, renew)
		}
	}
	return s.Tools.RunDefinition(ctx, to, c)
}

// lentPrompts are the prompts of servers of connectors.
type lentPrompts struct{ service *Service }

// PromptSource returns the prompts that the servers of the caller's connectors lend.
func (s *Service) PromptSource() prompt.Source { return lentPrompts{s} }

// each calls do with each prompt, under the name of the tenant.
func (l lentPrompts) each(ctx context.Context, do func(o offering, p offeredPrompt, name string) (more bool)) error {
	_, all, err := l.service.offered(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		for _, p := range o.has.Prompts {
			if o.source.Prompts == nil || !o.source.Prompts.wants(p.Name) {
				continue
			}
			name, ok := o.source.Prompts.name(o.ConnectorName, p.Name)
			if ok && !prompt.Reserved(name) && !do(o, p, name) {
				return nil
			}
		}
	}
	return nil
}

// Prompts implements prompt.Source.
func (l lentPrompts) Prompts(ctx context.Context) ([]prompt.Prompt, error) {
	var out []prompt.Prompt
	err := l.each(ctx, func(o offering, p offeredPrompt, name string) bool {
		if !slices.ContainsFunc(out, func(other prompt.Prompt) bool { return other.Name == name }) {
			out = append(out, prompt.Prompt{Name: name, Version: 1, Versions: []int{1}, Definition: prompt.Definition{
				Title: p.Title, Description: o.source.Prompts.description(p.Name, p.Description), Arguments: p.Arguments,
			}})
		}
		return true
	})
	return out, err
}

// Messages implements prompt.Source.
func (l lentPrompts) Messages(ctx context.Context, name string, arguments map[string]string) (messages []prompt.Message, err error) {
	var from *offering
	at := ""
	if err := l.each(ctx, func(o offering, p offeredPrompt, found string) bool {
		if found == name {
			from, at = &o, p.Name
		}
		return found != name
	}); err != nil {
		return nil, err
	}
	if from == nil {
		return nil, fault.New(fault.NotFound, "prompt %q not found", name)
	}
	if err := access.CheckFeature(ctx, quota.Connectors); err != nil {
		return nil, err
	}
	s, err := l.service.dial(ctx, from.ConnectorName, from.source, &fetcher{})
	if err != nil {
		return nil, err
	}
	defer s.close()
	var result *mcp.GetPromptResult
	err = s.do(ctx, func(ctx context.Context) (err error) {
		var request mcp.GetPromptRequest
		request.Params.Name, request.Params.Arguments = at, arguments
		result, err = s.session.GetPrompt(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	return promptMessages(result)
}

// promptMessages returns the messages of a server's prompt. Errors: Precondition for too many, and for
// content that cannot be passed on.
func promptMessages(result *mcp.GetPromptResult) (messages []prompt.Message, err error) {
	size := 0
	for _, m := range result.Messages {
		out := prompt.Message{Role: string(m.Role)}
		if m.Role != mcp.RoleUser && m.Role != mcp.RoleAssistant {
			return nil, fault.New(fault.Precondition, "the server's prompt has a message of an unknown role")
		}
		switch c := m.Content.(type) {
		case mcp.TextContent:
			out.Text = c.Text
		case mcp.ImageContent:
			out.Image, err = promptMedia(c.Data, c.MIMEType)
		case mcp.AudioContent:
			out.Audio, err = promptMedia(c.Data, c.MIMEType)
		case mcp.EmbeddedResource:
			text, ok := c.Resource.(mcp.TextResourceContents)
			if !ok {
				err = fault.New(fault.Precondition, "the server's prompt has a resource that is no text")
			}
			out.Text = text.Text
		default:
			err = fault.New(fault.Precondition, "the server's prompt has content that cannot be passed on")
		}
		if err != nil {
			return nil, err
		}
		if size += len(out.Text); out.Image != nil {
			size += len(out.Image.Data)
		}
		if out.Audio != nil {
			size += len(out.Audio.Data)
		}
		if size > maxPromptBytes || len(messages) == maxPromptMessages {
			return nil, fault.New(fault.Precondition, "the server's prompt has more than %d messages, or more than %d bytes", maxPromptMessages, maxPromptBytes)
		}
		messages = append(messages, out)
	}
	return messages, nil
}

func promptMedia(data, mimeType string) (*prompt.Media, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, fault.New(fault.Precondition, "the server's prompt has media that are no base64")
	}
	return &prompt.Media{Data: raw, MIMEType: textlimit.OneLine(mimeType, maxReasonBytes)}, nil
}
