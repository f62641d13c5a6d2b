package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

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
			Query, Question, IndexName, EncodingName, Expand string
			IndexNames                                       []string
			Filter                                           json.RawMessage
			TopK                                             *int32
			MaxTokens                                        *float64
		}
		if err := json.Unmarshal(arguments.json, &given); err != nil {
			return nil, "", err
		}
		req := &ragdv1.VectorQueryRequest{QueryText: cmp.Or(given.Query, given.Question), IndexName: given.IndexName, IndexNames: given.IndexNames, TopK: given.TopK, Expand: given.Expand}
		if req.QueryText == "" {
			return nil, "", fault.Field("query", "is required")
		}
		b, err := newBudget(given.MaxTokens, given.EncodingName)
		if err != nil {
			return nil, "", err
		}
		if given.Filter != nil {
			req.Filter = structpb.NewStringValue(string(given.Filter))
		}
		res, err := s.api.VectorQuery(ctx, req)
		if err != nil {
			return nil, "", err
		}
		if b == nil {
			return inBothForms(results(given.IndexName, parts{sources: res.GetSources(), warnings: res.GetWarnings()}))
		}
		return fitted(ctx, b, res.GetSources(), func(p parts) (proto.Message, string, error) {
			return inBothForms(results(given.IndexName, p))
		}, res.GetWarnings())
	}
}

// results returns the answer of search.
func results(index string, p parts) *structpb.Struct {
	list := make([]*structpb.Value, len(p.sources))
	for i, source := range p.sources {
		list[i] = structpb.NewStructValue(found(index, source))
	}
	answer := &structpb.Struct{Fields: map[string]*structpb.Value{
		"results": structpb.NewListValue(&structpb.ListValue{Values: list}),
	}}
	if len(p.warnings) > 0 {
		warnings := &structpb.ListValue{}
		for _, warning := range p.warnings {
			warnings.Values = append(warnings.Values, structpb.NewStringValue(warning))
		}
		answer.Fields["warnings"] = structpb.NewListValue(warnings)
	}
	if p.budget != nil {
		cutID := p.budget.GetCutId()
		if n := slices.IndexFunc(p.sources, func(source *ragdv1.Source) bool { return source.GetId() == cutID }); n >= 0 {
			cutID = resultID(cmp.Or(p.sources[n].GetIndexName(), index), cutID)
		}
		answer.Fields["budget"] = structpb.NewStructValue(budgetObject(index, cutID, p.budget))
	}
	return answer
}

// budgetObject returns what an answer of search says of its budget. cutID is that of the passage that was cut, or empty.
func budgetObject(index, cutID string, b *ragdv1.Budget) *structpb.Struct {
	fields := map[string]*structpb.Value{
		"maxTokens": structpb.NewNumberValue(float64(b.GetMaxTokens())), "usedTokens": structpb.NewNumberValue(float64(b.GetUsedTokens())),
		"encodingName": structpb.NewStringValue(b.GetEncodingName()), "omittedCount": structpb.NewNumberValue(float64(b.GetOmittedCount())),
		"omittedTokens": structpb.NewNumberValue(float64(b.GetOmittedTokens())),
	}
	if cutID != "" {
		fields["cutId"] = structpb.NewStringValue(cutID)
	}
	if len(b.GetOmitted()) > 0 {
		omitted := &structpb.ListValue{}
		for _, o := range b.GetOmitted() {
			omitted.Values = append(omitted.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
				"id": structpb.NewStringValue(resultID(cmp.Or(o.GetIndexName(), index), o.GetId())), "title": structpb.NewStringValue(o.GetTitle()), "url": structpb.NewStringValue(o.GetUri()),
				"score": structpb.NewNumberValue(o.GetScore()), "tokens": structpb.NewNumberValue(float64(o.GetTokens())),
			}}))
		}
		fields["omitted"] = structpb.NewListValue(omitted)
	}
	return &structpb.Struct{Fields: fields}
}

// resultID returns the id of a result, which fetch takes.
func resultID(index, id string) string {
	if index != "" {
		return index + "/" + id
	}
	return id
}

// found returns a passage as a result of search.
func found(index string, source *ragdv1.Source) *structpb.Struct {
	index = cmp.Or(source.GetIndexName(), index)
	title, metadata := nameOf(source)
	result := map[string]*structpb.Value{
		"id": structpb.NewStringValue(resultID(index, source.GetId())), "title": structpb.NewStringValue(title), "url": structpb.NewStringValue(source.GetUri()),
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
