package filter

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// elemMatch is true for an array with an element that satisfies the condition, and
// false for everything else.
type elemMatch struct {
	path  path
	child node
	open  bool // the child has a reference without a value: no element says that none matches
}

func (p *parser) elemMatch(field path, v any, at location) (node, error) {
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 {
		return nil, at.refuse("$elemMatch requires an object with conditions")
	}
	child, err := p.object(object, nil, true, at)
	if err != nil {
		return nil, err
	}
	return elemMatch{field, child, isUnresolved(child)}, nil
}

func (n elemMatch) truth(v any) truth {
	array, _ := n.path.find(v).([]any)
	for _, element := range array {
		if n.child.truth(element) == yes {
			return yes
		}
	}
	if n.open {
		return unknown
	}
	return no
}

func (n elemMatch) sql(c *compiler, at string, want bool) string {
	if n.open && !want {
		return "false"
	}
	value := c.json(at, n.path)
	element := c.element()
	test := "EXISTS (SELECT FROM jsonb_array_elements(CASE WHEN jsonb_typeof(" + value + ") = 'array' THEN " + value + " END)" +
		" AS " + element + "(v) WHERE " + n.child.sql(c, element+".v", true) + ")"
	if !want {
		return "NOT " + test
	}
	if contained, ok := c.contain(n, at); ok {
		return "(" + contained + " AND " + test + ")"
	}
	return test
}

func (n elemMatch) needs(root bool) [][]string {
	var clauses [][]string
	for _, inner := range n.child.needs(false) {
		for i, alternative := range inner {
			inner[i] = "[" + alternative + "]"
		}
		alternatives, ok := n.path.fragments(inner, root)
		if !ok {
			return nil
		}
		clauses = append(clauses, alternatives)
	}
	return clauses
}

func (n elemMatch) walk(visit func(path)) { visit(n.path) }

// size compares the length of an array. It is false for everything else.
type size struct {
	path  path
	tests []sizeTest // joined by AND
}

type sizeTest struct {
	operator comparison
	length   int
}

// size reads the argument of $size: a length, or an object of comparisons.
func (p *parser) size(field path, v any, at location) (node, error) {
	object, ok := v.(map[string]any)
	if !ok {
		length, err := sizeLength(v, at)
		if err != nil {
			return nil, err
		}
		return size{field, []sizeTest{{"=", length}}}, nil
	}
	if len(object) == 0 {
		return nil, at.refuse("$size cannot be empty")
	}
	if err := p.enter(at, object); err != nil {
		return nil, err
	}
	n := size{path: field}
	open := false
	for _, key := range sortedKeys(object) {
		here := at.key(key)
		operator, ok := comparisons[key]
		if !ok {
			return nil, here.refuse("$size takes a length or an object of $eq, $ne, $gt, $gte, $lt, $lte")
		}
		if _, ok := reference(object[key]); ok {
			open = true
			continue
		}
		length, err := sizeLength(object[key], here)
		if err != nil {
			return nil, err
		}
		n.tests = append(n.tests, sizeTest{operator, length})
	}
	if open {
		return p.unresolved(field, v, at)
	}
	return n, nil
}

// sizeLength reads a length, which may be written as a string.
func sizeLength(v any, at location) (int, error) {
	if s, ok := v.(string); ok {
		v = json.Number(s)
	}
	literal, _ := numberLiteral(v)
	text, _ := canonicalNumber(literal)
	length, err := strconv.Atoi(text)
	if err != nil || length < 0 || length > math.MaxInt32 {
		return 0, at.refuse("must be a whole number from 0 to %d", math.MaxInt32)
	}
	return length, nil
}

func (n size) truth(v any) truth {
	array, ok := n.path.find(v).([]any)
	if !ok {
		return no
	}
	for _, test := range n.tests {
		if !test.operator.holds(cmp.Compare(len(array), test.length)) {
			return no
		}
	}
	return yes
}

func (n size) sql(c *compiler, at string, want bool) string {
	value := c.json(at, n.path)
	length := "(CASE WHEN jsonb_typeof(" + value + ") = 'array' THEN jsonb_array_length(" + value + ") END)"
	tests := make([]string, len(n.tests))
	for i, test := range n.tests {
		tests[i] = length + " " + string(test.operator) + " " + c.args.Add(strconv.Itoa(test.length)) + "::int"
	}
	if !want {
		return "(" + strings.Join(tests, " AND ") + ") IS NOT TRUE"
	}
	return group(tests, " AND ")
}

func (size) needs(bool) [][]string   { return nil }
func (n size) walk(visit func(path)) { visit(n.path) }
