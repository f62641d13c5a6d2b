package table

import (
	"encoding/json"

	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
)

// Limits of one question.
const (
	MaxSQLBytes        = 10_000
	MaxExpressionBytes = 1_000 // of one value of a plan
	MaxDepth           = 30    // levels of parentheses and calls
	MaxOperations      = 200   // operators and calls of a plan together
	MaxTables          = 4     // joined
	MaxOutputs         = 50    // values of a row
	MaxGroups          = 20    // values that rows are grouped by
	MaxOrders          = 10
	MaxComputed        = 20
	MaxFilterFields    = 40 // different ones in a filter
	MaxRows            = 1_000
	DefaultRows        = 100
	MaxOffset          = 100_000

	// maxRanges bounds the ranges of rows that an answer names for each of its rows and tables.
	maxRanges = 20
)

// Plan is a question about one table, or several that are joined. Values are expressions: the name of a column, such
// as amount or o.amount, numbers, + - * / ( ), comparisons, and functions, such as year(date). See ParseSQL.
type Plan struct {
	Table string // its id or name
	As    string // by which values name the table; its name if empty
	Joins []Join
	// Compute names values, so that filters can name them.
	Compute []Output
	Filter  json.RawMessage // in the language of package filter, over columns and computed values; nil for all rows
	GroupBy []string        // values; those that Select does not have come before it
	Select  []Output        // all columns if there is neither it nor GroupBy
	Having  json.RawMessage // over the values of Select and computed ones; nil for all groups
	OrderBy []Order
	Limit   *int // DefaultRows if nil
	Offset  int

	exact bool // Select is not completed by GroupBy
}

// Join joins another table.
type Join struct {
	Table string
	As    string
	Left  bool // keeps rows that have none in Table
	On    []On
}

// On is a pair of values that are equal in joined rows: Right is a column of the joined table.
type On struct{ Left, Right string }

// Output is a value of the answer. Aggregate is count, sum, avg, min, max, median, distinct, or empty.
type Output struct{ Value, Aggregate, As string }

// Order is a value to sort by, or the name of one in Select.
type Order struct {
	Value      string
	Descending bool
}

// Source is a table that a plan may read.
type Source struct {
	DocumentID string
	Ordinal    int
	Name       string // by which values name it, unless the plan says another
	grid.Description
}

// Column is a column of an answer.
type Column struct {
	Name string
	Type grid.Type
	Unit string
}
