package declare

import (
	"fmt"
	"strings"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/internal/api/openapi"
)

// Where schemas are in the OpenAPI document, and in that of declarations.
const (
	componentPath = "#/components/schemas/"
	definedPath   = "#/$defs/"
)

// referenceName is the definition of a reference to a value.
const referenceName = "valueFrom"

// printSchema prints the JSON Schema of a document.
func printSchema(p *command.Program) error {
	schema, err := schemaOf()
	if err != nil {
		return err
	}
	return p.Out.Value(schema)
}

// schemaOf returns the JSON Schema (2020-12) of a document: for each kind the schema of its fields in the API.
func schemaOf() (tree, error) {
	messages, err := openapi.Schemas()
	if err != nil {
		return nil, err
	}
	defs := tree{referenceName: tree{
		"type": "object", "required": []string{"valueFrom"}, "additionalProperties": false,
		"description": "Where the value is: in a variable of the environment, or in a file relative to this one.",
		"properties": tree{"valueFrom": tree{
			"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
			"properties": tree{"env": tree{"type": "string"}, "file": tree{"type": "string"}},
		}},
	}}
	var choices []any
	for _, k := range kinds {
		fields := tree{}
		for _, f := range k.declarable() {
			message := string(f.ContainingMessage().Name())
			properties, _ := messages[message]["properties"].(tree)
			schema, ok := properties[f.JSONName()]
			if !ok {
				return nil, fmt.Errorf("the OpenAPI document has no %s.%s", message, f.JSONName())
			}
			schema = defined(schema, messages, defs)
			if k.hidden[f.JSONName()] != nil {
				schema = hiddenSchema(f.Message() != nil)
			}
			fields[f.JSONName()] = schema
		}
		spec := tree{"type": "object", "additionalProperties": false, "properties": fields}
		if k.within != "" {
			spec["required"] = []string{k.within}
		}
		choices = append(choices, tree{
			"if":   tree{"properties": tree{"kind": tree{"const": k.name}}},
			"then": tree{"properties": tree{"spec": spec}},
		})
	}
	return tree{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Object of a ragd tenant", "type": "object",
		"required": []string{"kind", "name"}, "additionalProperties": false,
		"properties": tree{"kind": tree{"enum": kindNames()}, "name": tree{"type": "string"}, "spec": tree{}},
		"allOf":      choices, "$defs": defs,
	}, nil
}

// hiddenSchema returns the schema of a field whose value, or the values in it, are references.
func hiddenSchema(message bool) tree {
	reference := tree{"$ref": definedPath + referenceName}
	if !message {
		return reference
	}
	return tree{"type": "object", "additionalProperties": tree{"type": "object", "additionalProperties": reference}}
}

// defined returns a schema that refers to definitions, and adds those to defs that it refers to.
func defined(schema any, messages map[string]tree, defs tree) any {
	switch value := schema.(type) {
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = defined(value[i], messages, defs)
		}
		return out
	case tree:
		out := tree{}
		for name, inner := range value {
			out[name] = defined(inner, messages, defs)
		}
		if name, ok := strings.CutPrefix(text(value, "$ref"), componentPath); ok {
			out["$ref"] = definedPath + name
			if _, known := defs[name]; !known {
				defs[name] = tree{} // it may refer to itself
				defs[name] = defined(messages[name], messages, defs)
			}
		}
		return out
	}
	return schema
}
