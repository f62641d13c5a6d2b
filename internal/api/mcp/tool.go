package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/operate/fault"
	own "github.com/ragdhq/ragd/internal/tool/server"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

const (
	// anyTool is the name under which the library knows the one handler of all tools: it has
	// one set of tools for all clients of a server, and which tools there are depends on the
	// caller. It is not a valid tool name and is not listed.
	anyTool = "ragd/tool"
	// metaTool is the key in a call's _meta that passes the name from the hook to the handler.
	metaTool = "ragd/tool"
	// metaContext is the key in a call's _meta with which the client, not the model, overrides
	// parts of a query.
	metaContext = "ragd/context"
)

// viewOf returns how the server of the request shows tools.
func viewOf(ctx context.Context) toolset.View { return own.FromContext(ctx).View() }

// listTools replaces the library's list of tools by the caller's.
func (s *protocol) listTools(ctx context.Context, _ any, _ *mcpgo.ListToolsRequest, result *mcpgo.ListToolsResult) {
	definitions := s.tools.List(ctx, viewOf(ctx))
	result.Tools = make([]mcpgo.Tool, len(definitions))
	form := formOf(ctx)
	for i, d := range definitions {
		if form == toolset.TextForm {
			d.OutputSchema = nil // which would require structured content
		}
		result.Tools[i] = mcpTool(d)
	}
}

// formOf returns the form of results that the client of a request reads.
func formOf(ctx context.Context) toolset.ResultForm { return toolset.ResultForm(mcphttp.Results(ctx)) }

// mcpTool returns a tool as the library encodes it.
func mcpTool(d toolset.Definition) mcpgo.Tool {
	t := mcpgo.Tool{
		Name: d.Name, Title: d.Title, Description: d.Description,
		Annotations: mcpgo.ToolAnnotation{
			Title: d.Title, ReadOnlyHint: d.Annotations.ReadOnlyHint, DestructiveHint: d.Annotations.DestructiveHint,
			IdempotentHint: d.Annotations.IdempotentHint, OpenWorldHint: d.Annotations.OpenWorldHint,
		},
		RawInputSchema: d.InputSchema, RawOutputSchema: d.OutputSchema,
	}
	if d.Meta != nil {
		t.Meta = mcpgo.NewMetaFromMap(d.Meta)
	}
	return t
}

// called is the name of a tool that exists. Nothing that a client sends decodes to it.
type called struct{ name string }

// route routes a call of a tool to callTool. The library rejects names that are unknown here.
func (s *protocol) route(ctx context.Context, _ any, req *mcpgo.CallToolRequest) {
	name := req.Params.Name
	if name == anyTool {
		name = ""
	}
	if _, err := s.tools.Find(ctx, viewOf(ctx), name); fault.KindOf(err) == fault.NotFound {
		req.Params.Name = mcphttp.Refuse(ctx, fault.Public(err))
		return
	}
	meta := mcpgo.Meta{}
	if req.Params.Meta != nil {
		meta = *req.Params.Meta
	}
	fields := map[string]any{metaTool: called{name}}
	for key, value := range meta.AdditionalFields {
		if key != metaTool {
			fields[key] = value
		}
	}
	meta.AdditionalFields = fields
	req.Params.Meta, req.Params.Name = &meta, anyTool
}

// callTool handles all calls of tools. It returns an error only for one with a code of JSON-RPC,
// because the library sends its text to the client.
func (s *protocol) callTool(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	var to called
	if req.Params.Meta != nil {
		to, _ = req.Params.Meta.AdditionalFields[metaTool].(called)
	}
	onHTTP := httpserver.RequestID(ctx) != ""
	if !onHTTP {
		ctx = httpserver.WithRequestID(ctx)
	}
	httpserver.Add(ctx, "tool", to.name)
	began := time.Now()
	result, err := s.call(ctx, to.name, req)
	s.logCall(ctx, to.name, time.Since(began), err)
	if err == nil {
		return result, nil
	}
	httpserver.Fail(ctx, err)
	if failed(ctx, err) {
		return nil, err
	}
	if !onHTTP && problemOf(err).kind == fault.Internal {
		s.log.ErrorContext(ctx, "mcp tool", "tool", to.name, "request_id", httpserver.RequestID(ctx), "err", err)
	}
	return problemOf(err).result(httpserver.RequestID(ctx)), nil
}

func (s *protocol) call(ctx context.Context, name string, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	call := toolset.Call{Name: name, Arguments: mcphttp.Arguments(ctx), CanAsk: canElicit(ctx), TakesTask: takesTask(ctx), Form: formOf(ctx)}
	if err := resumed(ctx, req, &call); err != nil {
		return nil, err
	}
	if call.Arguments == nil {
		raw, err := json.Marshal(req.GetRawArguments())
		if err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
		call.Arguments = raw
	}
	if err := s.checkTakesTask(ctx, call); err != nil {
		return nil, err
	}
	if err := s.checkHeaders(ctx, name, req.Header, call.Arguments); err != nil {
		return nil, err
	}
	if meta := req.Params.Meta; meta != nil && meta.AdditionalFields[metaContext] != nil {
		raw, err := json.Marshal(meta.AdditionalFields[metaContext])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", metaContext, err)
		}
		call.Context = raw
	}
	if call.TakesTask {
		call.Outcome = s.outcome(ctx, name)
		call.CheckAsked = func(a *toolset.Asked) error {
			_, err := requestsOf(ctx, name, a)
			return err
		}
	}
	progress := newProgress(ctx, req)
	defer progress.wait()
	call.Progress, call.Log = progress.report(), s.toolLog(ctx, name, progress)
	call.Elicit = elicit(ctx)
	result, err := s.tools.Call(ctx, viewOf(ctx), call)
	switch {
	case err != nil:
		return nil, fault.Rename("Ragd-Context", `_meta["ragd/context"]`, err)
	case result.Question != nil:
		return ask(result.Question), nil
	case result.Asked != nil:
		return asked(ctx, call, result.Asked)
	case result.Task != nil:
		if err := deferred(ctx, *result.Task); err != nil {
			return nil, err
		}
	}
	return inForm(ctx, result)
}

// inForm returns a result in the form that the client reads.
func inForm(ctx context.Context, r toolset.Result) (*mcpgo.CallToolResult, error) {
	return resultIn(ctx, formOf(ctx), r)
}

// resultIn returns a result in a form.
func resultIn(ctx context.Context, form toolset.ResultForm, r toolset.Result) (*mcpgo.CallToolResult, error) {
	if form == toolset.TextForm {
		r.Structured = nil
	}
	if r.Content != nil {
		return contentResult(r)
	}
	if form == toolset.StructuredForm && r.Structured != nil {
		r.Text = toolset.InStructured
	}
	return mcphttp.Result(ctx, r.Text, r.Structured)
}

// contentResult returns a result whose content blocks are given.
func contentResult(r toolset.Result) (*mcpgo.CallToolResult, error) {
	raw, err := json.Marshal(map[string]any{"content": r.Content})
	if err != nil {
		return nil, fmt.Errorf("read the content of a result: %w", err)
	}
	message := json.RawMessage(raw)
	result, err := mcpgo.ParseCallToolResult(&message)
	if err != nil {
		return nil, fmt.Errorf("read the content of a result: %w", err)
	}
	if r.Structured != nil {
		result.StructuredContent = r.Structured
	}
	if r.Meta != nil {
		result.Meta = mcpgo.NewMetaFromMap(r.Meta)
	}
	return result, nil
}
