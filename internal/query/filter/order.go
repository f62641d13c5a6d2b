package filter

import (
	"strconv"
	"strings"
)

// order is one of $gt, $gte, $lt and $lte. It compares numbers with a numeric
// argument, or the printed text of any value with a text argument, by bytes. Times are orderInstant.
type order struct {
	path     path
	operator comparison
	text     string // argument; canonical if numeric
	numeric  bool
	float    float64 // the argument; valid if exact
	exact    bool    // text is the shortest decimal of float
}

// comparison is an SQL comparison operator.
type comparison string

var comparisons = map[string]comparison{"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$eq": "=", "$ne": "<>"}

// holds reports whether the operator is true for two values that cmp.Compare gives
// this order.
func (o comparison) holds(order int) bool {
	switch o {
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case "=":
		return order == 0
	}
	return order != 0
}

// opposite returns the negation of o.
func (o comparison) opposite() comparison {
	switch o {
	case ">":
		return "<="
	case ">=":
		return "<"
	case "<":
		return ">="
	case "<=":
		return ">"
	case "=":
		return "<>"
	}
	return "="
}

// order reads the argument of $gt, $gte, $lt and $lte. A string that is
// a JSON number literal compares as a number.
func (p *parser) order(field path, key string, v any, at location) (node, error) {
	n := order{path: field, operator: comparisons[key]}
	if _, ok := dateLiteral(v); ok {
		at, err := p.date(v, at)
		return orderInstant{field, n.operator, at}, err
	}
	switch t := v.(type) {
	case nil:
		return undecided{field}, nil
	case bool, []any, map[string]any:
		return nil, at.refuse("%s needs a number or a string, got %s", key, typeName(v))
	case string:
		if err := p.text(t, at); err != nil {
			return nil, err
		}
		if at, ok := p.instant(t); ok {
			return orderInstant{field, n.operator, at}, nil
		}
		if !isNumber(t) {
			n.text = t
			return n, nil
		}
		text, err := limitedNumber(t, at)
		if err != nil {
			return nil, err
		}
		n.text = text
	default:
		text, err := p.number(v, at)
		if err != nil {
			return nil, err
		}
		n.text = text
	}
	n.numeric = true
	f, err := strconv.ParseFloat(n.text, 64)
	n.float, n.exact = f, err == nil && formatFloat(f) == n.text
	return n, nil
}

func (n order) truth(v any) truth {
	v = n.path.find(v)
	if !n.numeric {
		text, ok := printed(v)
		if !ok {
			return unknown
		}
		return truthOf(n.operator.holds(strings.Compare(text, n.text)))
	}
	if f, ok := v.(float64); ok && n.exact && !isNull(v) {
		// The shortest decimals of floats are in the order of the floats.
		switch {
		case f < n.float:
			return truthOf(n.operator.holds(-1))
		case f > n.float:
			return truthOf(n.operator.holds(1))
		}
		return truthOf(n.operator.holds(0))
	}
	literal, _ := numberLiteral(v)
	number, ok := canonicalNumber(literal)
	if !ok {
		return unknown
	}
	return truthOf(n.operator.holds(compareNumbers(number, n.text)))
}

func (n order) sql(c *compiler, at string, want bool) string {
	operator := n.operator
	if !want {
		operator = operator.opposite()
	}
	if n.numeric {
		return c.number(at, n.path) + " " + string(operator) + " " + c.args.Add(n.text) + "::numeric"
	}
	return c.text(at, n.path) + ` COLLATE "C" ` + string(operator) + " " + c.args.Add(n.text) + "::text"
}

func (order) needs(bool) [][]string   { return nil }
func (n order) walk(visit func(path)) { visit(n.path) }

// undecided is a comparison with null: unknown for every value.
type undecided struct{ path path }

func (undecided) truth(any) truth                    { return unknown }
func (undecided) sql(*compiler, string, bool) string { return "false" }
func (undecided) needs(bool) [][]string              { return nil }
func (n undecided) walk(visit func(path))            { visit(n.path) }
