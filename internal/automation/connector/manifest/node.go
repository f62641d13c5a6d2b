package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/expression"
)

// parser keeps the first error of a manifest.
type parser struct {
	env  *expression.Environment // nil: expressions are not compiled
	root map[string]any
	left int // values that may still be read, references followed
	err  error
}

// node is an object of a manifest. Methods that read a field note that it is known; close refuses the others.
// After an error they return zero values.
type node struct {
	p          *parser
	path       string
	fields     map[string]any
	known      map[string]bool
	parameters map[string]any
}

// fail notes an error about a field of the node.
func (n node) fail(name, format string, args ...any) {
	if n.p.err == nil {
		n.p.err = fault.Field(Field, "%s %s", n.at(name), fmt.Sprintf(format, args...))
	}
}

// at returns the path of a field.
func (n node) at(name string) string {
	return strings.TrimPrefix(strings.TrimSuffix(n.path+"."+name, "."), ".")
}

// node returns the node of a value, whose references are followed.
func (p *parser) node(path string, value any, parameters map[string]any) node {
	n := node{p: p, path: path, fields: map[string]any{}, known: map[string]bool{"type": true, "$parameters": true}, parameters: parameters}
	object, ok := p.resolve(n, value, 0).(map[string]any)
	if !ok {
		n.fail("", "must be an object")
		return n
	}
	n.fields = maps.Clone(object)
	if own, ok := object["$parameters"].(map[string]any); ok {
		n.parameters = maps.Clone(parameters)
		if n.parameters == nil {
			n.parameters = map[string]any{}
		}
		maps.Copy(n.parameters, own)
	}
	return n
}

// resolve follows the reference that a value may be. An object with $ref has the fields of the referenced
// one where it has none itself.
func (p *parser) resolve(n node, value any, depth int) any {
	if p.left--; p.left < 0 {
		n.fail("", "has more than %d values, those of references counted", maxValues)
		return nil
	}
	text, isText := value.(string)
	object, isObject := value.(map[string]any)
	reference := ""
	switch {
	case isText && strings.HasPrefix(text, "#/"):
		reference = text
	case isObject:
		reference, _ = object["$ref"].(string)
	}
	if reference == "" {
		return value
	}
	if depth == maxReferences {
		n.fail("", "refers to %q through more than %d references", reference, maxReferences)
		return nil
	}
	found, ok := p.lookup(reference)
	if !ok {
		n.fail("", "refers to %q, which does not exist", textlimit.Shorten(reference, maxShown))
		return nil
	}
	found = p.resolve(n, found, depth+1)
	of, ok := found.(map[string]any)
	if !ok || !isObject {
		return found
	}
	merged := maps.Clone(of)
	for name, own := range object {
		if name != "$ref" {
			merged[name] = own
		}
	}
	return merged
}

