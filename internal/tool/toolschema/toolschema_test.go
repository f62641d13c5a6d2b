package toolschema

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const definition = `{
	"type": "object", "additionalProperties": false, "$required": ["question"],
	"properties": {
		"question": {"type": "string", "description": "The question.", "$details": "In full words."},
		"topK": {"type": "integer", "minimum": 1, "description": "How many."},
		"filter": {"$shared": "filter"},
		"mode": {"type": "string", "enum": ["a", "b"]},
		"title": {"type": "object", "$also": ["boolean"], "$full": true, "properties": {"model": {"type": "string"}}},
		"tune": {"$shared": "tune", "$full": true, "description": "For programs."},
		"items": {"type": "array", "items": {"type": "object", "properties": {"uri": {"type": "string"}, "n": {"type": "integer"}}}}
	}
}`

const sharedSchemas = `{
	"filter": {"anyOf": [{"type": "object", "additionalProperties": true}, {"type": "string"}], "description": "<Conditions>."},
	"tune": {"type": "object", "description": "Tuning.", "properties": {"inner": {"$shared": "filter"}}}
}`

func parsed(t *testing.T) Schema {
	t.Helper()
	shared, err := ParseShared([]byte(sharedSchemas))
	if err != nil {
		t.Fatal(err)
	}
	s, err := shared.Parse([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFormsOfADefinition(t *testing.T) {
	t.Parallel()
	const filter = `"filter":{"anyOf":[{"type":"object","additionalProperties":true},{"type":"string"}],"description":"<Conditions>."}`
	const items = `"items":{"type":"array","items":{"type":"object","properties":{"uri":{"type":"string"},"n":{"type":"integer"}}}}`
	s := parsed(t)
	for name, form := range map[string]struct {
		got  json.RawMessage
		want string
	}{
		"shown": {s.Shown(), `{"type":"object","properties":{` +
			`"question":{"type":"string","description":"The question."},"topK":{"type":"integer","minimum":1,"description":"How many."},` +
			filter + `,"mode":{"type":"string","enum":["a","b"]},` + items + `},"required":["question"]}`},
		"whole": {s.Whole(), `{"type":"object","additionalProperties":false,"properties":{` +
			`"question":{"type":"string","description":"The question. In full words."},"topK":{"type":"integer","minimum":1,"description":"How many."},` +
			filter + `,"mode":{"type":"string","enum":["a","b"]},"title":{"type":"object","properties":{"model":{"type":"string"}}},` +
			`"tune":{"type":"object","description":"For programs.","properties":{"inner":` + filter[len(`"filter":`):] + `}},` + items + `}}`},
		"accepted": {s.Accepted(), `{"type":"object","additionalProperties":false,"properties":{` +
			`"question":{"type":"string","description":"The question."},"topK":{"type":"integer","minimum":1,"description":"How many."},` +
			`"filter":{"type":"object","description":"<Conditions>."},"mode":{"type":"string","enum":["a","b"]},` +
			`"title":{"type":["object","boolean"],"properties":{"model":{"type":"string"}}},` +
			`"tune":{"type":"object","description":"For programs.","properties":{"inner":{"type":"object","description":"<Conditions>."}}},` + items + `}}`},
		"picked": {s.Pick([]string{"topK", "title", "none"}, []string{"topK"}, map[string]json.RawMessage{"topK": json.RawMessage(`4`)}).Shown(),
			`{"type":"object","properties":{"topK":{"type":"integer","minimum":1,"description":"How many. Here the default is 4."},` +
				`"title":{"type":"object","properties":{"model":{"type":"string"}}}},"required":["topK"]}`},
	} {
		if diff := cmp.Diff(form.want, string(form.got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	s := parsed(t)
	for _, tc := range []struct{ sent, want string }{
		{`{"question":"a","topK":3}`, `{"question":"a","topK":3}`},
		{`{"question":"","topK":null,"filter":null,"mode":null}`, `{"question":""}`},
		{`{"topK":"3","filter":"{\"a\":null}","mode":""}`, `{"topK":3,"filter":{"a":null}}`},
		{`{"filter":{"a":null,"b":[null]}}`, `{"filter":{"a":null,"b":[null]}}`},
		{`{"filter":"","title":"true"}`, `{"title":true}`},
		{`{"filter":"null","topK":" "}`, `{}`},
		{`{"filter":"no JSON"}`, `{"filter":"no JSON"}`},
		{`{"filter":"3"}`, `{"filter":"3"}`},
		{`{"title":{"model":null},"tune":{"inner":"{\"x\":1}"}}`, `{"title":{},"tune":{"inner":{"x":1}}}`},
		{`{"items":[{"uri":"a","n":null},{"uri":null,"n":"4"}]}`, `{"items":[{"uri":"a"},{"n":4}]}`},
		{`{"items":"[{\"uri\":\"a\",\"n\":null}]"}`, `{"items":[{"uri":"a"}]}`},
		{`{"unknown":null,"other":"3"}`, `{"other":"3"}`},
	} {
		var given, want map[string]any
		if json.Unmarshal([]byte(tc.sent), &given) != nil || json.Unmarshal([]byte(tc.want), &want) != nil {
			t.Fatal(tc)
		}
		s.Repair(given)
		raw, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if string(raw) != string(wanted) {
			t.Errorf("%s: got %s, want %s", tc.sent, raw, wanted)
		}
	}
}

func TestUnknownSharedSchemasAreErrors(t *testing.T) {
	t.Parallel()
	shared, err := ParseShared([]byte(`{"a": {"$shared": "a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range []string{`{"properties": {"x": {"$shared": "none"}}}`, `{"properties": {"x": {"$shared": "a"}}}`, `[]`, `{`} {
		if _, err := shared.Parse([]byte(definition)); err == nil {
			t.Errorf("%s is accepted", definition)
		}
	}
}

// Libraries fail at "additionalProperties": false, or add it themselves. What a tenant wrote otherwise
// is shown as it is.
func TestAForeignSchemaIsShownWithoutClosedObjects(t *testing.T) {
	t.Parallel()
	const closed, open = `,"additionalProperties":false`, `{"type":"object","properties":{"additionalProperties":{"type":"boolean"},"all":{"type":"array","items":{"type":"object","properties":{}%[1]s}},"any":{"type":"object","additionalProperties":{"type":"string"}}}%[1]s}`
	written := fmt.Sprintf(open, closed)
	s, err := Foreign([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.Shown()), fmt.Sprintf(open, ""); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
	if string(s.Whole()) != written || string(s.Accepted()) != written {
		t.Errorf("whole: %s\naccepted: %s", s.Whole(), s.Accepted())
	}
}
