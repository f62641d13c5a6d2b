package table

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// output is a value of the answer before it is compiled.
type output struct {
	field      string
	name       string
	expression expression
}

// readOutputs returns the values of the answer, and the keys of the groups.
func (c *compiler) readOutputs() (all []output, err error) {
	for i, o := range c.plan.Select {
		field := fmt.Sprintf("plan.select[%d]", i)
		e, err := o.expression(field)
		if err != nil {
			return nil, err
		}
		name := o.As
		if name == "" {
			name = nameOf(o.Value, e)
		}
		if len(name) > 200 {
			return nil, fault.Field(field+".as", "has %d bytes, over the limit of 200", len(name))
		}
		all = append(all, output{field, name, c.substitute(e)})
	}
	isGrouped := len(c.plan.GroupBy) > 0 || slices.ContainsFunc(all, func(o output) bool { return hasAggregate(o.expression) }) || len(c.plan.Having) > 0
	if !isGrouped {
		c.keys = nil
		if len(all) == 0 {
			return c.allColumns(), nil
		}
		return all, nil
	}
	var keys []output
	for i, text := range c.plan.GroupBy {
		field := fmt.Sprintf("plan.groupBy[%d]", i)
		e, err := parseValue(field, text)
		if err != nil {
			return nil, err
		}
		e = c.substitute(e)
		if hasAggregate(e) {
			return nil, fault.Field(field, "has an aggregate: rows are grouped by values of their own")
		}
		n, err := c.inBase(field, e)
		if err != nil {
			return nil, err
		}
		c.keys[e.String()] = n
		if !slices.ContainsFunc(all, func(o output) bool { return o.expression.String() == e.String() || c.sameColumn(o.expression, e) }) {
			keys = append(keys, output{field, nameOf(text, e), e})
		}
	}
	if c.plan.exact {
		keys = nil
	}
	if len(all) == 0 {
		all = []output{{"plan.select", "count", called{function: "count", all: true}}}
	}
	return append(keys, all...), nil
}

// allColumns returns the columns of all tables.
func (c *compiler) allColumns() (all []output) {
	for i, s := range c.sources {
		for _, col := range s.Columns {
			name := col.Name
			if slices.ContainsFunc(all, func(o output) bool { return o.name == name }) {
				name = c.names[i] + "." + col.Name
			}
			all = append(all, output{"plan.select", name, columnOf{c.names[i], col.Name}})
		}
	}
	return all
}

// nameOf names a value that has no name: a column by its own, another by its text.
func nameOf(text string, e expression) string {
	switch e := e.(type) {
	case columnOf:
		return e.name
	case called:
		if col, ok := firstColumn(e); ok && len(e.args) == 1 {
			return e.function + "_" + col.name
		}
		if e.all {
			return e.function
		}
	}
	if len(text) > 60 {
		return text[:strings.LastIndexByte(text[:60], ' ')+1] + "..."
	}
	return text
}

func firstColumn(e called) (col columnOf, ok bool) {
	if len(e.args) == 0 {
		return col, false
	}
	col, ok = e.args[0].(columnOf)
	return col, ok
}

// joins returns the rows of all sources as SQL.
func (c *compiler) joins() (string, error) {
	var b strings.Builder
	for i, s := range c.sources {
		rows := fmt.Sprintf(`(SELECT (r.c->>0)::int AS n, r.c FROM tenant.cells AS k CROSS JOIN LATERAL jsonb_array_elements(k.cells) AS r (c) WHERE k.document_id = %s::text::uuid AND k.ordinal = %d) AS s%d`,
			c.args.Add(s.DocumentID), s.Ordinal, i)
		if i == 0 {
			b.WriteString(rows)
			continue
		}
		join := c.plan.Joins[i-1]
		field := fmt.Sprintf("plan.joins[%d].on", i-1)
		if len(join.On) == 0 || len(join.On) > 5 {
			return "", fault.Field(field, "must have 1 to 5 pairs of values that are equal, got %d", len(join.On))
		}
		var equal []string
		for n, on := range join.On {
			pair := make([]value, 2)
			for side, text := range []string{on.Left, on.Right} {
				at := fmt.Sprintf("%s[%d].%s", field, n, []string{"left", "right"}[side])
				e, err := parseValue(at, text)
				if err != nil {
					return "", err
				}
				if pair[side], err = c.joined(at, e, i, side); err != nil {
					return "", err
				}
			}
			if pair[0].kind != pair[1].kind {
				return "", fault.Field(fmt.Sprintf("%s[%d]", field, n), "compares a %s with a %s: join columns of one type", pair[0].kind, pair[1].kind)
			}
			equal = append(equal, pair[0].sql+" = "+pair[1].sql)
		}
		b.WriteString(map[bool]string{true: " LEFT", false: ""}[join.Left] + " JOIN " + rows + " ON " + strings.Join(equal, " AND "))
	}
	return b.String(), nil
}

