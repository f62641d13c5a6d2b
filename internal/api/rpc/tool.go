package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool"
	"github.com/ragdhq/ragd/internal/tool/server"
	"github.com/ragdhq/ragd/internal/tool/template"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// CreateTool implements ToolService.
func (h *Handlers) CreateTool(ctx context.Context, req *ragdv1.CreateToolRequest) (*ragdv1.Tool, error) {
	kind := tool.Kind(req.GetKind())
	if err := h.checkTool(ctx, kind, req.GetSettings(), req.GetArguments()); err != nil {
		return nil, err
	}
	wanted := tool.Tool{
		Name: req.GetToolName(), Kind: kind, Title: req.GetTitle(), Description: req.GetDescription(),
		Settings: req.GetSettings().AsMap(), Arguments: req.GetArguments(), Fixed: req.GetFixed(),
		Annotations: annotationsOf(req.GetAnnotations()), Meta: mapOf(req.GetMeta()), OutputSchema: mapOf(req.GetOutputSchema()),
	}
	if err := h.checkRemote(ctx, &wanted); err != nil {
		return nil, err
	}
	made, err := h.Tools.Create(ctx, wanted)
	if err != nil {
		return nil, err
	}
	h.forgetTools(ctx)
	return toolMessage(made)
}

// GetTool implements ToolService.
func (h *Handlers) GetTool(ctx context.Context, req *ragdv1.GetToolRequest) (*ragdv1.Tool, error) {
	if _, err := access.Require(ctx, access.Read); err != nil {
		return nil, err
	}
	defined, err := h.Toolset.Find(ctx, viewOf(ctx), req.GetToolName())
	if err != nil {
		return nil, err
	}
	if defined.WholeInputSchema != nil {
		defined.InputSchema, defined.OutputSchema = defined.WholeInputSchema, defined.WholeOutputSchema
	}
	return h.definedTool(ctx, defined)
}

// viewOf returns how the server of the request shows tools.
func viewOf(ctx context.Context) toolset.View { return server.FromContext(ctx).View() }

// definedTool returns a tool that a caller may call, with its settings if it is the tenant's.
func (h *Handlers) definedTool(ctx context.Context, d toolset.Definition) (*ragdv1.Tool, error) {
	message := &ragdv1.Tool{Kind: d.Kind, Builtin: d.Builtin}
	if !d.Builtin && !d.Provided {
		stored, err := h.Tools.Get(ctx, d.Source)
		if err != nil {
			return nil, err
		}
		if message, err = toolMessage(stored); err != nil {
			return nil, err
		}
	}
	message.ToolName, message.Title, message.Description, message.Writes = d.Name, d.Title, d.Description, d.Writes()
	a := d.Annotations
	message.Annotations = &ragdv1.ToolAnnotations{
		ReadOnlyHint: a.ReadOnlyHint, DestructiveHint: a.DestructiveHint, IdempotentHint: a.IdempotentHint, OpenWorldHint: a.OpenWorldHint,
	}
	var err error
	if message.InputSchema, err = rawStruct(d.InputSchema); err != nil {
		return nil, err
	}
	if message.OutputSchema, err = rawStruct(d.OutputSchema); err != nil {
		return nil, err
	}
	message.Meta, err = structOf(d.Meta)
	return message, err
}

// rawStruct converts the JSON of an object; nil gives nil.
func rawStruct(raw json.RawMessage) (*structpb.Struct, error) {
	if raw == nil {
		return nil, nil
	}
	return new(objectReader).read(string(raw))
}

// callableTools returns a page of the tools that the caller may call.
func (h *Handlers) callableTools(ctx context.Context, req *ragdv1.ListToolsRequest) (*ragdv1.ListToolsResponse, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	all := h.Toolset.List(ctx, viewOf(ctx))
	found, next, err := pagination.List(access.Pages(ctx, "callable tools", r.Server), req.GetPageSize(), req.GetPageToken(), "",
		func(d toolset.Definition) string { return d.Name },
		func(after string, most int) ([]toolset.Definition, error) {
			first, _ := slices.BinarySearchFunc(all, after, func(d toolset.Definition, name string) int {
				if d.Name <= name {
					return -1
				}
				return 1
			})
			return all[first:min(first+most, len(all))], nil
		})
	if err != nil {
		return nil, err
	}
	tools, err := convertAll(ctx, found, func(d toolset.Definition) (*ragdv1.Tool, error) { return h.definedTool(ctx, d) })
	return &ragdv1.ListToolsResponse{Tools: tools, NextPageToken: next}, err
}

