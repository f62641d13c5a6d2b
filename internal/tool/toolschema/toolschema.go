// Package toolschema derives from one definition of a tool's JSON Schema what models are
// shown, what programs may look up, and what a call may send.
//
// A definition is JSON Schema with these keywords more:
//
//	"$full": true       of a property: only programs are shown it. A call may send it.
//	"$required": [...]  of an object: what models are told is required, beside "required".
//	"$details": "..."   follows the description where programs are shown it.
//	"$also": [...]      further types that a call may send, such as a boolean for an object.
//	"$shared": "name"   stands for the shared schema of that name, with the keywords beside it.
//
// Models get short schemas, because an agent sends them with every question. What is shown
// is made so that the client libraries of model providers convert it without loss: a
// property has one type, or an object and a text as alternatives; no enum has an empty
// text; nothing is nullable, although null is accepted wherever a property may be absent.
package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Schema is a definition. It is immutable; its methods are safe for concurrent use.
type Schema struct {
	root    *object
	foreign bool // it is not a definition: its keywords mean what JSON Schema says
}

// Foreign returns a schema that is not a definition, such as one that a tenant wrote. Its
// forms are the schema itself, and Shown is without "additionalProperties": false. Errors: for anything but an object.
func Foreign(schema []byte) (Schema, error) {
	root, err := readObject(schema)
	return Schema{root, true}, err
}

// Shared holds schemas that definitions name with "$shared".
type Shared struct{ schemas *object }

// ParseShared reads an object of schemas, which may name each other.
func ParseShared(schemas []byte) (Shared, error) {
	o, err := readObject(schemas)
	return Shared{o}, err
}

// Parse reads a definition, which must be an object. Schemas that it shares with others are
// inserted.
func (s Shared) Parse(definition []byte) (Schema, error) {
	root, err := readObject(definition)
	if err != nil {
		return Schema{}, err
	}
	var unknown error
	root = root.derive(func(o *object) *object {
		whole, err := s.resolve(o, maxNesting)
		unknown = errors.Join(unknown, err)
		return whole
	})
	return Schema{root: root}, unknown
}

// maxNesting limits how often shared schemas name each other.
const maxNesting = 8

// resolve returns a schema with the keywords of the shared schema that it names. Its own
// keywords take precedence.
func (s Shared) resolve(o *object, nesting int) (*object, error) {
	name, ok := o.get("$shared").(string)
	if !ok {
		return o, nil
	}
	shared, ok := s.schemas.get(name).(*object)
	if !ok || nesting == 0 {
		return o, fmt.Errorf("there is no shared schema %q", name)
	}
	shared, err := s.resolve(shared, nesting-1)
	merged := &object{}
	for _, m := range shared.members {
		if own := o.get(m.key); own != nil {
			m.value = own
		}
		merged.add(m.key, m.value)
	}
	for _, m := range o.members {
		if m.key != "$shared" && shared.get(m.key) == nil {
			merged.add(m.key, m.value)
		}
	}
	return merged, err
}

func readObject(raw []byte) (*object, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	value, err := readValue(decoder)
	if err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	o, ok := value.(*object)
	if !ok {
		return nil, errors.New("a schema must be an object")
	}
	return o, nil
}

// Pick returns a schema of the named properties, in that order, that models are shown all.
// Names that the schema does not have are left out. defaults are values, as JSON, that a
// call without the property gets; the descriptions say so.
func (s Schema) Pick(names, required []string, defaults map[string]json.RawMessage) Schema {
	all, _ := s.root.get("properties").(*object)
	picked := &object{}
	for _, name := range names {
		property, ok := all.get(name).(*object)
		if !ok {
			continue
		}
		shown := &object{}
		for _, m := range property.members {
			switch {
			case m.key == "$full":
			case m.key == "description" && defaults[name] != nil:
				shown.add(m.key, fmt.Sprintf("%s Here the default is %s.", m.value, textlimit.Shorten(string(defaults[name]), maxDefaultBytes)))
			default:
				shown.add(m.key, m.value)
			}
		}
		picked.add(name, shown)
	}
	root := &object{}
	for _, m := range s.root.members {
		if m.key != "properties" && m.key != "required" && m.key != "$required" {
			root.add(m.key, m.value)
		}
	}
	root.add("properties", picked)
	required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return picked.get(name) == nil })
	if len(required) > 0 {
		root.add("required", anyList(required))
	}
	return Schema{root: root}
}

// maxDefaultBytes limits a default that a description names.
const maxDefaultBytes = 100

