package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// maxTitle is the maximum length of a title in characters; a longer line is text.
const maxTitle = 1025

// EachHeading calls yield for every ATX heading outside of fenced code, with the
// bounds of its line, its depth (1 to 6) and its title, until yield returns false.
func EachHeading(text string, yield func(start, end, depth int, title string) bool) {
	fences := FencedSpans(text)
	for line := 0; line < len(text); {
		lineEnd := len(text)
		if i := strings.IndexByte(text[line:], '\n'); i >= 0 {
			lineEnd = line + i
		}
		if text[line] == '#' && !textspan.Contains(fences, line) {
			if depth, title := headingLine(text[line:lineEnd]); depth > 0 && !yield(line, lineEnd, depth, title) {
				return
			}
		}
		line = lineEnd + 1
	}
}

// headingLine reads a line as an ATX heading and returns its depth, 0 if it is
// none, and its title.
func headingLine(line string) (depth int, title string) {
	for depth < len(line) && line[depth] == '#' {
		depth++
	}
	if depth > 6 || depth == len(line) || line[depth] != ' ' && line[depth] != '\t' {
		return 0, ""
	}
	start, end := textspan.Trim(line, depth, len(line))
	title = line[start:end]
	if title == "" || utf8.RuneCountInString(title) > maxTitle {
		return 0, ""
	}
	return depth, title
}
