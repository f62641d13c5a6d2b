package toolschema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Repair corrects harmless mistakes of models in the arguments of a call, in place: null or
// "" for a property left out, and a number, a list or an object written into a string. It
// reports whether it changed anything. Objects with any fields, such as filters, keep their
// nulls.
func (s Schema) Repair(arguments map[string]any) (changed bool) {
	return repairObject(s.root, arguments)
}

func repairObject(schema *object, given map[string]any) (changed bool) {
	properties, _ := schema.get("properties").(*object)
	if properties == nil {
		return false
	}
	for name, value := range given {
		property, _ := properties.get(name).(*object)
		repaired, absent, differs := repairValue(property, value)
		switch {
		case absent:
			delete(given, name)
			changed = true
		case differs:
			given[name] = repaired
			changed = true
		}
	}
	return changed
}

// repairValue returns a value that fits the schema better, or that the property is absent.
func repairValue(schema *object, value any) (repaired any, absent, changed bool) {
	switch value := value.(type) {
	case nil:
		return nil, !slices.Contains(typesOf(schema), "null"), false
	case string:
		return repairText(schema, value)
	case map[string]any:
		return value, false, repairObject(schema, value)
	case []any:
		return value, false, repairList(schema, value)
	}
	return value, false, false
}

func repairText(schema *object, text string) (repaired any, absent, changed bool) {
	types := typesOf(schema)
	isText, isObject := slices.Contains(types, "string"), slices.Contains(types, "object")
	switch {
	case len(types) == 0 || isText && !isObject && (schema.get("enum") == nil || allowsEmpty(schema)):
		return text, false, false
	case strings.TrimSpace(text) == "":
		return nil, true, false
	case isText && !isObject:
		return text, false, false
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return text, false, false
	}
	if value == nil {
		return nil, true, false
	}
	if _, parsed := value.(map[string]any); isText && !parsed {
		return text, false, false
	}
	repaired, absent, _ = repairValue(schema, value)
	return repaired, absent, true
}

// allowsEmpty reports whether "" is in the enum of a schema.
func allowsEmpty(schema *object) bool {
	values, _ := schema.get("enum").([]any)
	return slices.Contains(values, any(""))
}

func repairList(schema *object, list []any) (changed bool) {
	items, _ := schema.get("items").(*object)
	if types := typesOf(items); slices.Equal(types, []string{"string"}) || slices.Equal(types, []string{"number"}) {
		return false
	}
	for i, item := range list {
		repaired, absent, differs := repairValue(items, item)
		if differs && !absent {
			list[i], changed = repaired, true
		}
	}
	return changed
}

// isObjectOrText reports whether a schema is that of an object, with any fields, or of its
// text.
func isObjectOrText(schema *object) bool {
	types := typesOf(schema)
	return schema.get("anyOf") != nil && len(types) == 2 && slices.Contains(types, "object") && slices.Contains(types, "string")
}

// typesOf returns the types of which a value may be: those of the schema, those that it
// also accepts, and those of its alternatives if these say no more than their types.
func typesOf(schema *object) (types []string) {
	for _, key := range []string{"type", "$also"} {
		switch kind := schema.get(key).(type) {
		case string:
			types = append(types, kind)
		case []any:
			for _, k := range kind {
				if name, ok := k.(string); ok {
					types = append(types, name)
				}
			}
		}
	}
	alternatives, _ := schema.get("anyOf").([]any)
	for _, alternative := range alternatives {
		o, _ := alternative.(*object)
		kind, ok := o.get("type").(string)
		if !ok || o.get("properties") != nil || o.get("items") != nil || o.get("enum") != nil {
			return nil
		}
		types = append(types, kind)
	}
	return types
}
