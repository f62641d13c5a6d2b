// Package mcp serves the API to agents over the Model Context Protocol: as an HTTP
// endpoint next to the RPC services, and on standard input and output.
//
// A tool consists of a JSON schema written for models, an API message decoded from its
// arguments, one API call, and the answer in two forms: structured content, and text that
// a model can read and cite. The tools hold no rules of their own and work with any
// implementation of API: the handlers of internal/rpc inside the server, or the client of
// a remote server.
//
//	handler, err := mcp.NewHandler(mcp.Config{API: handlers, HTTP: mcphttp.Config{Authenticate: auth.Middleware}})
//	err := mcp.ServeStdio(ctx, mcp.Config{API: mcp.NewClient(http.DefaultClient, address)}, os.Stdin, os.Stdout)
//
// Package mcphttp is the HTTP transport, which separates callers and tenants.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"connectrpc.com/connect"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/event"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/httpserver"
	"github.com/ragdhq/ragd/internal/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/tenant"
)

// API is the part of the RPC API that the tools call. Its errors are faults, or
// *connect.Error from a client.
type API interface {
	VectorQuery(context.Context, *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error)
	GraphRag(context.Context, *ragdv1.GraphRagRequest) (*ragdv1.GraphRagResponse, error)
	ListTopics(context.Context, *ragdv1.ListTopicsRequest) (*ragdv1.ListTopicsResponse, error)
	Rerank(context.Context, *ragdv1.RerankRequest) (*ragdv1.RerankResponse, error)

	ListIndexes(context.Context, *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error)
	DescribeIndex(context.Context, *ragdv1.DescribeIndexRequest) (*ragdv1.Index, error)

	UploadDocument(context.Context, *ragdv1.UploadDocumentRequest) (*ragdv1.UploadDocumentResponse, error)
	GetDocument(context.Context, *ragdv1.GetDocumentRequest) (*ragdv1.Document, error)
	ListDocuments(context.Context, *ragdv1.ListDocumentsRequest) (*ragdv1.ListDocumentsResponse, error)
	DeleteDocument(context.Context, *ragdv1.DeleteDocumentRequest) (*ragdv1.DeleteDocumentResponse, error)
	DeleteDocuments(context.Context, *ragdv1.DeleteDocumentsRequest) (*ragdv1.DeleteDocumentsResponse, error)
	SyncSource(context.Context, *ragdv1.SyncSourceRequest) (*ragdv1.SyncSourceResponse, error)
	ListChunks(context.Context, *ragdv1.ListChunksRequest) (*ragdv1.ListChunksResponse, error)
	GetJob(context.Context, *ragdv1.GetJobRequest) (*ragdv1.Job, error)
	CancelJob(context.Context, *ragdv1.CancelJobRequest) (*ragdv1.Job, error)

	ChunkText(context.Context, *ragdv1.ChunkTextRequest) (*ragdv1.ChunkTextResponse, error)

	ListTools(context.Context, *ragdv1.ListToolsRequest) (*ragdv1.ListToolsResponse, error)
}

// NewClient returns the API of the server at baseURL. The options must add the
// credential.
func NewClient(client connect.HTTPClient, baseURL string, options ...connect.ClientOption) API {
	return struct {
		ragdv1connect.QueryServiceClient
		ragdv1connect.IndexServiceClient
		ragdv1connect.DocumentServiceClient
		ragdv1connect.ChunkServiceClient
		ragdv1connect.ToolServiceClient
	}{
		ragdv1connect.NewQueryServiceClient(client, baseURL, options...),
		ragdv1connect.NewIndexServiceClient(client, baseURL, options...),
		ragdv1connect.NewDocumentServiceClient(client, baseURL, options...),
		ragdv1connect.NewChunkServiceClient(client, baseURL, options...),
		ragdv1connect.NewToolServiceClient(client, baseURL, options...),
	}
}

// Config configures the tools. API is required; zero values mean the defaults.
type Config struct {
	API API
	// CallTimeout ends a tool call. Default: 60s.
	CallTimeout time.Duration
	// Events delivers the changes that clients are notified of; nil for none.
	Events *event.Listener
	// HTTP configures the HTTP endpoint. NewHandler sets its Server, Forget, Needs and
	// Detached, and its Logger if it has none. ServeStdio does not use it.
	HTTP   mcphttp.Config
	Logger *slog.Logger
	// ReadOnly leaves the tools that write out of the list, see ReadsOnly. NewHandler does
	// not use it: it knows the rights of each caller.
	ReadOnly bool
	// Version is the version of ragd reported to clients.
	Version string
}

