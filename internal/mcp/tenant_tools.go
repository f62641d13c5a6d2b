package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/cache"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/nearest"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// tenantToolName is the name under which the library knows the handler of all tools
	// that tenants define. It is not a valid tool name and is not listed.
	tenantToolName = "ragd/own"
	// metaTenantTool is the key in a call's _meta that passes the tool from the hook to
	// the handler.
	metaTenantTool = "ragd/own"
	// maxTenantTools is above the number of tools that a tenant may have.
	maxTenantTools = 1000
)

// tenantTools caches the tools that tenants have defined. Safe for concurrent use.
type tenantTools struct {
	api   API
	kinds map[string]*tool
	known *cache.Cache[tenant.ID, map[string]*tenantTool]
}

// tenantTool is a tool that a tenant has defined: a builtin tool with settings.
type tenantTool struct {
	tool
	settings map[string]json.RawMessage
}

func newTenantTools(api API, tools []*tool) *tenantTools {
	o := &tenantTools{
		api: api, kinds: map[string]*tool{},
		known: cache.New(cache.Config[tenant.ID, map[string]*tenantTool]{Entries: maxCachedTenants, TTL: cacheTTL}),
	}
	for _, t := range tools {
		o.kinds[t.definition.Name] = t
	}
	return o
}

// of returns the tools of the caller's tenant by name. Errors: those of ListTools.
func (o *tenantTools) of(ctx context.Context) (map[string]*tenantTool, error) {
	id := tenantOf(ctx)
	if found, ok := o.known.Get(id); ok {
		return found, nil
	}
	return o.load(ctx, id)
}

// load loads the tools from the API and caches them.
func (o *tenantTools) load(ctx context.Context, id tenant.ID) (map[string]*tenantTool, error) {
	asked := time.Now()
	res, err := o.api.ListTools(ctx, &ragdv1.ListToolsRequest{PageSize: maxTenantTools})
	if err != nil {
		return nil, err
	}
	found := map[string]*tenantTool{}
	for _, made := range res.GetTools() {
		// A builtin tool hides an older one of the tenant with the same name.
		if kind := o.kinds[made.GetKind()]; kind != nil && o.kinds[made.GetToolName()] == nil {
			t, err := newTenantTool(made, kind)
			if err != nil {
				return nil, fmt.Errorf("read tool %s: %w", made.GetToolName(), err)
			}
			found[made.GetToolName()] = t
		}
	}
	o.known.PutLoaded(id, found, asked)
	return found, nil
}

// find returns a tool of the caller's tenant, or nil. A name that is not cached is looked
// up, because it may have been created through another instance.
func (o *tenantTools) find(ctx context.Context, name string) (*tenantTool, error) {
	found, err := o.of(ctx)
	if err != nil || found[name] != nil {
		return found[name], err
	}
	found, err = o.load(ctx, tenantOf(ctx))
	return found[name], err
}

// forget drops the cached tools of a tenant, or of all tenants if id is "".
func (o *tenantTools) forget(id tenant.ID) {
	if id == "" {
		o.known.Clear()
		return
	}
	o.known.Remove(id)
}

// tenantOf returns the caller's tenant. It is "" on standard input, where there is one
// tenant whose name is not known.
func tenantOf(ctx context.Context) tenant.ID {
	if r, ok := tenant.FromContext(ctx); ok {
		return r.Tenant
	}
	return ""
}

