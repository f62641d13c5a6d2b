package journal

import (
	"maps"
	"slices"
	"unicode/utf8"
)

const (
	// bytesPerItem is how many bytes of a text count as one item of a list.
	bytesPerItem = 64
	// minFields is how many fields of an object are kept at least: those of an event are
	// fewer.
	minFields = 20
)

// Shorten returns a JSON value whose texts have at most so many bytes, and an ellipsis where
// they are cut, and whose lists and objects have proportionally few items. What is deeper is
// shortened more. The same value always becomes the same.
func Shorten(value any, most int) any {
	items := most/bytesPerItem + 1
	switch v := value.(type) {
	case string:
		if len(v) <= most {
			return v
		}
		for most > 0 && !utf8.RuneStart(v[most]) {
			most--
		}
		return v[:most] + "…"
	case []any:
		short := make([]any, min(len(v), items))
		for i := range short {
			short[i] = Shorten(v[i], most/2)
		}
		return short
	case map[string]any:
		short := map[string]any{}
		keys := slices.Sorted(maps.Keys(v))
		for _, key := range keys[:min(len(keys), items+minFields)] {
			short[key] = Shorten(v[key], most)
		}
		return short
	}
	return value
}
