package filter

import "fmt"

// Condition is a part of a filter that depends on the value of one key of the metadata. It is immutable.
type Condition struct {
	Key  string // of the metadata; the whole name, dots included
	node node
}

// Identity returns a text that differs for conditions that hold for different values.
func (c Condition) Identity() string {
	args := NewArgs()
	sql := from(c.node, "").SQL("m", args)
	return fmt.Sprintf("%s %#v", sql, args.Values())
}

// Evaluator returns a function that evaluates the condition where the key has a value, as JSON decoding with numbers as json.Number
// returns it. present is false where the metadata has no such key. The function is not safe for concurrent use.
func (c Condition) Evaluator() func(value any, present bool) Truth {
	metadata := map[string]any{}
	return func(value any, present bool) Truth {
		delete(metadata, c.Key)
		if present {
			metadata[c.Key] = value
		}
		return Truth(c.node.truth(metadata))
	}
}

// Truth is a value of three-valued logic: positive for true, negative for false, 0 for unknown.
type Truth int8

// Evaluate returns of each of n rows whether f selects it, with the same result as SQL. truths returns of a condition its truth for each
// row. ok is false where that cannot be told from the metadata, or where SQL may differ: for $uri, and for regular expressions of a
// caller.
//
// Each condition costs one pass over the rows. f must not be trusted: see TrustedKeys.
func (f Filter) Evaluate(n int, truths func(Condition) ([]Truth, error)) (selected []bool, ok bool, err error) {
	if f.root != nil && !separable(f.root) {
		return nil, false, nil
	}
	selected = make([]bool, n)
	if f.root == nil {
		for row := range selected {
			selected[row] = true
		}
		return selected, true, nil
	}
	all, err := evaluate(f.root, n, truths)
	if err != nil {
		return nil, true, err
	}
	for row, t := range all {
		selected[row] = t > 0
	}
	return selected, true, nil
}

// Conditions returns the conditions on one key each of which f is made. ok is as for Evaluate.
func (f Filter) Conditions() (all []Condition, ok bool) {
	if f.root == nil {
		return nil, true
	}
	if !separable(f.root) {
		return nil, false
	}
	_, err := evaluate(f.root, 0, func(c Condition) ([]Truth, error) {
		all = append(all, c)
		return nil, nil
	})
	return all, err == nil
}

// TrustedKeys returns the keys of metadata that the content of a chunk must not have set for f to select the chunk.
func (f Filter) TrustedKeys() []string { return f.trusted }

// separable reports whether a tree has only conditions on one key each, which are the same in SQL.
func separable(n node) bool {
	switch n := n.(type) {
	case and:
		return every(n, separable)
	case or:
		return every(n, separable)
	case not:
		return separable(n.child)
	case constant:
		return true
	case uri:
		return false
	}
	return len(keysOf(n)) == 1 && !hasRegex(n)
}

func every(children []node, holds func(node) bool) bool {
	for _, child := range children {
		if !holds(child) {
			return false
		}
	}
	return true
}

// keysOf returns the keys of the metadata that a node tests.
func keysOf(n node) map[string]bool {
	keys := map[string]bool{}
	n.walk(func(p path) {
		if len(p) > 0 {
			keys[p[0]] = true
		}
	})
	return keys
}

// hasRegex reports whether a node tests a text with a regular expression of a caller, which PostgreSQL may read otherwise.
func hasRegex(n node) bool {
	switch n := n.(type) {
	case matches:
		return !n.folded
	case and:
		return !every(n, func(child node) bool { return !hasRegex(child) })
	case or:
		return !every(n, func(child node) bool { return !hasRegex(child) })
	case not:
		return hasRegex(n.child)
	case elemMatch:
		return hasRegex(n.child)
	}
	return false
}

// evaluate returns the truth of a separable tree for each of n rows. The slices that truths returns are not changed.
func evaluate(tree node, n int, truths func(Condition) ([]Truth, error)) ([]Truth, error) {
	switch tree := tree.(type) {
	case and:
		return combine(tree, n, truths, func(a, b Truth) Truth { return min(a, b) })
	case or:
		return combine(tree, n, truths, func(a, b Truth) Truth { return max(a, b) })
	case not:
		all, err := evaluate(tree.child, n, truths)
		if err != nil {
			return nil, err
		}
		negated := make([]Truth, len(all))
		for row, t := range all {
			negated[row] = -t
		}
		return negated, nil
	case constant:
		all := make([]Truth, n)
		for row := range all {
			all[row] = Truth(truthOf(bool(tree)))
		}
		return all, nil
	}
	for key := range keysOf(tree) { // of which a condition has one
		return truths(Condition{key, tree})
	}
	return make([]Truth, n), nil
}

func combine(children []node, n int, truths func(Condition) ([]Truth, error), join func(a, b Truth) Truth) ([]Truth, error) {
	var joined []Truth
	for at, child := range children {
		all, err := evaluate(child, n, truths)
		if err != nil {
			return nil, err
		}
		if at == 0 {
			joined = append(make([]Truth, 0, len(all)), all...)
			continue
		}
		for row, t := range all {
			joined[row] = join(joined[row], t)
		}
	}
	return joined, nil
}
