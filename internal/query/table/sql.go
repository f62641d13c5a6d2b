package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
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
