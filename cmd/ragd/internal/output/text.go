package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textWidth is that of printed text, in code points.
const textWidth = 76

// Printable returns text without what would steer a terminal: control characters
// other than newline and tab, and invisible format characters.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200c' || r == '\u200d': // joiners are part of words and emoji
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// OneLine returns text in one line that a terminal can show.
func OneLine(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }

// Wrap breaks a text into lines of at most textWidth at its spaces. Its own
// line breaks and the margins of its lines stay, blank lines go.
func Wrap(text string) []string {
	var lines []string
	for line := range strings.Lines(Printable(text)) {
		margin := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		current := ""
		for _, word := range strings.Fields(line) {
			switch {
			case current == "":
				current = margin + word
			case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) > textWidth:
				lines = append(lines, current)
				current = margin + word
			default:
				current += " " + word
			}
		}
		if current != "" {
			lines = append(lines, current)
		}
	}
	return lines
}

// Indent joins lines, each a little to the right.
func Indent(lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		out.WriteString("   " + line + "\n")
	}
	return out.String()
}

// Count returns "1 document" or "2 documents".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
