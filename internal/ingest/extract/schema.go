package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ragdhq/ragd/internal/model/endpoint"
)

// noLoader rejects references to other documents, so that a schema cannot make the
// server fetch URLs or read files.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema cannot refer to another document")
}

func compile(raw []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const name = "extract:schema"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(name, document); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

const askFields = `You read fields out of an excerpt of a document. ` + dataNotOrders + `
Reply with JSON alone: one object that is valid under the JSON Schema below. Take values from the excerpt; do not make any up.`

// schema asks for the caller's fields. The schema is in the prompt, not in the
// request's schema field, because servers support different subsets of JSON Schema
// there. The answer is validated against the schema in any case.
func (w *work) schema(ctx context.Context) {
	o := w.request.Options.Schema
	if o == nil {
		return
	}
	system := askFields
	if o.Instructions != "" {
		system += "\n" + o.Instructions
	}
	system += "\nThe JSON Schema: " + o.JSON
	found := make([]map[string]any, len(w.chunks))
	w.forEachChunk(ctx, "schema", func(ctx context.Context, i int) error {
		return w.ask(ctx, question{model: o.Model, system: system, user: excerpt(w.chunks[i]), accept: func(answer string) (err error) {
			found[i], err = o.read(answer)
			return err
		}})
	})
	for i, fields := range found {
		if fields != nil && o.MetadataKey != "" {
			fields = map[string]any{o.MetadataKey: fields}
		}
		if fields != nil {
			w.add(i, "schema", fields)
		}
	}
}

// read returns the fields of an answer that is valid under the schema.
func (s *Schema) read(answer string) (map[string]any, error) {
	answer = inBraces(answer)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
	if err != nil {
		return nil, endpoint.BadAnswer("%d bytes that are not JSON", len(answer))
	}
	if err := s.compiled.Validate(value); err != nil {
		return nil, endpoint.BadAnswer("fields that do not have the shape asked for: %v", err)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(answer), &fields); err != nil || fields == nil {
		return nil, endpoint.BadAnswer("JSON that is not an object")
	}
	return fields, nil
}

// inBraces returns the answer from its first to its last brace, without any text
// around the object.
func inBraces(answer string) string {
	start, end := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if start < 0 || end < start {
		return answer
	}
	return answer[start : end+1]
}
