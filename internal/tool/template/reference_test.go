package template

import (
	"encoding/json"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestReferencesAreReplaced(t *testing.T) {
	t.Parallel()
	values := map[string]any{"context.depth": json.Number("3"), "claims.groups": []any{"hr"}, "tenant": "acme"}
	with := func(_ string, reference Placeholder) (any, bool, error) {
		value, ok := reference.Value(func(path string) (any, bool) { v, ok := values[path]; return v, ok })
		return value, ok, nil
	}
	for text, want := range map[string]string{
		`{"$context": "context.depth"}`: `3`,
		`{"a": {"b": [1, {"$context": "context.no"}, {"$context": "claims.groups"}]}}`:   `{"a":{"b":[1,["hr"]]}}`,
		`{"a": {"$context": "context.no"}, "b": {"$context": "context.no ?? tenant"}}`:   `{"b":"acme"}`,
		`[{"$context": "context.no ?? {\"x\": \"}}\"}"}, "{{tenant}}", null, {"c": {}}]`: `[{"x":"}}"},"{{tenant}}",null,{"c":{}}]`,
	} {
		var given any
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			t.Fatal(err)
		}
		replaced, ok, err := Replace("f", given, with)
		if got, _ := json.Marshal(replaced); err != nil || !ok || string(got) != want {
			t.Errorf("%s is %s, %v, %v, want %s", text, got, ok, err, want)
		}
	}
	if _, ok, err := Replace("f", map[string]any{"$context": "server"}, with); ok || err != nil {
		t.Errorf("a value that is missing: %v, %v", ok, err)
	}
}

// A reference is parsed or refused as Invalid, whatever its text is.
func FuzzReplace(f *testing.F) {
	for _, seed := range []string{"tenant", "context.a ?? 5", `context.a ?? "}}"`, "}}", "{{", "context.a ?? 1e999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _, err := Replace("f", []any{map[string]any{"$context": text}}, func(field string, _ Placeholder) (any, bool, error) {
			if field != "f[0]" {
				t.Errorf("the field is %s", field)
			}
			return nil, false, nil
		})
		if err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	})
}
