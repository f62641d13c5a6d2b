package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// shape is what is known of a value: its JSON Schema. nil is nothing.
type shape map[string]any

// shapeOf returns the shape that a schema describes.
func shapeOf(raw json.RawMessage) shape {
	if len(raw) == 0 {
		return nil
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return nil
	}
	object, _ := value.(map[string]any)
	return object
}

// typesOf returns the types that a value may have, nil if that is not known.
func typesOf(s shape) []string {
	switch types := s["type"].(type) {
	case string:
		return []string{types}
	case []any:
		var names []string
		for _, t := range types {
			name, ok := t.(string)
			if !ok {
				return nil
			}
			names = append(names, name)
		}
		return names
	}
	return nil
}

// member returns the shape at a name below s: of a property, or of the items of an array. ok is
// false if it is known that there is nothing.
func (s shape) member(name string) (shape, bool) {
	types := typesOf(s)
	if _, err := strconv.Atoi(name); err == nil && slices.Contains(types, "array") {
		items, _ := s["items"].(map[string]any)
		return items, true
	}
	if s == nil || types == nil || s["$ref"] != nil || s["anyOf"] != nil || s["oneOf"] != nil || s["allOf"] != nil {
		return nil, true
	}
	if !slices.Contains(types, "object") {
		return nil, false
	}
	properties, _ := s["properties"].(map[string]any)
	if found, ok := properties[name]; ok {
		inner, _ := found.(map[string]any)
		return inner, true
	}
	further := s["additionalProperties"]
	inner, _ := further.(map[string]any)
	return inner, further != false && (further != nil || len(properties) == 0) || s["patternProperties"] != nil
}

// at returns the shape at a path of names. Errors: Invalid, naming the field, for a path that is
// known not to exist.
func (s shape) at(field, path string) (shape, error) {
	if path == "" {
		return s, nil
	}
	done := ""
	for name := range strings.SplitSeq(path, ".") {
		inner, ok := s.member(name)
		if !ok {
			return nil, fault.Field(field, "has no %q%s: %s", name, below(done), s.describe())
		}
		s, done = inner, strings.TrimPrefix(done+"."+name, ".")
	}
	return s, nil
}

func below(path string) string {
	if path == "" {
		return ""
	}
	return " below " + path
}

// describe returns what there is instead of a missing name.
func (s shape) describe() string {
	properties, _ := s["properties"].(map[string]any)
	if len(properties) == 0 && s["additionalProperties"] == false {
		return "there is nothing"
	}
	if len(properties) == 0 {
		return "it is of type " + strings.Join(typesOf(s), " or ")
	}
	return "there are " + strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
}

// maxFit is how deep schemas are compared.
const maxFit = 8

// fit returns an error if it is known that a value of the shape from does not fit the schema to.
func fit(field string, from, to shape, depth int) error {
	if from == nil || to == nil || depth > maxFit {
		return nil
	}
	given, wanted := typesOf(from), typesOf(to)
	if given == nil || wanted == nil {
		return nil
	}
	if !slices.ContainsFunc(given, func(t string) bool {
		return slices.Contains(wanted, t) || t == "integer" && slices.Contains(wanted, "number") || t == "number" && slices.Contains(wanted, "integer")
	}) {
		return fault.Field(field, "is of type %s, but must be %s", strings.Join(given, " or "), strings.Join(wanted, " or "))
	}
	if slices.Contains(given, "array") && slices.Contains(wanted, "array") {
		mine, _ := from["items"].(map[string]any)
		theirs, _ := to["items"].(map[string]any)
		return fit(field+"[]", mine, theirs, depth+1)
	}
	if !slices.Contains(given, "object") || !slices.Contains(wanted, "object") {
		return nil
	}
	return fitObject(field, from, to, depth)
}

func fitObject(field string, from, to shape, depth int) error {
	if err := fitMembers(field, from, to, depth); err != nil {
		return err
	}
	required, _ := to["required"].([]any)
	for _, r := range required {
		name, _ := r.(string)
		if _, ok := from.member(name); !ok {
			return fault.Field(field+"."+name, "is missing, but required: in the input %s", from.describe())
		}
	}
	return nil
}

func fitMembers(field string, from, to shape, depth int) error {
	properties, _ := from["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		mine, _ := properties[name].(map[string]any)
		theirs, ok := to.member(name)
		if !ok && to["additionalProperties"] == false {
			return fault.Field(field+"."+name, "is not taken: %s", to.describe())
		}
		if !ok {
			continue
		}
		if err := fit(field+"."+name, mine, theirs, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// shapeOfValue returns the shape of a constant.
func shapeOfValue(value any) shape {
	switch value := value.(type) {
	case nil:
		return shape{"type": "null"}
	case bool:
		return shape{"type": "boolean"}
	case string:
		return shape{"type": "string"}
	case json.Number:
		if strings.ContainsAny(string(value), ".eE") {
			return shape{"type": "number"}
		}
		return shape{"type": "integer"}
	case []any:
		return shape{"type": "array"}
	case map[string]any:
		properties := map[string]any{}
		for name, inner := range value {
			properties[name] = map[string]any(shapeOfValue(inner))
		}
		return shape{"type": "object", "properties": properties, "additionalProperties": false}
	}
	return nil
}
