package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

const (
	// maxMatch bounds the bytes of a text times the states of the pattern that it is searched for, which takes
	// seconds at most. One that is larger cannot be searched, and the call is denied.
	maxMatch = 1 << 28
	// longMatch is the same up to which a search takes no slot of the processor: some milliseconds.
	longMatch = 1 << 20
	// maxNested bounds how deep JSON within texts of JSON is looked into.
	maxNested = 3
)

// redactor replaces what a rule names. It stops at its first error.
type redactor struct {
	*rule
	ctx     context.Context
	enter   func(ctx context.Context) (leave func(), err error)
	changed bool
	err     error
}

// namesIn returns the names of a path.
func namesIn(path string) []string { return strings.Split(path, ".") }

// value returns a JSON value with what the paths name replaced, then what the patterns match. It changes the
// value in place.
func (x *redactor) value(v any) any {
	v = x.atPaths(v)
	return x.inTexts(v, 0)
}

func (x *redactor) atPaths(v any) any {
	for _, path := range x.paths {
		v = x.at(v, path)
	}
	return v
}

// at replaces the values at a path.
func (x *redactor) at(v any, path []string) any {
	if len(path) == 0 {
		if v != any(x.Redaction.Replacement) {
			x.changed = true
		}
		return x.Redaction.Replacement
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if path[0] == "*" || path[0] == name {
				v[name] = x.at(member, path[1:])
			}
		}
	case []any:
		for i, item := range v {
			if path[0] == "*" || path[0] == strconv.Itoa(i) {
				v[i] = x.at(item, path[1:])
			}
		}
	}
	return v
}

// inTexts replaces matches in all texts of a value: in names too, and in numbers as they are written.
func (x *redactor) inTexts(v any, nested int) any {
	if len(x.patterns) == 0 || x.err != nil {
		return v
	}
	switch v := v.(type) {
	case string:
		return x.text(v, nested)
	case json.Number:
		if text := x.replace(string(v)); text != string(v) {
			return text
		}
	case []any:
		for i, item := range v {
			v[i] = x.inTexts(item, nested)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			redacted := x.inTexts(v[name], nested)
			if changed := x.replace(name); changed != name {
				delete(v, name)
				name = changed
			}
			v[name] = redacted
		}
	}
	return v
}

// text returns a text with matches replaced. Where it is JSON, its values are searched as well, which may be
// written with escapes.
func (x *redactor) text(text string, nested int) string {
	if nested < maxNested && x.err == nil {
		if object, ok := jsonIn(text); ok {
			if decoded, changed := x.inside(object, func(v any) any { return x.inTexts(v, nested+1) }); changed {
				text = decoded
			}
		}
	}
	return x.replace(text)
}

// jsonIn returns the JSON object or list that a text is.
func jsonIn(text string) (any, bool) {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return nil, false
	}
	value, err := schema.Decode([]byte(trimmed))
	return value, err == nil
}

// inside changes a decoded text, and returns it encoded if something in it was redacted.
func (x *redactor) inside(decoded any, change func(any) any) (text string, changed bool) {
	before := x.changed
	x.changed = false
	decoded = change(decoded)
	changed = x.changed
	x.changed = before || changed
	if !changed {
		return "", false
	}
	return x.encode(decoded), true
}

// encode returns a value as JSON.
func (x *redactor) encode(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		x.err = err
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// replace returns a text with all matches replaced.
func (x *redactor) replace(text string) string {
	for _, p := range x.patterns {
		if x.err != nil {
			return text
		}
		if x.err = x.ctx.Err(); x.err != nil {
			return text
		}
		steps := len(text) * p.States
		if steps > maxMatch {
			x.err = fault.New(fault.Invalid, "a text of %d bytes is too long for a pattern of %d states", len(text), p.States)
			return text
		}
		leave := func() {}
		if steps > longMatch && x.enter != nil {
			if leave, x.err = x.enter(x.ctx); x.err != nil {
				return text
			}
		}
		found := p.MatchString(text)
		if found {
			text = p.ReplaceAllLiteralString(text, x.Redaction.Replacement)
			x.changed = true
		}
		leave()
	}
	return text
}
