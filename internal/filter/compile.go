package filter

import (
	"strconv"
	"strings"
)

// maxContainments bounds the containment tests of one SQL expression. Each costs
// the planner a look at its statistics and a scan of the row; past the bound the
// conditions are tested field by field, without the GIN index.
const maxContainments = 128

// maxAlternatives bounds the containment tests of one condition.
const maxAlternatives = 32

// compiler holds what one translation to SQL shares between its conditions.
type compiler struct {
	args         *Args
	column       string            // the metadata, as the caller wrote it
	keys, paths  map[string]string // what is bound so far, with its placeholder
	indexed      map[string]bool   // names of fields that have their own Postgres indexes
	elements     int               // $elemMatch subqueries so far
	containments int               // containment tests so far
}

// access returns the SQL that gets the value at p out of `at` with the JSON
// operator for one key (-> or ->>) or for a path (#> or #>>). Keys are bound.
func (c *compiler) access(at string, p path, one, several string) string {
	if len(p) == 0 {
		if one == "->" {
			return at
		}
		return "(" + at + " #>> '{}')"
	}
	if p.isKey() {
		placeholder, ok := c.keys[p[0]]
		if !ok {
			placeholder = c.args.Add(p[0]) + "::text"
			c.keys[p[0]] = placeholder
		}
		return "(" + at + " " + one + " " + placeholder + ")"
	}
	joined := strings.Join(p, "\x00") // which no key contains
	placeholder, ok := c.paths[joined]
	if !ok {
		placeholder = c.args.Add([]string(p)) + "::text[]"
		c.paths[joined] = placeholder
	}
	return "(" + at + " " + several + " " + placeholder + ")"
}

// json is the jsonb at p: NULL where the field is missing.
func (c *compiler) json(at string, p path) string { return c.access(at, p, "->", "#>") }

// text is the text at p: NULL where the field is missing or JSON null.
func (c *compiler) text(at string, p path) string { return c.access(at, p, "->>", "#>>") }

// number is the numeric at p: NULL where there is no number. Only CASE
// guarantees that the cast, which fails on other types, comes second.
func (c *compiler) number(at string, p path) string { return numericExpression(c.json(at, p)) }

func numericExpression(json string) string {
	return "(CASE WHEN jsonb_typeof(" + json + ") = 'number' THEN " + json + "::numeric END)"
}

// set binds JSON texts as an array of jsonb.
func (c *compiler) set(texts []string) string { return c.args.Add(texts) + "::text[]::jsonb[]" }

// contain returns the test that the metadata contains what n needs, and false if
// n needs nothing that can be said in a few containments or is not a condition
// on the metadata itself.
func (c *compiler) contain(n node, at string) (string, bool) {
	if at != c.column {
		return "", false
	}
	clauses := n.needs(true)
	count := 0
	for _, alternatives := range clauses {
		count += len(alternatives)
	}
	if count == 0 || count > maxAlternatives || c.containments+count > maxContainments {
		return "", false
	}
	c.containments += count
	all := make([]string, len(clauses))
	for i, alternatives := range clauses {
		tests := make([]string, len(alternatives))
		for j, alternative := range alternatives {
			tests[j] = at + " @> " + c.args.Add(alternative) + "::jsonb"
		}
		all[i] = group(tests, " OR ")
	}
	return group(all, " AND "), true
}

// group joins expressions into one that can stand in any larger expression.
func group(parts []string, operator string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, operator) + ")"
}

// element returns a fresh alias for the elements of an array.
func (c *compiler) element() string {
	c.elements++
	return "element" + strconv.Itoa(c.elements)
}

// TextIndex returns the expression of a Postgres index that serves equality and
// comparisons with strings on the field, for CREATE INDEX ... (expression).
// column is as in Filter.SQL, without a table name. The field name is quoted as
// an SQL literal.
func TextIndex(column, field string) string {
	return "(" + literalAccess(column, parsePath(field), "->>", "#>>") + ` COLLATE "C")`
}

// NumberIndex is TextIndex for comparisons with numbers.
func NumberIndex(column, field string) string {
	return numericExpression(literalAccess(column, parsePath(field), "->", "#>"))
}

// literalAccess is compiler.access with the path written into the SQL, where
// CREATE INDEX allows no parameters.
func literalAccess(column string, p path, one, several string) string {
	if p.isKey() {
		return "(" + column + " " + one + " " + quoteSQL(p[0]) + "::text)"
	}
	keys := make([]string, len(p))
	for i, key := range p {
		keys[i] = quoteSQL(key)
	}
	return "(" + column + " " + several + " ARRAY[" + strings.Join(keys, ", ") + "]::text[])"
}

// quoteSQL returns s as an SQL string literal whatever the session's settings.
func quoteSQL(s string) string {
	return " E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}
