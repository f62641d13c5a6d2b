package chunk

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// int returns a whole number between low and MaxSizeLimit.
func (r *optionReader) int(name string, low, def int) int {
	var f float64
	switch v := r.raw[name].(type) {
	case nil:
		return def
	case float64:
		f = v
	case int:
		f = float64(v)
	case int32:
		f = float64(v)
	case int64:
		f = float64(v)
	default:
		r.refuse(name, "must be a number, got %s", typeName(v))
		return def
	}
	if f != math.Trunc(f) || f < float64(low) || f > MaxSizeLimit { // NaN fails the first
		r.refuse(name, "must be a whole number from %d to %d, got %v", low, MaxSizeLimit, r.raw[name])
		return def
	}
	return int(f)
}

func (r *optionReader) bool(name string, def bool) bool {
	switch v := r.raw[name].(type) {
	case nil:
		return def
	case bool:
		return v
	default:
		r.refuse(name, "must be true or false, got %s", typeName(v))
		return def
	}
}

func (r *optionReader) string(name, def string) string {
	if !r.has(name) {
		return def
	}
	s, ok := r.raw[name].(string)
	if !ok {
		r.refuse(name, "must be a string, got %s", typeName(r.raw[name]))
		return def
	}
	r.checkText(name, s)
	return s
}

// strings returns a list of strings, nil if it was left out or is empty.
func (r *optionReader) strings(name string) []string {
	items := r.list(name)
	out := make([]string, 0, len(items))
	for i, item := range items {
		field := fmt.Sprintf("%s[%d]", name, i)
		s, ok := item.(string)
		if !ok {
			r.refuse(field, "must be a string, got %s", typeName(item))
			return nil
		}
		r.checkText(field, s)
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// specials returns a list of special tokens; the string "all" stands for all of
// the encoding's.
func (r *optionReader) specials(name string) []string {
	if r.raw[name] == "all" {
		return []string{"all"}
	}
	return r.strings(name)
}

// pairs returns a list of [marker, key] pairs or of objects with the members
// marker (or what markerName says) and key, or of HeaderKeys.
func (r *optionReader) pairs(name, markerName string) []HeaderKey {
	if v, ok := r.raw[name].([]HeaderKey); ok {
		return slices.Clone(v)
	}
	var out []HeaderKey
	for i, item := range r.list(name) {
		field := fmt.Sprintf("%s[%d]", name, i)
		var marker, key any
		switch v := item.(type) {
		case []any:
			if len(v) == 2 {
				marker, key = v[0], v[1]
			}
		case []string:
			if len(v) == 2 {
				marker, key = v[0], v[1]
			}
		case map[string]any:
			marker, key = v[markerName], v["key"]
		}
		m, okMarker := marker.(string)
		k, okKey := key.(string)
		if !okMarker || !okKey || strings.TrimSpace(m) == "" || k == "" {
			r.refuse(field, `must be a pair of non-empty strings, [%s, key] or {"%s": ..., "key": ...}, got %s`,
				markerName, markerName, typeName(item))
			continue
		}
		r.checkText(field, m)
		r.checkText(field, k)
		out = append(out, HeaderKey{Marker: m, Key: k})
	}
	return out
}

func (r *optionReader) list(name string) []any {
	var items []any
	switch v := r.raw[name].(type) {
	case nil:
	case []any:
		items = v
	case []string:
		for _, s := range v {
			items = append(items, s)
		}
	default:
		r.refuse(name, "must be a list, got %s", typeName(v))
	}
	if len(items) > maxListItems {
		r.refuse(name, "must have at most %d entries, got %d", maxListItems, len(items))
		return nil
	}
	return items
}

// checkText refuses strings that are too long or could cut a code point.
func (r *optionReader) checkText(field, s string) {
	if len(s) > maxItemBytes {
		r.refuse(field, "must be at most %d bytes long, got %d", maxItemBytes, len(s))
	}
	if !utf8.ValidString(s) {
		r.refuse(field, "must be valid UTF-8, got %q", s)
	}
}

// separatorPosition reads separatorPosition or its alias keepSeparator, which
// may also be a boolean: true is start, false drops.
func (r *optionReader) separatorPosition() SeparatorPosition {
	name := "separatorPosition"
	if r.has("keepSeparator") {
		name = "keepSeparator"
		if r.has("separatorPosition") {
			r.refuse(name, "an alias of separatorPosition; give only one of the two")
		}
	}
	value := r.raw[name]
	if keep, ok := value.(bool); ok && name == "keepSeparator" {
		if keep {
			return SeparatorStart
		}
		return SeparatorDropped
	}
	switch value {
	case nil, "":
		return SeparatorDropped
	case "start":
		return SeparatorStart
	case "end":
		return SeparatorEnd
	}
	r.refuse(name, `must be "start" or "end", got %v; leave it out to drop separators at the edges of chunks`, value)
	return SeparatorDropped
}

// typeName names the type of a decoded JSON value for an error message.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case float64, int, int32, int64:
		return "a number"
	case []any, []string:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("%T", v)
}
