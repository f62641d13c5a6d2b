package toolset

import (
	"encoding/json"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
)

// structured returns the structured content of an answer: the message as JSON. An answer
// with passages has the text of each once: relevantContext is left out if there are
// sources, and so is the copy in metadata.text.
func structured(answer proto.Message) (json.RawMessage, error) {
	switch answer := answer.(type) {
	case severalAnswers:
		return answer.structured()
	case *ragdv1.VectorQueryResponse:
		return structuredAnswer(answer, answer.GetSources())
	case *ragdv1.GraphRagResponse:
		return structuredAnswer(answer, answer.GetSources())
	case *ragdv1.ResearchResponse:
		return structuredResearch(answer)
	case *ragdv1.RerankResponse:
		return structuredRanking(answer)
	}
	return encode(answer)
}

func structuredAnswer(answer proto.Message, sources []*ragdv1.Source) (dst json.RawMessage, err error) {
	dst = append(dst, `{"sources":[`...)
	for i, source := range sources {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendSource(dst, source); err != nil {
			return nil, err
		}
	}
	without := []protoreflect.Name{"sources"}
	if len(sources) > 0 {
		without = append(without, "relevant_context")
	}
	return appendRest(append(dst, ']'), shallowCopy(answer, without...), "warnings")
}

func structuredRanking(answer *ragdv1.RerankResponse) (dst json.RawMessage, err error) {
	dst = append(dst, `{"results":[`...)
	for i, ranked := range answer.GetResults() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendSource(append(dst, `{"result":`...), ranked.GetResult()); err != nil {
			return nil, err
		}
		if dst, err = appendRest(dst, shallowCopy(ranked, "result"), "score"); err != nil {
			return nil, err
		}
	}
	return appendRest(append(dst, ']'), shallowCopy(answer, "results"), "warnings")
}

// appendRest appends further fields to an object that is not closed, and closes it.
func appendRest(dst []byte, rest proto.Message, always ...string) ([]byte, error) {
	start := len(dst)
	dst, err := jsonmessage.AppendSet(dst, rest, always...)
	if err != nil {
		return nil, err
	}
	dst[start] = ',' // always has a field, so this is not the brace of an empty object
	return dst, nil
}

// appendSource appends a passage, without what is empty.
func appendSource(dst []byte, source *ragdv1.Source) ([]byte, error) {
	if metadata := withoutText(source); metadata != source.GetMetadata() {
		copied := shallowCopy(source, "metadata").(*ragdv1.Source)
		copied.Metadata = metadata
		source = copied
	}
	return jsonmessage.AppendSet(dst, source, "id", "document", "score")
}

// shallowCopy returns a message with the fields of another, except some. It shares what the
// fields hold.
func shallowCopy(m proto.Message, without ...protoreflect.Name) proto.Message {
	from := m.ProtoReflect()
	to := from.New()
	from.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		for _, name := range without {
			if field.Name() == name {
				return true
			}
		}
		to.Set(field, value)
		return true
	})
	return to.Interface()
}
