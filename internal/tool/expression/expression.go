// Package expression evaluates expressions of tenants over JSON values, in the Common Expression
// Language (https://cel.dev): conditions such as context.tier == "pro", and values such as
// {"question": input.question, "tags": input.tags.map(t, t.lowerAscii())}.
//
// An expression has no side effects and always ends: its text, its values, its steps and its
// time are bounded. Beside the standard functions there are split, join, trim, lowerAscii and
// upperAscii, and optional values such as context.?tier.orValue("free").
package expression

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits.
const (
	MaxBytes       = 4 << 10   // of an expression
	MaxResultBytes = 1 << 20   // of a result as JSON, and of each text on the way to it
	MaxValues      = 100_000   // of a list or object that an expression makes or compares, nested ones included
	maxCost        = 5_000_000 // steps of an evaluation, as cel-go counts them
	// shortCost is how many of them an evaluation may take without a slot of the processor: about
	// a millisecond.
	shortCost = 5_000
	maxTime   = 2 * time.Second
	// maxMatch bounds the bytes of a text times those of the pattern that it is matched with.
	maxMatch       = 4 << 20
	maxReasonBytes = 300
	// checkEvery is after how many items of a list the time is checked.
	checkEvery = 64
)

// Environment compiles expressions over the same variables. Safe for concurrent use.
type Environment struct {
	env       *cel.Env
	variables []string
	enter     Enter
	ctx       context.Context // of For
	maxTime   time.Duration   // of an evaluation
}

// shortBytes is the length of an expression up to which it is compiled without a slot of the
// processor: a fraction of a millisecond.
const shortBytes = 64

// For returns the environment for a request, whose longer compilations take slots of the
// processor. Without it they take none.
func (e *Environment) For(ctx context.Context) *Environment {
	of := *e
	of.ctx = ctx
	return &of
}

// Enter waits for a slot of the processor for a long evaluation. leave gives it back.
type Enter func(ctx context.Context) (leave func(), err error)

// New returns an environment with variables that may have any JSON value. Long evaluations take a
// slot; nil is no limit.
func New(enter Enter, variables ...string) (*Environment, error) {
	options := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction("matches")))),
		cel.OptionalTypes(),
		cel.EnableIdentifierEscapeSyntax(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.CustomTypeAdapter(adapter{}),
		cel.ParserExpressionSizeLimit(MaxBytes),
	}
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	e, err := cel.NewCustomEnv(append(options, functions()...)...)
	return &Environment{env: e, variables: variables, enter: enter, maxTime: maxTime}, err
}

// Expression is a compiled expression. Safe for concurrent use.
type Expression struct {
	field   string
	short   cel.Program // with the limit of short evaluations
	program cel.Program
	enter   Enter
	used    map[string][]string // members of variables that the text selects
	asked   map[string][]string // further members, which the text asks for with has or .?
	maxTime time.Duration       // of an evaluation
}

// Uses reports whether the text names a variable.
func (x *Expression) Uses(variable string) bool {
	_, ok := x.used[variable]
	return ok
}

// Members returns the names that the text selects from a variable, as steps.a and steps["b"] do,
// except those that it asks for with has or .?
func (x *Expression) Members(variable string) []string { return x.used[variable] }

// Named returns the names of Members, and those that the text asks for with has or .?
func (x *Expression) Named(variable string) []string {
	return slices.Concat(x.used[variable], x.asked[variable])
}

// Compile returns the expression in a text. Errors: Invalid, naming the field; those of Enter.
func (e *Environment) Compile(field, text string) (*Expression, error) {
	return e.compile(field, text, false)
}

// CompileCondition is Compile for an expression that must be true or false. One whose result is
// known to be neither is Invalid.
func (e *Environment) CompileCondition(field, text string) (*Expression, error) {
	return e.compile(field, text, true)
}

func (e *Environment) compile(field, text string, condition bool) (*Expression, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fault.Field(field, "is missing: it must be an expression")
	}
	if len(text) > MaxBytes {
		return nil, fault.Field(field, "must be at most %d bytes, got %d", MaxBytes, len(text))
	}
	if e.ctx != nil && e.enter != nil && len(text) > shortBytes {
		leave, err := e.enter(e.ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	checked, issues := e.env.Parse(text)
	if issues.Err() == nil {
		if !textKeys(checked) {
			return nil, fault.Field(field, "has an object whose key may be no text: write the key in quotes, or string(key)")
		}
		checked, issues = e.env.Check(checked)
	}
	if issues.Err() != nil {
		return nil, fault.Field(field, "is no valid expression: %s", e.reason(issues))
	}
	if kind := checked.OutputType(); condition && !kind.IsExactType(cel.BoolType) && !kind.IsExactType(cel.DynType) {
		return nil, fault.Field(field, "must be true or false, but is of type %s", kind)
	}
	x := &Expression{field: field, enter: e.enter, maxTime: e.maxTime}
	for cost, program := range map[uint64]*cel.Program{shortCost: &x.short, maxCost: &x.program} {
		var err error
		if *program, err = e.env.Program(checked,
			cel.CustomDecoratorV2(bound), cel.CostLimit(cost), cel.InterruptCheckFrequency(checkEvery)); err != nil {
			return nil, fault.Field(field, "is no valid expression: %s", textlimit.OneLine(err.Error(), maxReasonBytes))
		}
	}
	x.used, x.asked = members(checked, e.variables)
	return x, nil
}

// members returns the variables that an expression names, with the members that it selects, and the
// further members that it asks for.
func members(checked *cel.Ast, variables []string) (selected, asked map[string][]string) {
	selected, asked = map[string][]string{}, map[string][]string{}
	note := func(members map[string][]string, of ast.Expr, name string) {
		if of.Kind() == ast.IdentKind && slices.Contains(variables, of.AsIdent()) {
			members[of.AsIdent()] = append(members[of.AsIdent()], name)
		}
	}
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.IdentKind:
			if name := e.AsIdent(); slices.Contains(variables, name) && selected[name] == nil {
				selected[name] = []string{}
			}
		case ast.SelectKind:
			if s := e.AsSelect(); s.IsTestOnly() {
				note(asked, s.Operand(), s.FieldName())
			} else {
				note(selected, s.Operand(), s.FieldName())
			}
		case ast.CallKind:
			call := e.AsCall()
			to := map[string]map[string][]string{operators.Index: selected, operators.OptIndex: asked, operators.OptSelect: asked}[call.FunctionName()]
			if to == nil || call.Args()[1].Kind() != ast.LiteralKind {
				return
			}
			if name, ok := call.Args()[1].AsLiteral().(types.String); ok {
				note(to, call.Args()[0], string(name))
			}
		}
	}))
	return selected, asked
}

