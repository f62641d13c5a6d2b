package template

import (
	"errors"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestPlaceholdersAreReplacedByValues(t *testing.T) {
	t.Parallel()
	values := Values{
		Arguments: map[string]any{"city": "Kiel", "tags": []any{"a", "b"}, "code": "{{tenant}}", "nothing": nil},
		Request:   func(path string) (any, bool) { return "acme", path == "tenant" },
		Secrets:   map[string]string{"crm": "s3cret"},
	}
	for text, want := range map[string]string{
		"no placeholder":                                          "no placeholder",
		"{{arguments.city}} of {{ tenant }}":                      "Kiel of acme",
		"{{arguments.tags}} {{arguments.tags.1}}":                 `["a","b"] b`,
		"{{arguments.code}}":                                      "{{tenant}}", // values are not templates
		"[{{arguments.nothing}}{{context.a}}]":                    "[]",
		"{{secrets.crm}}":                                         "s3cret",
		`{{context.a ?? "x"}}`:                                    "x",
		`{{arguments.city??"x"}} {{ tenant ?? 1 }}`:               "Kiel acme",
		`{{context.a ?? arguments.nothing ?? arguments.city}}`:    "Kiel",
		`{{context.a ?? context.b ?? {"a": [1e2, "}} ?? {{"]}}}!`: `{"a":[1e2,"}} ?? {{"]}!`,
		`{{context.a ?? false}}{{context.a ?? ""}}`:               "false",
		"a } b }} c": "a } b }} c",
	} {
		parsed, err := Parse("body", text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got, err := parsed.Render(NewBudget("the text", 1000), values.Lookup, Text); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestBadPlaceholdersAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{{arguments.city", "{{}}", "{{env.HOME}}", "{{arguments..city}}", "{{arguments.city | upper}}", "{{.}}", "{{arguments.city}", "{{tenant\n}}x{{", `{{"a"}}`, `{{tenant ?? }}`, `{{tenant ?? null}}`, `{{tenant ?? "a" ?? "b"}}`, `{{tenant ?? "a}}`, `{{tenant ? "a"}}`, `{{tenant "a"}}`, `{{tenant ?? 'a'}}`, `{{tenant ?? env.HOME}}`} {
		_, err := Parse("body", text)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Violations[0].Field != "body" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A text that is accepted renders to its literals and defaults if there are no values.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "{{tenant}}", "a{{arguments.x}}b{{claims.y.0}}c", "{{{tenant}}}", "{{", "}}{{tenant}}", `{{tenant ?? [1, "}}"]}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := Parse("text", text)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		want := ""
		for i, literal := range parsed.literals {
			want += literal
			if i < len(parsed.placeholders) && parsed.placeholders[i].Default != nil {
				fallback, err := Text(parsed.placeholders[i].Default)
				if err != nil {
					t.Fatal(err)
				}
				want += fallback
			}
		}
		got, err := parsed.Render(NewBudget("the text", len(want)), func(string) (any, bool) { return nil, false }, Text)
		if err != nil || got != want || len(parsed.Placeholders()) > strings.Count(text, "{{") {
			t.Errorf("%q with the placeholders %v is %q, %v", text, parsed.Placeholders(), got, err)
		}
	})
}
