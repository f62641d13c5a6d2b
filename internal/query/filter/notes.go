package filter

import (
	"slices"
	"strings"
)

// maxNotes bounds the notes about a filter.
const maxNotes = 20

// Notes says of the fields of a filter what its conditions leave out that a caller may expect: lists with the value,
// where a single value is asked for, and entries without the field, where a comparison is negated. At most 20, sorted.
func (f Filter) Notes() []string {
	if f.root == nil {
		return nil
	}
	n := notes{lists: map[string]string{}, missing: map[string]bool{}}
	n.of(f.root, false)
	var all []string
	for field, text := range n.lists {
		all = append(all, field+": equal to a single value, so a list that has "+text+" is not selected; {\"$in\": ["+text+"]} selects both")
	}
	for field := range n.missing {
		all = append(all, field+": what does not have the field is not selected by $ne, $nin or $not; \"$or\" with {"+quoted(field)+": null} selects it too")
	}
	slices.Sort(all)
	return all[:min(len(all), maxNotes)]
}

// notes collects the fields that there is something to say about.
type notes struct {
	lists   map[string]string // a value that they are compared with
	missing map[string]bool
}

// of visits a condition; negated says whether it must be false.
func (n notes) of(condition node, negated bool) {
	switch k := condition.(type) {
	case and:
		for _, child := range k {
			n.of(child, negated)
		}
	case or:
		for _, child := range k {
			n.of(child, negated)
		}
	case not:
		n.of(k.child, !negated)
	case equal:
		if !negated {
			value := k.text
			if !k.isFloat && value != "true" && value != "false" {
				value = quoted(value)
			}
			n.lists[k.path.String()] = value
		} else {
			n.missing[k.path.String()] = true
		}
	case null, present, size, elemMatch, constant: // true or false of a field that is missing
	default:
		if negated {
			condition.walk(func(p path) { n.missing[p.String()] = true })
		}
	}
}

func quoted(text string) string {
	var out strings.Builder
	writePrinted(&out, text)
	return out.String()
}
