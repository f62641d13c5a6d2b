// Package template fills values into texts of tenants: placeholders such as {{arguments.city}}
// stand for values of a call and of the request context, or for a default where there is none,
// and there is no logic.
package template

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Template is a text with placeholders such as {{arguments.city}}. A placeholder is replaced
// by a value; there is no logic. Safe for concurrent use.
type Template struct {
	literals     []string // one more than placeholders
	placeholders []Placeholder
}

// Placeholder stands for the first value that is there of those at some paths, else for a
// default: {{context.tier ?? "free"}}.
type Placeholder struct {
	Paths []string
	// Default is a JSON value with numbers as json.Number; nil for none.
	Default any
}

// Value returns the value that the placeholder stands for; false if there is none.
func (p Placeholder) Value(lookup func(path string) (any, bool)) (any, bool) {
	for _, path := range p.Paths {
		if value, ok := lookup(path); ok {
			return value, true
		}
	}
	return p.Default, p.Default != nil
}

var pathStart = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*`)

// constants are values of JSON that look like paths.
var constants = []string{"true", "false", "null"}

// roots are the first names of paths.
var roots = []string{"arguments", "context", "claims", "key", "tenant", "subject", "server", "secrets"}

// Parse returns the template in a text. Errors: Invalid, naming the field.
func Parse(field, text string) (*Template, error) { return parse(field, text, roots) }

// ParseCall is Parse for a text that may have paths that begin with call: what the client has sent
// with a call of a tool.
func ParseCall(field, text string) (*Template, error) {
	return parse(field, text, append(slices.Clone(roots), "call"))
}

// ParseResult is Parse for a text whose paths begin with result: what a tool returns.
func ParseResult(field, text string) (*Template, error) {
	return parse(field, text, []string{"result"})
}

func parse(field, text string, roots []string) (*Template, error) {
	t := &Template{}
	for {
		literal, rest, found := strings.Cut(text, "{{")
		t.literals = append(t.literals, literal)
		if !found {
			return t, nil
		}
		p, after, err := parsePlaceholder(field, rest, roots)
		if err != nil {
			return nil, err
		}
		t.placeholders = append(t.placeholders, p)
		text = after
	}
}

// parsePlaceholder parses the text after {{ and returns that after }}.
func parsePlaceholder(field, text string, roots []string) (p Placeholder, after string, err error) {
	shown, _, closed := strings.Cut(text, "}}")
	if !closed {
		return p, "", fault.Field(field, "has {{ without }}")
	}
	malformed := fault.Field(field, "has the placeholder {{%s}}, which is no path such as arguments.city, nor paths and a default such as context.tier ?? %q", shown, "free")
	for rest := text; ; {
		rest = strings.TrimLeft(rest, " ")
		if path := pathStart.FindString(rest); path != "" && !slices.Contains(constants, path) {
			root, _, _ := strings.Cut(path, ".")
			if !slices.Contains(roots, root) {
				return p, "", fault.Field(field, "has the placeholder {{%s}}: a path begins with one of %s", shown, strings.Join(roots, ", "))
			}
			p.Paths, rest = append(p.Paths, path), rest[len(path):]
		} else if p.Default, rest, err = parseDefault(rest); err != nil || len(p.Paths) == 0 {
			return p, "", malformed
		}
		rest = strings.TrimLeft(rest, " ")
		if after, ended := strings.CutPrefix(rest, "}}"); ended {
			return p, after, nil
		}
		next, more := strings.CutPrefix(rest, "??")
		if !more || p.Default != nil {
			return p, "", malformed
		}
		rest = next
	}
}

// parseDefault parses the JSON value, other than null, at the beginning of a text.
func parseDefault(text string) (value any, rest string, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err = decoder.Decode(&value); err == nil && value == nil {
		err = errors.New("null is no default")
	}
	return value, text[decoder.InputOffset():], err
}

// Placeholders returns the placeholders in their order.
func (t *Template) Placeholders() []Placeholder { return t.placeholders }

// Paths returns the paths of all placeholders in their order.
func (t *Template) Paths() (paths []string) {
	for _, p := range t.placeholders {
		paths = append(paths, p.Paths...)
	}
	return paths
}

// Complete reports whether every placeholder has a value.
func (t *Template) Complete(lookup func(path string) (any, bool)) bool {
	for _, p := range t.placeholders {
		if _, ok := p.Value(lookup); !ok {
			return false
		}
	}
	return true
}

// Whole returns the placeholder of a template that is one placeholder and nothing else.
func (t *Template) Whole() (Placeholder, bool) {
	if len(t.placeholders) != 1 || t.literals[0] != "" || t.literals[1] != "" {
		return Placeholder{}, false
	}
	return t.placeholders[0], true
}

// Render returns the text with the placeholders replaced. Values that are missing are empty.
// encode returns the text of a value for the position that the template is in. The text is
// taken from the budget. Errors: those of encode and of Budget.Take.
func (t *Template) Render(budget *Budget, lookup func(path string) (any, bool), encode func(value any) (string, error)) (string, error) {
	var b strings.Builder
	for i, literal := range t.literals {
		if err := budget.Take(len(literal)); err != nil {
			return "", err
		}
		b.WriteString(literal)
		if i == len(t.placeholders) {
			break
		}
		value, ok := t.placeholders[i].Value(lookup)
		if !ok {
			continue
		}
		text, err := encode(value)
		if err != nil {
			return "", err
		}
		if err := budget.Take(len(text)); err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}
