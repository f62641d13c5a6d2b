package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Statement is a compiled plan. SQL reads the table tenant.cells of an index; each of its rows is
//
//	values   text: the JSON array of the values, in the order of Columns
//	matched  bigint: how many rows it was computed from
//	ranges   text[]: for each source the ranges of their numbers, such as 2-9,12-12, at most maxRanges of them;
//	         then "..."; empty for a joined row that there is none of
type Statement struct {
	SQL     string
	Args    []any
	Columns []Column
	Limit   int // the statement reads one row more, which says that there are more
	// Used are the positions of the columns that each source is read for, ascending.
	Used [][]int
}

// Compile checks a plan and makes a statement of it. sources are its tables in order: that of the plan, then those of
// its joins. Errors: Invalid naming the field of the plan.
func Compile(p Plan, sources []Source) (Statement, error) {
	c := &compiler{plan: p, args: filter.NewArgs(), sources: sources, used: make([][]int, len(sources))}
	return c.compile()
}

// value is a checked expression as SQL.
type value struct {
	sql  string
	kind grid.Type
	unit string
}

// compiler compiles one plan. The statement has layers: base reads rows, with the values that later layers need as v0,
// v1 ...; grouped has groups, with their keys as v0 ... and their aggregates as a0 ...; the last has the answer's values.
type compiler struct {
	plan       Plan
	args       *filter.Args
	sources    []Source
	names      []string // of the sources
	used       [][]int
	operations int

	computed map[string]expression // of Compute, by lower name
	base     []value               // v0 ...
	baseOf   map[string]int        // by text
	keys     map[string]int        // base values that are group keys, by text
	folds    []string              // a0 ..., as SQL over base
	foldOf   map[string]value      // by text
	outputs  []value
	columns  []Column
}

func (c *compiler) compile() (s Statement, err error) {
	c.baseOf, c.keys, c.foldOf = map[string]int{}, map[string]int{}, map[string]value{}
	for _, step := range []func() error{c.check, c.nameSources, c.readComputed} {
		if err := step(); err != nil {
			return s, err
		}
	}
	joins, err := c.joins()
	if err != nil {
		return s, err
	}
	where, err := c.where()
	if err != nil {
		return s, err
	}
	outputs, err := c.readOutputs()
	if err != nil {
		return s, err
	}
	for i, o := range outputs {
		v, err := c.answer(o.field, o.expression)
		if err != nil {
			return s, err
		}
		c.outputs = append(c.outputs, v)
		c.columns = append(c.columns, Column{Name: o.name, Type: v.kind, Unit: v.unit})
		if slices.ContainsFunc(c.columns[:i], func(other Column) bool { return strings.EqualFold(other.Name, o.name) }) {
			return s, fault.Field(o.field, "has the name %q, as another value has: give it another with as", o.name)
		}
	}
	having, order, err := c.last(outputs)
	if err != nil {
		return s, err
	}
	s = Statement{Columns: c.columns, Limit: DefaultRows, Used: c.used}
	if c.plan.Limit != nil {
		s.Limit = *c.plan.Limit
	}
	s.SQL = c.statement(joins, where, having, order, s.Limit)
	s.Args = c.args.Values()
	for i := range s.Used {
		slices.Sort(s.Used[i])
		s.Used[i] = slices.Compact(s.Used[i])
	}
	return s, nil
}

// check checks the sizes of a plan.
func (c *compiler) check() error {
	p := c.plan
	for _, part := range []struct {
		field      string
		have, most int
	}{
		{"plan.joins", len(p.Joins), MaxTables - 1}, {"plan.select", len(p.Select), MaxOutputs}, {"plan.groupBy", len(p.GroupBy), MaxGroups},
		{"plan.orderBy", len(p.OrderBy), MaxOrders}, {"plan.compute", len(p.Compute), MaxComputed},
	} {
		if part.have > part.most {
			return fault.Field(part.field, "has %d entries, over the limit of %d", part.have, part.most)
		}
	}
	switch {
	case p.Limit != nil && (*p.Limit < 1 || *p.Limit > MaxRows):
		return fault.Field("plan.limit", "must be between 1 and %d, got %d", MaxRows, *p.Limit)
	case p.Offset < 0 || p.Offset > MaxOffset:
		return fault.Field("plan.offset", "must be between 0 and %d, got %d", MaxOffset, p.Offset)
	}
	return nil
}

