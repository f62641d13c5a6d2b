package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// maxTitle is the maximum length of a title in characters; a longer heading is text.
const maxTitle = 1025

// Headings returns the headings of a Markdown text that have a title of at most 1,025
// characters, in order. Titles are without markup. There are none when steps end, which may be nil.
func Headings(text string, steps *limit.Steps) []Heading {
	found := Read(text, steps).Headings
	kept := found[:0]
	for _, h := range found {
		h.Title = plain(h.Title)
		if h.Title != "" && utf8.RuneCountInString(h.Title) <= maxTitle {
			kept = append(kept, h)
		}
	}
	return kept
}

// source returns the lines of a heading without the white space around them. Number signs are
// followed by one space.
func (h Heading) source(text string) string {
	start, end := textspan.Trim(text, h.Start, h.End)
	lines := text[start:end]
	rest := strings.TrimLeft(lines, "#")
	if depth := len(lines) - len(rest); depth == h.Level && !strings.Contains(lines, "\n") {
		from, to := textspan.Trim(rest, 0, len(rest))
		return lines[:depth] + " " + rest[from:to]
	}
	return lines
}
