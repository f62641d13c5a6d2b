package filter

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// missing is the value of an absent field; nil is JSON null.
type missing struct{}

// isNull reports whether v is absent, JSON null, or of a type that JSON does not
// have: the values for which SQL's ->> is NULL.
func isNull(v any) bool {
	switch t := v.(type) {
	case string, bool, json.Number, int, int64, []any, map[string]any:
		return false
	case float64:
		return math.IsNaN(t) || math.IsInf(t, 0)
	}
	return true
}

// numberLiteral returns v as a JSON number literal, and false if v is no finite
// number.
func numberLiteral(v any) (string, bool) {
	switch t := v.(type) {
	case float64:
		return formatFloat(t), !math.IsNaN(t) && !math.IsInf(t, 0)
	case json.Number:
		return string(t), true
	case int:
		return strconv.Itoa(t), true
	case int64:
		return strconv.FormatInt(t, 10), true
	}
	return "", false
}

// canonicalText returns the text by which scalars are compared for equality:
// strings unchanged, booleans as true or false, numbers in canonical form. The
// number 10.0 and the string "10" are therefore equal. ok is false for null,
// arrays and objects, which equal no scalar.
func canonicalText(v any) (text string, ok bool) {
	switch t := v.(type) {
	case string:
		return t, true
	case bool:
		return strconv.FormatBool(t), true
	}
	if literal, isNumber := numberLiteral(v); isNumber {
		return canonicalNumber(literal)
	}
	return "", false
}

// variants returns the JSON scalars whose canonical text is text: the string, and
// the number or boolean if there is one.
func variants(text string) []string {
	all := []string{quoteJSON(text)}
	if text == "true" || text == "false" || isCanonicalNumber(text) {
		all = append(all, text)
	}
	return all
}

// quoteJSON returns s as a JSON string.
func quoteJSON(s string) string {
	var b strings.Builder
	writeQuoted(&b, s)
	return b.String()
}

// printed returns the text of PostgreSQL's ->> for v: strings without quotes,
// numbers without exponent, arrays and objects as jsonb prints them. ok is false
// for null and absent values.
func printed(v any) (text string, ok bool) {
	if s, isString := v.(string); isString {
		return s, true
	}
	if isNull(v) {
		return "", false
	}
	var b strings.Builder
	writePrinted(&b, v)
	return b.String(), true
}

func writePrinted(b *strings.Builder, v any) {
	switch t := v.(type) {
	case string:
		writeQuoted(b, t)
		return
	case bool:
		b.WriteString(strconv.FormatBool(t))
		return
	case []any:
		b.WriteByte('[')
		for i, element := range t {
			if i > 0 {
				b.WriteString(", ")
			}
			writePrinted(b, element)
		}
		b.WriteByte(']')
		return
	case map[string]any:
		b.WriteByte('{')
		for i, key := range sortedKeys(t) {
			if i > 0 {
				b.WriteString(", ")
			}
			writeQuoted(b, key)
			b.WriteString(": ")
			writePrinted(b, t[key])
		}
		b.WriteByte('}')
		return
	}
	if literal, isNumber := numberLiteral(v); isNumber {
		if text, ok := plainNumber(literal); ok {
			b.WriteString(text)
			return
		}
	}
	b.WriteString("null")
}

// sortedKeys returns the keys of an object in jsonb's order: shorter ones first,
// then by bytes.
func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	})
	return keys
}

// writeQuoted writes s as a JSON string with the escapes that jsonb uses.
func writeQuoted(b *strings.Builder, s string) {
	const hex = "0123456789abcdef"
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if c < ' ' {
				b.WriteString(`\u00`)
				b.WriteByte(hex[c>>4])
				b.WriteByte(hex[c&15])
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('"')
}

// same reports whether two JSON values are deeply equal. Numbers compare by value,
// objects without regard to the order of keys; values of different types are
// never equal.
func same(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, same)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, value := range x {
			other, ok := y[key]
			if !ok || !same(value, other) {
				return false
			}
		}
		return true
	case string, bool:
		return a == b
	}
	x, xNumber := numberLiteral(a)
	y, yNumber := numberLiteral(b)
	if xNumber && yNumber {
		x, _ = canonicalNumber(x)
		y, _ = canonicalNumber(y)
		return x == y
	}
	return isNull(a) && isNull(b)
}
