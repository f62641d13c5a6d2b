package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// indexArgument is the argument that a user may be asked for.
const indexArgument = "indexName"

// question returns a question to the user if a call failed because it lacks arguments and the
// caller can ask; nil if the model should give them. A call asks at most once.
func (s *Set) question(ctx context.Context, t *tool, c Call, err error) *Question {
	var f *fault.Error
	if !c.CanAsk || c.Answers != nil || !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Violations) == 0 {
		return nil
	}
	var given map[string]any
	if c.Arguments != nil && json.Unmarshal(c.Arguments, &given) != nil {
		return nil
	}
	missing := make([]string, len(f.Violations))
	for i, v := range f.Violations {
		if value := given[v.Field]; value != nil && value != "" || t.arguments.property(v.Field) == nil {
			return nil
		}
		missing[i] = v.Field
	}
	switch {
	case len(missing) == 1 && missing[0] == indexArgument:
		return s.askForIndex(ctx)
	case t.definition.Builtin: // its arguments are the model's business
		return nil
	}
	return askFor(t, missing)
}

// askForIndex asks which index is meant; nil unless there are several.
func (s *Set) askForIndex(ctx context.Context) *Question {
	names := s.indexes.of(ctx)
	if len(names) < 2 {
		return nil
	}
	return &Question{
		Message: "There are several indexes. Which one is meant?",
		Schema: map[string]any{
			"type":       "object",
			"properties": map[string]any{indexArgument: map[string]any{"type": "string", "title": "Index", "enum": names}},
			"required":   []string{indexArgument},
		},
	}
}

// formKeywords are the keywords of JSON Schema that a form may have for a field.
var formKeywords = []string{"type", "title", "description", "default", "enum", "enumNames", "format", "minLength", "maxLength", "minimum", "maximum"}

// askFor asks for missing arguments; nil if one of them does not fit into a form, which has
// texts, numbers and choices only.
func askFor(t *tool, missing []string) *Question {
	wanted := map[string]any{}
	for _, name := range missing {
		wanted[name] = t.arguments.property(name)
	}
	fields, ok := Form(wanted)
	if !ok {
		return nil
	}
	return &Question{
		Message: "The tool " + t.definition.Title + " needs more to go on.",
		Schema:  map[string]any{"type": "object", "properties": fields, "required": missing},
	}
}

// Form returns the properties of a form from those of a JSON Schema. ok is false if one of them
// does not fit into a form.
func Form(properties map[string]any) (fields map[string]any, ok bool) {
	fields = map[string]any{}
	for name, property := range properties {
		schema, _ := property.(map[string]any)
		if !slices.Contains([]any{"string", "number", "integer", "boolean"}, schema["type"]) {
			return nil, false
		}
		field := map[string]any{}
		for _, keyword := range formKeywords {
			if value, ok := schema[keyword]; ok {
				field[keyword] = value
			}
		}
		fields[name] = field
	}
	return fields, true
}
