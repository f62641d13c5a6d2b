package workflow

import (
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/expression"
)

func nothingKnown(string, Step) (in, out shape, err error) { return nil, nil, nil }

func TestSchemasOfNeighboursFit(t *testing.T) {
	t.Parallel()
	object := func(text string) shape { return shapeOf([]byte(text)) }
	person := `{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}`
	for _, tc := range []struct{ from, to, want string }{
		{`{"type": "string"}`, `{"type": "string"}`, ""},
		{`{"type": "integer"}`, `{"type": "number"}`, ""},
		{`{"type": ["string", "null"]}`, `{"type": "string"}`, ""},
		{`{}`, `{"type": "string"}`, ""},
		{`{"$ref": "#/x"}`, person, ""},
		{`{"type": "object"}`, person, ""},
		{`{"type": "string"}`, `{"type": "number"}`, "input"},
		{`{"type": "object", "properties": {"age": {"type": "integer"}}}`, person, "input.name"},
		{`{"type": "object", "properties": {"age": {"type": "integer"}}, "additionalProperties": true}`, person, ""},
		{`{"type": "object", "properties": {"name": {"type": "integer"}}}`, person, "input.name"},
		{`{"type": "array", "items": {"type": "object", "properties": {"a": {}}}}`, `{"type": "array", "items": ` + person + `}`, "input[].name"},
		{`{"type": "object", "properties": {"a": {}}}`, `{"type": "object", "properties": {}, "additionalProperties": false}`, "input.a"},
	} {
		err := fit("input", object(tc.from), object(tc.to), 0)
		if (err == nil) != (tc.want == "") || err != nil && !strings.HasPrefix(err.Error(), tc.want+":") {
			t.Errorf("%s to %s: %v, want %q", tc.from, tc.to, err, tc.want)
		}
	}
}

// A definition is refused as Invalid, or its plan can be made again from its JSON.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"description": "x", "steps": [{"id": "a", "kind": "map", "input": {"x": {"step": ["a"], "path": "b.0"}}}]}`,
		`{"steps": [{"id": "a", "kind": "foreach", "items": {"value": [1]}, "steps": [{"id": "b", "kind": "tool", "tool": "t", "retry": {"attempts": 2}}]}]}`,
		`{"steps": [{"id": "a", "kind": "branch", "branches": [{"when": "true", "steps": [{"id": "b", "kind": "wait", "message": "?", "schema": {}}]}], "onError": []}]}`,
		`{"inputSchema": {"type": "object"}, "steps": [{"id": "a", "kind": "parallel", "branches": [{"id": "l", "steps": []}]}], "outputFrom": {"expression": "steps.a"}}`,
	} {
		f.Add([]byte(seed))
	}
	env, err := expression.New(nil, variables...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := Parse(raw)
		if err == nil {
			err = Workflow{Name: "w", Definition: d}.check()
		}
		if err == nil {
			_, err = compile(env, d, nothingKnown, anyShown)
		}
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: %v", raw, err)
			}
			return
		}
		again, err := marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := Parse(again)
		if err != nil {
			t.Fatalf("%s was stored as %s: %v", raw, again, err)
		}
		if _, err := compile(env, stored, nothingKnown, anyShown); err != nil {
			t.Errorf("%s was stored as %s: %v", raw, again, err)
		}
	})
}

func anyShown(string, string) error { return nil }
