package chunk

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestOptionsAcceptEveryForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		raw   map[string]any
		check func(Options) bool
	}{
		{"nothing is recursive", nil, func(o Options) bool {
			return o.Strategy == Recursive && o.MaxSize == 4000 && o.Overlap == 200 && o.StripWhitespace
		}},
		{"nulls are left out", map[string]any{"maxSize": nil, "strategy": nil, "headers": nil}, func(o Options) bool { return o.MaxSize == 4000 }},
		{"numbers of either kind", map[string]any{"maxSize": 500.0, "overlap": 50}, func(o Options) bool { return o.MaxSize == 500 && o.Overlap == 50 }},
		{"a small size shrinks the overlap", map[string]any{"maxSize": 100}, func(o Options) bool { return o.Overlap == 20 }},
		{"size is maxSize", map[string]any{"size": 100}, func(o Options) bool { return o.MaxSize == 100 }},
		{"keepSeparator true", map[string]any{"keepSeparator": true}, func(o Options) bool { return o.SeparatorPosition == SeparatorStart }},
		{"keepSeparator end", map[string]any{"keepSeparator": "end"}, func(o Options) bool { return o.SeparatorPosition == SeparatorEnd }},
		{"pairs", map[string]any{"strategy": "markdown", "headers": []any{[]any{"#", "a"}, map[string]any{"marker": "##", "key": "b"}}}, func(o Options) bool {
			return cmp.Equal(o.Headers, []HeaderKey{{"#", "a"}, {"##", "b"}}) && o.MaxSize == 0
		}},
		{"sections", map[string]any{"strategy": "html", "sections": []any{map[string]any{"path": "h1", "key": "a"}}}, func(o Options) bool {
			return cmp.Equal(o.Sections, []HeaderKey{{"h1", "a"}})
		}},
		{"a model names the encoding", map[string]any{"strategy": "token", "modelName": "openai/gpt-4o-mini", "encodingName": "gpt2"}, func(o Options) bool { return o.EncodingName == "o200k_base" }},
		{"sentence target", map[string]any{"strategy": "sentence", "maxSize": 99}, func(o Options) bool { return o.TargetSize == 79 && o.Overlap == 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, err := parseOptions(c.raw)
			if err != nil {
				t.Fatal(err)
			}
			if !c.check(o) {
				t.Errorf("options %+v", o)
			}
		})
	}
}

func TestOptionsErrorsNameTheField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		raw    map[string]any
		fields []string
	}{
		{"too large", map[string]any{"size": MaxSizeLimit + 1}, []string{"size"}},
		{"both names of an option", map[string]any{"size": 10, "maxSize": 10, "keepSeparator": true, "separatorPosition": "end"}, []string{"keepSeparator", "size"}},
		{"several at once", map[string]any{"maxSize": -1, "separatorPosition": "middle", "minSize": 1}, []string{"maxSize", "minSize", "separatorPosition"}},
		{"an entry that is too long", map[string]any{"separators": []any{strings.Repeat("x", 1001)}}, []string{"separators[0]"}},
		{"too many entries", map[string]any{"separators": make([]string, 101)}, []string{"separators"}},
		{"a broken expression", map[string]any{"separators": []any{"a", "(?=x)"}, "isSeparatorRegex": true}, []string{"separators[1]"}},
		{"an expression that matches nothing", map[string]any{"separators": []any{`\s*`}, "isSeparatorRegex": true}, []string{"separators[0]"}},
		{"two forms of separators", map[string]any{"separators": []any{"a"}, "separator": "b"}, []string{"separator"}},
		{"a broken expression for recursive", map[string]any{"separator": "(?=x)", "isSeparatorRegex": true}, []string{"separator"}},
		{"a header without a key", map[string]any{"strategy": "markdown", "headers": []any{[]any{"#", ""}}}, []string{"headers[0]"}},
		{"overlap of the size", map[string]any{"maxSize": 10, "overlap": 10}, []string{"overlap"}},
		{"target over the size", map[string]any{"strategy": "sentence", "maxSize": 10, "targetSize": 11}, []string{"targetSize"}},
		{"least over the size", map[string]any{"strategy": "json", "maxSize": 10, "minSize": 11}, []string{"minSize"}},
		{"an ender of two characters", map[string]any{"strategy": "sentence", "maxSize": 10, "sentenceEnders": []any{".."}}, []string{"sentenceEnders[0]"}},
		{"an unknown model", map[string]any{"strategy": "token", "modelName": "llama"}, []string{"modelName"}},
		{"a special token of another encoding", map[string]any{"strategy": "token", "modelName": "gpt-4o", "allowedSpecial": []any{"<|fim_prefix|>"}}, []string{"allowedSpecial"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parseOptions(c.raw)
			var e *fault.Error
			if !errors.As(err, &e) || e.Kind != fault.Invalid {
				t.Fatalf("error %v", err)
			}
			var got []string
			for _, v := range e.Violations {
				got = append(got, v.Field)
			}
			if diff := cmp.Diff(c.fields, sorted(got)); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// fieldOf returns the field of the first violation.
func fieldOf(err error) string {
	var e *fault.Error
	if !errors.As(err, &e) || len(e.Violations) == 0 {
		return ""
	}
	return e.Violations[0].Field
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func TestExpressionsMayHaveOnlySoManyStates(t *testing.T) {
	t.Parallel()
	large := []any{"(aa|bb|cc|dd){500}", "(aa|bb|cc|dd){500}"}
	_, err := parseOptions(map[string]any{"separators": large, "isSeparatorRegex": true})
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Violations[0].Field != "separators[1]" {
		t.Errorf("error %v, want one that names separators[1]", err)
	}
	if _, err := parseOptions(map[string]any{"separators": large[:1], "isSeparatorRegex": true}); err != nil {
		t.Error(err)
	}
	if _, err := parseOptions(map[string]any{"separators": large}); err != nil {
		t.Errorf("plain separators: %v", err)
	}
}
