package table

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// filter reads a condition as a filter of package filter.
func (s *statement) filter() (json.RawMessage, error) {
	condition, err := s.either()
	if err != nil {
		return nil, err
	}
	return json.Marshal(condition)
}

type object = map[string]any

func (s *statement) either() (object, error) { return s.joined("or", "$or", s.both) }
func (s *statement) both() (object, error)   { return s.joined("and", "$and", s.condition) }

func (s *statement) joined(word, operator string, operand func() (object, error)) (object, error) {
	first, err := operand()
	if err != nil || !s.next().is(word) {
		return first, err
	}
	all := []object{first}
	for s.accept(word) {
		more, err := operand()
		if err != nil {
			return nil, err
		}
		all = append(all, more)
	}
	return object{operator: all}, nil
}

func (s *statement) condition() (object, error) {
	up, err := s.deeper()
	if err != nil {
		return nil, err
	}
	defer up()
	if s.accept("not") {
		c, err := s.condition()
		return object{"$not": c}, err
	}
	if s.next().is("(") && s.groupsConditions() {
		s.take()
		c, err := s.either()
		if err != nil {
			return nil, err
		}
		return c, s.expect(")")
	}
	left, err := s.sum()
	if err != nil {
		return nil, err
	}
	return s.compared(left)
}

// groupsConditions reports whether the parentheses that come next enclose conditions, not a value: what closes them is
// not followed by an operator, and something in them is more than a value.
func (s *statement) groupsConditions() bool {
	depth := 0
	logical := false
	for i, t := range s.tokens {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				after := s.tokens[i+1]
				return logical && (after.kind != sign || after.is(")") || after.is(";"))
			}
		case t.kind == word && slices.Contains([]string{"and", "or", "not", "is", "in", "like", "ilike", "between"}, strings.ToLower(t.text)), t.kind == sign && slices.Contains(comparisons, t.text):
			logical = true
		}
	}
	return false
}

// flipped are the operators of comparisons whose sides are exchanged.
var flipped = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

var filterOperators = map[string]string{"=": "$eq", "<>": "$ne", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}

// compared reads the rest of a condition, of which the first value has been read.
func (s *statement) compared(left expression) (object, error) {
	if operator := s.comparison(); operator != "" {
		if value, ok := s.keyword(); ok {
			return s.leaf(left, filterOperators[operator], value)
		}
		right, err := s.sum()
		if err != nil {
			return nil, err
		}
		if value, ok := constantOf(right); ok {
			return s.leaf(left, filterOperators[operator], value)
		}
		if value, ok := constantOf(left); ok {
			return s.leaf(right, filterOperators[flipped[operator]], value)
		}
		return s.leaf(operated{operator, left, right}, "$eq", true)
	}
	if s.accept("is") {
		operator := map[bool]string{true: "$ne", false: "$eq"}[s.accept("not")]
		if s.accept("null") {
			return s.leaf(left, operator, nil)
		}
		value, ok := s.keyword()
		if !ok {
			return nil, s.unexpected("NULL, TRUE or FALSE")
		}
		return s.leaf(left, operator, value)
	}
	not := s.accept("not")
	c, err := s.tested(left, not)
	if err == nil && not {
		c = object{"$not": c}
	}
	return c, err
}

// tested reads IN, LIKE, ILIKE or BETWEEN; without one of them the value itself is the condition.
func (s *statement) tested(left expression, needed bool) (object, error) {
	switch {
	case s.accept("in"):
		values, err := s.values()
		if err != nil {
			return nil, err
		}
		return s.leaf(left, "$in", values)
	case s.accept("like"):
		return s.like(left, false)
	case s.accept("ilike"):
		return s.like(left, true)
	case s.accept("between"):
		low, err := s.constant()
		if err != nil {
			return nil, err
		}
		if err := s.expect("and"); err != nil {
			return nil, err
		}
		high, err := s.constant()
		if err != nil {
			return nil, err
		}
		return s.test(left, object{"$gte": low, "$lte": high})
	case needed:
		return nil, s.unexpected("IN, LIKE, ILIKE or BETWEEN")
	}
	return s.leaf(left, "$eq", true)
}

// keyword takes TRUE or FALSE.
func (s *statement) keyword() (value, ok bool) {
	switch {
	case s.accept("true"):
		return true, true
	case s.accept("false"):
		return false, true
	}
	return false, false
}

func constantOf(e expression) (any, bool) {
	switch e := e.(type) {
	case constant:
		return json.Number(jsonNumber(e.text)), true
	case literal:
		return e.text, true
	}
	return nil, false
}

// jsonNumber returns a number such as .5 or 2. in the form of JSON.
func jsonNumber(text string) string {
	rest, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(rest, ".")
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return map[bool]string{true: "-"}[negative] + whole
}

func (s *statement) constant() (any, error) {
	e, err := s.sum()
	if err != nil {
		return nil, err
	}
	value, ok := constantOf(e)
	if !ok {
		return nil, fault.Field(sqlField, "has %s before character %d where a number, a text or a date is expected", e, s.next().at)
	}
	return value, nil
}

func (s *statement) values() (all []any, err error) {
	if err := s.expect("("); err != nil {
		return nil, err
	}
	for {
		value, err := s.constant()
		if err != nil {
			return nil, err
		}
		all = append(all, value)
		if !s.accept(",") {
			return all, s.expect(")")
		}
	}
}

// like reads a pattern, in which % is any text and _ any character.
func (s *statement) like(left expression, fold bool) (object, error) {
	t := s.take()
	if t.kind != text {
		return nil, fault.Field(sqlField, "has %s at character %d where a pattern in single quotes is expected", t, t.at)
	}
	var pattern strings.Builder
	for _, r := range t.text {
		switch r {
		case '%':
			pattern.WriteString(".*")
		case '_':
			pattern.WriteString(".")
		default:
			pattern.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	test := object{"$regex": "^" + pattern.String() + "$"}
	if fold {
		test["$options"] = "i"
	}
	return s.test(left, test)
}

// leaf returns the condition on a value.
func (s *statement) leaf(of expression, operator string, value any) (object, error) {
	return s.test(of, object{operator: value})
}

// test returns the condition on a value, which it names unless it is a column.
func (s *statement) test(of expression, operators object) (object, error) {
	switch of := of.(type) {
	case columnOf:
		if of.table != "" {
			return object{filter.FieldName(of.table, of.name): operators}, nil
		}
		return object{filter.FieldName(of.name): operators}, nil
	case constant, literal:
		return nil, fault.Field(sqlField, "compares %s, which is no column, before character %d", of, s.next().at)
	}
	value := of.String()
	name, known := s.computed[value]
	if !known {
		if s.computed == nil {
			s.computed = map[string]string{}
		}
		name = fmt.Sprintf("#%d", len(s.computed)+1)
		s.computed[value] = name
		s.plan.Compute = append(s.plan.Compute, Output{Value: value, As: name})
	}
	return object{name: operators}, nil
}
