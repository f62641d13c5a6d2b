package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ragdhq/ragd/internal/endpoint"
)

// noLoader keeps schemas from fetching others.
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

// schema asks for the caller's fields. The schema goes into the prompt and not
// into the request's own field for it: servers differ in what they take there,
// and what the caller wrote is checked against the answer in any case.
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
	w.each(ctx, "schema", func(ctx context.Context, i int) error {
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

// read checks an answer against the schema.
func (s *Schema) read(answer string) (map[string]any, error) {
	answer = inBraces(answer)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
	if err != nil {
		return nil, endpoint.Nonsense("%d bytes that are not JSON", len(answer))
	}
	if err := s.compiled.Validate(value); err != nil {
		return nil, endpoint.Nonsense("fields that do not have the shape asked for: %v", err)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(answer), &fields); err != nil || fields == nil {
		return nil, endpoint.Nonsense("JSON that is not an object")
	}
	return fields, nil
}

// inBraces cuts off what a talkative model says around an object.
func inBraces(answer string) string {
	start, end := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if start < 0 || end < start {
		return answer
	}
	return answer[start : end+1]
}