// nameSources finds out by which names values name the tables.
func (c *compiler) nameSources() error {
	for i, s := range c.sources {
		as, field := c.plan.As, "plan.as"
		if i > 0 {
			as, field = c.plan.Joins[i-1].As, fmt.Sprintf("plan.joins[%d].as", i-1)
		}
		if as == "" {
			as = s.Name
		}
		if slices.ContainsFunc(c.names, func(name string) bool { return strings.EqualFold(name, as) }) {
			return fault.Field(field, "must be given: two tables would be named %q", as)
		}
		if len(as) > 100 {
			return fault.Field(field, "has %d bytes, over the limit of 100", len(as))
		}
		c.names = append(c.names, as)
	}
	return nil
}

// readComputed reads the values that the plan names.
func (c *compiler) readComputed() error {
	all := map[string]expression{}
	for i, o := range c.plan.Compute {
		field := fmt.Sprintf("plan.compute[%d]", i)
		if o.As == "" || strings.Contains(o.As, ".") || strings.HasPrefix(o.As, "$") {
			return fault.Field(field+".as", "must be a name without dots that does not begin with $, got %q", o.As)
		}
		e, err := o.expression(field)
		if err != nil {
			return err
		}
		if _, known := all[strings.ToLower(o.As)]; known {
			return fault.Field(field+".as", "is %q, as another value is", o.As)
		}
		all[strings.ToLower(o.As)] = e
	}
	c.computed = all
	return nil
}

// expression reads the value of an output, in its aggregate.
func (o Output) expression(field string) (expression, error) {
	if o.Aggregate == "count" && (o.Value == "" || o.Value == "*") {
		return called{function: "count", all: true}, nil
	}
	if o.Value == "" {
		return nil, fault.Field(field+".value", "must be given: the name of a column or an expression")
	}
	e, err := parseValue(field+".value", o.Value)
	switch {
	case err != nil || o.Aggregate == "":
		return e, err
	case o.Aggregate == "distinct":
		return called{function: "count", distinct: true, args: []expression{e}}, nil
	case slices.Contains(aggregates, o.Aggregate):
		return called{function: o.Aggregate, args: []expression{e}}, nil
	}
	return nil, fault.Field(field+".aggregate", "is %q: known are %s, distinct", o.Aggregate, strings.Join(aggregates, ", "))
}

// spend counts an operation.
func (c *compiler) spend(field string) error {
	if c.operations++; c.operations > MaxOperations {
		return fault.Field(field, "makes more than %d operations in the plan: ask less at once", MaxOperations)
	}
	return nil
}

// column finds a column. ok is false if there is none of that name.
func (c *compiler) column(field string, name columnOf) (source, column int, ok bool, err error) {
	source = -1
	for i, s := range c.sources {
		if name.table != "" && !strings.EqualFold(name.table, c.names[i]) {
			continue
		}
		at := slices.IndexFunc(s.Columns, func(col grid.Column) bool { return strings.EqualFold(col.Name, name.name) })
		if at < 0 {
			at = slices.IndexFunc(s.Columns, func(col grid.Column) bool { return strings.EqualFold(col.Title, name.name) })
		}
		switch {
		case at < 0:
		case source >= 0:
			return 0, 0, false, fault.Field(field, "names %q, which both %s and %s have: write %s.%s", name.name, c.names[source], c.names[i], quoteName(c.names[i]), quoteName(name.name))
		default:
			source, column = i, at
		}
	}
	return source, column, source >= 0, nil
}

// unknown returns the error for a name that no column has.
func (c *compiler) unknown(field string, name columnOf) error {
	var known []string
	for i, s := range c.sources {
		if name.table != "" && !strings.EqualFold(name.table, c.names[i]) {
			continue
		}
		for _, col := range s.Columns {
			known = append(known, col.Name)
		}
	}
	if len(known) == 0 {
		return fault.Field(field, "names the table %q: the plan has %s", name.table, strings.Join(c.names, ", "))
	}
	return fault.Field(field, "names %q, which is no column%s; columns are %s", name.name, nearest.Hint(name.name, known), strings.Join(known[:min(len(known), 30)], ", "))
}

