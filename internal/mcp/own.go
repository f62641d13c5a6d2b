package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/golang-lru/v2/expirable"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// ownTool is the name under which the library knows all tools that tenants made.
	// It can be that of none, and is not listed.
	ownTool = "ragd/own"
	// metaOwn is the key in a call's _meta under which the tool goes from the hook to
	// the handler.
	metaOwn = "ragd/own"
	// maxOwn is more tools than a tenant may have.
	maxOwn = 1000
)

// ownTools knows the tools that tenants made. Safe for concurrent use.
type ownTools struct {
	api   API
	kinds map[string]*tool
	known *expirable.LRU[tenant.ID, map[string]*own]
}

// own is a tool that a tenant made: one of ours with settings.
type own struct {
	tool
	settings map[string]json.RawMessage
}

func newOwnTools(api API, tools []*tool) *ownTools {
	o := &ownTools{api: api, kinds: map[string]*tool{}, known: expirable.NewLRU[tenant.ID, map[string]*own](maxNamers, nil, namesFresh)}
	for _, t := range tools {
		o.kinds[t.definition.Name] = t
	}
	return o
}

// of returns the tools of the caller's tenant by their names. Errors: those of
// ListTools.
func (o *ownTools) of(ctx context.Context) (map[string]*own, error) {
	id := tenantOf(ctx)
	if found, ok := o.known.Get(id); ok {
		return found, nil
	}
	return o.look(ctx, id)
}

// look asks for the tools, whatever is in memory.
func (o *ownTools) look(ctx context.Context, id tenant.ID) (map[string]*own, error) {
	res, err := o.api.ListTools(ctx, &ragdv1.ListToolsRequest{PageSize: maxOwn})
	if err != nil {
		return nil, err
	}
	found := map[string]*own{}
	for _, made := range res.GetTools() {
		// One of ours goes before one with the same name that was made before it.
		if kind := o.kinds[made.GetKind()]; kind != nil && o.kinds[made.GetToolName()] == nil {
			t, err := newOwn(made, kind)
			if err != nil {
				return nil, fmt.Errorf("read tool %s: %w", made.GetToolName(), err)
			}
			found[made.GetToolName()] = t
		}
	}
	o.known.Add(id, found)
	return found, nil
}

// named returns a tool of the caller's tenant, even if it was made a moment ago
// over another instance; nil for none.
func (o *ownTools) named(ctx context.Context, name string) (*own, error) {
	found, err := o.of(ctx)
	if err != nil || found[name] != nil {
		return found[name], err
	}
	found, err = o.look(ctx, tenantOf(ctx))
	return found[name], err
}

// forget makes the next call look again, for every tenant if none is named.
func (o *ownTools) forget(id tenant.ID) {
	if id == "" {
		o.known.Purge()
		return
	}
	o.known.Remove(id)
}

// tenantOf is the caller's tenant; "" for a program on standard input, which has
// one and need not know its name.
func tenantOf(ctx context.Context) tenant.ID {
	if r, ok := tenant.FromContext(ctx); ok {
		return r.Tenant
	}
	return ""
}

func newOwn(made *ragdv1.Tool, kind *tool) (*own, error) {
	raw, err := encode(made.GetSettings())
	if err != nil {
		return nil, err
	}
	o := &own{tool: tool{definition: kind.definition, fixed: made.GetFixed()}}
	o.run = func(ctx context.Context, arguments []byte) (proto.Message, string, error) {
		merged, err := o.merge(arguments)
		if err != nil {
			return nil, "", err
		}
		return kind.run(ctx, merged)
	}
	if made.GetSettings() != nil {
		if err := json.Unmarshal(raw, &o.settings); err != nil {
			return nil, err
		}
	}
	d := &o.definition
	d.Name, d.Title, d.Description = made.GetToolName(), made.GetTitle(), made.GetDescription()
	d.Annotations.Title = d.Title
	if d.RawInputSchema, err = o.schema(kind.definition.RawInputSchema, made.GetArguments()); err != nil {
		return nil, err
	}
	o.arguments, err = newArguments(d.RawInputSchema)
	return o, err
}

// needed are the arguments without which there is nothing to do; one of a group is
// enough.
var needed = [][]string{{"queryText", "queryVector"}, {"text", "content"}}

