package connector

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// maxItemPathBytes bounds the path of a file or the key of an object.
const maxItemPathBytes = 1024

// selection selects items by their paths.
type selection struct{ include, exclude *regexp.Regexp }

// checkPatterns checks the patterns of a setting. Errors: Invalid.
func checkPatterns(field string, patterns []string) error {
	if len(patterns) > maxPatterns {
		return fault.Field(field, "must be at most %d patterns, got %d", maxPatterns, len(patterns))
	}
	for _, text := range patterns {
		if text == "" {
			return fault.Field(field, "has an empty pattern")
		}
		if err := textlimit.Check(field, text, maxPatternBytes); err != nil {
			return err
		}
	}
	if _, err := compilePatterns(patterns); err != nil {
		return fault.Field(field, "%s", err)
	}
	return nil
}

// newSelection returns the selection of checked patterns.
func newSelection(include, exclude []string) (s selection, err error) {
	if s.include, err = compilePatterns(include); err != nil {
		return s, err
	}
	s.exclude, err = compilePatterns(exclude)
	return s, err
}

// has reports whether a path is selected.
func (s selection) has(path string) bool {
	return (s.include == nil || s.include.MatchString(path)) && (s.exclude == nil || !s.exclude.MatchString(path))
}

// unusablePath returns why a path cannot be that of an item, empty if it can.
func unusablePath(path string) string {
	switch {
	case len(path) > maxItemPathBytes:
		return "its path is too long"
	case !utf8.ValidString(path):
		return "its path is not valid UTF-8"
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "its path has control characters"
	}
	return ""
}

// pathURI returns the uri of the item with a path below an address, escaped, so that any two paths have
// different ones. A path that is too long is shortened.
func pathURI(base url.URL, path string) string {
	base.Path, base.RawPath = "/"+strings.ToValidUTF8(path[:min(len(path), maxItemPathBytes)], "\uFFFD"), ""
	return base.String()
}
