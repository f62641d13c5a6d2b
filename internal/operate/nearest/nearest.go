// Package nearest finds the name that somebody meant who wrote one that does not exist.
//
//	fault.New(fault.NotFound, "index %q not found%s", name, nearest.Hint(name, names))
//
// Errors with a hint show a name of the list: pass only names that the caller may see.
package nearest

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// maxBytes limits the names that are compared.
const maxBytes = 100

// Name returns the name of known that is nearest to name, or "" if none is near: at most
// one letter differs of three, two of seven, a third of more. Upper and lower case, - and _
// are equal. Of equally near names it returns the first.
func Name(name string, known []string) string {
	if name == "" || len(name) > maxBytes {
		return ""
	}
	best, wanted := "", plain(name)
	least := allowed(len(wanted)) + 1
	for _, candidate := range known {
		if len(candidate) > maxBytes || candidate == "" {
			continue
		}
		other := plain(candidate)
		distance := levenshtein.Distance(wanted, other, nil)
		if distance < least && distance < len(other) {
			best, least = candidate, distance
		}
	}
	return best
}

// Hint returns "; did you mean NAME?" for the nearest name of known, or "" if none is near.
func Hint(name string, known []string) string {
	if near := Name(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// plain returns name without the differences that do not count.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// allowed returns the distance up to which a name of a length is near.
func allowed(length int) int {
	switch {
	case length <= 3:
		return 1
	case length <= 7:
		return 2
	}
	return length / 3
}
