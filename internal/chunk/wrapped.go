package chunk

import (
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
)

// longestLine is the longest line of a text that was wrapped, in characters.
const longestLine = 130

// isWrapped reports whether the line breaks of a paragraph are those of a typesetter or an editor:
// at nine of ten, the first word of the next line did not fit on the line. The lines of lists,
// tables, verses and source code differ more.
func isWrapped(paragraph string) bool {
	paragraph = strings.Trim(paragraph, "\r\n")
	if strings.IndexByte(paragraph, '\n') < 0 {
		return false
	}
	width := 0
	for line := range strings.SplitSeq(paragraph, "\n") {
		if line = strings.TrimRight(line, " \t\r"); strings.HasPrefix(line, "|") {
			return false
		}
		if width = max(width, utf8.RuneCountInString(line)); width > longestLine {
			return false
		}
	}
	breaks, full, before := 0, 0, -1
	for line := range strings.SplitSeq(paragraph, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if before >= 0 {
			breaks++
			if before+firstWord(strings.TrimLeft(line, " \t")) > width {
				full++
			}
		}
		before = utf8.RuneCountInString(line)
	}
	return full*10 >= breaks*9
}

// firstWord returns how many characters the first word of a line takes on the line before, with the
// space between.
func firstWord(line string) int {
	if line == "" {
		return 0
	}
	if sentence.StartsUnspaced(line) {
		return 3 // with the punctuation that may not begin a line
	}
	return 1 + utf8.RuneCountInString(line[:wordEnd(line, 0, len(line))])
}
