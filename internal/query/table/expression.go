package table

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// expression is a value. String returns it in the language that parse reads.
type expression interface{ String() string }

type (
	// columnOf names a column, or a value of Select or Compute.
	columnOf struct{ table, name string }
	// constant is a number.
	constant struct{ text string }
	// literal is a text or, with isDate, a date.
	literal struct {
		text   string
		isDate bool
	}
	negated  struct{ of expression }
	operated struct {
		operator    string // + - * / = <> < <= > >=
		left, right expression
	}
	called struct {
		function string // in lower case
		distinct bool
		all      bool // of count(*)
		args     []expression
	}
)

func (c columnOf) String() string {
	if c.table != "" {
		return quoteName(c.table) + "." + quoteName(c.name)
	}
	return quoteName(c.name)
}
func (c constant) String() string { return c.text }
func (l literal) String() string {
	return map[bool]string{true: "DATE "}[l.isDate] + "'" + strings.ReplaceAll(l.text, "'", "''") + "'"
}
func (n negated) String() string { return "-" + inParentheses(n.of) }
func (o operated) String() string {
	return inParentheses(o.left) + " " + o.operator + " " + inParentheses(o.right)
}
func (c called) String() string {
	if c.all {
		return c.function + "(*)"
	}
	args := make([]string, len(c.args))
	for i, a := range c.args {
		args[i] = a.String()
	}
	return c.function + "(" + map[bool]string{true: "DISTINCT "}[c.distinct] + strings.Join(args, ", ") + ")"
}