// joined returns a side of a pair: a value without the name of its table is one of the joined table on the right side, and
// of the tables before on the left.
func (c *compiler) joined(field string, e expression, joined, side int) (value, error) {
	all := c.sources
	defer func() { c.sources = all }()
	if col, ok := e.(columnOf); ok && col.table == "" {
		if side == 1 { // only the joined table
			at := slices.IndexFunc(all[joined].Columns, func(g grid.Column) bool {
				return strings.EqualFold(g.Name, col.name) || strings.EqualFold(g.Title, col.name)
			})
			if at >= 0 {
				return c.row(field, columnOf{c.names[joined], all[joined].Columns[at].Name})
			}
			return value{}, c.unknown(field, columnOf{c.names[joined], col.name})
		}
		c.sources = all[:joined]
		return c.row(field, e)
	}
	c.sources = all[:joined+1]
	return c.row(field, e)
}

// where returns the filter of the plan over b.m, and adds the values that it names to the base as m.
func (c *compiler) where() (w condition, err error) {
	f, err := parseFilter("plan.filter", c.plan.Filter)
	if err != nil || f.IsZero() {
		return w, err
	}
	w.filter = f
	for _, name := range f.Fields() {
		path := strings.Split(name, ".")
		var e expression = columnOf{name: path[0]}
		switch computed, known := c.computed[strings.ToLower(path[0])]; {
		case len(path) > 2:
			return w, fault.Field("plan.filter", "names %q: fields are columns, such as amount or sales.amount", name)
		case len(path) == 2:
			e = columnOf{path[0], path[1]}
		case known:
			e = computed
		}
		n, err := c.inBase("plan.filter", e)
		if err != nil {
			return w, err
		}
		w.fields = append(w.fields, field{path, "v" + strconv.Itoa(n)})
	}
	return w, nil
}

// condition is a filter over an object that has the values that it names.
type condition struct {
	filter filter.Filter
	fields []field
}

type field struct {
	path []string
	sql  string
}

// object returns the object as SQL. Values that are null are left out.
func (w condition) object(prefix string, args *filter.Args) string {
	var flat []string
	nested := map[string][]string{}
	var order []string
	for _, f := range w.fields {
		if len(f.path) == 1 {
			flat = append(flat, args.Add(f.path[0])+"::text, "+prefix+f.sql)
			continue
		}
		if nested[f.path[0]] == nil {
			order = append(order, f.path[0])
		}
		nested[f.path[0]] = append(nested[f.path[0]], args.Add(f.path[1])+"::text, "+prefix+f.sql)
	}
	for _, name := range order {
		flat = append(flat, args.Add(name)+"::text, jsonb_build_object("+strings.Join(nested[name], ", ")+")")
	}
	return "jsonb_strip_nulls(jsonb_build_object(" + strings.Join(flat, ", ") + "))"
}

// parseFilter reads a filter over values of rows.
func parseFilter(field string, raw json.RawMessage) (filter.Filter, error) {
	f, err := filter.Parse([]byte(raw))
	if err != nil {
		return f, fault.Rename("filter", field, err)
	}
	switch names := f.Fields(); {
	case f.HasURI():
		return f, fault.Field(field, "tests $uri: rows of a table have none")
	case len(f.References()) > 0:
		return f, fault.Field(field, "has a reference to the request, which a plan cannot have")
	case len(names) > MaxFilterFields:
		return f, fault.Field(field, "tests %d columns, over the limit of %d", len(names), MaxFilterFields)
	}
	return f, nil
}

// last returns the condition on groups and the order of the answer.
func (c *compiler) last(outputs []output) (having condition, order []string, err error) {
	if len(c.plan.Having) > 0 {
		if having.filter, err = parseFilter("plan.having", c.plan.Having); err != nil {
			return having, nil, err
		}
	}
	for _, name := range having.filter.Fields() {
		path := strings.Split(name, ".")
		var e expression = columnOf{name: path[0]}
		if len(path) == 2 {
			e = columnOf{path[0], path[1]}
		} else if len(path) > 2 {
			return having, nil, fault.Field("plan.having", "names %q: fields are values of select and compute", name)
		}
		v, err := c.named("plan.having", e, outputs)
		if err != nil {
			return having, nil, err
		}
		having.fields = append(having.fields, field{path, v.sql})
	}
	for i, o := range c.plan.OrderBy {
		at := fmt.Sprintf("plan.orderBy[%d].value", i)
		e, err := parseValue(at, o.Value)
		if err != nil {
			return having, nil, err
		}
		v, err := c.named(at, e, outputs)
		if err != nil {
			return having, nil, err
		}
		order = append(order, v.sql+map[bool]string{true: " DESC"}[o.Descending]+" NULLS LAST")
	}
	return having, order, nil
}

