package rpc

import (
	"cmp"
	"context"
	"maps"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/jsonmessage"
	"github.com/ragdhq/ragd/internal/tool"
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
	}
	if err := h.checkRemote(ctx, &wanted); err != nil {
		return nil, err
	}
	made, err := h.Tools.Create(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return toolMessage(made)
}

// GetTool implements ToolService.
func (h *Handlers) GetTool(ctx context.Context, req *ragdv1.GetToolRequest) (*ragdv1.Tool, error) {
	found, err := h.Tools.Get(ctx, req.GetToolName())
	if err != nil {
		return nil, err
	}
	return toolMessage(found)
}

// ListTools implements ToolService.
func (h *Handlers) ListTools(ctx context.Context, req *ragdv1.ListToolsRequest) (*ragdv1.ListToolsResponse, error) {
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
	change := tool.Change{Title: req.Title, Description: req.Description, Arguments: req.GetArguments(), Fixed: req.Fixed}
	if req.GetSettings() != nil {
		change.Settings = req.GetSettings().AsMap()
	}
	if change.Settings != nil || req.Title == nil && req.Description == nil && req.Fixed == nil {
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
	return toolMessage(changed)
}

// DeleteTool implements ToolService.
func (h *Handlers) DeleteTool(ctx context.Context, req *ragdv1.DeleteToolRequest) (*ragdv1.DeleteToolResponse, error) {
	return &ragdv1.DeleteToolResponse{}, h.Tools.Delete(ctx, req.GetToolName())
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
	raw, err := protojson.Marshal(settings)
	if err != nil {
		return fault.Field("settings", "cannot be written as JSON")
	}
	if err := jsonmessage.Unmarshal(raw, request); err != nil {
		return fault.Under("settings", err)
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

func toolMessage(t tool.Tool) (*ragdv1.Tool, error) {
	settings, err := structOf(t.Settings)
	return &ragdv1.Tool{
		ToolName: t.Name, Kind: string(t.Kind), Title: t.Title, Description: t.Description, Settings: settings,
		Arguments: t.Arguments, Fixed: t.Fixed, CreateTime: timestamp(t.CreatedAt), UpdateTime: timestamp(t.UpdatedAt),
	}, err
}
