package toolset

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/tool/toolschema"
)

// tool is a tool that can be called.
type tool struct {
	index      string // of its settings
	indexFrom  any    // the reference from which its settings take the index; nil for none
	definition Definition
	input      toolschema.Schema
	output     toolschema.Schema
	arguments  *arguments
	run        run
	// filtered tools search a part of their index, and do not show values of the others.
	filtered bool
	// fixed tools take only the filter from the request context.
	fixed bool
	// defers says that the tool's source returns tasks itself.
	defers bool
}

// run runs a call with arguments that fit the tool's schema.
type run func(ctx context.Context, c Call, arguments accepted) (Result, error)

// method calls the API with arguments that fit the tool's schema and returns the answer as a
// message and as text.
type method func(ctx context.Context, arguments accepted) (proto.Message, string, error)

// call returns the method of one API call.
func call[Req any, Message interface {
	*Req
	proto.Message
}, Res proto.Message](send func(context.Context, Message) (Res, error), text func(Message, Res) string) method {
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		req := Message(new(Req))
		if err := arguments.decode(req); err != nil {
			return nil, "", err
		}
		res, err := send(ctx, req)
		if err != nil {
			return nil, "", err
		}
		return res, text(req, res), nil
	}
}

// run returns the run of a method.
func (m method) run(ctx context.Context, c Call, arguments accepted) (Result, error) {
	answer, text, err := m(withForm(ctx, c.Form), arguments)
	if err != nil {
		return Result{}, err
	}
	content, err := structured(answer)
	if err != nil {
		return Result{}, fmt.Errorf("encode the answer: %w", err)
	}
	return Result{Structured: content, Text: text}, nil
}

// runs returns the methods of the builtin tools by name.
func (s *Set) runs() map[string]method {
	api := s.api
	return map[string]method{
		"alerts":           s.alerts(),
		"cancel_job":       call(api.CancelJob, cancelledText),
		"count_chunks":     call(api.CountChunks, countsText),
		"delete_document":  call(api.DeleteDocument, deletedText),
		"delete_documents": call(api.DeleteDocuments, deletedManyText),
		"describe_index":   call(api.DescribeIndex, indexText),
		"document_chunker": call(api.ChunkText, chunksText),
		"fetch":            s.fetch(),
		"get_document":     call(api.GetDocument, documentText),
		"get_job":          s.getJob(),
		"graph_rag":        s.graphRag(),
		"record_feedback":  call(api.RecordFeedback, recordedText),
		"research":         s.research(),
		"rerank":           call(api.Rerank, rerankedText),
		"remember":         call(api.Remember, rememberedText),
		"recall":           call(api.Recall, recalledText),
		"forget":           call(api.Forget, forgottenText),
		"list_documents":   call(api.ListDocuments, documentsText),
		"list_indexes":     call(api.ListIndexes, indexesText),
		"list_tables":      call(api.ListTables, tablesText),
		"list_topics":      call(api.ListTopics, topicsText),
		"query_table":      call(api.QueryTable, tableText),
		"search":           s.search(),
		"sync_source":      call(api.SyncSource, syncedText),
		"upload_document":  s.upload(),
		"vector_query":     s.vectorQuery(),
	}
}

// definitions holds the tools, one file each, and the schemas that they share, see
// toolschema.
//
//go:embed tools/*.json
var definitions embed.FS

// builtins returns the builtin tools by name, without what runs them. They are read once: it takes
// longer than all else that a Set needs.
var builtins = sync.OnceValues(func() (map[string]tool, error) {
	raw, err := definitions.ReadFile(sharedFile)
	if err != nil {
		return nil, err
	}
	shared, err := toolschema.ParseShared(raw)
	if err != nil {
		return nil, fmt.Errorf("read the shared schemas: %w", err)
	}
	files, err := fs.Glob(definitions, "tools/*.json")
	if err != nil {
		return nil, err
	}
	tools := map[string]tool{}
	for _, file := range files {
		if file == sharedFile {
			continue
		}
		name := strings.TrimSuffix(path.Base(file), ".json")
		if tools[name], err = readTool(file, shared); err != nil {
			return nil, fmt.Errorf("read the definition of tool %s: %w", name, err)
		}
	}
	return tools, nil
})

// sharedFile has the schemas that the tools share.
const sharedFile = "tools/shared.json"

func readTool(file string, shared toolschema.Shared) (t tool, err error) {
	raw, err := definitions.ReadFile(file)
	if err != nil {
		return t, err
	}
	var d struct {
		Name         string
		Title        string
		Description  string
		Annotations  Annotations
		InputSchema  json.RawMessage
		OutputSchema json.RawMessage
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return t, err
	}
	if t.input, err = shared.Parse(d.InputSchema); err != nil {
		return t, err
	}
	if t.output, err = shared.Parse(d.OutputSchema); err != nil {
		return t, err
	}
	t.definition = Definition{
		Name: d.Name, Source: d.Name, Title: d.Title, Description: d.Description, Kind: d.Name, Builtin: true, Annotations: d.Annotations,
		InputSchema: t.input.Shown(), OutputSchema: t.output.Shown(),
		WholeInputSchema: t.input.Whole(), WholeOutputSchema: t.output.Whole(),
	}
	t.arguments, err = newArguments(t.input)
	return t, err
}

// encode returns a message as compact JSON with all fields, because output schemas require
// empty ones too.
func encode(m proto.Message) (json.RawMessage, error) { return jsonmessage.Append(nil, m) }
