package filter

import (
	"strconv"
	"strings"
)

// maxContainments bounds the containment tests (@>) of one SQL expression. For
// each, the planner reads statistics and the executor scans the row. Past the
// bound, conditions are tested field by field, without the GIN index.
const maxContainments = 128

// maxAlternatives bounds the containment tests of one condition.
const maxAlternatives = 32

// compiler translates one filter to SQL; its conditions share the parameters.
type compiler struct {
	args         *Args
	column       string            // SQL expression of the metadata, as given by the caller
	keys, paths  map[string]string // placeholders of the keys and paths bound so far
	indexed      map[string]bool   // names of fields that have their own Postgres indexes
	elements     int               // $elemMatch subqueries so far
	containments int               // containment tests so far
}

func newCompiler(column string, args *Args) *compiler {
	return &compiler{args: args, column: column, keys: map[string]string{}, paths: map[string]string{}, indexed: map[string]bool{}}
}

// access returns SQL for the value at p in the jsonb expression `at`. It uses the
// operator one (-> or ->>) for a single key, else several (#> or #>>). Keys are
// bound as parameters.
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
	joined := strings.Join(p, "\x00") // no key contains this character
	placeholder, ok := c.paths[joined]
	if !ok {
		placeholder = c.args.Add([]string(p)) + "::text[]"
		c.paths[joined] = placeholder
	}
	return "(" + at + " " + several + " " + placeholder + ")"
}

// json returns SQL for the jsonb at p: NULL where the field is missing.
func (c *compiler) json(at string, p path) string { return c.access(at, p, "->", "#>") }

// text returns SQL for the text at p: NULL where the field is missing or JSON
// null.
func (c *compiler) text(at string, p path) string { return c.access(at, p, "->>", "#>>") }

// number returns SQL for the numeric at p: NULL where there is no number. The
// cast fails on other types; only CASE guarantees that it runs after the check.
func (c *compiler) number(at string, p path) string { return numericExpression(c.json(at, p)) }

func numericExpression(json string) string {
	return "(CASE WHEN jsonb_typeof(" + json + ") = 'number' THEN " + json + "::numeric END)"
}

// set binds JSON texts as an array of jsonb.
func (c *compiler) set(texts []string) string { return c.args.Add(texts) + "::text[]::jsonb[]" }

// contain returns containment tests for n.needs, which a GIN index can serve. ok
// is false if n has no needs, if they take too many tests, or if `at` is not the
// metadata itself.
func (c *compiler) contain(n node, at string) (test string, ok bool) {
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

// group joins SQL expressions with the operator, in parentheses if there are
// several.
func group(expressions []string, operator string) string {
	if len(expressions) == 1 {
		return expressions[0]
	}
	return "(" + strings.Join(expressions, operator) + ")"
}

// element returns a fresh alias for the elements of an array.
func (c *compiler) element() string {
	c.elements++
	return "element" + strconv.Itoa(c.elements)
}

// TextIndex returns an SQL expression for CREATE INDEX ... (expression). The index
// serves equality and comparisons with strings on the field. column is the jsonb
// column, without a table name. The field name is quoted as an SQL literal.
func TextIndex(column, field string) string {
	return "(" + literalAccess(column, parsePath(field), "->>", "#>>") + ` COLLATE "C")`
}

// NumberIndex returns an SQL expression for CREATE INDEX ... (expression). The
// index serves equality and comparisons with numbers on the field. The arguments
// are those of TextIndex.
func NumberIndex(column, field string) string {
	return numericExpression(literalAccess(column, parsePath(field), "->", "#>"))
}

// literalAccess returns SQL for the value at p in column, with the path as quoted
// literals: CREATE INDEX allows no parameters.
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

// quoteSQL returns s as an SQL string literal that every session setting reads
// alike.
func quoteSQL(s string) string {
	return " E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}
