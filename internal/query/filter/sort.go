package filter

import (
	"cmp"
	"strings"
)

// Order sorts by a field: numbers by size, then times by instant, then other texts by their bytes, then false and true. Descending
// reverses this. Everything else, such as a list or a field that is missing, comes last in either case.
type Order struct {
	Field      string
	Descending bool
	// Origin is a point, as ParsePoint reads it: the field has points, which are sorted by their distance from it. Nil: by their values.
	Origin any
}

// SQL returns the terms of ORDER BY for the metadata in column. The arguments are as for Filter.SQL.
func (o Order) SQL(column string, args *Args) string {
	c := newCompiler(column, args)
	p := parsePath(o.Field)
	direction := " NULLS LAST"
	if o.Descending {
		direction = " DESC NULLS LAST"
	}
	if origin, ok := ParsePoint(o.Origin); ok {
		return c.ofPoint(column, p, func(lat, lon string) string { return origin.haversineSQL(c, lat, lon) }) + direction
	}
	value, text := c.json(column, p), c.text(column, p)
	instant := instantExpression("CASE WHEN jsonb_typeof(" + value + ") = 'string' THEN " + text + " END")
	return strings.Join([]string{
		"CASE jsonb_typeof(" + value + ") WHEN 'number' THEN 0 WHEN 'string' THEN CASE WHEN " + instant + " IS NULL THEN 2 ELSE 1 END WHEN 'boolean' THEN 3 END" + direction,
		c.number(column, p) + direction,
		instant + direction,
		`CASE WHEN jsonb_typeof(` + value + `) IN ('string', 'boolean') THEN ` + text + ` END COLLATE "C"` + direction,
	}, ", ")
}

// Compare compares two metadata as SQL sorts them; 0 for equal values.
func (o Order) Compare(a, b map[string]any) int {
	p := parsePath(o.Field)
	if origin, ok := ParsePoint(o.Origin); ok {
		return o.compareDistances(origin, p.find(a), p.find(b))
	}
	x, y := sortKeyOf(p.find(a)), sortKeyOf(p.find(b))
	if x.kind == lastKind || y.kind == lastKind {
		return cmp.Compare(x.kind, y.kind)
	}
	order := cmp.Or(cmp.Compare(x.kind, y.kind), compareNumbers(x.number, y.number), cmp.Compare(x.instant, y.instant), strings.Compare(x.text, y.text))
	if o.Descending {
		return -order
	}
	return order
}

// compareDistances compares two values by their distances from a point; what is no point comes last.
func (o Order) compareDistances(origin Point, a, b any) int {
	x, isPointX := ParsePoint(a)
	y, isPointY := ParsePoint(b)
	switch {
	case !isPointX && !isPointY:
		return 0
	case !isPointX:
		return 1
	case !isPointY:
		return -1
	}
	order := cmp.Compare(origin.haversine(x), origin.haversine(y))
	if o.Descending {
		return -order
	}
	return order
}

// sortKey has the value of a field by its kind.
type sortKey struct {
	kind    int
	number  string // canonical
	instant int64
	text    string
}

// lastKind is the kind of what is not sorted.
const lastKind = 4

func sortKeyOf(v any) sortKey {
	switch v := v.(type) {
	case string:
		if at, ok := Instant(v); ok {
			return sortKey{kind: 1, number: "0", instant: at, text: v}
		}
		return sortKey{kind: 2, number: "0", text: v}
	case bool:
		if v {
			return sortKey{kind: 3, number: "0", text: "true"}
		}
		return sortKey{kind: 3, number: "0", text: "false"}
	}
	if literal, ok := numberLiteral(v); ok {
		if number, ok := canonicalNumber(literal); ok {
			return sortKey{number: number}
		}
	}
	return sortKey{kind: lastKind, number: "0"}
}
