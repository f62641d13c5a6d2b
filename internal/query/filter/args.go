package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Args collects the positional parameters of one statement, so that a filter
// and the statement around it can share one numbering.
//
// The zero value is empty and ready to use. Not safe for concurrent use.
type Args struct {
	values    []any
	constants bool
}

// NewArgs returns Args whose first parameters are values: $1 is values[0].
func NewArgs(values ...any) *Args { return &Args{values: slices.Clone(values)} }

// Constants lets Add write strings and []string into the statement from now on, for a place where
// parameters cannot be: Citus loses those of ON CONFLICT when the rows come from a query.
func (a *Args) Constants() { a.constants = true }

// Add appends v and returns its placeholder, such as "$3". After Constants it returns an expression
// for a string or []string.
func (a *Args) Add(v any) string {
	if a.constants {
		switch v := v.(type) {
		case string:
			return literal(v)
		case []string:
			items := make([]string, len(v))
			for i, item := range v {
				items[i] = literal(item)
			}
			return "ARRAY[" + strings.Join(items, ", ") + "]::text[]"
		}
	}
	a.values = append(a.values, v)
	return "$" + strconv.Itoa(len(a.values))
}

// Values returns the parameters in the order of their placeholders. Filter adds
// only strings and []string; the SQL casts each to the type it needs.
func (a *Args) Values() []any { return a.values }

// literal returns a text as a constant. All but letters and digits are escaped, so that nothing of the text is
// read as SQL, whatever the settings of the server.
func literal(text string) string {
	var b strings.Builder
	b.WriteString("E'")
	for _, r := range text {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