// row returns an expression over the rows of the sources. It has no aggregate.
func (c *compiler) row(field string, e expression) (value, error) {
	switch e := e.(type) {
	case columnOf:
		source, at, ok, err := c.column(field, e)
		if err != nil {
			return value{}, err
		}
		if !ok {
			return value{}, c.unknown(field, e)
		}
		c.used[source] = append(c.used[source], at)
		col := c.sources[source].Columns[at]
		sql := fmt.Sprintf("(s%d.c->>%d)", source, at+1)
		switch col.Type {
		case grid.Number:
			sql += "::numeric"
		case grid.Boolean:
			sql += "::boolean"
		case grid.Text, grid.Date:
			sql = "(" + sql + ` COLLATE "C")`
		}
		return value{sql, col.Type, col.Unit}, nil
	case called:
		if slices.Contains(aggregates, e.function) {
			return value{}, fault.Field(field, "has the aggregate %s, which is over a group, where the value of one row is needed", e)
		}
	}
	return c.operation(field, e, c.row)
}

// operation returns an expression whose operands are given by of.
func (c *compiler) operation(field string, e expression, of func(string, expression) (value, error)) (value, error) {
	if err := c.spend(field); err != nil {
		return value{}, err
	}
	switch e := e.(type) {
	case constant:
		return value{c.args.Add(e.text) + "::text::numeric", grid.Number, ""}, nil
	case literal:
		return c.literal(field, e)
	case negated:
		v, err := of(field, e.of)
		if err == nil && v.kind != grid.Number {
			err = fault.Field(field, "negates a %s", v.kind)
		}
		return value{"(-" + v.sql + ")", v.kind, v.unit}, err
	case called:
		args, texts := make([]value, len(e.args)), make([]string, len(e.args))
		for i, a := range e.args {
			v, err := of(field, a)
			if err != nil {
				return value{}, err
			}
			args[i], texts[i] = v, v.sql
		}
		f := functions[e.function]
		kind, err := f.check(field, e.function, args)
		if err != nil {
			return value{}, err
		}
		unit := ""
		if !f.ofDate {
			unit = args[0].unit
		}
		return value{f.sql(texts), kind, unit}, nil
	case operated:
		left, err := of(field, e.left)
		if err != nil {
			return value{}, err
		}
		right, err := of(field, e.right)
		if err != nil {
			return value{}, err
		}
		return combine(field, e.operator, left, right)
	}
	return value{}, fmt.Errorf("unknown expression %T", e)
}

// literal returns a text or date as SQL.
func (c *compiler) literal(field string, l literal) (value, error) {
	if _, isTime := filter.Instant(l.text); l.isDate && (!isTime || len(l.text) < 10) {
		return value{}, fault.Field(field, "has the date %q, which must be such as 2026-03-01", l.text)
	}
	kind := grid.Text
	if l.isDate {
		kind = grid.Date
	}
	return value{"(" + c.args.Add(strings.ReplaceAll(l.text, "\x00", "")) + `::text COLLATE "C")`, kind, ""}, nil
}

// combine returns an operation of two values. Dates have differences, in days.
func combine(field, operator string, left, right value) (value, error) {
	if slices.Contains(comparisons, operator) {
		if left.kind != right.kind {
			return value{}, fault.Field(field, "compares a %s with a %s", left.kind, right.kind)
		}
		return value{"(" + left.sql + " " + operator + " " + right.sql + ")", grid.Boolean, ""}, nil
	}
	if operator == "-" && left.kind == grid.Date && right.kind == grid.Date {
		return value{"(extract(epoch FROM " + left.sql + "::timestamp - " + right.sql + "::timestamp)::numeric / 86400)", grid.Number, "days"}, nil
	}
	if left.kind != grid.Number || right.kind != grid.Number {
		return value{}, fault.Field(field, "computes a %s %s a %s: only numbers, and differences of dates, can be computed", left.kind, operator, right.kind)
	}
	unit := left.unit
	switch {
	case operator == "/" && left.unit == right.unit:
		unit = ""
	case left.unit == "":
		unit = right.unit
	}
	if operator == "/" {
		return value{"(" + left.sql + " / nullif(" + right.sql + ", 0))", grid.Number, unit}, nil
	}
	return value{"(" + left.sql + " " + operator + " " + right.sql + ")", grid.Number, unit}, nil
}

// inBase returns the number of a value of the base.
func (c *compiler) inBase(field string, e expression) (int, error) {
	text := e.String()
	if n, known := c.baseOf[text]; known {
		return n, nil
	}
	v, err := c.row(field, e)
	if err != nil {
		return 0, err
	}
	c.base = append(c.base, v)
	c.baseOf[text] = len(c.base) - 1
	return len(c.base) - 1, nil
}

// from returns the value of the base as the layers above name it.
func (c *compiler) from(n int) value {
	return value{"b.v" + strconv.Itoa(n), c.base[n].kind, c.base[n].unit}
}