// lookup returns the value at a path such as #/definitions/requester.
func (p *parser) lookup(reference string) (any, bool) {
	steps, ok := strings.CutPrefix(reference, "#/")
	if !ok {
		return nil, false
	}
	var at any = p.root
	for step := range strings.SplitSeq(steps, "/") {
		switch in := at.(type) {
		case map[string]any:
			if at, ok = in[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			at = in[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// kind returns the type of the node, the first of the given ones if it states none. Any other type is refused.
func (n node) kind(known ...string) string {
	kind, _ := n.fields["type"].(string)
	if kind == "" {
		return known[0]
	}
	if !slices.Contains(known, kind) {
		n.fail("", "has the type %s, which is not supported; known are %s", textlimit.Shorten(kind, maxShown), strings.Join(known, ", "))
	}
	return kind
}

// value returns a field, whose reference is followed; nil if it is absent.
func (n node) value(name string) any {
	n.known[name] = true
	value, ok := n.fields[name]
	if !ok || n.p.err != nil {
		return nil
	}
	return n.p.resolve(node{p: n.p, path: n.at(name)}, value, 0)
}

// has reports whether a field is there.
func (n node) has(name string) bool { return n.fields[name] != nil }

// ignore notes fields that do not change what is read.
func (n node) ignore(names ...string) {
	for _, name := range names {
		n.known[name] = true
	}
}

// close refuses fields that nobody has read.
func (n node) close() {
	for _, name := range slices.Sorted(maps.Keys(n.fields)) {
		if !n.known[name] {
			n.fail(name, "is not supported")
			return
		}
	}
}

// object returns the node in a field; ok is false if it is absent.
func (n node) object(name string) (node, bool) {
	n.known[name] = true
	if !n.has(name) {
		return node{}, false
	}
	return n.p.node(n.at(name), n.fields[name], n.parameters), true
}

// list returns the values of a list.
func (n node) list(name string) []any {
	value := n.value(name)
	list, ok := value.([]any)
	if value != nil && !ok {
		n.fail(name, "must be a list")
	}
	return list
}

// objects returns the nodes of a list.
func (n node) objects(name string) []node {
	list := n.list(name)
	out := make([]node, len(list))
	for i, value := range list {
		out[i] = n.p.node(fmt.Sprintf("%s[%d]", n.at(name), i), value, n.parameters)
	}
	return out
}

// text returns a text without expressions, or a number as a text.
func (n node) text(name string) string {
	switch value := n.value(name).(type) {
	case nil:
		return ""
	case string:
		return value
	case int, float64, bool:
		return fmt.Sprint(value)
	case time.Time:
		return timeText(value)
	}
	n.fail(name, "must be a text")
	return ""
}

// texts returns the texts of a list, or a text alone.
func (n node) texts(name string) []string {
	value := n.value(name)
	if text, ok := value.(string); ok {
		return []string{text}
	}
	var out []string
	for _, value := range n.list(name) {
		switch value.(type) {
		case string, int:
			out = append(out, fmt.Sprint(value))
		default:
			n.fail(name, "must be a list of texts")
		}
	}
	return out
}

// integer returns a whole number, or without the field, another one.
func (n node) integer(name string, without, most int) int {
	value := n.value(name)
	if value == nil {
		return without
	}
	if text, ok := value.(string); ok {
		if number, err := strconv.Atoi(text); err == nil {
			value = number
		}
	}
	number, ok := value.(int)
	if !ok || number < 0 || number > most {
		n.fail(name, "must be a whole number from 0 to %d", most)
		return without
	}
	return number
}

// seconds returns a number of seconds, or without the field, another one.
func (n node) seconds(name string, without float64) float64 {
	switch value := n.value(name).(type) {
	case nil:
		return without
	case int:
		return float64(value)
	case float64:
		return value
	case string:
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			return number
		}
	}
	n.fail(name, "must be a number of seconds")
	return without
}

// flag returns true or false.
func (n node) flag(name string) bool {
	value := n.value(name)
	is, ok := value.(bool)
	if value != nil && !ok {
		n.fail(name, "must be true or false")
	}
	return is
}

// template returns the template in a field.
func (n node) template(name string) Template { return n.parse(n.at(name), n.value(name)) }

// templates returns the templates of an object of texts.
func (n node) templates(name string) map[string]Template {
	value := n.value(name)
	object, ok := value.(map[string]any)
	if value != nil && !ok {
		n.fail(name, "must be an object of texts")
	}
	out := map[string]Template{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		out[key] = n.parse(n.at(name)+"."+key, object[key])
	}
	return out
}

// parse returns the template in a value.
func (n node) parse(path string, value any) Template {
	switch value := value.(type) {
	case nil:
		return Template{}
	case string:
		if n.p.env == nil || n.p.err != nil {
			return Template{}
		}
		if len(value) > maxTemplateBytes {
			n.p.err = fault.Field(Field, "%s must be at most %d bytes", path, maxTemplateBytes)
			return Template{}
		}
		t, err := parseTemplate(n.p.env, path, n.fill(value))
		if err != nil && n.p.err == nil {
			n.p.err = fault.Field(Field, "%s", fault.Public(err))
			if fault.KindOf(err) != fault.Invalid {
				n.p.err = err
			}
		}
		return t
	case int, float64, bool:
		return Template{parts: []part{{literal: fmt.Sprint(value)}}}
	case time.Time:
		return Template{parts: []part{{literal: timeText(value)}}}
	}
	if n.p.err == nil {
		n.p.err = fault.Field(Field, "%s must be a text", path)
	}
	return Template{}
}

// timeText returns a time that YAML has read as such as it was written.
func timeText(at time.Time) string {
	if at.Equal(at.Truncate(day)) {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.RFC3339Nano)
}

// fill replaces the parameters of a text, which are known when it is parsed.
func (n node) fill(text string) string {
	for name, value := range n.parameters {
		filled, ok := value.(string)
		if !ok {
			continue
		}
		for _, form := range []string{"{{ parameters['" + name + "'] }}", "{{ parameters." + name + " }}", `{{ parameters["` + name + `"] }}`, "{{ parameters.get('" + name + "') }}"} {
			text = strings.ReplaceAll(text, form, filled)
		}
	}
	return text
}
