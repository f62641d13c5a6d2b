package expression

import (
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// functions returns the functions on texts, named as in cel-go's extensions. Those have no
// limits: replace makes gigabytes of two texts of a megabyte.
func functions() []cel.EnvOption {
	text, texts := cel.StringType, cel.ListType(cel.StringType)
	onText := func(name string, apply func(string) string) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("string_"+name, []*cel.Type{text}, text,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return types.String(apply(string(v.(types.String)))) })))
	}
	return []cel.EnvOption{
		onText("lowerAscii", lowerASCII),
		onText("upperAscii", upperASCII),
		onText("trim", strings.TrimSpace),
		cel.Function("split", cel.MemberOverload("string_split_string", []*cel.Type{text, text}, texts, cel.BinaryBinding(split))),
		cel.Function("join",
			cel.MemberOverload("list_join", []*cel.Type{texts}, text, cel.UnaryBinding(func(l ref.Val) ref.Val { return join(l, types.String("")) })),
			cel.MemberOverload("list_join_string", []*cel.Type{texts, text}, text, cel.BinaryBinding(join))),
		cel.Function("matches",
			cel.Overload("text_matches", []*cel.Type{text, text}, cel.BoolType, cel.BinaryBinding(matches)),
			cel.MemberOverload("text_matches_pattern", []*cel.Type{text, text}, cel.BoolType, cel.BinaryBinding(matches))),
	}
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func upperASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

func split(text, separator ref.Val) ref.Val {
	items := strings.SplitN(string(text.(types.String)), string(separator.(types.String)), MaxValues+1)
	if len(items) > MaxValues {
		return types.NewErr("a list has more than %d values", MaxValues)
	}
	return types.NewStringList(adapter{}, items)
}

func join(list, separator ref.Val) ref.Val {
	var b strings.Builder
	for it, first := list.(traits.Lister).Iterator(), true; it.HasNext() == types.True; first = false {
		item, ok := it.Next().(types.String)
		if !ok {
			return types.NewErr("join needs a list of texts")
		}
		if !first {
			b.WriteString(string(separator.(types.String)))
		}
		if b.Len()+len(item) > MaxResultBytes {
			return errTooLong()
		}
		b.WriteString(string(item))
	}
	return types.String(b.String())
}

// matches reports whether a part of a text matches an RE2 pattern.
func matches(text, pattern ref.Val) ref.Val {
	t, p := string(text.(types.String)), string(pattern.(types.String))
	if (len(t)+1)*len(p) > maxMatch {
		return types.NewErr("matches needs a shorter text or pattern: the product of their lengths is at most %d", maxMatch)
	}
	compiled, err := regexp.Compile(p)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(compiled.MatchString(t))
}
