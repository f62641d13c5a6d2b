package filter

// truth is a value of SQL's three-valued logic, ordered so that AND is the minimum
// and OR the maximum.
type truth int8

const (
	no truth = iota - 1
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// not returns the negation; the negation of unknown is unknown.
func (t truth) not() truth { return -t }