func inParentheses(e expression) string {
	if _, ok := e.(operated); ok {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// quoteName returns a name in quotes if it needs them.
func quoteName(name string) string {
	all, err := tokens("", name)
	if err == nil && len(all) == 2 && all[0].kind == word && !slices.Contains(keywords, strings.ToLower(name)) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// keywords are words that no name can be without quotes.
var keywords = []string{
	"select", "distinct", "from", "join", "inner", "left", "outer", "on", "where", "group", "by", "having", "order", "limit", "offset", "as", "and", "or", "not",
	"in", "is", "null", "like", "ilike", "between", "asc", "desc", "true", "false",
	"union", "intersect", "except", "with", "into", "case", "when", "then", "else", "end", "right", "full", "cross", "natural", "using", "over", "window", "for", "exists", "any", "all", "fetch",
}

// aggregates are functions of a group of rows.
var aggregates = []string{"count", "sum", "avg", "min", "max", "median"}

// parser reads tokens. field is the name of what they are from, for errors.
type parser struct {
	field  string
	tokens []token
	depth  int
}

// parseValue reads an expression. Errors: Invalid naming the field.
func parseValue(field, source string) (expression, error) {
	if len(source) > MaxExpressionBytes {
		return nil, fault.Field(field, "has %d bytes, over the limit of %d", len(source), MaxExpressionBytes)
	}
	all, err := tokens(field, source)
	if err != nil {
		return nil, err
	}
	p := &parser{field: field, tokens: all}
	e, err := p.value()
	if err == nil && p.next().kind != end {
		err = p.unexpected("an operator")
	}
	return e, err
}

func (p *parser) next() token { return p.tokens[0] }

func (p *parser) take() token {
	t := p.tokens[0]
	if t.kind != end {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept takes the next tokens if they are these signs or keywords.
func (p *parser) accept(words ...string) bool {
	for i, w := range words {
		if i >= len(p.tokens) || !p.tokens[i].is(w) {
			return false
		}
	}
	p.tokens = p.tokens[len(words):]
	return true
}

func (p *parser) expect(what string) error {
	if !p.accept(what) {
		return p.unexpected(what)
	}
	return nil
}

func (p *parser) unexpected(wanted string) error {
	t := p.next()
	if t.kind == word && slices.Contains(unsupported, strings.ToLower(t.text)) {
		return fault.Field(p.field, "has %s at character %d, which is not supported: see docs/reference/tables.md for what is", strings.ToUpper(t.text), t.at)
	}
	return fault.Field(p.field, "has %s at character %d where %s is expected", t, t.at, wanted)
}

// unsupported are words of SQL that are not part of the subset.
var unsupported = []string{
	"union", "intersect", "except", "with", "into", "case", "right", "full", "cross", "natural", "using", "over", "window", "for", "exists", "any", "all", "fetch",
	"insert", "update", "delete", "drop", "create", "alter", "grant", "copy", "set", "call", "do", "select", "begin", "truncate", "values", "table", "explain", "lateral", "collate", "cast",
}

// deeper counts a level of nesting until the function that it returns is called.
func (p *parser) deeper() (func(), error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, fault.Field(p.field, "is nested in more than %d levels at character %d", MaxDepth, p.next().at)
	}
	return func() { p.depth-- }, nil
}

var comparisons = []string{"=", "<>", "!=", "<=", ">=", "<", ">"}

// comparison takes a comparison operator; empty if there is none.
func (p *parser) comparison() string {
	if t := p.next(); t.kind == sign && slices.Contains(comparisons, t.text) {
		p.take()
		if t.text == "!=" {
			return "<>"
		}
		return t.text
	}
	return ""
}

// value reads a sum, or a comparison of two.
func (p *parser) value() (expression, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	operator := p.comparison()
	if operator == "" {
		return left, nil
	}
	right, err := p.sum()
	return operated{operator, left, right}, err
}

func (p *parser) sum() (expression, error)     { return p.chain([]string{"+", "-"}, p.product) }
func (p *parser) product() (expression, error) { return p.chain([]string{"*", "/"}, p.factor) }

func (p *parser) chain(operators []string, operand func() (expression, error)) (expression, error) {
	left, err := operand()
	for err == nil && p.next().kind == sign && slices.Contains(operators, p.next().text) {
		operator := p.take().text
		var right expression
		right, err = operand()
		left = operated{operator, left, right}
	}
	return left, err
}

func (p *parser) factor() (expression, error) {
	up, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer up()
	t := p.next()
	switch {
	case p.accept("-"):
		of, err := p.factor()
		if c, ok := of.(constant); ok && !strings.HasPrefix(c.text, "-") {
			return constant{"-" + c.text}, err
		}
		return negated{of}, err
	case p.accept("("):
		e, err := p.value()
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case t.kind == number:
		return constant{p.take().text}, nil
	case t.kind == text:
		return literal{text: p.take().text}, nil
	case t.is("date") && p.tokens[1].kind == text:
		p.take()
		return literal{p.take().text, true}, nil
	case t.kind == word && p.tokens[1].is("("):
		return p.call()
	}
	return p.column()
}

func (p *parser) column() (expression, error) {
	name, err := p.name("a value")
	if err != nil || !p.accept(".") {
		return columnOf{name: name}, err
	}
	column, err := p.name("the name of a column")
	return columnOf{name, column}, err
}

// name reads a name that is no keyword, or one in quotes.
func (p *parser) name(wanted string) (string, error) {
	t := p.next()
	if t.kind != quoted && (t.kind != word || slices.Contains(keywords, strings.ToLower(t.text))) {
		return "", p.unexpected(wanted)
	}
	if t.text == "" {
		return "", fault.Field(p.field, "has an empty name at character %d", t.at)
	}
	return p.take().text, nil
}

func (p *parser) call() (expression, error) {
	t := p.take()
	c := called{function: strings.ToLower(t.text)}
	if c.function == "extract" {
		return p.extract()
	}
	if !slices.Contains(aggregates, c.function) && functions[c.function].sql == nil {
		return nil, fault.Field(p.field, "calls %q at character %d, which is no function here: known are %s", t.text, t.at, functionNames)
	}
	p.take()
	if c.function == "count" && p.accept("*", ")") {
		c.all = true
		return c, nil
	}
	c.distinct = c.function == "count" && p.accept("distinct")
	for {
		arg, err := p.value()
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, arg)
		if p.accept(")") {
			return c, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

// extract reads the rest of EXTRACT(YEAR FROM date).
func (p *parser) extract() (expression, error) {
	p.take()
	part, err := p.name("year, quarter, month, week, day or weekday")
	if err != nil {
		return nil, err
	}
	part = strings.ToLower(part)
	if part == "isodow" {
		part = "weekday"
	}
	if f := functions[part]; f.sql == nil || !f.ofDate {
		return nil, fault.Field(p.field, "extracts %q: known are year, quarter, month, day, weekday and hour", part)
	}
	if err := p.expect("from"); err != nil {
		return nil, err
	}
	of, err := p.value()
	if err != nil {
		return nil, err
	}
	return called{function: part, args: []expression{of}}, p.expect(")")
}
