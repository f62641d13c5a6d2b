package filter

import (
	"strconv"
	"strings"
)

// equal is true for a scalar whose canonical text is that of the argument.
type equal struct {
	path    path
	text    string
	float   float64 // the only float64 whose canonical text is text
	isFloat bool    // false if there is none
}

// equal reads the argument of $eq, or a bare value.
func (p *parser) equal(field path, v any, at location) (node, error) {
	if hasReference(v) {
		return p.unresolved(field, v, at)
	}
	if isInstant(v) {
		instant, err := p.date(v, at)
		return atInstant{path: field, times: []int64{instant}}, err
	}
	switch v.(type) {
	case nil:
		return null{field}, nil
	case []any, map[string]any:
		value, err := p.value(v, at)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		writePrinted(&b, value)
		return identical{path: field, value: value, json: b.String()}, nil
	}
	text, err := p.scalar(v, at)
	if err != nil {
		return nil, err
	}
	return newEqual(field, text), nil
}

func newEqual(p path, text string) equal {
	n := equal{path: p, text: text}
	if f, err := strconv.ParseFloat(text, 64); err == nil && formatFloat(f) == text {
		n.float, n.isFloat = f, true
	}
	return n
}

func (n equal) truth(v any) truth {
	v = n.path.find(v)
	if isNull(v) {
		return unknown
	}
	if f, ok := v.(float64); ok { // most numbers; needs no text
		return truthOf(n.isFloat && f == n.float)
	}
	text, ok := canonicalText(v)
	return truthOf(ok && text == n.text)
}

func (n equal) sql(c *compiler, at string, want bool) string {
	if !want {
		// The list includes 'null', because <> would be true for JSON null.
		return c.json(at, n.path) + " <> ALL (" + c.set(append(variants(n.text), "null")) + ")"
	}
	if len(c.indexed) > 0 && at == c.column && c.indexed[n.path.String()] {
		if test, ok := n.indexedSQL(c, at); ok {
			return test
		}
	}
	if test, ok := c.contain(n, at); ok {
		return test
	}
	return c.json(at, n.path) + " = ANY (" + c.set(variants(n.text)) + ")"
}

// indexedSQL returns a test over the expressions of TextIndex and NumberIndex, so
// that the field's own Postgres indexes serve it. Printed text does not tell a
// string from an array or object, nor the string "1.0" from the number 1.0: for
// such arguments ok is false.
func (n equal) indexedSQL(c *compiler, at string) (test string, ok bool) {
	canonical := isCanonicalNumber(n.text)
	if strings.HasPrefix(n.text, "[") || strings.HasPrefix(n.text, "{") || isNumber(n.text) && !canonical {
		return "", false
	}
	test = c.text(at, n.path) + ` COLLATE "C" = ` + c.args.Add(n.text) + "::text"
	if canonical {
		test = "(" + test + " OR " + c.number(at, n.path) + " = " + c.args.Add(n.text) + "::numeric)"
	}
	return test, true
}

func (n equal) needs(root bool) [][]string {
	alternatives, ok := n.path.fragments(variants(n.text), root)
	if !ok {
		return nil
	}
	return [][]string{alternatives}
}

func (n equal) walk(visit func(path)) { visit(n.path) }

// null is true for a field that is missing or JSON null, else false.
type null struct{ path path }

func (n null) truth(v any) truth { return truthOf(isNull(n.path.find(v))) }

func (n null) sql(c *compiler, at string, want bool) string {
	if want {
		return c.text(at, n.path) + " IS NULL"
	}
	return c.text(at, n.path) + " IS NOT NULL"
}

func (null) needs(bool) [][]string   { return nil }
func (n null) walk(visit func(path)) { visit(n.path) }

// present is true for a field that exists, JSON null included, else false.
type present struct{ path path }

func (n present) truth(v any) truth {
	_, absent := n.path.find(v).(missing)
	return truthOf(!absent)
}

func (n present) sql(c *compiler, at string, want bool) string {
	if want {
		return c.json(at, n.path) + " IS NOT NULL"
	}
	return c.json(at, n.path) + " IS NULL"
}

func (present) needs(bool) [][]string   { return nil }
func (n present) walk(visit func(path)) { visit(n.path) }

// identical is true for an array or object that is deeply equal to the argument.
type identical struct {
	path  path
	value any
	json  string // value as JSON text
}

func (n identical) truth(v any) truth {
	v = n.path.find(v)
	if isNull(v) {
		return unknown
	}
	return truthOf(same(v, n.value))
}

func (n identical) sql(c *compiler, at string, want bool) string {
	value := c.json(at, n.path)
	if !want {
		return value + " <> ALL (" + c.set([]string{n.json, "null"}) + ")"
	}
	test := value + " = " + c.args.Add(n.json) + "::jsonb"
	if contained, ok := c.contain(n, at); ok {
		test = "(" + contained + " AND " + test + ")"
	}
	return test
}

// needs returns nil for a value without scalars: a GIN index has no key for it.
func (n identical) needs(root bool) [][]string {
	if !hasScalar(n.value) {
		return nil
	}
	fragments, ok := n.path.fragments([]string{n.json}, root)
	if !ok {
		return nil
	}
	return [][]string{fragments}
}

func (n identical) walk(visit func(path)) { visit(n.path) }

func hasScalar(v any) bool {
	switch t := v.(type) {
	case []any:
		for _, element := range t {
			if hasScalar(element) {
				return true
			}
		}
		return false
	case map[string]any:
		for _, value := range t {
			if hasScalar(value) {
				return true
			}
		}
		return false
	}
	return true
}
