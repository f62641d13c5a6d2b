package filter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
)

// Parse reads a filter. v is nil or an empty string (no filter), an object
// decoded from JSON (map[string]any), or JSON text of an object (string or
// []byte). It does not keep v.
//
// Every error is fault.Invalid and names the location, such as
// "filter.$or[1].price.$gt". Parse takes time linear in the size of v, up to the
// limits of this package.
func Parse(v any) (Filter, error) {
	switch t := v.(type) {
	case nil:
		return Filter{}, nil
	case string:
		return parseText([]byte(t))
	case []byte:
		return parseText(t)
	case map[string]any:
		root, p, err := parseObject(t)
		if err != nil {
			return Filter{}, err
		}
		source, err := json.Marshal(t)
		if err != nil {
			return Filter{}, fault.Wrap(fault.Invalid, err, "filter: cannot be written as JSON")
		}
		return from(root, string(source)).withReferences(p), nil
	}
	return Filter{}, fault.Field("filter", "must be an object or the JSON text of one, got %s", typeName(v))
}

func parseText(text []byte) (Filter, error) {
	object, source, err := decode(text)
	if err != nil || object == nil {
		return Filter{}, err
	}
	root, p, err := parseObject(object)
	if err != nil {
		return Filter{}, err
	}
	return from(root, source).withReferences(p), nil
}

func parseObject(object map[string]any) (node, *parser, error) {
	p := &parser{now: time.Now().UTC()}
	root, err := p.object(object, nil, false, top)
	return root, p, err
}

// object reads an object of field names and logical operators. prefix is the path
// of the field whose value it describes. Within $elemMatch (element) it may
// instead have operators that compare the array element itself.
func (p *parser) object(object map[string]any, prefix path, element bool, at location) (node, error) {
	if err := p.enter(at, object); err != nil {
		return nil, err
	}
	if element && comparesItself(object) {
		return p.operators(nil, object, true, at)
	}
	children := make([]node, 0, len(object))
	for _, key := range sortedKeys(object) {
		child, err := p.entry(key, object[key], prefix, element, at.key(key))
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return allOf(children), nil
}

// enter checks the size and depth of an object of conditions before its keys are
// sorted.
func (p *parser) enter(at location, object map[string]any) error {
	if err := p.checkConditions(len(object)); err != nil {
		return err
	}
	return at.nest()
}

// comparesItself reports whether object has a field operator such as $gt.
func comparesItself(object map[string]any) bool {
	for key := range object {
		if isOperator(key) && !slices.Contains(logicalOperators, key) {
			return true
		}
	}
	return false
}

// entry reads one key of an object of field names and logical operators.
func (p *parser) entry(key string, v any, prefix path, element bool, at location) (node, error) {
	if err := p.text(key, at); err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(logicalOperators, key):
		return p.logical(key, v, element, at)
	case key == uriField && prefix == nil && !element:
		return p.uri(v, at)
	case key == uriField:
		return nil, at.refuse("is the uri of the document, not part of a field: put it beside the fields")
	case slices.Contains(fieldOperators, key):
		return nil, at.refuse("Invalid top-level operator: %s; put it below a field name", key)
	case isOperator(key):
		return nil, at.refuse("%s", unsupported(key))
	case len(key) > MaxNameBytes:
		return nil, at.refuse("is %d bytes long; a field name may have %d", len(key), MaxNameBytes)
	}
	field := prefix.below(parsePath(key))
	if len(field) > MaxDepth {
		return nil, at.refuse("has %d levels; a field may have %d", len(field), MaxDepth)
	}
	return p.field(field, v, at)
}

// field reads the value of a field name: a value, a list, operators, or an
// object of more field names.
func (p *parser) field(field path, v any, at location) (node, error) {
	object, ok := v.(map[string]any)
	_, isReference := reference(v)
	if _, isDate := dateLiteral(v); !ok || isReference || isDate {
		if err := p.countConditions(1); err != nil {
			return nil, err
		}
		if list, ok := v.([]any); ok {
			return p.in(field, list, at)
		}
		return p.equal(field, v, at)
	}
	if len(object) == 0 {
		return nil, at.refuse("has an empty condition; write {\"$exists\": true} for any value or {\"$eq\": {}} for an empty object")
	}
	for key := range object {
		if isOperator(key) {
			return p.operators(field, object, false, at)
		}
	}
	return p.object(object, field, false, at)
}

