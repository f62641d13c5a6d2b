package filter

// node is one condition of a filter. It applies to a JSON value: the metadata, or
// an element of an array in it. Nodes are immutable.
//
// Each kind of node expresses its condition three times: truth evaluates it in
// memory, sql translates it for the database, and needs returns the JSON that
// every matching value contains, which a GIN index can find.
type node interface {
	// truth evaluates the condition on v.
	truth(v any) truth

	// sql returns an expression over the jsonb expression `at` that is true
	// where the condition is true (want) or false (not want), and false or
	// NULL elsewhere. Unknown is neither, so the SQL for a negation is not the
	// SQL of its operand with NOT in front.
	sql(c *compiler, at string, want bool) string

	// needs returns lists of JSON texts: where the condition is true, the value
	// contains (@>) at least one text of each list. It is nil when the condition
	// implies no containment. root says that the value is a whole metadata
	// object.
	needs(root bool) [][]string

	// walk calls visit with the path of every field that the condition names.
	walk(visit func(path))
}

// constant is a condition that does not depend on the value.
type constant bool

func (n constant) truth(any) truth { return truthOf(bool(n)) }

func (n constant) sql(_ *compiler, _ string, want bool) string {
	if bool(n) == want {
		return "true"
	}
	return "false"
}

func (constant) needs(bool) [][]string { return nil }
func (constant) walk(func(path))       {}

// and is the conjunction of at least two conditions, none of them constant.
type and []node

// allOf joins conditions by AND and evaluates constants.
func allOf(children []node) node {
	var joined and
	for _, child := range children {
		switch k := child.(type) {
		case constant:
			if !k {
				return k
			}
		case and:
			joined = append(joined, k...)
		default:
			joined = append(joined, k)
		}
	}
	switch len(joined) {
	case 0:
		return constant(true)
	case 1:
		return joined[0]
	}
	return joined
}

func (n and) truth(v any) truth {
	result := yes
	for _, child := range n {
		if result = min(result, child.truth(v)); result == no {
			break
		}
	}
	return result
}

func (n and) sql(c *compiler, at string, want bool) string {
	if want {
		return joinSQL(c, n, at, want, " AND ")
	}
	return joinSQL(c, n, at, want, " OR ")
}

func (n and) needs(root bool) [][]string {
	var all [][]string
	for _, child := range n {
		all = append(all, child.needs(root)...)
	}
	return all
}

func (n and) walk(visit func(path)) {
	for _, child := range n {
		child.walk(visit)
	}
}

// or is the disjunction of at least two conditions, none of them constant.
type or []node

// anyOf joins conditions by OR and evaluates constants.
func anyOf(children []node) node {
	var joined or
	for _, child := range children {
		switch k := child.(type) {
		case constant:
			if k {
				return k
			}
		case or:
			joined = append(joined, k...)
		default:
			joined = append(joined, k)
		}
	}
	switch len(joined) {
	case 0:
		return constant(false)
	case 1:
		return joined[0]
	}
	return joined
}

func (n or) truth(v any) truth {
	result := no
	for _, child := range n {
		if result = max(result, child.truth(v)); result == yes {
			break
		}
	}
	return result
}

func (n or) sql(c *compiler, at string, want bool) string {
	if want {
		return joinSQL(c, n, at, want, " OR ")
	}
	return joinSQL(c, n, at, want, " AND ")
}

func (or) needs(bool) [][]string { return nil }

func (n or) walk(visit func(path)) {
	for _, child := range n {
		child.walk(visit)
	}
}

func joinSQL(c *compiler, children []node, at string, want bool, operator string) string {
	expressions := make([]string, len(children))
	for i, child := range children {
		expressions[i] = child.sql(c, at, want)
	}
	return group(expressions, operator)
}

// not is a negation: the negation of unknown is unknown.
type not struct{ child node }

// negate returns the negation of n.
func negate(n node) node {
	switch k := n.(type) {
	case constant:
		return !k
	case not:
		return k.child
	}
	return not{n}
}

func (n not) truth(v any) truth { return n.child.truth(v).not() }

func (n not) sql(c *compiler, at string, want bool) string { return n.child.sql(c, at, !want) }

func (not) needs(bool) [][]string { return nil }

func (n not) walk(visit func(path)) { n.child.walk(visit) }
