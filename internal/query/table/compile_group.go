package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// grouped reports whether the plan has groups.
func (c *compiler) grouped() bool { return c.keys != nil }

// substitute replaces the names of computed values.
func (c *compiler) substitute(e expression) expression {
	if col, ok := e.(columnOf); ok && col.table == "" {
		if computed, known := c.computed[strings.ToLower(col.name)]; known {
			return computed
		}
	}
	switch e := e.(type) {
	case negated:
		return negated{c.substitute(e.of)}
	case operated:
		return operated{e.operator, c.substitute(e.left), c.substitute(e.right)}
	case called:
		args := make([]expression, len(e.args))
		for i, a := range e.args {
			args[i] = c.substitute(a)
		}
		e.args = args
		return e
	}
	return e
}

// answer returns a value of the answer: over rows, or over groups.
func (c *compiler) answer(field string, e expression) (value, error) {
	if !c.grouped() {
		n, err := c.inBase(field, e)
		if err != nil {
			return value{}, err
		}
		return c.from(n), nil
	}
	if n, isKey := c.keys[e.String()]; isKey {
		return c.from(n), nil
	}
	switch e := e.(type) {
	case columnOf:
		if _, _, ok, err := c.column(field, e); err != nil || !ok {
			if err == nil {
				err = c.unknown(field, e)
			}
			return value{}, err
		}
		// A key may be written with the name of its table, or without.
		for text, n := range c.keys {
			if key, err := parseValue(field, text); err == nil && c.sameColumn(key, e) {
				return c.from(n), nil
			}
		}
		return value{}, fault.Field(field, "names %s, which is neither an aggregate nor in groupBy", e)
	case called:
		if slices.Contains(aggregates, e.function) {
			return c.aggregate(field, e)
		}
	}
	return c.operation(field, e, c.answer)
}

// sameColumn reports whether two expressions name one column.
func (c *compiler) sameColumn(a, b expression) bool {
	left, ok := a.(columnOf)
	right, isColumn := b.(columnOf)
	if !ok || !isColumn {
		return false
	}
	s1, c1, found, err := c.column("", left)
	s2, c2, also, failed := c.column("", right)
	return found && also && err == nil && failed == nil && s1 == s2 && c1 == c2
}

// aggregate returns an aggregate of the base.
func (c *compiler) aggregate(field string, e called) (value, error) {
	text := e.String()
	if v, known := c.foldOf[text]; known {
		return v, nil
	}
	if err := c.spend(field); err != nil {
		return value{}, err
	}
	v := value{kind: grid.Number}
	sql := "count(*)"
	if !e.all {
		if len(e.args) != 1 {
			return v, fault.Field(field, "calls %s with %d arguments, which takes one", e.function, len(e.args))
		}
		n, err := c.inBase(field, e.args[0])
		if err != nil {
			return v, err
		}
		of := c.from(n)
		switch e.function {
		case "count":
			sql = "count(" + map[bool]string{true: "DISTINCT "}[e.distinct] + of.sql + ")"
		case "min", "max":
			v.kind, v.unit = of.kind, of.unit
			if of.kind == grid.Boolean {
				return v, fault.Field(field, "has the %s of a boolean: count the rows by a filter", e.function)
			}
			sql = e.function + "(" + of.sql + ")"
		default:
			v.unit = of.unit
			if of.kind != grid.Number {
				return v, fault.Field(field, "has the %s of %s, which is a %s: only numbers have one", e.function, e.args[0], of.kind)
			}
			sql = e.function + "(" + of.sql + ")"
			if e.function == "median" {
				sql = "((percentile_disc(0.5) WITHIN GROUP (ORDER BY " + of.sql + ") + percentile_disc(0.5) WITHIN GROUP (ORDER BY " + of.sql + " DESC)) / 2)"
			}
		}
	}
	v.sql = "b.a" + strconv.Itoa(len(c.folds))
	c.folds = append(c.folds, sql)
	c.foldOf[text] = v
	return v, nil
}

// hasAggregate reports whether an expression has one.
func hasAggregate(e expression) bool {
	switch e := e.(type) {
	case negated:
		return hasAggregate(e.of)
	case operated:
		return hasAggregate(e.left) || hasAggregate(e.right)
	case called:
		return slices.Contains(aggregates, e.function) || slices.ContainsFunc(e.args, hasAggregate)
	}
	return false
}
