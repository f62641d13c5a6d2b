package toolset

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/internal/jsonmessage"
)

// tool is a tool that can be called.
type tool struct {
	source     string // its name outside of views
	definition Definition
	arguments  *arguments
	run        run
	// fixed tools take only the filter from the request context.
	fixed bool
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
func (m method) run(ctx context.Context, _ Call, arguments accepted) (Result, error) {
	answer, text, err := m(ctx, arguments)
	if err != nil {
		return Result{}, err
	}
	structured, err := encode(answer)
	if err != nil {
		return Result{}, fmt.Errorf("encode the answer: %w", err)
	}
	return Result{Structured: structured, Text: text}, nil
}

// runs returns the methods of the builtin tools by name.
func (s *Set) runs() map[string]method {
	api := s.api
	return map[string]method{
		"cancel_job":       call(api.CancelJob, cancelledText),
		"delete_document":  call(api.DeleteDocument, deletedText),
		"delete_documents": call(api.DeleteDocuments, deletedManyText),
		"describe_index":   call(api.DescribeIndex, indexText),
		"document_chunker": call(api.ChunkText, chunksText),
		"get_document":     call(api.GetDocument, documentText),
		"get_job":          s.getJob(),
		"graph_rag":        call(api.GraphRag, walkText),
		"rerank":           call(api.Rerank, rerankedText),
		"list_documents":   call(api.ListDocuments, documentsText),
		"list_indexes":     call(api.ListIndexes, indexesText),
		"list_topics":      call(api.ListTopics, topicsText),
		"sync_source":      call(api.SyncSource, syncedText),
		"upload_document":  s.upload(),
		"vector_query":     call(api.VectorQuery, answerText),
	}
}

// definitions holds the tools as they go over the wire, one file each. In them
// {"$shared": "name"} stands for the entry of that name in shared.json, because not every
// client follows references within a schema.
//
//go:embed tools/*.json
var definitions embed.FS

func readTool(name string, run method) (*tool, error) {
	raw, err := readDefinition(name)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	accepts, err := newArguments(d.InputSchema)
	if err != nil {
		return nil, err
	}
	return &tool{
		source: d.Name,
		definition: Definition{
			Name: d.Name, Title: d.Title, Description: d.Description, Kind: d.Name, Builtin: true, Annotations: d.Annotations,
			InputSchema: d.InputSchema, OutputSchema: d.OutputSchema,
		},
		arguments: accepts,
		run:       run.run,
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

// encode returns a message as compact JSON with all fields, because output schemas require
// empty ones too.
func encode(m proto.Message) (json.RawMessage, error) { return jsonmessage.Append(nil, m) }
