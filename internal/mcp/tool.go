package mcp

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/jsonmessage"
	"github.com/ragdhq/ragd/internal/limit"
	"github.com/ragdhq/ragd/internal/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/tenant"
)

// toolset holds the tools over one API and what they share.
type toolset struct {
	tools       []*tool
	api         API
	indexes     *indexNames
	tenantTools *tenantTools
	waits       *limit.Limiter[tenant.ID] // limits calls that wait for a job
	overrides   overrider
	readOnly    bool // the one credential of all callers lacks the scope write
	callTimeout time.Duration
	log         *slog.Logger
	version     string
}

// tool is an API call in the form that models use.
type tool struct {
	definition mcpgo.Tool
	arguments  *arguments
	run        run
	// fixed tools take only the filter from the request context.
	fixed bool
}

// run calls the API with arguments that fit the tool's schema and returns the answer as a
// message and as text.
type run func(ctx context.Context, arguments accepted) (proto.Message, string, error)

// call returns the run of one API method.
func call[Req any, Message interface {
	*Req
	proto.Message
}, Res proto.Message](method func(context.Context, Message) (Res, error), text func(Message, Res) string) run {
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		req := Message(new(Req))
		if err := arguments.decode(req); err != nil {
			return nil, "", err
		}
		res, err := method(ctx, req)
		if err != nil {
			return nil, "", err
		}
		return res, text(req, res), nil
	}
}

func newToolset(cfg Config, o overrider) (*toolset, error) {
	s := &toolset{
		api: cfg.API, indexes: newIndexNames(cfg.API), overrides: o, callTimeout: cfg.CallTimeout, log: cfg.Logger, version: cfg.Version,
		waits: newWaits(),
	}
	for name, run := range map[string]run{
		"cancel_job":       call(cfg.API.CancelJob, cancelledText),
		"delete_document":  call(cfg.API.DeleteDocument, deletedText),
		"delete_documents": call(cfg.API.DeleteDocuments, deletedManyText),
		"describe_index":   call(cfg.API.DescribeIndex, indexText),
		"document_chunker": call(cfg.API.ChunkText, chunksText),
		"get_document":     call(cfg.API.GetDocument, documentText),
		"get_job":          s.getJob(),
		"graph_rag":        call(cfg.API.GraphRag, walkText),
		"rerank":           call(cfg.API.Rerank, rerankedText),
		"list_documents":   call(cfg.API.ListDocuments, documentsText),
		"list_indexes":     call(cfg.API.ListIndexes, indexesText),
		"list_topics":      call(cfg.API.ListTopics, topicsText),
		"sync_source":      call(cfg.API.SyncSource, syncedText),
		"upload_document":  s.upload(),
		"vector_query":     call(cfg.API.VectorQuery, answerText),
	} {
		t, err := readTool(name, run)
		if err != nil {
			return nil, fmt.Errorf("read the definition of tool %s: %w", name, err)
		}
		s.tools = append(s.tools, t)
	}
	s.tenantTools = newTenantTools(cfg.API, s.tools)
	return s, nil
}

// definitions holds the tools as they go over the wire, one file each. In them
// {"$shared": "name"} stands for the entry of that name in shared.json, because not every
// client follows references within a schema.
//
//go:embed tools/*.json
var definitions embed.FS

func readTool(name string, run run) (*tool, error) {
	raw, err := readDefinition(name)
	if err != nil {
		return nil, err
	}
	var d struct {
		Name         string
		Title        string
		Description  string
		Annotations  mcpgo.ToolAnnotation
		InputSchema  json.RawMessage
		OutputSchema json.RawMessage
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	d.Annotations.Title = d.Title
	accepts, err := newArguments(d.InputSchema)
	if err != nil {
		return nil, err
	}
	return &tool{
		definition: mcpgo.Tool{
			Name: d.Name, Title: d.Title, Description: d.Description, Annotations: d.Annotations,
			RawInputSchema: d.InputSchema, RawOutputSchema: d.OutputSchema,
		},
		arguments: accepts,
		run:       run,
	}, nil
}

// readDefinition returns a tool's file with shared entries inserted. The order of keys is
// kept.
func readDefinition(name string) ([]byte, error) {
	var shared map[string]json.RawMessage
	raw, err := definitions.ReadFile("tools/shared.json")
	if err == nil {
		err = json.Unmarshal(raw, &shared)
	}
	if err != nil {
		return nil, err
	}
	if raw, err = definitions.ReadFile("tools/" + name + ".json"); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, err
	}
	out := compact.Bytes()
	const depth = 2 // shared entries contain others, but only one level deep
	for range depth {
		for part, schema := range shared {
			var inner bytes.Buffer
			if err := json.Compact(&inner, schema); err != nil {
				return nil, err
			}
			out = bytes.ReplaceAll(out, []byte(`{"$shared":"`+part+`"}`), inner.Bytes())
		}
	}
	return out, nil
}

// call runs one call of a tool. A panic becomes an internal error.
func (s *toolset) call(ctx context.Context, t *tool, req mcpgo.CallToolRequest) (result *mcpgo.CallToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if ctx, err = s.overrides.apply(ctx, req.Params.Meta, t.fixed); err != nil {
		return nil, err
	}
	ctx, progress := withProgress(ctx, req)
	defer progress.wait()
	arguments, err := t.arguments.accept(sentArguments(ctx, req), req)
	if err != nil {
		return nil, err
	}
	answer, text, err := t.run(ctx, arguments)
	if err != nil {
		return nil, err
	}
	structured, err := encode(answer)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return mcphttp.Result(ctx, text, structured)
}

// encode returns a message as compact JSON with all fields, because output schemas require
// empty ones too.
func encode(m proto.Message) (json.RawMessage, error) { return jsonmessage.Append(nil, m) }
