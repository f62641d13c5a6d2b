package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
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

// maxFetchBytes limits the text that fetch returns, except for a chunk that is longer.
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
	switch {
	case fault.KindOf(err) == fault.Invalid && req.IndexName == "" && strings.HasPrefix(fault.Public(err), indexArgument+":"):
		err = fault.Field("id", "must name the index, as there are several: write INDEX/ID, where ID is that of a passage")
	case fault.KindOf(err) == fault.Invalid:
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

// textAround returns the text of a document as it was read, or of a long one the range around a
// chunk, and whether that is not all.
func (s *Set) textAround(ctx context.Context, document *ragdv1.Document, ordinal int) (text string, cut bool, err error) {
	read := func(start, end uint32) (*ragdv1.ReadDocumentResponse, error) {
		return s.api.ReadDocument(ctx, &ragdv1.ReadDocumentRequest{
			IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId(), StartByte: start, EndByte: end,
		})
	}
	first, err := read(0, maxFetchBytes)
	if err != nil {
		return "", false, err
	}
	if cut = first.GetEndByte() < first.GetByteSize(); !cut || ordinal == 0 {
		return first.GetText(), cut, nil
	}
	chunk, err := s.chunk(ctx, document, ordinal)
	if err != nil || chunk.GetEndByte() <= first.GetEndByte() {
		return first.GetText(), cut, err
	}
	passage := chunk.GetEndByte() - chunk.GetStartByte()
	margin := (maxFetchBytes - min(passage, maxFetchBytes)) / 2
	start := chunk.GetStartByte() - min(margin, chunk.GetStartByte())
	around, err := read(start, max(start+maxFetchBytes, chunk.GetEndByte()))
	return around.GetText(), cut, err
}

// chunk returns a chunk of a document by its number, nil if there is none.
func (s *Set) chunk(ctx context.Context, document *ragdv1.Document, ordinal int) (*ragdv1.Chunk, error) {
	const page = 1000
	for token := ""; ; {
		res, err := s.api.ListChunks(ctx, &ragdv1.ListChunksRequest{
			IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId(), PageSize: page, PageToken: token,
		})
		if err != nil {
			return nil, err
		}
		for _, chunk := range res.GetChunks() {
			if int(chunk.GetOrdinal()) == ordinal {
				return chunk, nil
			}
		}
		if token = res.GetNextPageToken(); token == "" {
			return nil, nil
		}
	}
}
