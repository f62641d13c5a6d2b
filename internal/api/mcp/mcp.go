// Package mcp serves the API to agents over the Model Context Protocol, as an HTTP endpoint next
// to the RPC services.
//
// It passes calls of tools to a toolset.Set, and resources and prompts to API: the handlers
// of internal/api/rpc.
//
//	handler, err := mcp.NewHandler(mcp.Config{API: handlers, HTTP: mcphttp.Config{Authenticate: auth.Middleware}})
//
// Package mcphttp is the HTTP transport, which separates callers and tenants. Package stdio
// connects clients on standard input and output to it.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// API is the part of the RPC API that tools, resources and prompts call. Its errors are
// faults, or *connect.Error from a client.
type API interface {
	toolset.API

	ListPrompts(context.Context, *ragdv1.ListPromptsRequest) (*ragdv1.ListPromptsResponse, error)
	GetPrompt(context.Context, *ragdv1.GetPromptRequest) (*ragdv1.Prompt, error)
	GetPromptMessages(context.Context, *ragdv1.GetPromptMessagesRequest) (*ragdv1.GetPromptMessagesResponse, error)
	// Download calls a function with the messages of DownloadDocument.
	Download(context.Context, *ragdv1.DownloadDocumentRequest, func(*ragdv1.DownloadDocumentResponse) error) error
}

// Config configures the tools. API is required; zero values mean the defaults.
type Config struct {
	API API
	// CallTimeout ends a tool call. Default: 60s.
	CallTimeout time.Duration
	// Events delivers the changes that clients are notified of; nil for none.
	Events *event.Listener
	// HTTP configures the HTTP endpoint. NewHandler sets its Server, Forget, Missed, Needs,
	// Events and Detached, and its Logger if it has none.
	HTTP   mcphttp.Config
	Logger *slog.Logger
	// Tools are the tools over API. Default: the builtin ones and tenants' tools of their
	// kinds.
	Tools *toolset.Set
	// Version is the version of ragd reported to clients.
	Version string
}

func (c Config) withDefaults() Config {
	c.CallTimeout = cmp.Or(c.CallTimeout, 60*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Version = cmp.Or(c.Version, "dev")
	return c
}

// protocol serves tools, resources and prompts.
type protocol struct {
	tools       *toolset.Set
	api         API
	callTimeout time.Duration
	log         *slog.Logger
	version     string
	logging     sync.Map                  // ids of sessions that have set a level
	told        *limit.Limiter[tenant.ID] // tasks of which streams tell
}

func newProtocol(cfg Config) (*protocol, error) {
	tools := cfg.Tools
	if tools == nil {
		var err error
		tools, err = toolset.New(toolset.Config{
			API: cfg.API, CallTimeout: cfg.CallTimeout, Logger: cfg.Logger,
		})
		if err != nil {
			return nil, err
		}
	}
	return &protocol{tools: tools, api: cfg.API, callTimeout: cfg.CallTimeout, log: cfg.Logger, version: cfg.Version, told: limit.New[tenant.ID](0, maxListenedTasks)}, nil
}

// NewHandler returns the HTTP endpoint. It calls the API with the caller's access.Request
// in the context.
func NewHandler(cfg Config) (*mcphttp.Handler, error) {
	cfg = cfg.withDefaults()
	p, err := newProtocol(cfg)
	if err != nil {
		return nil, err
	}
	cfg.HTTP.Needs, cfg.HTTP.Detached = func(ctx context.Context, tool string) access.Scope { return p.tools.Needs(ctx, viewOf(ctx), tool) }, true
	cfg.HTTP.Methods, cfg.HTTP.ListenToTasks = p.taskMethods(), p.listenToTasks
	cfg.HTTP.Logger = cmp.Or(cfg.HTTP.Logger, cfg.Logger)
	if cfg.Events == nil {
		cfg.HTTP.Server = func(tenant.ID, string) *server.MCPServer { return p.server(nil) }
		return mcphttp.New(cfg.HTTP)
	}
	cfg.HTTP.Events = cfg.Events
	watching := newWatchers(p.tools)
	cfg.HTTP.Server = func(id tenant.ID, name string) *server.MCPServer {
		w := newWatcher(name)
		w.server = p.server(w)
		watching.watch(id, w)
		return w.server
	}
	cfg.HTTP.Forget, cfg.HTTP.Missed = watching.forget, watching.missed
	handler, err := mcphttp.New(cfg.HTTP)
	if err == nil {
		cfg.Events.Subscribe(watching.receive)
	}
	return handler, err
}

// server returns an MCP server with all tools. If w is not nil, the server's clients are
// notified of changes by it.
func (s *protocol) server(w *watcher) *server.MCPServer {
	hooks := &server.Hooks{}
	s.refuseBadCursors(hooks)
	hooks.AddBeforeReadResource(s.routeRead)
	hooks.AddBeforeGetPrompt(s.routePrompt)
	hooks.AddAfterListPrompts(s.listPrompts)
	hooks.AddAfterListResources(s.listResources)
	hooks.AddAfterListResourceTemplates(func(ctx context.Context, _ any, _ *mcpgo.ListResourceTemplatesRequest, result *mcpgo.ListResourceTemplatesResult) {
		if hidesResources(ctx) {
			result.ResourceTemplates = []mcpgo.ResourceTemplate{}
		}
	})
	hooks.AddAfterListTools(s.listTools)
	hooks.AddBeforeCallTool(s.route)
	s.hookLogs(hooks)
	s.tellOfTasks(hooks)
	identify(hooks, s.version)
	if w != nil {
		s.hook(w, hooks)
	}
	made := server.NewMCPServer("ragd", s.version,
		server.WithToolCapabilities(w != nil),
		server.WithResourceCapabilities(w != nil, w != nil),
		server.WithPromptCapabilities(w != nil),
		server.WithCompletions(),
		server.WithLogging(),
		server.WithExtensions(map[string]any{tasksExtension: map[string]any{}}),
		server.WithResourceCompletionProvider(completer{s}),
		server.WithPromptCompletionProvider(completer{s}),
		server.WithHooks(hooks),
	)
	s.addResources(made)
	s.addPrompts(made)
	made.AddTool(mcpgo.Tool{Name: anyTool, RawInputSchema: json.RawMessage(`{"type":"object"}`)}, s.callTool)
	return made
}
