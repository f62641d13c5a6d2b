package main

import (
	"context"
	"maps"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// tool runs do with the caller's tools and the one with the name, which is nil if
// there is none.
func (f *fake) tool(ctx context.Context, name string, do func(tools map[string]*ragdv1.Tool, found *ragdv1.Tool) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.tenant(ctx)
	if err != nil {
		return err
	}
	return do(t.tools, t.tools[name])
}

func noTool(name string) error { return refusal(connect.CodeNotFound, "tool %q not found", name) }

func (f *fake) CreateTool(ctx context.Context, req *ragdv1.CreateToolRequest) (tool *ragdv1.Tool, err error) {
	err = f.tool(ctx, req.GetToolName(), func(tools map[string]*ragdv1.Tool, _ *ragdv1.Tool) error {
		tool = &ragdv1.Tool{
			ToolName: req.GetToolName(), Kind: req.GetKind(), Title: req.GetTitle(), Description: req.GetDescription(), Settings: req.GetSettings(),
			Arguments: req.GetArguments(), Fixed: req.GetFixed(), CreateTime: timestamppb.New(made), UpdateTime: timestamppb.New(made),
		}
		tools[req.GetToolName()] = tool
		return nil
	})
	return tool, err
}

func (f *fake) UpdateTool(ctx context.Context, req *ragdv1.UpdateToolRequest) (changed *ragdv1.Tool, err error) {
	err = f.tool(ctx, req.GetToolName(), func(_ map[string]*ragdv1.Tool, found *ragdv1.Tool) error {
		if found == nil {
			return noTool(req.GetToolName())
		}
		if req.Title != nil {
			found.Title = req.GetTitle()
		}
		if req.Description != nil {
			found.Description = req.GetDescription()
		}
		if req.GetSettings() != nil {
			found.Settings = req.GetSettings()
		}
		if req.Fixed != nil {
			found.Fixed = req.GetFixed()
		}
		changed = found
		return nil
	})
	return changed, err
}

func (f *fake) GetTool(ctx context.Context, req *ragdv1.GetToolRequest) (found *ragdv1.Tool, err error) {
	err = f.tool(ctx, req.GetToolName(), func(_ map[string]*ragdv1.Tool, one *ragdv1.Tool) error {
		if found = one; one == nil {
			return noTool(req.GetToolName())
		}
		return nil
	})
	return found, err
}

func (f *fake) ListTools(ctx context.Context, req *ragdv1.ListToolsRequest) (*ragdv1.ListToolsResponse, error) {
	res := &ragdv1.ListToolsResponse{}
	err := f.tool(ctx, "", func(tools map[string]*ragdv1.Tool, _ *ragdv1.Tool) error {
		var names []string
		names, res.NextPageToken = page(slices.Sorted(maps.Keys(tools)), req.GetPageSize(), req.GetPageToken())
		for _, name := range names {
			res.Tools = append(res.Tools, tools[name])
		}
		return nil
	})
	return res, err
}

func (f *fake) DeleteTool(ctx context.Context, req *ragdv1.DeleteToolRequest) (*ragdv1.DeleteToolResponse, error) {
	return &ragdv1.DeleteToolResponse{}, f.tool(ctx, req.GetToolName(), func(tools map[string]*ragdv1.Tool, found *ragdv1.Tool) error {
		if found == nil {
			return noTool(req.GetToolName())
		}
		delete(tools, req.GetToolName())
		return nil
	})
}
