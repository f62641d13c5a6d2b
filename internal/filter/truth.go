package filter

// truth is a value of SQL's three-valued logic. The order makes AND the minimum
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

// not leaves unknown as it is.
func (t truth) not() truth { return -t }
