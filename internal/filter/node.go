package filter

// A node is one condition of a filter, on a JSON value in which it finds its
// field: the metadata, or an element of an array in it. Nodes are immutable.
//
// Each kind of node says the same thing three times: truth evaluates it here,
// sql has the database evaluate it, and needs says what a value that satisfies
// it is bound to contain, which is what a GIN index can find.
type node interface {
	// truth evaluates the condition on v.
	truth(v any) truth

	// sql returns an expression over the jsonb expression `at` that is true
	// where the condition is true (want) or false (not want), and false or
	// NULL elsewhere. So unknown satisfies neither, and NOT is never written.
	sql(c *compiler, at string, want bool) string

	// needs returns a conjunction of alternatives, each a JSON text: where the
	// condition is true, the value contains one alternative of each. It is nil
	// when nothing can be said. root says that the value is a whole metadata
	// object.
	needs(root bool) [][]string

	// walk calls visit with the path of every field named.
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

// and is true when all are true. It has at least two kids, none of them constant.
type and []node

// allOf joins conditions by AND and drops what constants decide.
func allOf(kids []node) node {
	var joined and
	for _, kid := range kids {
		switch k := kid.(type) {
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
	for _, kid := range n {
		if result = min(result, kid.truth(v)); result == no {
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
	for _, kid := range n {
		all = append(all, kid.needs(root)...)
	}
	return all
}

func (n and) walk(visit func(path)) {
	for _, kid := range n {
		kid.walk(visit)
	}
}

// or is true when one is true. It has at least two kids, none of them constant.
type or []node

// anyOf joins conditions by OR and drops what constants decide.
func anyOf(kids []node) node {
	var joined or
	for _, kid := range kids {
		switch k := kid.(type) {
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
	for _, kid := range n {
		if result = max(result, kid.truth(v)); result == yes {
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
	for _, kid := range n {
		kid.walk(visit)
	}
}

func joinSQL(c *compiler, kids []node, at string, want bool, operator string) string {
	parts := make([]string, len(kids))
	for i, kid := range kids {
		parts[i] = kid.sql(c, at, want)
	}
	return group(parts, operator)
}

// not is NOT: unknown stays unknown.
type not struct{ kid node }

// negate returns the negation of n.
func negate(n node) node {
	switch k := n.(type) {
	case constant:
		return !k
	case not:
		return k.kid
	}
	return not{n}
}

func (n not) truth(v any) truth { return n.kid.truth(v).not() }

func (n not) sql(c *compiler, at string, want bool) string { return n.kid.sql(c, at, !want) }

func (not) needs(bool) [][]string { return nil }

func (n not) walk(visit func(path)) { n.kid.walk(visit) }
