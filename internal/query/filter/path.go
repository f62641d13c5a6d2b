package filter

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// path leads from a JSON value to a field in it: object keys and, in arrays,
// indexes. The empty path is the value itself.
type path []string

// parsePath splits a field name at its dots. A backslash in front of a dot makes
// the dot part of the key. A name that starts with backslashes and a dollar sign
// loses its first backslash, so that a key can start with a dollar sign. Every
// other backslash is itself.
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

// String returns the name that parsePath splits into p. Keys must not end in a
// backslash.
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

// FieldName returns the name of the field at these keys in a filter, in which dots of keys and a dollar sign at the
// start are escaped.
func FieldName(keys ...string) string { return path(keys).String() }

// below returns p followed by rest, in new memory.
func (p path) below(rest path) path { return slices.Concat(p, rest) }

// isKey reports whether p is a single key that cannot be an array index, so that
// the operators for one key (-> and ->>) can be used.
func (p path) isKey() bool {
	if len(p) != 1 {
		return false
	}
	_, isIndex := arrayIndex(p[0])
	return !isIndex
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
			i, ok := arrayIndex(key)
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

// fragments returns, for each JSON text in values, an object with that text at p
// and nothing else. A value contains the object (jsonb's @>) if and only if it
// has the text at p. ok is false where this does not hold because a key may be
// an array index; the first key of a whole metadata object (root) never is one.
func (p path) fragments(values []string, root bool) (objects []string, ok bool) {
	var head strings.Builder
	for i, key := range p {
		if _, isIndex := arrayIndex(key); isIndex && (!root || i > 0) {
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

// arrayIndex reads key as an array index by the rules of PostgreSQL's #> operator,
// which uses C's strtol: leading white space and a sign are allowed, and a
// negative index counts from the end.
func arrayIndex(key string) (int, bool) {
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
