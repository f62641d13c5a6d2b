package filter

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// referenceKey is the only key of an object that stands for a value of the request, such as
// {"$context": "claims.groups"}. With null it stands for no value.
const referenceKey = "$context"

// maxReferenceBytes bounds the path of a reference.
const maxReferenceBytes = 256

// referenceRoots are the first names of the paths of references.
var referenceRoots = []string{"context", "claims", "key", "tenant", "subject", "server"}

// contextName matches the names of values in the request context.
var contextName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// References returns the paths that f refers to, such as claims.groups, sorted and distinct.
// Until Resolve has replaced them, the conditions with references are unknown.
func (f Filter) References() []string { return f.references }

// Resolve returns f with each reference replaced by the value of its path. A value is a string,
// a number, a boolean, or a list of these.
//
// The condition around a reference is unknown where lookup has no value, or one that the
// operator cannot take: null, an empty list, an object, or a list with nulls or objects. It is
// unknown in a negation and below $elemMatch too, so that a missing value never adds a match.
// References that are left are replaced in the JSON of the result: resolving it again changes
// nothing. Times relative to now, such as "now-30d", become those of this call. Errors: Invalid if the values make the filter larger than its limits.
func (f Filter) Resolve(lookup func(path string) (any, bool)) (Filter, error) {
	if len(f.references) == 0 && !f.relative {
		return f, nil
	}
	object, _, err := decode([]byte(f.source))
	if err != nil {
		return Filter{}, err
	}
	source, err := json.Marshal(resolver(lookup).object(object, nil))
	if err != nil {
		return Filter{}, top.refuse("cannot be written as JSON")
	}
	resolved, err := parseText(source)
	resolved.trusted = f.trusted
	return resolved, err
}

// resolver replaces references in the JSON of a filter.
type resolver func(path string) (any, bool)

// none is a reference to no value.
func none() any { return map[string]any{referenceKey: nil} }

// object resolves an object. operators are the operators between it and its field.
func (r resolver) object(object map[string]any, operators []string) map[string]any {
	resolved := make(map[string]any, len(object))
	for key, v := range object {
		below := []string(nil)
		if isOperator(key) && !slices.Contains([]string{"$and", "$or", "$nor"}, key) {
			below = append(slices.Clone(operators), key)
		}
		resolved[key] = r.value(v, below)
	}
	return resolved
}

func (r resolver) value(v any, operators []string) any {
	switch t := v.(type) {
	case map[string]any:
		if path, ok := reference(t); ok {
			return r.operand(path, operators)
		}
		return r.object(t, operators)
	case []any:
		list := make([]any, 0, len(t))
		for _, item := range t {
			path, ok := reference(item)
			if !ok {
				list = append(list, r.value(item, nil))
				continue
			}
			switch value := r.find(path, []string{"$in"}).(type) {
			case []any: // the values of a list among others
				list = append(list, value...)
			default:
				list = append(list, value)
			}
		}
		return list
	}
	return v
}

// operand returns the value of a path as the operand of an operator, the last of operators.
func (r resolver) operand(path any, operators []string) any {
	last := ""
	if len(operators) > 0 {
		last = operators[len(operators)-1]
	}
	if last == "$elemMatch" {
		return map[string]any{"$in": r.find(path, []string{"$in"})}
	}
	value := r.find(path, operators)
	switch _, isBool := value.(bool); {
	case last == "$exists" && !isBool, last == "$contains" && value == "":
		return none()
	}
	return value
}

// find returns the value of a path if the operators accept it, else none.
func (r resolver) find(path any, operators []string) any {
	name, ok := path.(string)
	if !ok {
		return none()
	}
	value, ok := r(name)
	if !ok || !isOperand(value) {
		return none()
	}
	trial := value
	for _, key := range slices.Backward(operators) {
		trial = map[string]any{key: trial}
	}
	condition := map[string]any{"f": trial}
	if len(operators) > 0 && operators[0] == uriField {
		condition, _ = trial.(map[string]any)
	}
	if _, err := Parse(condition); err != nil {
		return none()
	}
	return value
}

// isOperand reports whether a value is a scalar or a list of them that is not empty. Objects
// are none: they could hold operators.
func isOperand(v any) bool {
	list, ok := v.([]any)
	if !ok {
		return isScalar(v)
	}
	return len(list) > 0 && !slices.ContainsFunc(list, func(item any) bool { return !isScalar(item) })
}

func isScalar(v any) bool {
	_, ok := canonicalText(v)
	return ok
}

