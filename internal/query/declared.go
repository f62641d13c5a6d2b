package query

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Limits of a field in the description of tools: bytes of what the schema says of it, and values.
const (
	maxDeclaredBytes  = 80
	maxDeclaredValues = 5
)

// declaredTypes are the types of fields by the types of JSON Schema.
var declaredTypes = map[string]string{"string": "text", "number": "number", "integer": "number", "boolean": "boolean", "object": "object"}

// declaredProperty is what a JSON Schema of metadata says of a field.
type declaredProperty struct {
	Type        json.RawMessage             `json:"type"`
	Format      string                      `json:"format"`
	Description string                      `json:"description"`
	Enum        []any                       `json:"enum"`
	Items       *declaredProperty           `json:"items"`
	Properties  map[string]declaredProperty `json:"properties"`
}

// declaredFields returns the fields that the JSON Schema of an index declares, in the order of their names. Objects stand for
// their properties.
func declaredFields(raw json.RawMessage) []Field {
	var root declaredProperty
	if len(raw) == 0 || json.Unmarshal(raw, &root) != nil {
		return nil
	}
	var fields []Field
	var visit func(property declaredProperty, keys []string)
	visit = func(property declaredProperty, keys []string) {
		if len(keys) > 0 && len(property.Properties) == 0 {
			fields = append(fields, property.field(filter.FieldName(keys...)))
			return
		}
		for _, name := range slices.Sorted(maps.Keys(property.Properties)) {
			visit(property.Properties[name], append(slices.Clone(keys), name))
		}
	}
	visit(root, nil)
	return fields
}

func (p declaredProperty) field(name string) Field {
	f := Field{Name: name, Declared: true, Description: p.Description}
	of := p
	if p.Items != nil {
		f.List, of = true, *p.Items
	}
	var kinds []string
	var one string
	if json.Unmarshal(of.Type, &one) == nil {
		kinds = []string{one}
	} else {
		_ = json.Unmarshal(of.Type, &kinds) // left out for a schema without
	}
	for _, kind := range kinds {
		known, ok := declaredTypes[kind]
		if known == "text" && (of.Format == "date" || of.Format == "date-time") {
			known = typeTime
		}
		if ok && !slices.Contains(f.Types, known) {
			f.Types = append(f.Types, known)
		}
	}
	f.Values = of.Enum[:min(len(of.Enum), maxListedValues)]
	return f
}

// describe returns the field as a description of tools names it.
func (f Field) describe() string {
	says := strings.Join(f.Types, " or ")
	if len(f.Values) > 0 {
		var values []string
		for _, value := range f.Values {
			if raw, err := json.Marshal(value); err == nil && len(values) < maxDeclaredValues {
				values = append(values, string(raw))
			}
		}
		says = strings.Join(values, ", ")
	}
	if f.List {
		says = "list of " + says
	}
	if f.Description != "" && isPlain(f.Description) {
		says += ": " + textlimit.Shorten(f.Description, maxDeclaredBytes)
	}
	return f.Name + " (" + says + ")"
}
