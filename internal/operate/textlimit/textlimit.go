// Package textlimit checks text against limits and cuts text to them. Limits are
// in bytes of UTF-8; a cut never breaks a code point.
package textlimit

import (
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Check refuses a text of more than most bytes, or that PostgreSQL cannot store.
// Errors: Invalid, naming the field.
func Check(field, s string, most int) error {
	switch {
	case len(s) > most:
		return fault.Field(field, "is %d bytes, over the limit of %d", len(s), most)
	case !utf8.ValidString(s):
		return fault.Field(field, "is not valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		return fault.Field(field, "contains a null character")
	}
	return nil
}

// IsStorable reports whether PostgreSQL can store s in a text column: it is valid
// UTF-8 without null characters.
func IsStorable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

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

// Shorten returns s, cut to most bytes and an ellipsis if it is longer, so that a
// caller's text does not fill an error message. Invalid UTF-8 is replaced by U+FFFD.
func Shorten(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	return Cut(s, most) + "…"
}

// OneLine returns s on one line, with single spaces, cut to most bytes. Null
// characters and invalid UTF-8 are left out.
func OneLine(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
	return Cut(strings.Join(strings.Fields(s), " "), most)
}
