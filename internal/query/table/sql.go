package table

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// sqlField is the field that errors of ParseSQL name.
const sqlField = "sql"

// ParseSQL makes a plan of a statement in a subset of SQL that only reads:
//
//	SELECT [DISTINCT] * | value [AS name], ...
//	FROM table [AS name] [[LEFT] JOIN table [AS name] ON value = value [AND ...]] ...
//	[WHERE condition] [GROUP BY value, ...] [HAVING condition]
//	[ORDER BY value [ASC | DESC], ...] [LIMIT n] [OFFSET n]
//
// Errors: Invalid on the field sql, with the character.
func ParseSQL(source string) (Plan, error) {
	if len(source) > MaxSQLBytes {
		return Plan{}, fault.Field(sqlField, "has %d bytes, over the limit of %d", len(source), MaxSQLBytes)
	}
	all, err := tokens(sqlField, source)
	if err != nil {
		return Plan{}, err
	}
	s := statement{parser: parser{field: sqlField, tokens: all}, plan: Plan{exact: true}}
	err = s.parse()
	return s.plan, err
}

// statement reads one SELECT.
type statement struct {
	parser
	plan     Plan
	computed map[string]string // names of values by their text
	distinct bool
	all      bool // SELECT *
}

func (s *statement) parse() error {
	if err := s.expect("select"); err != nil {
		return err
	}
	for _, step := range []func() error{s.outputs, s.tables, s.where, s.group, s.order, s.limits} {
		if err := step(); err != nil {
			return err
		}
	}
	s.accept(";")
	if s.next().kind != end {
		return s.unexpected("the end")
	}
	if s.distinct {
		return s.groupOutputs()
	}
	return nil
}

func (s *statement) outputs() error {
	s.distinct = s.accept("distinct")
	if s.accept("*") {
		s.all = true
		return nil
	}
	for {
		value, err := s.value()
		if err != nil {
			return err
		}
		o := Output{Value: value.String()}
		if s.accept("as") || s.next().kind == quoted || s.next().kind == word && !slices.Contains(keywords, strings.ToLower(s.next().text)) {
			if o.As, err = s.name("a name"); err != nil {
				return err
			}
		}
		s.plan.Select = append(s.plan.Select, o)
		if !s.accept(",") {
			return nil
		}
	}
}

// groupOutputs makes the groups of SELECT DISTINCT.
func (s *statement) groupOutputs() error {
	if s.all {
		return fault.Field(sqlField, "has DISTINCT *: name the columns")
	}
	if len(s.plan.GroupBy) > 0 {
		return fault.Field(sqlField, "has DISTINCT and GROUP BY: leave DISTINCT out")
	}
	for _, o := range s.plan.Select {
		s.plan.GroupBy = append(s.plan.GroupBy, o.Value)
	}
	return nil
}

func (s *statement) tables() (err error) {
	if err := s.expect("from"); err != nil {
		return err
	}
	if s.plan.Table, s.plan.As, err = s.table(); err != nil {
		return err
	}
	for {
		left := s.accept("left", "outer") || s.next().is("left") && s.accept("left")
		if !left {
			s.accept("inner")
		}
		if !s.accept("join") {
			if left || s.next().is(",") {
				return s.unexpected("JOIN")
			}
			return nil
		}
		j := Join{Left: left}
		if j.Table, j.As, err = s.table(); err != nil {
			return err
		}
		if err := s.expect("on"); err != nil {
			return err
		}
		if j.On, err = s.pairs(); err != nil {
			return err
		}
		s.plan.Joins = append(s.plan.Joins, j)
	}
}

func (s *statement) table() (table, as string, err error) {
	if table, err = s.name("the name of a table"); err != nil {
		return "", "", err
	}
	if s.accept("as") || s.next().kind == quoted || s.next().kind == word && !slices.Contains(keywords, strings.ToLower(s.next().text)) {
		as, err = s.name("a name")
	}
	return table, as, err
}

func (s *statement) pairs() (all []On, err error) {
	if s.accept("(") {
		if all, err = s.pairs(); err != nil {
			return nil, err
		}
		return all, s.expect(")")
	}
	for {
		left, err := s.sum()
		if err != nil {
			return nil, err
		}
		if err := s.expect("="); err != nil {
			return nil, err
		}
		right, err := s.sum()
		if err != nil {
			return nil, err
		}
		all = append(all, On{left.String(), right.String()})
		if !s.accept("and") {
			return all, nil
		}
	}
}

func (s *statement) where() (err error) {
	if s.accept("where") {
		s.plan.Filter, err = s.filter()
	}
	return err
}

func (s *statement) group() (err error) {
	if s.accept("group", "by") {
		if s.plan.GroupBy, err = s.list(); err != nil {
			return err
		}
	}
	if s.accept("having") {
		s.plan.Having, err = s.filter()
	}
	return err
}

// list reads values. A number stands for a value of Select by its position.
func (s *statement) list() (all []string, err error) {
	for {
		e, err := s.value()
		if err != nil {
			return nil, err
		}
		value, err := s.positioned(e)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
		if !s.accept(",") {
			return all, nil
		}
	}
}

// positioned returns the text of a value, or of the value of Select that a number stands for.
func (s *statement) positioned(e expression) (string, error) {
	c, ok := e.(constant)
	if !ok {
		if name, isColumn := e.(columnOf); isColumn && name.table == "" {
			for _, o := range s.plan.Select { // SQL lets groups be named as in Select
				if strings.EqualFold(o.As, name.name) {
					return o.Value, nil
				}
			}
		}
		return e.String(), nil
	}
	n, err := strconv.Atoi(c.text)
	if err != nil || n < 1 || n > len(s.plan.Select) {
		return "", fault.Field(sqlField, "has the position %s, but SELECT has %d values", c.text, len(s.plan.Select))
	}
	return s.plan.Select[n-1].Value, nil
}

func (s *statement) order() error {
	if !s.accept("order", "by") {
		return nil
	}
	for {
		e, err := s.value()
		if err != nil {
			return err
		}
		o := Order{Value: e.String()}
		if _, isNumber := e.(constant); isNumber {
			if o.Value, err = s.positioned(e); err != nil {
				return err
			}
		}
		o.Descending = s.accept("desc")
		if !o.Descending {
			s.accept("asc")
		}
		s.plan.OrderBy = append(s.plan.OrderBy, o)
		if !s.accept(",") {
			return nil
		}
	}
}

func (s *statement) limits() (err error) {
	if s.accept("limit") {
		n, err := s.count("LIMIT")
		if err != nil {
			return err
		}
		s.plan.Limit = &n
	}
	if s.accept("offset") {
		s.plan.Offset, err = s.count("OFFSET")
	}
	return err
}

func (s *statement) count(what string) (int, error) {
	t := s.take()
	n, err := strconv.Atoi(t.text)
	if t.kind != number || err != nil {
		return 0, fault.Field(sqlField, "has %s at character %d where %s needs a whole number", t, t.at, what)
	}
	return n, nil
}

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