func newTenantTool(made *ragdv1.Tool, kind *tool) (*tenantTool, error) {
	raw, err := encode(made.GetSettings())
	if err != nil {
		return nil, err
	}
	o := &tenantTool{tool: tool{definition: kind.definition, fixed: made.GetFixed()}}
	o.run = func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		merged, err := o.merge(arguments.json)
		if err != nil {
			return nil, "", err
		}
		return kind.run(ctx, accepted{merged, arguments.vectors})
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

// alternatives lists groups of arguments of which a call needs one.
var alternatives = [][]string{{"queryText", "queryVector"}, {"text", "content"}}

// schema returns the part of the kind's input schema that a model may use, with the
// tool's settings as defaults.
func (o *tenantTool) schema(kind json.RawMessage, arguments []string) (json.RawMessage, error) {
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
			continue // a field for programs, which the tool's schema does not have
		}
		if value := o.settings[name]; value != nil && name != "filter" { // filters are and-ed
			property = append([]byte(`{"default":`+string(value)+`,`), property[1:]...)
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		properties = append(properties, string(key)+":"+string(property))
		if o.requires(name, arguments) {
			required = append(required, string(key))
		}
	}
	schema := `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `}`
	if len(required) > 0 {
		schema += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return json.RawMessage(schema + `}`), nil
}

// requires reports whether a call of the tool must give the argument.
func (o *tenantTool) requires(name string, arguments []string) bool {
	if name == indexArgument {
		return o.settings[name] == nil
	}
	for _, group := range alternatives {
		if !slices.Contains(group, name) {
			continue
		}
		return !slices.ContainsFunc(group, func(other string) bool {
			return o.settings[other] != nil || other != name && slices.Contains(arguments, other)
		})
	}
	return false
}

// merge returns the settings overridden by the arguments of a call. Filters are and-ed.
// Errors: Invalid for a malformed filter.
func (o *tenantTool) merge(arguments []byte) ([]byte, error) {
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
		for _, group := range alternatives { // the given alternative replaces the one in the settings
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
		var value any // an object, or a string that contains one
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

// addTenantTools adds the tools of the caller's tenant to a list, sorts it by name, and
// removes the entry of their common handler.
func (s *toolset) addTenantTools(ctx context.Context, tools []mcpgo.Tool) []mcpgo.Tool {
	tools = slices.DeleteFunc(slices.Clone(tools), func(t mcpgo.Tool) bool { return t.Name == tenantToolName })
	made, err := s.tenantTools.of(ctx)
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

// routeTenantTool routes a call of a tenant's tool to callTenantTool: the library has one
// set of tools for all clients of a server, and tenants' tools come and go. The library
// rejects names that are unknown here.
func (s *toolset) routeTenantTool(ctx context.Context, _ any, req *mcpgo.CallToolRequest) {
	if req.Params.Name == tenantToolName { // not a valid name for callers
		req.Params.Name = ""
	}
	if s.tenantTools.kinds[req.Params.Name] != nil {
		return
	}
	found, err := s.tenantTools.find(ctx, req.Params.Name)
	if found == nil && err == nil {
		// The library's error shows the name, and has no other place for a hint.
		req.Params.Name += nearest.Hint(req.Params.Name, s.toolNames(ctx))
		return
	}
	meta := mcpgo.Meta{}
	if req.Params.Meta != nil {
		meta = *req.Params.Meta
	}
	fields := map[string]any{metaTenantTool: routed{found, err}}
	for key, value := range meta.AdditionalFields {
		if key != metaTenantTool {
			fields[key] = value
		}
	}
	meta.AdditionalFields = fields
	req.Params.Meta, req.Params.Name = &meta, tenantToolName
}

// toolNames returns the names of the tools that the caller may use.
func (s *toolset) toolNames(ctx context.Context) (names []string) {
	builtin := make([]mcpgo.Tool, len(s.tools))
	for i, t := range s.tools {
		builtin[i] = t.definition
	}
	for _, t := range s.addTenantTools(ctx, s.allowed(ctx, builtin)) {
		names = append(names, t.Name)
	}
	return names
}

// routed is the result of the hook. Nothing that a client sends decodes to it.
type routed struct {
	tool *tenantTool
	err  error
}

// callTenantTool handles calls of tools that tenants have defined.
func (s *toolset) callTenantTool(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	var to routed
	if req.Params.Meta != nil {
		to, _ = req.Params.Meta.AdditionalFields[metaTenantTool].(routed)
	}
	if to.tool == nil {
		httpserver.Fail(ctx, to.err)
		return problemOf(to.err).result(httpserver.RequestID(ctx)), nil
	}
	req.Params.Name = to.tool.definition.Name
	return s.handler(&to.tool.tool)(ctx, req)
}
