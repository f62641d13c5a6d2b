package filter

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// CheckField checks the name of a field as filters write it. Errors: Invalid naming the request's field `at`.
func CheckField(at, name string) error {
	switch {
	case name == "":
		return fault.Field(at, "must name a metadata field, such as team")
	case len(name) > MaxNameBytes:
		return fault.Field(at, "is %d bytes long; a field name may have %d", len(name), MaxNameBytes)
	}
	if _, err := Parse(map[string]any{name: map[string]any{"$exists": true}}); err != nil {
		return fault.Field(at, "%q is no name of a metadata field: write \\$ for a dollar sign at its start, and \\. for a dot in a key", name)
	}
	return nil
}

// FieldSQL returns an SQL expression for the jsonb of a field in column: NULL where it is missing. The arguments are as for SQL.
func FieldSQL(column, field string, args *Args) string {
	c := newCompiler(column, args)
	return c.json(column, parsePath(field))
}

// FieldOf returns the value of a field of the metadata, which is named as in filters. ok is false where it is missing.
func FieldOf(metadata map[string]any, field string) (value any, ok bool) {
	value = parsePath(field).find(metadata)
	_, absent := value.(missing)
	return value, !absent
}

// InstantAt is Instant that also knows times relative to now, such as now-30d.
func InstantAt(text string, now time.Time) (microseconds int64, ok bool) {
	if at, ok := Instant(text); ok {
		return at, true
	}
	return relative(text, now.UTC())
}

// Without returns f without its conditions on a field alone: the entries of the object, and of those in its $and. It is f itself
// if there are none.
func (f Filter) Without(field string) Filter {
	if f.root == nil {
		return f
	}
	object, _, err := decode([]byte(f.source))
	if err != nil {
		return f
	}
	left, dropped := withoutField(object, parsePath(field).String())
	if !dropped {
		return f
	}
	source, err := json.Marshal(left)
	if err != nil {
		return f
	}
	made, err := parseText(source)
	if err != nil {
		return f
	}
	made.trusted = f.trusted
	return made
}

// withoutField returns the entries of an object that are not conditions on a field alone, and whether that are fewer.
func withoutField(object map[string]any, field string) (left map[string]any, dropped bool) {
	left = make(map[string]any, len(object))
	for key, value := range object {
		if list, ok := value.([]any); ok && key == "$and" {
			kept := make([]any, 0, len(list))
			for _, item := range list {
				branch, ok := item.(map[string]any)
				if !ok {
					kept = append(kept, item)
					continue
				}
				rest, fewer := withoutField(branch, field)
				dropped = dropped || fewer
				kept = append(kept, rest)
			}
			left[key] = kept
			continue
		}
		if isOnField(map[string]any{key: value}, field) {
			dropped = true
			continue
		}
		left[key] = value
	}
	return left, dropped
}

// isOnField reports whether an object has conditions, all on one field.
func isOnField(object map[string]any, field string) bool {
	root, _, err := parseObject(object)
	if err != nil || hasURI(root) {
		return false
	}
	on, all := false, true
	root.walk(func(p path) {
		on = true
		all = all && p.String() == field
	})
	return on && all
}

// CanonicalNumber returns the shortest decimal of a JSON number, so that equal numbers have equal texts.
func CanonicalNumber(literal string) string {
	if text, ok := canonicalNumber(literal); ok {
		return text
	}
	if n, err := strconv.ParseFloat(literal, 64); err == nil {
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	return literal
}