func anyList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// Shown returns the schema for models: without what only programs use, and without
// "additionalProperties": false, which is implied and which libraries add themselves.
func (s Schema) Shown() json.RawMessage {
	if s.foreign {
		return encode(s.root.derive(withoutClosed))
	}
	return encode(s.root.derive(func(o *object) *object {
		shown := &object{}
		for _, m := range o.members {
			switch {
			case m.key == "$also" || m.key == "$details" || m.key == "$full" || m.key == "$required":
			case m.key == "additionalProperties" && m.value == false:
			case m.key == "properties":
				if kept := withoutFull(m.value); len(kept.members) > 0 || o == s.root {
					shown.add(m.key, kept)
				}
			case m.key == "required" && o.get("$required") != nil:
			default:
				shown.add(m.key, m.value)
			}
		}
		if required := o.get("$required"); required != nil {
			shown.add("required", required)
		}
		return shown
	}))
}

// withoutClosed returns a schema without "additionalProperties": false.
func withoutClosed(o *object) *object {
	open := &object{}
	for _, m := range o.members {
		if m.key != "additionalProperties" || m.value != false {
			open.add(m.key, m.value)
		}
	}
	return open
}

// withoutFull returns properties without those that only programs are shown.
func withoutFull(properties any) *object {
	kept := &object{}
	all, ok := properties.(*object)
	if !ok {
		return kept
	}
	for _, m := range all.members {
		if property, ok := m.value.(*object); !ok || property.get("$full") == nil {
			kept.add(m.key, m.value)
		}
	}
	return kept
}

// Whole returns the schema for programs, with all properties and descriptions.
func (s Schema) Whole() json.RawMessage {
	if s.foreign {
		return encode(s.root)
	}
	return encode(s.root.derive(func(o *object) *object {
		whole := &object{}
		for _, m := range o.members {
			switch m.key {
			case "$also", "$full", "$required", "$details":
			case "description":
				if details, ok := o.get("$details").(string); ok {
					whole.add(m.key, fmt.Sprintf("%s %s", m.value, details))
					continue
				}
				whole.add(m.key, m.value)
			default:
				whole.add(m.key, m.value)
			}
		}
		if details := o.get("$details"); details != nil && o.get("description") == nil {
			whole.add("description", details)
		}
		return whole
	}))
}

// Accepted returns the schema that the arguments of a call must fit after Repair.
func (s Schema) Accepted() json.RawMessage {
	if s.foreign {
		return encode(s.root)
	}
	return encode(s.root.derive(func(o *object) *object {
		accepted := &object{}
		for _, m := range o.members {
			switch {
			case m.key == "$also" || m.key == "$full" || m.key == "$required" || m.key == "$details":
			case m.key == "type":
				accepted.add(m.key, widened(m.value, o.get("$also")))
			case m.key == "enum" && o.get("$also") != nil:
			case m.key == "anyOf" && isObjectOrText(o):
				accepted.add("type", "object") // Repair has read the text
			default:
				accepted.add(m.key, m.value)
			}
		}
		return accepted
	}))
}

// widened returns a type with further ones.
func widened(kind, also any) any {
	more, ok := also.([]any)
	if !ok {
		return kind
	}
	return append([]any{kind}, more...)
}

// object is a JSON object that keeps the order of its members.
type object struct{ members []member }

type member struct {
	key   string
	value any // *object, []any, string, json.Number, bool or nil
}

func (o *object) add(key string, value any) { o.members = append(o.members, member{key, value}) }

// get returns the value of a key, nil if there is none. o may be nil.
func (o *object) get(key string) any {
	if o == nil {
		return nil
	}
	for _, m := range o.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// derive applies change to a schema and then to all schemas within the result.
func (o *object) derive(change func(*object) *object) *object {
	changed := change(o)
	derived := &object{members: slices.Clone(changed.members)}
	for i, m := range derived.members {
		derived.members[i].value = deriveKeyword(m, change)
	}
	return derived
}

// deriveKeyword returns the value of a keyword with change applied to the schemas in it.
func deriveKeyword(m member, change func(*object) *object) any {
	inner, isObject := m.value.(*object)
	list, isList := m.value.([]any)
	switch {
	case isObject && m.key == "properties":
		properties := &object{}
		for _, p := range inner.members {
			if schema, ok := p.value.(*object); ok {
				p.value = schema.derive(change)
			}
			properties.add(p.key, p.value)
		}
		return properties
	case isObject && (m.key == "items" || m.key == "additionalProperties"):
		return inner.derive(change)
	case isList && (m.key == "anyOf" || m.key == "oneOf" || m.key == "allOf"):
		alternatives := make([]any, len(list))
		for i, alternative := range list {
			alternatives[i] = alternative
			if schema, ok := alternative.(*object); ok {
				alternatives[i] = schema.derive(change)
			}
		}
		return alternatives
	}
	return m.value
}

// readValue reads a value and keeps the order of members and the digits of numbers.
func readValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := &object{}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := readValue(decoder)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			o.add(name, value)
		}
		_, err := decoder.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := readValue(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := decoder.Token()
		return list, err
	}
	return token, nil
}

// MarshalJSON implements json.Marshaler.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(m.key))
		b.WriteByte(':')
		b.Write(encode(m.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode returns a value as compact JSON without escapes for HTML.
func encode(value any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return json.RawMessage("null") // only values that were JSON come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
