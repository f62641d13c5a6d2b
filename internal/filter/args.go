package filter

import (
	"slices"
	"strconv"
)

// Args collects the positional parameters of one statement, so that a filter
// and the statement around it can share one numbering.
//
// The zero value is empty and ready to use. Not safe for concurrent use.
type Args struct{ values []any }

// NewArgs returns Args whose first parameters are values: $1 is values[0].
func NewArgs(values ...any) *Args { return &Args{values: slices.Clone(values)} }

// Add appends v and returns its placeholder, such as "$3".
func (a *Args) Add(v any) string {
	a.values = append(a.values, v)
	return "$" + strconv.Itoa(len(a.values))
}

// Values returns the parameters in the order of their placeholders. Filter adds
// only strings and []string; the SQL casts each to the type it needs.
func (a *Args) Values() []any { return a.values }
