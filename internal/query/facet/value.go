package facet

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/query/filter"
)

// value is a scalar of a field. Equal values have equal keys: the JSON of a text, the shortest decimal of a number, true or false.
type value struct {
	key     string
	number  float64 // of a number
	instant int64   // that a text states, in microseconds since 1970
	states  states
}

// states says what a value is besides its key.
type states uint8

const (
	aNumber states = 1 << iota
	aTime
)

// appendValues appends the different values of a field, whose JSON is raw: those of a list, or one. missing: it is absent or null.
func appendValues(values []string, raw string) (_ []string, missing bool) {
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
			key, ok := keyOf(string(item))
			if ok && !seen[key] {
				seen[key] = true
				values = append(values, key)
			}
		}
		return values, false
	}
	if key, ok := keyOf(raw); ok {
		values = append(values, key)
	}
	return values, false
}

// keyOf returns the key of a scalar; ok is false for an object, a list, null and what is longer than MaxBytes.
func keyOf(raw string) (key string, ok bool) {
	switch {
	case len(raw) > MaxBytes || raw == "null" || raw[0] == '{' || raw[0] == '[':
		return "", false
	case raw[0] == '"' || raw[0] == 't' || raw[0] == 'f':
		return raw, true
	}
	return filter.CanonicalNumber(raw), true
}

// valueOf returns the value with a key.
func valueOf(key string) value {
	const shortest = len(`"2006-01-02"`)
	v := value{key: key}
	switch v.kind() {
	case 0:
		if n, err := strconv.ParseFloat(key, 64); err == nil {
			v.number, v.states = n, aNumber
		}
	case 1:
		if len(key) < shortest {
			break
		}
		if t, ok := filter.Instant(key[1 : len(key)-1]); ok { // texts of times have nothing to unescape
			v.instant, v.states = t, aTime
		}
	}
	return v
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
	if v.kind() == 0 {
		if d := cmp.Compare(v.number, other.number); d != 0 {
			return d
		}
	}
	return strings.Compare(v.key, other.key)
}

func (v value) is(s states) bool { return v.states&s != 0 }

// First returns the value of a field whose JSON is raw, of a list the first, and a key that equal values have. nil and "" stand for
// none that is counted.
func First(raw string) (key string, shown any) {
	keys, _ := appendValues(nil, raw)
	if len(keys) == 0 {
		return "", nil
	}
	return keys[0], valueOf(keys[0]).decode()
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
