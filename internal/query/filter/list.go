package filter

import (
	"slices"
	"strings"
)

// in is true for a scalar that equals a listed one, and for an array with an
// element that does.
type in struct {
	path    path
	texts   []string // canonical, distinct; not empty unless hasNull
	known   map[string]bool
	hasNull bool // null was listed: never equal, but a scalar not listed is unknown
}

// in reads the argument of $in and $nin, or a bare list. With an empty list the
// condition is false, even for a missing field.
func (p *parser) in(field path, list []any, at location) (node, error) {
	if len(list) == 0 {
		return constant(false), nil
	}
	list, left, err := p.split(field, list, at)
	switch {
	case err != nil:
		return nil, err
	case left != nil:
		known, err := p.in(field, list, at)
		return anyOf([]node{known, left}), err
	}
	times, list, err := p.instants(list, at)
	switch {
	case err != nil:
		return nil, err
	case times != nil && len(list) == 0:
		return atInstant{field, times, true}, nil
	case times != nil:
		others, err := p.in(field, list, at)
		return anyOf([]node{atInstant{field, times, true}, others}), err
	}
	texts, hasNull, err := p.scalars(list, at)
	if err != nil {
		return nil, err
	}
	n := in{path: field, texts: texts, known: make(map[string]bool, len(texts)), hasNull: hasNull}
	for _, text := range texts {
		n.known[text] = true
	}
	return n, nil
}

// scalars returns the distinct canonical texts of a list, in its order, and
// whether null was among them.
func (p *parser) scalars(list []any, at location) (texts []string, hasNull bool, err error) {
	if len(list) > MaxList {
		return nil, false, at.refuse("lists %d values; %d are allowed", len(list), MaxList)
	}
	if err := p.nest(at, len(list)); err != nil {
		return nil, false, err
	}
	seen := make(map[string]bool, len(list))
	for i, v := range list {
		if v == nil {
			hasNull = true
			continue
		}
		text, err := p.scalar(v, at.element(i))
		if err != nil {
			return nil, false, err
		}
		if !seen[text] {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	return texts, hasNull, nil
}

func (n in) truth(v any) truth {
	v = n.path.find(v)
	if isNull(v) {
		return unknown
	}
	if array, ok := v.([]any); ok {
		return truthOf(slices.ContainsFunc(array, n.lists))
	}
	switch {
	case n.lists(v):
		return yes
	case n.hasNull:
		return unknown
	}
	return no
}

func (n in) lists(v any) bool {
	text, ok := canonicalText(v)
	return ok && n.known[text]
}

func (n in) sql(c *compiler, at string, want bool) string {
	if want && len(n.texts) == 0 {
		return "false"
	}
	if want {
		if test, ok := c.contain(n, at); ok {
			return test
		}
	}
	value := c.json(at, n.path)
	set := c.set(n.variants())
	element := c.element()
	// Equality with a set uses a hash table; containment does not.
	found := "EXISTS (SELECT FROM jsonb_array_elements(" + value + ") AS " + element + "(v)" +
		" WHERE " + element + ".v = ANY (" + set + "))"
	isArray := "jsonb_typeof(" + value + ") = 'array'"
	switch {
	case want:
		return "CASE WHEN " + isArray + " THEN " + found + " ELSE " + value + " = ANY (" + set + ") END"
	case n.hasNull:
		return "CASE WHEN " + isArray + " THEN NOT " + found + " END"
	}
	scalar := value + " <> ALL (" + set + ") AND " + value + " <> 'null'"
	return "CASE WHEN " + isArray + " THEN NOT " + found + " ELSE " + scalar + " END"
}

func (n in) variants() []string {
	var all []string
	for _, text := range n.texts {
		all = append(all, variants(text)...)
	}
	return all
}

func (n in) needs(root bool) [][]string {
	if len(n.texts) > maxAlternatives {
		return nil
	}
	alternatives, ok := memberFragments(n.path, n.variants(), root)
	if !ok || len(alternatives) == 0 {
		return nil
	}
	return [][]string{alternatives}
}

func (n in) walk(visit func(path)) { visit(n.path) }

// memberFragments returns JSON objects, one of which a value contains (@>) if and
// only if the field at p is one of the JSON scalars or an array with one of them.
func memberFragments(p path, scalars []string, root bool) ([]string, bool) {
	values := make([]string, 0, 2*len(scalars))
	for _, scalar := range scalars {
		values = append(values, scalar, "["+scalar+"]")
	}
	return p.fragments(values, root)
}

// all is true for an array that has an element equal to each listed scalar, and
// for a scalar that equals them all.
type all struct {
	path  path
	texts []string // canonical, distinct; empty if the list can never be satisfied
}

// all reads the argument of $all. An empty list or one with null is never
// satisfied. Each value counts as a condition, because each becomes one in SQL.
func (p *parser) all(field path, list []any, at location) (node, error) {
	if len(list) == 0 {
		return constant(false), nil
	}
	list, left, err := p.split(field, list, at)
	switch {
	case err != nil:
		return nil, err
	case left != nil && len(list) == 0:
		return left, nil
	case left != nil:
		known, err := p.all(field, list, at)
		return allOf([]node{known, left}), err
	}
	texts, hasNull, err := p.scalars(list, at)
	if err != nil {
		return nil, err
	}
	if err := p.countConditions(len(texts)); err != nil {
		return nil, err
	}
	if hasNull {
		texts = nil
	}
	return all{path: field, texts: texts}, nil
}

func (n all) truth(v any) truth {
	v = n.path.find(v)
	if _, absent := v.(missing); absent {
		return unknown
	}
	if len(n.texts) == 0 {
		return no
	}
	array, ok := v.([]any)
	if !ok {
		array = []any{v}
	}
	for _, wanted := range n.texts {
		if !slices.ContainsFunc(array, func(element any) bool {
			text, ok := canonicalText(element)
			return ok && text == wanted
		}) {
			return no
		}
	}
	return yes
}

func (n all) sql(c *compiler, at string, want bool) string {
	switch {
	case len(n.texts) == 0 && want:
		return "false"
	case len(n.texts) == 0:
		return c.json(at, n.path) + " IS NOT NULL"
	case want:
		if test, ok := c.contain(n, at); ok {
			return test
		}
	}
	value := c.json(at, n.path)
	// In PostgreSQL a jsonb array contains each of its scalar elements and a scalar
	// contains itself; neither contains values inside an object or an inner array.
	tests := make([]string, len(n.texts))
	for i, text := range n.texts {
		tests[i] = value + " @> ANY (" + c.set(variants(text)) + ")"
	}
	if !want {
		return "NOT (" + strings.Join(tests, " AND ") + ")"
	}
	return group(tests, " AND ")
}

func (n all) needs(root bool) [][]string {
	var clauses [][]string
	for _, text := range n.texts {
		alternatives, ok := memberFragments(n.path, variants(text), root)
		if !ok {
			return nil
		}
		clauses = append(clauses, alternatives)
	}
	return clauses
}

func (n all) walk(visit func(path)) { visit(n.path) }