// operators reads an object of operators on one field. Within $elemMatch
// (element) the field is the array element itself, and logical operators are
// allowed beside the others.
func (p *parser) operators(field path, object map[string]any, element bool, at location) (node, error) {
	if err := p.enter(at, object); err != nil {
		return nil, err
	}
	children := make([]node, 0, len(object))
	for _, key := range sortedKeys(object) {
		here := at.key(key)
		if err := p.text(key, here); err != nil {
			return nil, err
		}
		var child node
		var err error
		if element && slices.Contains(logicalOperators, key) {
			child, err = p.logical(key, object[key], true, here)
		} else {
			child, err = p.operator(key, field, object, here)
		}
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return allOf(children), nil
}

// The operators, in the order in which errors list them.
var (
	fieldOperators = []string{
		"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$all", "$elemMatch",
		"$exists", "$size", "$regex", "$options", "$contains", "$startsWith", "$geoRadius", "$geoBox", "$geoPolygon",
	}
	logicalOperators = []string{"$and", "$or", "$nor", "$not"}
)

// isOperator reports whether a key is an operator rather than a field name.
func isOperator(key string) bool { return strings.HasPrefix(key, "$") }

func unsupported(key string) string {
	all := slices.Concat(fieldOperators, logicalOperators)
	return fmt.Sprintf("Unsupported operator: %s%s; the operators are %s", shown(key), nearest.Hint(key, all), strings.Join(all, " "))
}

// operator reads the operator key of object, on a field.
func (p *parser) operator(key string, field path, object map[string]any, at location) (node, error) {
	if err := p.countConditions(1); err != nil {
		return nil, err
	}
	v := object[key]
	if _, ok := reference(v); ok && key != "$regex" && key != "$options" && key != "$not" && slices.Contains(fieldOperators, key) {
		return p.unresolved(field, v, at)
	}
	switch key {
	case "$eq":
		return p.equal(field, v, at)
	case "$ne":
		child, err := p.equal(field, v, at)
		return negated(child, err)
	case "$gt", "$gte", "$lt", "$lte":
		return p.order(field, key, v, at)
	case "$in":
		return p.in(field, wrapped(v), at)
	case "$nin":
		child, err := p.in(field, wrapped(v), at)
		return negated(child, err)
	case "$all":
		return p.all(field, wrapped(v), at)
	case "$elemMatch":
		return p.elemMatch(field, v, at)
	case "$exists":
		if v == false {
			return negate(present{field}), nil
		}
		return present{field}, nil
	case "$size":
		return p.size(field, v, at)
	case "$regex":
		return p.regex(field, v, object["$options"], at)
	case "$options":
		if _, ok := object["$regex"]; !ok {
			return nil, at.refuse("$options is not valid without $regex")
		}
		return constant(true), nil
	case "$contains":
		return p.contains(field, v, at)
	case "$startsWith":
		prefix, err := p.prefix(v, at)
		return begins{field, prefix}, err
	case "$geoRadius", "$geoBox", "$geoPolygon":
		return p.geo(key, field, v, at)
	case "$not":
		return p.notOperators(field, v, at)
	}
	switch {
	case slices.Contains(logicalOperators, key):
		return nil, at.refuse("Logical operator %s cannot be used at field level; put it above the field name", key)
	case key == referenceKey, key == dateKey:
		return nil, at.refuse("stands for a value, so it must be the only key of an object, where a value may be")
	case isOperator(key):
		return nil, at.refuse("%s", unsupported(key))
	}
	return nil, at.refuse("Invalid operator: %s; one object cannot have both operators and field names", shown(key))
}

// wrapped returns v if it is a list, else a list with v as its only element.
func wrapped(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func negated(n node, err error) (node, error) {
	if err != nil {
		return nil, err
	}
	return negate(n), nil
}

// notOperators reads $not below a field.
func (p *parser) notOperators(field path, v any, at location) (node, error) {
	object, err := nonEmpty("$not", v, at)
	if err != nil {
		return nil, err
	}
	return negated(p.operators(field, object, false, at))
}

// nonEmpty returns v as an object, and an error if v is empty or no object.
func nonEmpty(operator string, v any, at location) (map[string]any, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, at.refuse("%s requires an object with conditions", operator)
	}
	if len(object) == 0 {
		return nil, at.refuse("%s cannot be empty", operator)
	}
	return object, nil
}

// logical reads $and, $or, $nor, and $not above field names.
func (p *parser) logical(key string, v any, element bool, at location) (node, error) {
	if key == "$not" {
		if err := p.countConditions(1); err != nil {
			return nil, err
		}
		object, err := nonEmpty(key, v, at)
		if err != nil {
			return nil, err
		}
		return negated(p.object(object, nil, element, at))
	}
	list, ok := v.([]any)
	if !ok {
		return nil, at.refuse("%s requires a list of filter objects", key)
	}
	if err := at.nest(); err != nil {
		return nil, err
	}
	if err := p.countConditions(len(list)); err != nil {
		return nil, err
	}
	children := make([]node, 0, len(list))
	for i, branch := range list {
		here := at.element(i)
		object, ok := branch.(map[string]any)
		if !ok {
			return nil, here.refuse("must be a filter object")
		}
		child, err := p.object(object, nil, element, here)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	switch key {
	case "$and":
		return allOf(children), nil
	case "$or":
		return anyOf(children), nil
	}
	return negate(anyOf(children)), nil
}