func (c Config) withDefaults() Config {
	c.CallTimeout = cmp.Or(c.CallTimeout, 60*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Version = cmp.Or(c.Version, "dev")
	return c
}

// NewHandler returns the HTTP endpoint. It calls the API with the caller's tenant.Request
// in the context.
func NewHandler(cfg Config) (*mcphttp.Handler, error) {
	cfg = cfg.withDefaults()
	tools, err := newToolset(cfg, overrideContext)
	if err != nil {
		return nil, err
	}
	cfg.HTTP.Needs, cfg.HTTP.Detached = func(_ context.Context, tool string) tenant.Scope { return tools.needs(tool) }, true
	cfg.HTTP.Logger = cmp.Or(cfg.HTTP.Logger, cfg.Logger)
	if cfg.Events == nil {
		cfg.HTTP.Server = func(tenant.ID, string) *server.MCPServer { return tools.server(nil) }
		return mcphttp.New(cfg.HTTP)
	}
	watching := newWatchers(tools.indexes, tools.tenantTools)
	cfg.HTTP.Server = func(id tenant.ID, name string) *server.MCPServer {
		w := newWatcher(name)
		w.server = tools.server(w)
		watching.watch(id, w)
		return w.server
	}
	cfg.HTTP.Forget = watching.forget
	handler, err := mcphttp.New(cfg.HTTP)
	if err == nil {
		cfg.Events.Subscribe(watching.receive)
	}
	return handler, err
}

// server returns an MCP server with all tools. If w is not nil, the server's clients are
// notified of changes by it.
func (s *toolset) server(w *watcher) *server.MCPServer {
	hooks := &server.Hooks{}
	hooks.AddAfterListResources(s.listResources)
	hooks.AddAfterListResourceTemplates(func(ctx context.Context, _ any, _ *mcpgo.ListResourceTemplatesRequest, result *mcpgo.ListResourceTemplatesResult) {
		if hidesResources(ctx) {
			result.ResourceTemplates = []mcpgo.ResourceTemplate{}
		}
	})
	hooks.AddBeforeCallTool(s.routeTenantTool)
	identify(hooks, s.version)
	if w != nil {
		s.hook(w, hooks)
	}
	made := server.NewMCPServer("ragd", s.version,
		server.WithToolCapabilities(w != nil),
		server.WithToolFilter(s.visible),
		server.WithResourceCapabilities(w != nil, w != nil),
		server.WithPromptCapabilities(w != nil),
		server.WithPromptFilter(promptsOf),
		server.WithCompletions(),
		server.WithResourceCompletionProvider(completer{s}),
		server.WithPromptCompletionProvider(completer{s}),
		server.WithHooks(hooks),
	)
	s.addResources(made)
	s.addPrompts(made)
	// The library parses a tool's schema at every call to find arguments that travel in
	// headers, of which ours have none. So it gets an empty schema here, and lists get
	// the real ones.
	anything := json.RawMessage(`{"type":"object"}`)
	for _, t := range s.tools {
		bare := t.definition
		bare.RawInputSchema = anything
		made.AddTool(bare, s.handler(t))
	}
	made.AddTool(mcpgo.Tool{Name: tenantToolName, RawInputSchema: anything}, s.callTenantTool)
	return made
}

// handler returns the handler of one tool. It never returns an error, because the library
// would send its text to the client.
func (s *toolset) handler(t *tool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		onHTTP := httpserver.RequestID(ctx) != ""
		if !onHTTP {
			ctx = httpserver.WithRequestID(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
		defer cancel()
		result, err := s.call(ctx, t, req)
		httpserver.Add(ctx, "tool", t.definition.Name)
		if err != nil {
			httpserver.Fail(ctx, err)
			if !onHTTP && problemOf(err).kind == fault.Internal {
				s.log.ErrorContext(ctx, "mcp tool", "tool", t.definition.Name, "request_id", httpserver.RequestID(ctx), "err", err)
			}
			if question := s.elicitIndex(ctx, req, problemOf(err)); question != nil {
				return question, nil
			}
			return problemOf(err).result(httpserver.RequestID(ctx)), nil
		}
		return result, nil
	}
}
