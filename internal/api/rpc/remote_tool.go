package rpc

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool"
	"github.com/ragdhq/ragd/internal/tool/httptool"
	"github.com/ragdhq/ragd/internal/tool/mcptool"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// RemoteKinds check the tools that call other services.
type RemoteKinds struct {
	HTTP *httptool.Runner
	MCP  *mcptool.Runner
}

// checkRemote checks the settings of a tool that calls another service, and completes them and
// the tool with what the service says about itself.
func (h *Handlers) checkRemote(ctx context.Context, t *tool.Tool) error {
	if !t.Kind.Remote() {
		return nil
	}
	if _, err := access.RequireUnfiltered(ctx, access.Write); err != nil {
		return err // before anything is sent
	}
	if t.Kind == tool.HTTP {
		_, err := h.Remote.HTTP.Check(ctx, t.Settings)
		return err
	}
	settings, found, err := h.Remote.MCP.Check(ctx, t.Settings, template.RequestValues(ctx))
	if err != nil {
		return err
	}
	t.Settings = settings
	if t.Title == "" {
		t.Title = found.Tool.Title
	}
	if t.Description == "" {
		t.Description = found.Tool.Description
	}
	return nil
}
