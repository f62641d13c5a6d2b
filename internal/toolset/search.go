package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/fault"
)

// The tools search and fetch have the arguments and answers that connectors of chat
// applications expect: both forms of an answer are the same JSON. They are the narrow
// counterparts of vector_query and get_document.

// search returns the method of the tool search.
func (s *Set) search() method {
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		var given struct {
			Query, Question, IndexName string
			Filter                     json.RawMessage
			TopK                       *int32
		}
		if err := json.Unmarshal(arguments.json, &given); err != nil {
			return nil, "", err
		}
		req := &ragdv1.VectorQueryRequest{QueryText: cmp.Or(given.Query, given.Question), IndexName: given.IndexName, TopK: given.TopK}
		if req.QueryText == "" {
			return nil, "", fault.Field("query", "is required")
		}
		if given.Filter != nil {
			req.Filter = structpb.NewStringValue(string(given.Filter))
		}
		res, err := s.api.VectorQuery(ctx, req)
		if err != nil {
			return nil, "", err
		}
		results := make([]*structpb.Value, len(res.GetSources()))
		for i, source := range res.GetSources() {
			results[i] = structpb.NewStructValue(found(given.IndexName, source))
		}
		answer := &structpb.Struct{Fields: map[string]*structpb.Value{
			"results": structpb.NewListValue(&structpb.ListValue{Values: results}),
		}}
		if len(res.GetWarnings()) > 0 {
			warnings := &structpb.ListValue{}
			for _, warning := range res.GetWarnings() {
				warnings.Values = append(warnings.Values, structpb.NewStringValue(warning))
			}
			answer.Fields["warnings"] = structpb.NewListValue(warnings)
		}
		return inBothForms(answer)
	}
}

// found returns a passage as a result of search.
func found(index string, source *ragdv1.Source) *structpb.Struct {
	title, metadata := nameOf(source)
	id := source.GetId()
	if index != "" {
		id = index + "/" + id
	}
	result := map[string]*structpb.Value{
		"id": structpb.NewStringValue(id), "title": structpb.NewStringValue(title), "url": structpb.NewStringValue(source.GetUri()),
		"text": structpb.NewStringValue(source.GetDocument()), "score": structpb.NewNumberValue(source.GetScore()),
	}
	if len(metadata.GetFields()) > 0 {
		result["metadata"] = structpb.NewStructValue(metadata)
	}
	return &structpb.Struct{Fields: result}
}

// inBothForms returns an answer whose text is the JSON of the structured content.
func inBothForms(answer *structpb.Struct) (proto.Message, string, error) {
	text, err := encode(answer)
	return answer, string(text), err
}

// maxFetchBytes limits the text that fetch returns; the rest of a chunk that exceeds it is
// returned too.
const maxFetchBytes = 64 << 10

// fetch returns the method of the tool fetch.
func (s *Set) fetch() method {
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		var given struct{ ID string }
		if err := json.Unmarshal(arguments.json, &given); err != nil {
			return nil, "", err
		}
		document, ordinal, err := s.named(ctx, given.ID)
		if err != nil {
			return nil, "", err
		}
		text, cut, err := s.textAround(ctx, document, ordinal)
		if err != nil {
			return nil, "", err
		}
		fields := map[string]*structpb.Value{
			"id": structpb.NewStringValue(given.ID), "title": structpb.NewStringValue(document.GetTitle()),
			"url": structpb.NewStringValue(document.GetUri()), "text": structpb.NewStringValue(text),
		}
		metadata := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for key, value := range document.GetMetadata().GetFields() {
			metadata.Fields[key] = value
		}
		if cut {
			metadata.Fields["partial"] = structpb.NewBoolValue(true)
		}
		if len(metadata.Fields) > 0 {
			fields["metadata"] = structpb.NewStructValue(metadata)
		}
		return inBothForms(&structpb.Struct{Fields: fields})
	}
}

// named returns the document with an id of search, or with its own id or uri in the only
// index, and the number of the passage. Errors: NotFound.
func (s *Set) named(ctx context.Context, id string) (*ragdv1.Document, int, error) {
	req := &ragdv1.GetDocumentRequest{}
	rest := id
	if index, of, ok := strings.Cut(id, "/"); ok && isChunkID(of) {
		req.IndexName, rest = index, of
	}
	ordinal := 0
	switch {
	case isChunkID(rest):
		var number string
		req.DocumentId, number, _ = strings.Cut(rest, ":")
		ordinal, _ = strconv.Atoi(number)
	case len(rest) == documentIDBytes && strings.Count(rest, "-") == 4:
		req.DocumentId = rest
	default:
		req.Uri = rest
	}
	document, err := s.api.GetDocument(ctx, req)
	if fault.KindOf(err) == fault.Invalid {
		err = fault.Rename("documentId", "id", fault.Rename("uri", "id", err))
	}
	return document, ordinal, err
}

// documentIDBytes is the length of the id of a document.
const documentIDBytes = 36

// isChunkID reports whether an id is that of a chunk: the id of its document, a colon and
// its number.
func isChunkID(id string) bool {
	document, number, ok := strings.Cut(id, ":")
	_, err := strconv.Atoi(number)
	return ok && err == nil && len(document) == documentIDBytes
}

// textAround returns the text of a document, or of a long one the part around a chunk, and
// whether that is not all.
func (s *Set) textAround(ctx context.Context, document *ragdv1.Document, ordinal int) (text string, cut bool, err error) {
	const page = 1000
	var window []*ragdv1.Chunk
	size := 0
	for token := ""; ; {
		res, err := s.api.ListChunks(ctx, &ragdv1.ListChunksRequest{
			IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId(), PageSize: page, PageToken: token,
		})
		if err != nil {
			return "", false, err
		}
		for _, chunk := range res.GetChunks() {
			window, size = append(window, chunk), size+len(chunk.GetText())
			// Chunks before the passage leave when those behind it need their space.
			for size > maxFetchBytes && len(window) > 1 && int(window[0].GetOrdinal()) < ordinal-len(window)/2 {
				size -= len(window[0].GetText())
				window, cut = window[1:], true
			}
			if size > maxFetchBytes && int(chunk.GetOrdinal()) >= ordinal {
				return joined(window), true, nil
			}
		}
		if token = res.GetNextPageToken(); token == "" {
			return joined(window), cut, nil
		}
	}
}

// joined returns the text of chunks that follow each other, without what neighbours repeat.
func joined(chunks []*ragdv1.Chunk) string {
	var b strings.Builder
	end := uint32(0)
	for i, chunk := range chunks {
		text := chunk.GetText()
		whole := int(chunk.GetEndByte()-chunk.GetStartByte()) == len(text) // a piece of the document as it is
		switch repeated := int(end) - int(chunk.GetStartByte()); {
		case i == 0:
		case whole && repeated > 0 && repeated < len(text) && utf8.RuneStart(text[repeated]):
			text = text[repeated:]
		case whole && repeated == 0:
		default:
			b.WriteString("\n\n")
		}
		b.WriteString(text)
		end = chunk.GetEndByte()
	}
	return b.String()
}