// CallTool implements ToolService.
func (h *Handlers) CallTool(ctx context.Context, req *ragdv1.CallToolRequest) (*ragdv1.CallToolResponse, error) {
	return h.callTool(ctx, req, nil)
}

// CallToolStream implements ToolService.
func (h *Handlers) CallToolStream(ctx context.Context, req *ragdv1.CallToolStreamRequest, stream *connect.ServerStream[ragdv1.CallToolEvent]) error {
	var mu sync.Mutex
	res, err := h.callTool(ctx, req.GetCall(), func(_ context.Context, p toolset.Progress) {
		mu.Lock()
		defer mu.Unlock()
		// A message that cannot be sent does not fail the call; its end will show the reason.
		_ = stream.Send(&ragdv1.CallToolEvent{Event: &ragdv1.CallToolEvent_Progress{
			Progress: &ragdv1.ToolProgress{Done: p.Done, Total: p.Total, Message: p.Message},
		}})
	})
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	return stream.Send(&ragdv1.CallToolEvent{Event: &ragdv1.CallToolEvent_Response{Response: res}})
}

func (h *Handlers) callTool(ctx context.Context, req *ragdv1.CallToolRequest, progress func(context.Context, toolset.Progress)) (*ragdv1.CallToolResponse, error) {
	if req.GetToolName() == "" {
		return nil, fault.Field("toolName", "is missing: ListTools with includeBuiltin lists the tools")
	}
	_, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	call := toolset.Call{Name: req.GetToolName(), CanAsk: req.GetCanAsk(), Progress: progress}
	for to, given := range map[*json.RawMessage]*structpb.Struct{&call.Arguments: req.GetArguments(), &call.Context: req.GetContext(), &call.Answers: req.GetAnswers()} {
		if given == nil {
			continue
		}
		if *to, err = jsonmessage.Append(nil, given); err != nil {
			return nil, fmt.Errorf("read the call: %w", err)
		}
	}
	result, err := h.Toolset.Call(ctx, viewOf(ctx), call)
	if err != nil {
		return nil, fault.Rename("Ragd-Context", "context", err)
	}
	return toolResult(result)
}

func toolResult(r toolset.Result) (*ragdv1.CallToolResponse, error) {
	res := &ragdv1.CallToolResponse{Text: r.Text}
	if q := r.Question; q != nil {
		schema, err := json.Marshal(q.Schema)
		if err != nil {
			return nil, fmt.Errorf("write the question: %w", err)
		}
		asked, err := rawStruct(schema)
		return &ragdv1.CallToolResponse{Question: &ragdv1.ToolQuestion{Message: q.Message, Schema: asked}}, err
	}
	var err error
	if res.StructuredContent, err = rawStruct(r.Structured); err != nil {
		return nil, err
	}
	if res.Meta, err = structOf(r.Meta); err != nil || r.Content == nil {
		return res, err
	}
	var blocks []any
	if err := json.Unmarshal(r.Content, &blocks); err != nil {
		return nil, fmt.Errorf("read the content of a result: %w", err)
	}
	list, err := structpb.NewList(blocks)
	res.Content = list.GetValues()
	return res, err
}

// ListTools implements ToolService.
func (h *Handlers) ListTools(ctx context.Context, req *ragdv1.ListToolsRequest) (*ragdv1.ListToolsResponse, error) {
	if req.GetIncludeBuiltin() {
		return h.callableTools(ctx, req)
	}
	found, next, err := h.Tools.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	tools, err := convertAll(ctx, found, toolMessage)
	return &ragdv1.ListToolsResponse{Tools: tools, NextPageToken: next}, err
}

