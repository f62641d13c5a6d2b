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

// Span is the range of bytes [Start, End) of a text.
type Span struct{ Start, End int }

// beginMark and endMark surround marked text while it is wrapped. Printable text does not
// contain them.
const (
	beginMark = '\U000F0000'
	endMark   = '\U000F0001'
)

// Escape sequences of a terminal.
const (
	boldRed = "\x1b[1;31m"
	bold    = "\x1b[1m"
	plain   = "\x1b[0m"
)

// Bold returns printable text in bold if the terminal shows colors.
func (p Printer) Bold(text string) string {
	if !p.Color {
		return text
	}
	return bold + text + plain
}

// WrapMarked wraps text like Wrap and shows the spans, which are in order and without
// white space, in color if the terminal shows colors.
func (p Printer) WrapMarked(text string, spans []Span) []string {
	if !p.Color {
		return Wrap(text)
	}
	var marked strings.Builder
	at := 0
	for _, s := range spans {
		if s.Start < at || s.End > len(text) {
			continue
		}
		marked.WriteString(Printable(text[at:s.Start]))
		marked.WriteRune(beginMark)
		marked.WriteString(Printable(text[s.Start:s.End]))
		marked.WriteRune(endMark)
		at = s.End
	}
	marked.WriteString(Printable(text[at:]))
	lines := wrap(marked.String())
	colors := strings.NewReplacer(string(beginMark), boldRed, string(endMark), plain)
	for i, line := range lines {
		lines[i] = colors.Replace(line)
	}
	return lines
}

// Wrap breaks text at spaces into lines of at most textWidth. It keeps line breaks and
// indentation, and drops blank lines.
func Wrap(text string) []string { return wrap(Printable(text)) }

// wrap wraps printable text, which may have marks.
func wrap(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		margin := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		current := ""
		for _, word := range strings.Fields(line) {
			switch {
			case current == "":
				current = margin + word
			case width(current)+1+width(word) > textWidth:
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

// width returns the number of code points of a text without its marks.
func width(text string) int {
	return utf8.RuneCountInString(text) - strings.Count(text, string(beginMark)) - strings.Count(text, string(endMark))
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
