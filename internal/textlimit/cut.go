// Package textlimit cuts text where no code point is broken.
package textlimit

import "unicode/utf8"

// Cut returns as much of the beginning of s as fits into most bytes without a
// broken code point, for s that is valid UTF-8.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
