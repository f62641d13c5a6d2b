package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

func compile(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile("inputSchema", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func check(t *testing.T, s *schema.Schema, text string) error {
	t.Helper()
	value, err := schema.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate("arguments", value)
}

func TestMistakesAreNamedByTheirFields(t *testing.T) {
	t.Parallel()
	s := compile(t, `{
		"type": "object", "required": ["city"], "additionalProperties": false,
		"properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer", "maximum": 7}, "on": {"format": "date"}, "at": {"$ref": "#/$defs/point"}},
		"$defs": {"point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": false}}
	}`)
	if err := check(t, s, `{"city": "Ulm", "days": 3, "on": "2026-11-22", "at": [48.4, 9.99]}`); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		`{}`:                              "arguments.city: is required",
		`{"city": 7}`:                     "arguments.city: got number, want string",
		`{"city": "Ulm", "days": 9}`:      "arguments.days: maximum: got 9, want 7",
		`{"city": "Ulm", "x": 9}`:         "arguments.x: is not known here",
		`{"city": "Ulm", "on": "now"}`:    "arguments.on: 'now' is not valid date",
		`{"city": "Ulm", "at": ["a", 1]}`: "arguments.at.0: got string, want number",
	} {
		err := check(t, s, text)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestSchemasThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`7`:             "must be a JSON Schema",
		`{`:             "no valid JSON",
		`{"type": "x"}`: "/type",
		`{"$ref": "https://example.com/schema.json"}`:           "another document",
		`{"$ref": "file:///etc/passwd"}`:                        "another document",
		`{"$ref": "#/$defs/none"}`:                              "none",
		`{"pattern": "(?=x)"}`:                                  "regex",
		`{"x": "` + strings.Repeat("x", schema.MaxBytes) + `"}`: "at most 32768 bytes",
		strings.Repeat(`{"not":`, schema.MaxDepth+1) + `{}` + strings.Repeat(`}`, schema.MaxDepth+1): "nested deeper than 64",
		`{"maximum": 1e1000000000}`: "too large",
	} {
		if _, err := schema.Compile("inputSchema", []byte(text)); fault.KindOf(err) != fault.Invalid || err == nil || !strings.Contains(fault.Public(err), want) || !strings.HasPrefix(fault.Public(err), "inputSchema: ") {
			t.Errorf("%.100s: %v, want %q", text, err, want)
		}
	}
}

// A short schema can make each level of a value cost twice as much as the one below it. Such a
// check is refused before it begins.
func TestAChainOfReferencesDoesNotTakeForever(t *testing.T) {
	t.Parallel()
	var definitions []string
	for i := range 60 {
		definitions = append(definitions, fmt.Sprintf(`"a%d": {"allOf": [{"$ref": "#/$defs/a%d"}, {"$ref": "#/$defs/a%d"}]}`, i, i+1, i+1))
	}
	flat := compile(t, `{"$ref": "#/$defs/a0", "$defs": {`+strings.Join(definitions, ",")+`, "a60": {"type": "object"}}}`)
	nested := compile(t, `{"allOf": [{"properties": {"x": {"$ref": "#"}}}, {"properties": {"x": {"$ref": "#"}}}]}`)
	deep := strings.Repeat(`{"x":`, 60) + `1` + strings.Repeat(`}`, 60)
	for _, of := range []struct {
		schema *schema.Schema
		text   string
	}{{flat, `{}`}, {flat, `1`}, {nested, deep}, {compile(t, `{"$ref": "#"}`), `1`}} {
		if err := check(t, of.schema, of.text); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "too large to be checked") {
			t.Errorf("%v", err)
		}
	}
	if err := check(t, nested, `{"x": {"x": {"x": 1}}}`); err != nil {
		t.Errorf("a small value: %v", err)
	}
}

// A pattern of a few characters can have thousands of states, each of which costs time with
// every character of a text.
func TestPatternsCountWithTheirStates(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"(a?){900}(a?){900}", ".{0,1000}.{0,1000}x", "((a{10}){10}){9}", "[^b]{1000}"} {
		for _, text := range []string{`{"items": {"pattern": "` + pattern + `"}}`, `{"items": {"propertyNames": {"pattern": "` + pattern + `"}}}`, `{"items": {"patternProperties": {"` + pattern + `": {}}}}`} {
			s, long := compile(t, text), strings.Repeat("a", 1<<20)
			value := `["` + long + `"]`
			if strings.Contains(text, "ropert") {
				value = `[{"` + long + `": 1}]`
			}
			if err := check(t, s, value); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "too large to be checked") {
				t.Errorf("%s: %.200v", text, err)
			}
		}
	}
	huge := strings.Repeat("a{1000}", 30)
	if _, err := schema.Compile("inputSchema", []byte(`{"pattern": "`+huge+`"}`)); err == nil || fault.KindOf(err) != fault.Invalid {
		t.Errorf("a pattern with 30,000 states: %v", err)
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf(`"p%d": {"pattern": "a{%d}"}`, i, 900+i))
	}
	if _, err := schema.Compile("inputSchema", []byte(`{"properties": {`+strings.Join(many, ",")+`}}`)); err == nil || fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "10000 states") {
		t.Errorf("patterns with 27,000 states and more together: %v", err)
	}
	if _, err := schema.Compile("inputSchema", []byte(`{"properties": {`+strings.Repeat(`"x": {"pattern": "a{900}"},`, 100)+strings.Join(many[:4], ",")+`}}`)); err != nil {
		t.Errorf("the same pattern many times: %v", err)
	}
	regex := compile(t, `{"items": {"format": "regex"}}`)
	for range 100 { // values have no common bound
		if err := check(t, regex, `["a{500}"]`); err != nil {
			t.Fatal(err)
		}
	}
	if err := check(t, regex, `["`+huge+`"]`); err == nil || fault.KindOf(err) != fault.Invalid {
		t.Errorf("a value with 30,000 states: %v", err)
	}
	if err := check(t, regex, `["`+strings.Repeat(`a{900}", "`, 1000)+`"]`); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "too large to be checked") {
		t.Errorf("1,000 patterns: %v", err)
	}
	usual := compile(t, `{"items": {"pattern": "^[a-z0-9._%+-]{1,64}@([a-z0-9-]{1,63}\\.)+[a-z]{2,24}$"}}`)
	if err := check(t, usual, `["`+strings.Repeat(`ann@example.com", "`, 1000)+`ann@example.com"]`); err != nil {
		t.Errorf("usual addresses: %v", err)
	}
	if err := check(t, regex, `["^[a-z]{2,24}$", "a(b|c)*"]`); err != nil {
		t.Errorf("usual patterns: %v", err)
	}
}

func TestHostileValuesAreNotDecoded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("[", 100_000): "nested deeper",
		strings.Repeat(`{"a":`, schema.MaxDepth+1) + "1" + strings.Repeat("}", schema.MaxDepth+1): "nested deeper",
		`1e999999999`:            "too large",
		`1E-0000401`:             "too large",
		strings.Repeat("9", 100): "too long",
		`{"a": 1} {"b": 2}`:      "no valid JSON",
		`{"a": 1`:                "no valid JSON",
		``:                       "no valid JSON",
	} {
		if _, err := schema.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{`1e400`, `-1.5E+0010`, `[1, "1e999999999"]`, strings.Repeat("[", schema.MaxDepth) + strings.Repeat("]", schema.MaxDepth)} {
		if _, err := schema.Decode([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
