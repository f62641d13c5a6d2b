// Package table turns questions about tables into SQL. A Plan says what to compute: which tables, joined on which
// columns, which rows, grouped by what, which values, in which order. ParseSQL makes a Plan of a statement in a subset
// of SQL. Compile checks a Plan against the columns of its tables and makes one statement of it:
//
//	plan, err := table.ParseSQL(`SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY total DESC`)
//	statement, err := table.Compile(plan, []table.Source{{DocumentID: id, Ordinal: 1, Description: sales}})
//
// No text of a caller becomes part of the SQL. Values are parameters; columns are read by their position in the rows;
// functions and operators are those of a list in this package; filters are those of package filter.
//
// Values are of the types of package grid. Numbers are decimals of any size. A missing value is null: it is in no
// aggregate but the count of rows, arithmetic with it is null, and it comes last in every order.
//
// The package does no I/O.
package table
