package rpc

import (
	"cmp"
	"context"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/server"
)

// CreateServer implements ServerService.
func (h *Handlers) CreateServer(ctx context.Context, req *ragdv1.CreateServerRequest) (*ragdv1.Server, error) {
	wanted := server.Server{Name: req.GetServerName(), Definition: server.Definition{
		Version: req.GetVersion(), Title: req.GetTitle(), Description: req.GetDescription(), Instructions: req.GetInstructions(),
		Icons: serverIcons(req.GetIcons()), WebsiteURL: req.GetWebsiteUrl(), Repository: serverRepository(req.GetRepository()),
		Tools: allowedNames(req.GetTools()), Prompts: allowedNames(req.GetPrompts()), Indexes: allowedNames(req.GetIndexes()),
		HideResources: req.GetHideResources(), Presented: presentations(req.GetPresented()),
		DefaultContext: req.GetDefaultContext().AsMap(), FixedContext: req.GetFixedContext().AsMap(), RegistryName: req.GetRegistryName(),
	}}
	made, err := h.Servers.Create(ctx, wanted)
	return h.serverMessage(ctx, made, err)
}

// GetServer implements ServerService.
func (h *Handlers) GetServer(ctx context.Context, req *ragdv1.GetServerRequest) (*ragdv1.Server, error) {
	found, err := h.Servers.Get(ctx, req.GetServerName())
	message, err := h.serverMessage(ctx, found, err)
	if err != nil {
		return nil, err
	}
	var id tenant.ID
	if r, ok := access.FromContext(ctx); ok {
		id = r.Tenant
	}
	message.RegistryDocument, err = structOf(found.Document(id, h.baseURL(ctx), h.RegistryPackage))
	return message, err
}

// ListServers implements ServerService.
func (h *Handlers) ListServers(ctx context.Context, req *ragdv1.ListServersRequest) (*ragdv1.ListServersResponse, error) {
	found, next, err := h.Servers.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	servers, err := convertAll(ctx, found, func(s *server.Server) (*ragdv1.Server, error) { return h.serverMessage(ctx, s, nil) })
	return &ragdv1.ListServersResponse{Servers: servers, NextPageToken: next}, err
}

// UpdateServer implements ServerService.
func (h *Handlers) UpdateServer(ctx context.Context, req *ragdv1.UpdateServerRequest) (*ragdv1.Server, error) {
	changed, err := h.Servers.Update(ctx, req.GetServerName(), func(d *server.Definition) { changeServer(d, req) })
	return h.serverMessage(ctx, changed, err)
}

// DeleteServer implements ServerService.
func (h *Handlers) DeleteServer(ctx context.Context, req *ragdv1.DeleteServerRequest) (*ragdv1.DeleteServerResponse, error) {
	return &ragdv1.DeleteServerResponse{}, h.Servers.Delete(ctx, req.GetServerName())
}

// changeServer sets the fields of a definition that a request gives.
func changeServer(d *server.Definition, req *ragdv1.UpdateServerRequest) {
	for field, given := range map[*string]*string{
		&d.Version: req.Version, &d.Title: req.Title, &d.Description: req.Description, &d.Instructions: req.Instructions,
		&d.WebsiteURL: req.WebsiteUrl, &d.RegistryName: req.RegistryName,
	} {
		if given != nil {
			*field = *given
		}
	}
	for _, list := range []struct {
		field *[]string
		given *ragdv1.AllowedNames
		all   bool
	}{
		{&d.Tools, req.GetTools(), req.GetAllTools()}, {&d.Prompts, req.GetPrompts(), req.GetAllPrompts()}, {&d.Indexes, req.GetIndexes(), req.GetAllIndexes()},
	} {
		switch {
		case list.given != nil:
			*list.field = allowedNames(list.given)
		case list.all:
			*list.field = nil
		}
	}
	if req.Icons != nil {
		d.Icons = serverIcons(req.GetIcons().GetIcons())
	}
	if req.Repository != nil {
		d.Repository = serverRepository(req.GetRepository())
	}
	if req.HideResources != nil {
		d.HideResources = req.GetHideResources()
	}
	if req.Presented != nil {
		d.Presented = presentations(req.GetPresented().GetTools())
	}
	if req.DefaultContext != nil {
		d.DefaultContext = req.GetDefaultContext().AsMap()
	}
	if req.FixedContext != nil {
		d.FixedContext = req.GetFixedContext().AsMap()
	}
}

func serverIcons(given []*ragdv1.ServerIcon) []server.Icon {
	icons := make([]server.Icon, len(given))
	for i, icon := range given {
		icons[i] = server.Icon{Source: icon.GetSrc(), MIMEType: icon.GetMimeType(), Sizes: icon.GetSizes(), Theme: icon.GetTheme()}
	}
	return icons
}

func serverRepository(given *ragdv1.ServerRepository) *server.Repository {
	repository := server.Repository{URL: given.GetUrl(), Source: given.GetSource(), ID: given.GetId(), Subfolder: given.GetSubfolder()}
	if repository == (server.Repository{}) {
		return nil
	}
	return &repository
}

func presentations(given []*ragdv1.PresentedTool) []server.Presentation {
	presented := make([]server.Presentation, len(given))
	for i, p := range given {
		presented[i] = server.Presentation{Tool: p.GetToolName(), Name: p.GetName(), Title: p.GetTitle(), Description: p.GetDescription()}
	}
	return presented
}

// baseURL returns the address of the service for clients.
func (h *Handlers) baseURL(ctx context.Context) string {
	return cmp.Or(strings.TrimRight(h.PublicURL, "/"), httpserver.BaseURL(ctx))
}

func (h *Handlers) serverMessage(ctx context.Context, s *server.Server, err error) (*ragdv1.Server, error) {
	if err != nil {
		return nil, err
	}
	m := &ragdv1.Server{
		ServerName: s.Name, Version: s.Version, Title: s.Title, Description: s.Description, Instructions: s.Instructions,
		WebsiteUrl: s.WebsiteURL, Tools: allowedNamesMessage(s.Tools), Prompts: allowedNamesMessage(s.Prompts),
		Indexes: allowedNamesMessage(s.Indexes), HideResources: s.HideResources, RegistryName: s.RegistryName,
		Url: s.URL(h.baseURL(ctx)), CreateTime: timestamp(s.CreatedAt), UpdateTime: timestamp(s.UpdatedAt),
	}
	for _, i := range s.Icons {
		m.Icons = append(m.Icons, &ragdv1.ServerIcon{Src: i.Source, MimeType: i.MIMEType, Sizes: i.Sizes, Theme: i.Theme})
	}
	if r := s.Repository; r != nil {
		m.Repository = &ragdv1.ServerRepository{Url: r.URL, Source: r.Source, Id: r.ID, Subfolder: r.Subfolder}
	}
	for _, p := range s.Presented {
		m.Presented = append(m.Presented, &ragdv1.PresentedTool{ToolName: p.Tool, Name: p.Name, Title: p.Title, Description: p.Description})
	}
	for into, context := range map[**structpb.Struct]map[string]any{&m.DefaultContext: s.DefaultContext, &m.FixedContext: s.FixedContext} {
		if len(context) == 0 {
			continue
		}
		if *into, err = structOf(context); err != nil {
			return nil, err
		}
	}
	return m, nil
}
