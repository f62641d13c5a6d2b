package filter

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// path is the way from a JSON value down to a field: object keys and, where the
// value is an array, positions in it. The empty path is the value itself.
type path []string

// parsePath splits a field name at its dots. A backslash in front of a dot makes
// the dot part of the key, and a name that starts with backslashes and a dollar
// sign stands for a key one backslash shorter, so that any key can be named.
// Every other backslash is just a backslash.
func parsePath(name string) path {
	if strings.HasPrefix(name, `\`) && strings.HasPrefix(strings.TrimLeft(name, `\`), "$") {
		name = name[1:]
	}
	if !strings.Contains(name, `\.`) {
		return strings.Split(name, ".")
	}
	var p path
	var segment strings.Builder
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == '\\' && i+1 < len(name) && name[i+1] == '.':
			i++
			segment.WriteByte('.')
		case name[i] == '.':
			p = append(p, segment.String())
			segment.Reset()
		default:
			segment.WriteByte(name[i])
		}
	}
	return append(p, segment.String())
}

// String returns the name that parsePath turns into p, for keys that do not end
// in a backslash.
func (p path) String() string {
	keys := make([]string, len(p))
	for i, key := range p {
		keys[i] = strings.ReplaceAll(key, ".", `\.`)
	}
	name := strings.Join(keys, ".")
	if strings.HasPrefix(strings.TrimLeft(name, `\`), "$") {
		name = `\` + name
	}
	return name
}

// below returns p extended by rest. It never shares memory with another path.
func (p path) below(rest path) path { return slices.Concat(p, rest) }

// isKey reports whether p is a single key that can never be a position in an
// array, so that the operators for one key do for it.
func (p path) isKey() bool {
	if len(p) != 1 {
		return false
	}
	_, may := position(p[0])
	return !may
}

// find returns the value at p in v, or missing.
func (p path) find(v any) any {
	for _, key := range p {
		switch t := v.(type) {
		case map[string]any:
			field, ok := t[key]
			if !ok {
				return missing{}
			}
			v = field
		case []any:
			i, ok := position(key)
			if i < 0 {
				i += len(t)
			}
			if !ok || i < 0 || i >= len(t) {
				return missing{}
			}
			v = t[i]
		default:
			return missing{}
		}
	}
	return v
}

// fragments returns, for each JSON text in values, the object that has it at p
// and nothing else: a value that contains the object (jsonb's @>) has it at p.
// The converse fails where a key may be a position in an array, and then ok is
// false; only the first key below a whole metadata object (root) never is one.
func (p path) fragments(values []string, root bool) (objects []string, ok bool) {
	var head strings.Builder
	for i, key := range p {
		if _, may := position(key); may && (!root || i > 0) {
			return nil, false
		}
		head.WriteString("{" + quoteJSON(key) + ":")
	}
	tail := strings.Repeat("}", len(p))
	objects = make([]string, len(values))
	for i, value := range values {
		objects[i] = head.String() + value + tail
	}
	return objects, true
}

// position reads key as a position in an array by the rules of PostgreSQL's #>
// operator, which are those of C's strtol: leading white space and a sign are
// allowed, and a negative position counts from the end.
func position(key string) (int, bool) {
	digits := strings.TrimLeft(key, " \t\n\v\f\r")
	if digits == "" {
		return 0, false
	}
	i, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || i == math.MinInt32 {
		return 0, false
	}
	return int(i), true
}
