package facet

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/query/filter"
)

// value is a scalar of a field. Equal values have equal keys: the JSON of a text, the shortest decimal of a number, true or false.
type value struct{ key string }

// appendValues appends the different values of a field, whose JSON is raw: those of a list, or one. missing: it is absent or null.
func appendValues(values []value, raw string) (_ []value, missing bool) {
	switch {
	case raw == "" || raw == "null":
		return values, true
	case raw[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal([]byte(raw), &list) != nil {
			return values, false
		}
		seen := make(map[string]bool, len(list))
		for _, item := range list {
			v, ok := valueOf(string(item))
			if ok && !seen[v.key] {
				seen[v.key] = true
				values = append(values, v)
			}
		}
		return values, false
	}
	if v, ok := valueOf(raw); ok {
		values = append(values, v)
	}
	return values, false
}

// valueOf returns the value of a scalar; ok is false for an object, a list, null and what is longer than MaxBytes.
func valueOf(raw string) (v value, ok bool) {
	switch {
	case len(raw) > MaxBytes || raw == "null" || raw[0] == '{' || raw[0] == '[':
		return v, false
	case raw[0] == '"' || raw[0] == 't' || raw[0] == 'f':
		return value{raw}, true
	}
	return value{filter.CanonicalNumber(raw)}, true
}

// kind orders values of different types: numbers, texts, booleans.
func (v value) kind() int {
	switch v.key[0] {
	case '"':
		return 1
	case 't', 'f':
		return 2
	}
	return 0
}

// compare orders numbers by size, and everything else by its text.
func (v value) compare(other value) int {
	if d := v.kind() - other.kind(); d != 0 {
		return d
	}
	if a, ok := v.number(); ok {
		b, _ := other.number()
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
	}
	return strings.Compare(v.key, other.key)
}

func (v value) number() (n float64, ok bool) {
	if v.kind() != 0 {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.key, 64)
	return n, err == nil
}

// time returns the time that a text states, in microseconds since 1970.
func (v value) time() (microseconds int64, ok bool) {
	const shortest = len(`"2006-01-02"`)
	if len(v.key) < shortest || v.kind() != 1 {
		return 0, false
	}
	return filter.Instant(v.key[1 : len(v.key)-1]) // texts of times have nothing to unescape
}

// First returns the value of a field whose JSON is raw, of a list the first, and a key that equal values have. nil and "" stand for
// none that is counted.
func First(raw string) (key string, value any) {
	values, _ := appendValues(nil, raw)
	if len(values) == 0 {
		return "", nil
	}
	return values[0].key, values[0].decode()
}

// decode returns the value as a string, json.Number or bool.
func (v value) decode() any {
	switch v.kind() {
	case 1:
		var text string
		_ = json.Unmarshal([]byte(v.key), &text) // it was read from JSON
		return text
	case 2:
		return v.key == "true"
	}
	return json.Number(v.key)
}
