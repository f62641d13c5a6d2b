package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/expression"
)

// Template is a text in which {{ EXPRESSION }} stands for the value of an expression. The zero value is an
// empty text.
type Template struct{ parts []part }

// part is a literal text, or an expression.
type part struct {
	literal    string
	expression *expression.Expression
}

// IsZero reports whether a template is the empty text.
func (t Template) IsZero() bool { return len(t.parts) == 0 }

// Config returns the names of the configuration that a template names.
func (t Template) Config() (names []string) {
	for _, p := range t.parts {
		if p.expression != nil {
			names = append(names, p.expression.Named("config")...)
		}
	}
	return names
}

// Value returns the value of a template: that of the expression if it is nothing else, so that it may be
// a list or an object, else a text. A template with a single expression that names what a value does not
// have is nil. Errors: Invalid for an expression that cannot be evaluated.
func (t Template) Value(ctx context.Context, values map[string]any) (any, error) {
	if len(t.parts) == 1 && t.parts[0].expression != nil {
		return evaluate(ctx, t.parts[0].expression, values)
	}
	return t.Text(ctx, values)
}

// Text returns the text of a template. Null and what is missing are empty, lists and objects are JSON.
// Errors: as Value.
func (t Template) Text(ctx context.Context, values map[string]any) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.literal)
		if p.expression == nil {
			continue
		}
		value, err := evaluate(ctx, p.expression, values)
		if err != nil {
			return "", err
		}
		text, err := Text(value)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// True reports whether the value of a template is true, or a text, number, list or object that is not
// empty. Errors: as Value.
func (t Template) True(ctx context.Context, values map[string]any) (bool, error) {
	value, err := t.Value(ctx, values)
	return Truth(value), err
}

// Truth reports whether a JSON value is true, or a text, number, list or object that is neither empty nor 0.
func Truth(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case bool:
		return value
	case string:
		return value != "" && !strings.EqualFold(value, "false")
	case json.Number:
		return value != "0"
	case []any:
		return len(value) > 0
	case map[string]any:
		return len(value) > 0
	}
	return true
}

// evaluate returns the value of an expression, nil if it names what a value does not have.
func evaluate(ctx context.Context, x *expression.Expression, values map[string]any) (any, error) {
	value, err := x.JSON(ctx, values)
	if errors.Is(err, expression.ErrMissing) {
		return nil, nil
	}
	return value, err
}

// Text returns a JSON value as a text: null is empty, lists and objects are JSON.
func Text(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case json.Number:
		return value.String(), nil
	case bool:
		return fmt.Sprint(value), nil
	}
	raw, err := json.Marshal(value)
	return string(raw), err
}

// parseTemplate returns the template in a text. Errors: Invalid, naming the field.
func parseTemplate(env *expression.Environment, field, text string) (t Template, err error) {
	if strings.Contains(text, "{%") {
		return t, fault.Field(field, "has {%% %%}, which is not supported: write conditions as {{ a ? b : c }}")
	}
	for rest := text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{{")
		if literal != "" {
			t.parts = append(t.parts, part{literal: literal})
		}
		if !found {
			break
		}
		end := closing(after)
		if end < 0 {
			return t, fault.Field(field, "has {{ without }}")
		}
		translated, err := translate(after[:end])
		if err != nil {
			return t, fault.Field(field, "has {{%s}}: %s", after[:end], err)
		}
		x, err := env.Compile(field, translated)
		if err != nil {
			return t, err
		}
		t.parts = append(t.parts, part{expression: x})
		rest = after[end+len("}}"):]
	}
	return t, nil
}

// closing returns where the first }} outside of quotes and braces begins, -1 for none.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			if depth == 0 {
				if strings.HasPrefix(text[i:], "}}") {
					return i
				}
				return -1
			}
			depth--
		}
	}
	return -1
}

// token splits an expression into quoted texts, calls of get, names, and all else.
var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\.get\(|\.?[A-Za-z_][A-Za-z0-9_]*|\|\||[|)(]|[^A-Za-z_"'|)(.,]+|.`)

// words are the operators and constants of Jinja, in CEL.
var words = map[string]string{"and": "&&", "or": "||", "not": "!", "none": "null", "None": "null", "True": "true", "False": "false"}

// translate returns an expression of Jinja in CEL, if it has only what both languages have: members, and,
// or, not, is none, ==, and .get('name'). Errors: one that names anything else.
func translate(text string) (string, error) {
	var out []string
	open := []bool{} // which parentheses are those of get
	for _, one := range token.FindAllString(text, -1) {
		switch {
		case one == ".get(":
			open = append(open, true)
			out = append(out, "[?")
		case one == "(":
			open = append(open, false)
			out = append(out, one)
		case one == "," && len(open) > 0 && open[len(open)-1]: // the default of get
			open[len(open)-1] = false
			out = append(out, "].orValue(")
		case one == ")" && len(open) > 0:
			if open[len(open)-1] {
				one = "]"
			}
			open = open[:len(open)-1]
			out = append(out, one)
		case one == "|":
			return "", errors.New("filters after | are not supported: write a CEL expression")
		case one == "if" || one == "else":
			return "", errors.New("write a ? b : c for a condition")
		case one == "is":
			out = append(out, "==")
		case one == "not" && lastWord(out) == "==":
			out[lastIndex(out)] = "!="
		case words[one] != "":
			out = append(out, words[one])
		default:
			out = append(out, one)
		}
	}
	return strings.TrimSpace(strings.Join(out, "")), nil
}

// lastIndex returns where the last piece that is no space is, -1 for none.
func lastIndex(pieces []string) int {
	for i := len(pieces) - 1; i >= 0; i-- {
		if strings.TrimSpace(pieces[i]) != "" {
			return i
		}
	}
	return -1
}

func lastWord(pieces []string) string {
	if i := lastIndex(pieces); i >= 0 {
		return strings.TrimSpace(pieces[i])
	}
	return ""
}