// reference returns the path of a reference, nil for one to no value. ok is false if v is no
// reference.
func reference(v any) (path any, ok bool) {
	object, isObject := v.(map[string]any)
	if !isObject || len(object) != 1 {
		return nil, false
	}
	path, ok = object[referenceKey]
	return path, ok
}

// hasReference reports whether v is a reference or contains one.
func hasReference(v any) bool {
	switch t := v.(type) {
	case map[string]any:
		for key, inner := range t {
			if key == referenceKey || hasReference(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(t, hasReference)
	}
	return false
}

// readReferences checks the references in an operand and adds their paths to the parser's.
func (p *parser) readReferences(v any, at location) error {
	switch t := v.(type) {
	case map[string]any:
		if err := p.nest(at, len(t)); err != nil {
			return err
		}
		for key, inner := range t {
			here := at.key(key)
			if key == referenceKey {
				if len(t) != 1 {
					return here.refuse("must be the only key of its object")
				}
				return p.readReference(inner, here)
			}
			if err := p.readReferences(inner, here); err != nil {
				return err
			}
		}
	case []any:
		if err := p.nest(at, len(t)); err != nil {
			return err
		}
		for i, item := range t {
			if err := p.readReferences(item, at.element(i)); err != nil {
				return err
			}
		}
	default:
		_, err := p.value(v, at)
		return err
	}
	return nil
}

func (p *parser) readReference(v any, at location) error {
	if v == nil {
		return nil
	}
	name, ok := v.(string)
	if !ok {
		return at.refuse("must be a path such as \"claims.groups\", got %s", typeName(v))
	}
	if len(name) > maxReferenceBytes {
		return at.refuse("is %d bytes long; a path may have %d", len(name), maxReferenceBytes)
	}
	if err := p.text(name, at); err != nil {
		return err
	}
	root, rest, below := strings.Cut(name, ".")
	first, _, _ := strings.Cut(rest, ".")
	switch {
	case !slices.Contains(referenceRoots, root):
		return at.refuse("is %s; a path begins with one of %s", shown(name), strings.Join(referenceRoots, ", "))
	case below == slices.Contains([]string{"tenant", "subject", "server"}, root), below && rest == "":
		return at.refuse("is %s; write context.name, claims.name, key.name, tenant, subject or server", shown(name))
	case root == "context" && !contextName.MatchString(first):
		return at.refuse("is %s; names of the context are letters, digits and underscores after a letter", shown(name))
	}
	p.references = append(p.references, name)
	return nil
}

// unresolved is a condition with a reference that has no value: unknown for every value, and
// so is its negation.
type unresolved struct {
	path      path // nil for the uri
	reference string
}

// unresolved reads an operand that has references, which at most makes a condition unknown.
func (p *parser) unresolved(field path, v any, at location) (node, error) {
	before := len(p.references)
	if err := p.readReferences(v, at); err != nil {
		return nil, err
	}
	return unresolved{field, strings.Join(p.references[before:], " ")}, nil
}

// split separates the references in a list from its other elements. left is nil if there are
// none.
func (p *parser) split(field path, list []any, at location) (values []any, left node, err error) {
	isReference := func(item any) bool {
		_, ok := reference(item)
		return ok
	}
	if !slices.ContainsFunc(list, isReference) {
		return list, nil, nil
	}
	if len(list) > MaxList {
		return nil, nil, at.refuse("lists %d values; %d are allowed", len(list), MaxList)
	}
	var references []any
	for _, item := range list {
		if isReference(item) {
			references = append(references, item)
		} else {
			values = append(values, item)
		}
	}
	left, err = p.unresolved(field, references, at)
	return values, left, err
}

func (unresolved) truth(any) truth { return unknown }

// sql returns a test that is never true. Its parameter tells conditions apart.
func (n unresolved) sql(c *compiler, _ string, _ bool) string {
	return c.args.Add(n.path.String()+" "+referenceKey+" "+n.reference) + "::text IS NULL"
}

func (unresolved) needs(bool) [][]string { return nil }

func (n unresolved) walk(visit func(path)) {
	if n.path != nil {
		visit(n.path)
	}
}

// isUnresolved reports whether a condition has a reference without a value.
func isUnresolved(n node) bool {
	switch n := n.(type) {
	case unresolved:
		return true
	case and:
		return slices.ContainsFunc(n, isUnresolved)
	case or:
		return slices.ContainsFunc(n, isUnresolved)
	case not:
		return isUnresolved(n.child)
	case elemMatch:
		return isUnresolved(n.child)
	}
	return false
}