// named returns the value of the answer with a name, or an expression over rows or groups.
func (c *compiler) named(field string, e expression, outputs []output) (value, error) {
	if col, ok := e.(columnOf); ok && col.table == "" {
		for i, o := range outputs {
			if strings.EqualFold(o.name, col.name) {
				return c.outputs[i], nil
			}
		}
	}
	return c.answer(field, c.substitute(e))
}

// statement writes the layers.
func (c *compiler) statement(joins string, where, having condition, order []string, limit int) string {
	var b strings.Builder
	var ranges []string
	base := make([]string, 0, len(c.sources)+len(c.base))
	for i := range c.sources {
		base = append(base, fmt.Sprintf("s%d.n AS n%[1]d", i))
	}
	for i, v := range c.base {
		base = append(base, v.sql+" AS v"+strconv.Itoa(i))
	}
	rows := "SELECT " + strings.Join(base, ", ") + " FROM " + joins
	if !where.filter.IsZero() {
		// OFFSET 0 keeps PostgreSQL from computing the object once for each condition.
		rows = "SELECT f.* FROM (SELECT r.*, " + where.object("r.", c.args) + " AS m FROM (" + rows + " OFFSET 0) AS r OFFSET 0) AS f WHERE " + where.filter.SQL("f.m", c.args)
	}
	if c.grouped() {
		groups := make([]string, 0, len(c.keys)+len(c.folds))
		var keys []string
		for i := range c.base {
			if slices.Contains(mapValues(c.keys), i) {
				keys = append(keys, "b.v"+strconv.Itoa(i))
			}
		}
		groups = append(groups, keys...)
		for i, fold := range c.folds {
			groups = append(groups, fold+" AS a"+strconv.Itoa(i))
		}
		groups = append(groups, "count(*) AS matched")
		for i := range c.sources {
			groups = append(groups, fmt.Sprintf("range_agg(int4range(b.n%d, b.n%[1]d, '[]')) FILTER (WHERE b.n%[1]d IS NOT NULL) AS n%[1]d", i))
			ranges = append(ranges, fmt.Sprintf(`(SELECT coalesce(string_agg(CASE WHEN x.n > %d THEN '...' ELSE lower(x.r) || '-' || upper(x.r) - 1 END, ',' ORDER BY x.n), '') FROM unnest(b.n%d) WITH ORDINALITY AS x (r, n) WHERE x.n <= %d)`, maxRanges, i, maxRanges+1))
		}
		rows = "SELECT " + strings.Join(groups, ", ") + " FROM (" + rows + ") AS b"
		if len(keys) > 0 {
			rows += " GROUP BY " + strings.Join(keys, ", ")
		}
		order = append(order, keys...)
	} else {
		for i := range c.sources {
			ranges = append(ranges, fmt.Sprintf("coalesce(b.n%d || '-' || b.n%[1]d, '')", i))
			order = append(order, fmt.Sprintf("b.n%d", i))
		}
	}
	values := make([]string, len(c.outputs))
	for i, v := range c.outputs {
		values[i] = v.sql
	}
	matched := "1::bigint"
	if c.grouped() {
		matched = "b.matched"
	}
	fmt.Fprintf(&b, "SELECT jsonb_build_array(%s)::text AS values, %s AS matched, ARRAY[%s]::text[] AS ranges FROM (%s) AS b", strings.Join(values, ", "), matched, strings.Join(ranges, ", "), rows)
	if !having.filter.IsZero() {
		b.Reset()
		fmt.Fprintf(&b, "SELECT jsonb_build_array(%s)::text AS values, %s AS matched, ARRAY[%s]::text[] AS ranges FROM (SELECT b.*, %s AS m FROM (%s) AS b OFFSET 0) AS b WHERE %s",
			strings.Join(values, ", "), matched, strings.Join(ranges, ", "), having.object("", c.args), rows, having.filter.SQL("b.m", c.args))
	}
	if len(order) > 0 {
		b.WriteString(" ORDER BY " + strings.Join(order, ", "))
	}
	fmt.Fprintf(&b, " LIMIT %d OFFSET %d", limit+1, c.plan.Offset)
	return b.String()
}

func mapValues(m map[string]int) (all []int) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}