// textKeys reports whether the keys of all objects are texts as written. An object whose key has any
// type can double the size of its type, and a short expression can do so often enough to stop the
// type checker for hours.
func textKeys(parsed *cel.Ast) bool {
	texts := true
	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.MapKind {
			return
		}
		for _, entry := range e.AsMap().Entries() {
			key := entry.AsMapEntry().Key()
			switch key.Kind() {
			case ast.LiteralKind:
				texts = texts && key.AsLiteral().Type() == types.StringType
			case ast.CallKind:
				texts = texts && key.AsCall().FunctionName() == overloads.TypeConvertString
			default:
				texts = false
			}
		}
	}))
	return texts
}

// reason returns what is wrong with a text, for its author.
func (e *Environment) reason(issues *cel.Issues) string {
	found := issues.Errors()
	if len(found) == 0 {
		return textlimit.OneLine(issues.Err().Error(), maxReasonBytes)
	}
	text := strings.ReplaceAll(found[0].Message, " (in container '')", "")
	if strings.HasPrefix(text, "undeclared reference") && len(e.variables) > 0 {
		text += "; the variables are " + strings.Join(e.variables, ", ")
	}
	return textlimit.OneLine(text, maxReasonBytes)
}

// Bool returns the value of a condition over the values of the variables. Errors: as of JSON;
// Invalid for a value that is neither true nor false.
func (x *Expression) Bool(ctx context.Context, values map[string]any) (bool, error) {
	out, err := x.eval(ctx, values)
	if err != nil {
		return false, err
	}
	is, ok := out.Value().(bool)
	if !ok {
		return false, fault.Field(x.field, "must be true or false, but is of type %s", out.Type().TypeName())
	}
	return is, nil
}

// JSON returns the value as JSON with numbers as json.Number, as schema.Decode does. The values
// of the variables are such values too, and variables without a value are missing. Errors: Invalid,
// naming the field, for a name that does not exist, operands of the wrong type, a result that is not
// JSON, and evaluations beyond the limits; those of the context and of Enter.
func (x *Expression) JSON(ctx context.Context, values map[string]any) (any, error) {
	out, err := x.eval(ctx, values)
	if err != nil {
		return nil, err
	}
	w := writer{bytes: MaxResultBytes, values: MaxValues}
	value, err := w.json(out, 0)
	if err != nil {
		return nil, fault.Field(x.field, "%s", err)
	}
	return value, nil
}

// eval evaluates the expression, and once more in a slot if it turns out to be long: it has no side
// effects.
func (x *Expression) eval(ctx context.Context, values map[string]any) (ref.Val, error) {
	out, err := x.evalIn(ctx, x.short, values)
	if tooCostly(err) {
		if x.enter != nil {
			leave, entering := x.enter(ctx)
			if entering != nil {
				return nil, entering
			}
			defer leave()
		}
		out, err = x.evalIn(ctx, x.program, values)
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), tooCostly(err):
		return nil, fault.Field(x.field, "takes too many steps: make the expression or its lists smaller")
	}
	text := textlimit.OneLine(err.Error(), maxReasonBytes)
	var cause error
	if strings.HasPrefix(text, "no such key") || strings.HasPrefix(text, "no such attribute") {
		text += "; write has(a.b) to ask whether it exists, or a.?b.orValue(c) for a default"
		cause = ErrMissing
	}
	if strings.HasPrefix(text, "index out of bounds") {
		cause = ErrMissing
	}
	if strings.HasPrefix(text, "no such overload") {
		text += "; values of these types have no such operation: convert one, as in double(a) * 1.5 or string(a) + \"!\""
	}
	failed := fault.Field(x.field, "cannot be evaluated: %s", text)
	failed.Cause = cause
	return nil, failed
}

// ErrMissing is the cause of an error about a name or an element that a value does not have.
var ErrMissing = errors.New("a value is missing")

// evalIn evaluates a program within the time of an evaluation.
func (x *Expression) evalIn(ctx context.Context, program cel.Program, values map[string]any) (ref.Val, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, x.maxTime)
	defer cancel()
	out, _, err := program.ContextEval(limited, values)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = limited.Err()
	}
	return out, err
}

func tooCostly(err error) bool {
	return err != nil && strings.Contains(err.Error(), "actual cost limit exceeded")
}