// schema is the part of the kind's input schema that a model may use, with the
// tool's settings as defaults.
func (o *own) schema(kind json.RawMessage, arguments []string) (json.RawMessage, error) {
	var whole struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(kind, &whole); err != nil {
		return nil, err
	}
	var properties, required []string
	for _, name := range arguments {
		property := whole.Properties[name]
		if property == nil {
			continue // for programs, which do not call tools
		}
		if value := o.settings[name]; value != nil && name != "filter" { // which is joined, not replaced
			property = append([]byte(`{"default":`+string(value)+`,`), property[1:]...)
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		properties = append(properties, string(key)+":"+string(property))
		if o.lacks(name, arguments) {
			required = append(required, string(key))
		}
	}
	schema := `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `}`
	if len(required) > 0 {
		schema += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return json.RawMessage(schema + `}`), nil
}

// lacks reports whether the tool can do nothing without the argument.
func (o *own) lacks(name string, arguments []string) bool {
	if name == indexArgument {
		return o.settings[name] == nil
	}
	for _, group := range needed {
		if !slices.Contains(group, name) {
			continue
		}
		return !slices.ContainsFunc(group, func(other string) bool {
			return o.settings[other] != nil || other != name && slices.Contains(arguments, other)
		})
	}
	return false
}

// merge puts the arguments of a call over the settings. Of filters both hold.
// Errors: Invalid for a filter that is none.
func (o *own) merge(arguments []byte) ([]byte, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	merged := map[string]json.RawMessage{}
	for name, value := range o.settings {
		merged[name] = value
	}
	for name, value := range given {
		if o.settings[name] != nil && name == "filter" {
			joined, err := joinFilters(o.settings[name], value)
			if err != nil {
				return nil, err
			}
			value = joined
		}
		for _, group := range needed { // a question given instead of one set
			if slices.Contains(group, name) {
				for _, other := range group {
					delete(merged, other)
				}
			}
		}
		merged[name] = value
	}
	return json.Marshal(merged)
}

func joinFilters(filters ...json.RawMessage) (json.RawMessage, error) {
	parsed := make([]filter.Filter, len(filters))
	for i, raw := range filters {
		var value any // an object, or a text with one
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("read a filter: %w", err)
		}
		text, isText := value.(string)
		if !isText {
			text = string(raw)
		}
		var err error
		if parsed[i], err = filter.Parse([]byte(text)); err != nil {
			return nil, err
		}
	}
	joined := filter.And(parsed...)
	if joined.IsZero() {
		return json.RawMessage(`{}`), nil
	}
	return joined.JSON(), nil
}

// withOwn adds the tools that the caller's tenant made to a list, in the order of
// names, and takes out the one that stands for them.
func (s *toolset) withOwn(ctx context.Context, tools []mcpgo.Tool) []mcpgo.Tool {
	tools = slices.DeleteFunc(slices.Clone(tools), func(t mcpgo.Tool) bool { return t.Name == ownTool })
	made, err := s.own.of(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "the tenant's own tools are not listed", "err", err)
		return tools
	}
	for _, t := range made {
		tools = append(tools, t.definition)
	}
	slices.SortFunc(tools, func(a, b mcpgo.Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

// directOwn sends the call of a tool that the caller's tenant made to the handler of
// all such tools: the library knows one set for all who share a server, and tenants'
// tools come and go. A name that nobody has is left to the library to refuse.
func (s *toolset) directOwn(ctx context.Context, _ any, req *mcpgo.CallToolRequest) {
	if req.Params.Name == ownTool { // which is no name of a tool
		req.Params.Name = ""
	}
	if s.own.kinds[req.Params.Name] != nil {
		return
	}
	found, err := s.own.named(ctx, req.Params.Name)
	if found == nil && err == nil {
		return
	}
	meta := mcpgo.Meta{}
	if req.Params.Meta != nil {
		meta = *req.Params.Meta
	}
	fields := map[string]any{metaOwn: directed{found, err}}
	for key, value := range meta.AdditionalFields {
		if key != metaOwn {
			fields[key] = value
		}
	}
	meta.AdditionalFields = fields
	req.Params.Meta, req.Params.Name = &meta, ownTool
}

// directed is what the hook found. Nothing that a client sends becomes one.
type directed struct {
	own *own
	err error
}

// callOwn answers the calls of tools that tenants made.
func (s *toolset) callOwn(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	var to directed
	if req.Params.Meta != nil {
		to, _ = req.Params.Meta.AdditionalFields[metaOwn].(directed)
	}
	if to.own == nil {
		httpserver.Fail(ctx, to.err)
		return problemOf(to.err).result(httpserver.RequestID(ctx)), nil
	}
	req.Params.Name = to.own.definition.Name
	return s.handler(&to.own.tool)(ctx, req)
}