// UpdateTool implements ToolService.
func (h *Handlers) UpdateTool(ctx context.Context, req *ragdv1.UpdateToolRequest) (*ragdv1.Tool, error) {
	old, err := h.Tools.Get(ctx, req.GetToolName())
	if err != nil {
		return nil, err
	}
	if err := h.checkTool(ctx, old.Kind, req.GetSettings(), req.GetArguments()); err != nil {
		return nil, err
	}
	change := tool.Change{ETag: req.GetEtag(), Title: req.Title, Description: req.Description, Arguments: req.GetArguments(), Fixed: req.Fixed}
	if req.GetSettings() != nil {
		change.Settings = req.GetSettings().AsMap()
	}
	if req.GetAnnotations() != nil {
		change.Annotations = new(annotationsOf(req.GetAnnotations()))
	}
	change.Meta, change.OutputSchema = mapOf(req.GetMeta()), mapOf(req.GetOutputSchema())
	if change.Settings != nil || isRefresh(req) {
		wanted := old
		if change.Settings != nil {
			wanted.Settings = change.Settings
		}
		if err := h.checkRemote(ctx, &wanted); err != nil {
			return nil, err
		}
		if wanted.Kind.Remote() {
			change.Settings = wanted.Settings
		}
	}
	changed, err := h.Tools.Update(ctx, req.GetToolName(), change)
	if err != nil {
		return nil, err
	}
	h.forgetTools(ctx)
	return toolMessage(changed)
}

// DeleteTool implements ToolService.
func (h *Handlers) DeleteTool(ctx context.Context, req *ragdv1.DeleteToolRequest) (*ragdv1.DeleteToolResponse, error) {
	defer h.forgetTools(ctx)
	return &ragdv1.DeleteToolResponse{}, h.Tools.Delete(ctx, req.GetToolName())
}

// forgetTools has the next call see a change of the tenant's tools at once, also before this
// instance is notified of it.
func (h *Handlers) forgetTools(ctx context.Context) {
	if r, ok := access.FromContext(ctx); ok {
		h.Toolset.ForgetTools(r.Tenant)
	}
}

// checkTool rejects settings and arguments that are not fields of the request message of
// the tool's kind. It is here because the tool service does not know the messages.
func (h *Handlers) checkTool(ctx context.Context, kind tool.Kind, settings *structpb.Struct, arguments []string) error {
	request, ok := map[tool.Kind]proto.Message{
		tool.VectorQuery: &ragdv1.VectorQueryRequest{}, tool.GraphRag: &ragdv1.GraphRagRequest{}, tool.DocumentChunker: &ragdv1.ChunkTextRequest{},
	}[kind]
	if !ok {
		return nil // the service rejects unknown kinds
	}
	fields := request.ProtoReflect().Descriptor().Fields()
	for _, name := range arguments {
		if fields.ByJSONName(name) == nil {
			return fault.Field("arguments", "%s takes no %q%s", kind, name, jsonmessage.Hint(name, request.ProtoReflect().Descriptor()))
		}
	}
	settings = requestSettings(kind, settings)
	for name := range settings.GetFields() {
		if fields.ByJSONName(name) == nil { // protojson would accept the proto's own name too
			reason := cmp.Or(elsewhere[name], "is not known to "+string(kind)+jsonmessage.Hint(name, request.ProtoReflect().Descriptor()))
			return fault.Field("settings."+name, "%s", reason)
		}
	}
	raw, err := settingDefaults(ctx, settings)
	if err != nil {
		return err
	}
	if err := jsonmessage.Unmarshal(raw, request); err != nil {
		return fault.Under("settings", err)
	}
	if err := h.Toolset.CheckSettings(string(kind), raw); err != nil {
		return fault.Under("settings", err)
	}
	if search, ok := request.(interface {
		GetDatabaseConfig() *ragdv1.DatabaseConfig
	}); ok {
		if err := databaseConfigOf(search.GetDatabaseConfig()).Check(); err != nil {
			return fault.Under("settings", err)
		}
	}
	if search, ok := request.(interface{ GetReranker() *ragdv1.Reranker }); ok {
		if err := h.checkReranker(ctx, search.GetReranker()); err != nil {
			return fault.Under("settings", err)
		}
	}
	if chunker, ok := request.(*ragdv1.ChunkTextRequest); ok && chunker.GetChunking() != nil {
		settings, err := chunkingSettings(chunker.GetChunking())
		if err != nil {
			return err
		}
		if _, err := h.Ingest.ChunkText(ctx, []byte("a"), chunker.GetContentType(), settings); err != nil {
			return fault.Under("settings", err)
		}
	}
	return nil
}

