package table

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// function is a function of values of one row.
type function struct {
	// args are the types of its arguments; an empty type takes any, and one for all further arguments stands last.
	args   []grid.Type
	least  int // arguments
	result grid.Type
	ofDate bool // EXTRACT reads it
	sql    func(args []string) string
}

func date(sql func(d string) string, result grid.Type) function {
	return function{args: []grid.Type{grid.Date}, least: 1, result: result, ofDate: result == grid.Number, sql: func(a []string) string { return sql(a[0]) }}
}

// digits returns SQL for the number that stands at a position of a date.
func digits(from, length int) func(string) string {
	return func(d string) string {
		return "substr(" + d + ", " + strconv.Itoa(from) + ", " + strconv.Itoa(length) + ")::numeric"
	}
}

// functions are those of the language, by name.
var functions = map[string]function{
	"year":             date(digits(1, 4), grid.Number),
	"month":            date(digits(6, 2), grid.Number),
	"day":              date(digits(9, 2), grid.Number),
	"hour":             date(func(d string) string { return "coalesce(nullif(substr(" + d + ", 12, 2), '')::numeric, 0)" }, grid.Number),
	"quarter":          date(func(d string) string { return "ceil(substr(" + d + ", 6, 2)::numeric / 3)" }, grid.Number),
	"weekday":          date(func(d string) string { return "extract(isodow FROM left(" + d + ", 10)::date)::numeric" }, grid.Number),
	"start_of_year":    startOf("year"),
	"start_of_quarter": startOf("quarter"),
	"start_of_month":   startOf("month"),
	"start_of_week":    startOf("week"),
	"start_of_day":     date(func(d string) string { return "left(" + d + ", 10)" }, grid.Date),
	"abs":              {args: []grid.Type{grid.Number}, least: 1, result: grid.Number, sql: func(a []string) string { return "abs(" + a[0] + ")" }},
	"round":            {args: []grid.Type{grid.Number, grid.Number}, least: 1, result: grid.Number, sql: round},
	"floor":            {args: []grid.Type{grid.Number}, least: 1, result: grid.Number, sql: func(a []string) string { return "floor(" + a[0] + ")" }},
	"ceil":             {args: []grid.Type{grid.Number}, least: 1, result: grid.Number, sql: func(a []string) string { return "ceil(" + a[0] + ")" }},
	"lower":            {args: []grid.Type{grid.Text}, least: 1, result: grid.Text, sql: func(a []string) string { return "lower(" + a[0] + ")" }},
	"upper":            {args: []grid.Type{grid.Text}, least: 1, result: grid.Text, sql: func(a []string) string { return "upper(" + a[0] + ")" }},
	"trim":             {args: []grid.Type{grid.Text}, least: 1, result: grid.Text, sql: func(a []string) string { return "btrim(" + a[0] + ")" }},
	// coalesce has the type of its arguments.
	"coalesce": {args: []grid.Type{""}, least: 2, sql: func(a []string) string { return "coalesce(" + strings.Join(a, ", ") + ")" }},
}

func startOf(unit string) function {
	return date(func(d string) string { return "date_trunc('" + unit + "', left(" + d + ", 10)::timestamp)::date::text" }, grid.Date)
}

func round(a []string) string {
	if len(a) == 1 {
		return "round(" + a[0] + ")"
	}
	return "round(" + a[0] + ", least(greatest(" + a[1] + ", -20), 20)::int)"
}

var functionNames = strings.Join(slices.Concat(aggregates, slices.Sorted(maps.Keys(functions))), ", ")

// check returns the type of a call of a function with arguments of these types. Errors: Invalid.
func (f function) check(field, name string, args []value) (grid.Type, error) {
	result := f.result
	most := len(f.args)
	if f.args[most-1] == "" {
		most = 10
	}
	if len(args) < f.least || len(args) > most {
		return "", fault.Field(field, "calls %s with %d arguments, which takes %d to %d", name, len(args), f.least, most)
	}
	for i, a := range args {
		want := f.args[min(i, len(f.args)-1)]
		switch {
		case want == "" && result == "":
			result = a.kind
		case want == "" && a.kind != result:
			return "", fault.Field(field, "calls %s with values of different types, %s and %s", name, result, a.kind)
		case want != "" && a.kind != want:
			return "", fault.Field(field, "calls %s with a %s, which takes a %s", name, a.kind, want)
		}
	}
	return result, nil
}
