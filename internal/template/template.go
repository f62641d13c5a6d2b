// Package template fills values into texts of tenants: placeholders such as {{arguments.city}}
// stand for values of a call and of the request context, and there is no logic.
package template

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
)

// Template is a text with placeholders such as {{arguments.city}}. A placeholder is replaced
// by a value; there is no logic. Safe for concurrent use.
type Template struct {
	literals []string // one more than paths
	paths    []string
}

var pathPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)

// roots are the first names of paths.
var roots = []string{"arguments", "context", "claims", "key", "tenant", "subject", "server", "secrets"}

// Parse returns the template in a text. Errors: Invalid, naming the field.
func Parse(field, text string) (*Template, error) { return parse(field, text, roots) }

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
		path, after, closed := strings.Cut(rest, "}}")
		path = strings.TrimSpace(path)
		root, _, _ := strings.Cut(path, ".")
		switch {
		case !closed:
			return nil, fault.Field(field, "has {{ without }}")
		case !pathPattern.MatchString(path):
			return nil, fault.Field(field, "has the placeholder {{%s}}, which is no path such as arguments.city", path)
		case !slices.Contains(roots, root):
			return nil, fault.Field(field, "has the placeholder {{%s}}: a path begins with one of %s", path, strings.Join(roots, ", "))
		}
		t.paths = append(t.paths, path)
		text = after
	}
}

// Paths returns the paths of the placeholders in their order.
func (t *Template) Paths() []string { return t.paths }

// Whole returns the path of a template that is one placeholder and nothing else.
func (t *Template) Whole() (string, bool) {
	if len(t.paths) != 1 || t.literals[0] != "" || t.literals[1] != "" {
		return "", false
	}
	return t.paths[0], true
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
		if i == len(t.paths) {
			break
		}
		value, ok := lookup(t.paths[i])
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
