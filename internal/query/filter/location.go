package filter

import (
	"strconv"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// location is a position in the JSON of a filter, for errors and for the depth
// limit.
type location struct {
	above *location // nil for the filter itself
	name  string    // of the entry of an object
	index int       // of the element of a list, or -1
	depth int       // objects and lists around it
}

// top is the location of the filter itself.
var top = location{index: -1}

func (at *location) key(name string) location {
	return location{above: at, name: name, index: -1, depth: at.depth + 1}
}

func (at *location) element(index int) location {
	return location{above: at, index: index, depth: at.depth + 1}
}

// maxNameShown bounds how much of a caller's name an error repeats, in bytes.
const maxNameShown = 64

// String returns the location for an error, such as "filter.$or[1].price".
func (at *location) String() string {
	switch {
	case at.above == nil:
		return "filter"
	case at.index >= 0:
		return at.above.String() + "[" + strconv.Itoa(at.index) + "]"
	}
	return at.above.String() + "." + shown(at.name)
}

// shown returns a caller's text for an error: shortened, and quoted if it has
// unprintable characters.
func shown(name string) string {
	if len(name) > maxNameShown {
		name = textlimit.Cut(name, maxNameShown) + "..."
	}
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// refuse returns a fault.Invalid about the location.
func (at location) refuse(format string, args ...any) error {
	return fault.Field(at.String(), format, args...)
}

// nest returns an error if an object or list at the location exceeds MaxDepth.
func (at location) nest() error {
	if at.depth >= MaxDepth {
		return fault.Field("filter", "is nested deeper than the %d levels allowed", MaxDepth)
	}
	return nil
}