// checkReranker rejects a reranker that no call could use. A provider that is not configured may be
// later.
func (h *Handlers) checkReranker(ctx context.Context, by *ragdv1.Reranker) error {
	r, err := access.Require(ctx, access.Write)
	if err != nil {
		return err
	}
	if err := h.Queries.CheckReranker(ctx, r.Tenant, rerankerOf(by)); fault.KindOf(err) != fault.Precondition {
		return err
	}
	return nil
}

// settingDefaults returns the JSON of settings in which references to the request are replaced by
// their defaults, or left out. Errors: Invalid for references that cannot have a value.
func settingDefaults(ctx context.Context, settings *structpb.Struct) ([]byte, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	defaults := map[string]any{}
	for name, value := range settings.AsMap() {
		ok := true
		if !slices.Contains(toolset.KeepsReferences, name) {
			value, ok, err = template.Replace("settings."+name, value, func(field string, reference template.Placeholder) (any, bool, error) {
				for _, path := range reference.Paths {
					if err := r.CheckShown(field, path); err != nil {
						return nil, false, err
					}
				}
				return reference.Default, reference.Default != nil, nil
			})
		}
		if err != nil {
			return nil, err
		}
		if ok {
			defaults[name] = value
		}
	}
	raw, err := json.Marshal(defaults)
	if err != nil {
		return nil, fault.Field("settings", "cannot be written as JSON")
	}
	return raw, nil
}

// elsewhere are options that tools have in other systems, by the names that they have there,
// and where they are here.
var elsewhere = map[string]string{
	"id":              "is the toolName of a tool here",
	"description":     "is beside the settings, not among them",
	"model":           "is a setting of the index here, which knows the model of its embeddings",
	"providerOptions": "is not needed: the index knows the model of its embeddings",
	"vectorStore":     "is not needed: name the store in vectorStoreName, or leave it out",
	"params":          "has the name chunking here",
	"doc":             "has the name text here",
}

// requestSettings returns the settings without those that are not fields of the request.
func requestSettings(kind tool.Kind, settings *structpb.Struct) *structpb.Struct {
	if kind == tool.DocumentChunker || settings.GetFields()[tool.EnableFilter] == nil {
		return settings
	}
	fields := maps.Clone(settings.GetFields())
	delete(fields, tool.EnableFilter)
	return &structpb.Struct{Fields: fields}
}

// isRefresh reports whether an update changes no field, which loads the description of a remote
// tool again.
func isRefresh(req *ragdv1.UpdateToolRequest) bool {
	return req.Title == nil && req.Description == nil && req.Fixed == nil && req.GetAnnotations() == nil && req.GetMeta() == nil && req.GetOutputSchema() == nil
}

// annotationsOf converts annotations; nil gives none.
func annotationsOf(a *ragdv1.ToolAnnotations) tool.Annotations {
	if a == nil {
		return tool.Annotations{}
	}
	return tool.Annotations{ReadOnlyHint: a.ReadOnlyHint, DestructiveHint: a.DestructiveHint, IdempotentHint: a.IdempotentHint, OpenWorldHint: a.OpenWorldHint}
}

// mapOf converts an object; nil gives nil.
func mapOf(object *structpb.Struct) map[string]any {
	if object == nil {
		return nil
	}
	return object.AsMap()
}

func toolMessage(t tool.Tool) (*ragdv1.Tool, error) {
	settings, err := structOf(t.Settings)
	if err != nil {
		return nil, err
	}
	meta, err := structOf(t.Meta)
	if err != nil {
		return nil, err
	}
	output, err := structOf(t.OutputSchema)
	message := &ragdv1.Tool{
		ToolName: t.Name, Kind: string(t.Kind), Title: t.Title, Description: t.Description, Settings: settings,
		Arguments: t.Arguments, Fixed: t.Fixed, CreateTime: timestamp(t.CreatedAt), UpdateTime: timestamp(t.UpdatedAt), Etag: t.ETag(),
		Meta: meta, OutputSchema: output,
	}
	if a := t.Annotations; a != (tool.Annotations{}) {
		message.Annotations = &ragdv1.ToolAnnotations{
			ReadOnlyHint: a.ReadOnlyHint, DestructiveHint: a.DestructiveHint, IdempotentHint: a.IdempotentHint, OpenWorldHint: a.OpenWorldHint,
		}
	}
	return message, err
}
