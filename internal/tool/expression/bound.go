package expression

import (
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// bound replaces the operators whose work depends on how large their operands are, with all
// values nested in them: a short expression can nest a list in itself so often that one
// comparison takes hours, which nothing interrupts. The cost that cel-go counts has only the length
// of the outermost list, and is checked after the operator.
func bound(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok {
		return i, nil
	}
	var apply func(args []ref.Val) ref.Val
	switch call.Function() {
	case operators.Equals:
		apply = func(a []ref.Val) ref.Val { return types.Equal(a[0], a[1]) }
	case operators.NotEquals:
		apply = func(a []ref.Val) ref.Val { return types.Bool(types.Equal(a[0], a[1]) != types.True) }
	case operators.In, operators.OldIn:
		apply = contains
	case overloads.Size:
		apply = size
	case operators.Add:
		if accumulates(call) {
			return i, nil
		}
		apply = add
	default:
		return i, nil
	}
	return &bounded{call, apply}, nil
}

// accumulates reports whether a call appends to the result of map or filter, which appends in
// constant time.
func accumulates(call interpreter.InterpretableCall) bool {
	attribute, ok := call.Args()[0].(interpreter.InterpretableAttribute)
	if !ok {
		return false
	}
	named, ok := attribute.Attr().(interpreter.NamespacedAttribute)
	if !ok {
		return false
	}
	for _, name := range named.CandidateVariableNames() {
		if name == "@result" || name == "__result__" {
			return true
		}
	}
	return false
}

// bounded is a call that refuses operands with more than MaxValues values.
type bounded struct {
	interpreter.InterpretableCall
	apply func(args []ref.Val) ref.Val
}

// Exec implements interpreter.InterpretableV2.
func (b *bounded) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := b.Args()
	values := make([]ref.Val, len(args))
	for i, arg := range args {
		if values[i] = arg.Exec(frame); types.IsUnknownOrError(values[i]) {
			return values[i]
		}
	}
	left := MaxValues
	for _, value := range values {
		if !weigh(value, &left) {
			return types.NewErr("a list or an object has more than %d values", MaxValues)
		}
	}
	return b.apply(values)
}

// Eval implements interpreter.Interpretable.
func (b *bounded) Eval(vars interpreter.Activation) ref.Val {
	frame, err := interpreter.NewExecutionFrame(vars)
	if err != nil {
		return types.WrapErr(err)
	}
	defer frame.Close()
	return b.Exec(frame)
}

func contains(a []ref.Val) ref.Val {
	if in, ok := a[1].(traits.Container); ok {
		return in.Contains(a[0])
	}
	return types.ValOrErr(a[1], "no such overload")
}

func size(a []ref.Val) ref.Val {
	if sized, ok := a[0].(traits.Sizer); ok {
		return sized.Size()
	}
	return types.ValOrErr(a[0], "no such overload")
}

func add(a []ref.Val) ref.Val {
	adder, ok := a[0].(traits.Adder)
	if !ok {
		return types.ValOrErr(a[0], "no such overload")
	}
	if textBytes(a[0])+textBytes(a[1]) > MaxResultBytes {
		return errTooLong()
	}
	return adder.Add(a[1])
}

func errTooLong() ref.Val { return types.NewErr("a text is longer than %d bytes", MaxResultBytes) }

func textBytes(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// weigh subtracts the number of values in v, nested ones included, from left. It returns false
// when there are more.
func weigh(v ref.Val, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch v := v.(type) {
	case *types.Optional:
		return !v.HasValue() || weigh(v.GetValue(), left)
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if !weigh(v.Get(it.Next()), left) {
				return false
			}
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if !weigh(it.Next(), left) {
				return false
			}
		}
	}
	return true
}
