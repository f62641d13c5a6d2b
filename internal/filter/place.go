package filter

import (
	"strconv"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/textlimit"
)

// place is where in the filter the parser stands, for errors and for the depth
// limit.
type place struct {
	above *place // nil for the filter itself
	name  string // of the entry of an object
	index int    // of the element of a list, or -1
	depth int    // objects and lists around it
}

// top is the place of the whole filter.
var top = place{index: -1}

func (at *place) key(name string) place {
	return place{above: at, name: name, index: -1, depth: at.depth + 1}
}

func (at *place) element(index int) place {
	return place{above: at, index: index, depth: at.depth + 1}
}

// maxNameShown bounds the part of a caller's own name that an error repeats, in
// bytes.
const maxNameShown = 64

// String returns the place as errors name it, such as "filter.$or[1].price".
func (at *place) String() string {
	switch {
	case at.above == nil:
		return "filter"
	case at.index >= 0:
		return at.above.String() + "[" + strconv.Itoa(at.index) + "]"
	}
	return at.above.String() + "." + shown(at.name)
}

// shown makes a caller's text fit to stand in an error: short and printable.
func shown(name string) string {
	if len(name) > maxNameShown {
		name = textlimit.Cut(name, maxNameShown) + "..."
	}
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// refuse returns the error about the place.
func (at place) refuse(format string, args ...any) error {
	return fault.Field(at.String(), format, args...)
}

// nest checks the depth of an object or list at the place.
func (at place) nest() error {
	if at.depth >= MaxDepth {
		return fault.Field("filter", "is nested deeper than the %d levels allowed", MaxDepth)
	}
	return nil
}
