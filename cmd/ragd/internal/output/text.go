package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textWidth is the width of wrapped text, in code points.
const textWidth = 76

// Printable returns text without characters that control a terminal. It replaces control
// characters other than newline and tab, and invisible format characters.
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

// OneLine returns text as one printable line, with whitespace collapsed.
func OneLine(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }

// Wrap breaks text at spaces into lines of at most textWidth. It keeps line breaks and
// indentation, and drops blank lines.
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

// Indent joins lines, each indented and ending in a newline.
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
