package parse

import (
	"regexp"
	"sort"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// without leaves out what is hidden of a text whose lines are those of its file, after its front matter. A text that is nothing else
// stays.
func (p *parser) without(hidden []textspan.Span) {
	text := p.doc.Text
	if len(hidden) == 0 {
		return
	}
	var out strings.Builder
	var lines []Span
	at, line := 0, 1
	keep := func(end int) {
		if end > at {
			lines = append(lines, Span{Kind: Line, Start: out.Len(), End: out.Len() + end - at, Number: line, Lines: true})
			out.WriteString(text[at:end])
		}
	}
	for _, h := range hidden {
		keep(h.Start)
		line += strings.Count(text[at:h.End], "\n")
		at = h.End
	}
	keep(len(text))
	if strings.TrimSpace(out.String()[p.doc.Body:]) != "" {
		p.doc.Text, p.doc.Spans = out.String(), lines
	}
}

// uncommented returns a Markdown text without its comments, scripts and styles.
func uncommented(text string) string {
	var out strings.Builder
	at := 0
	for _, h := range commentsOf(text, 0) {
		out.WriteString(text[at:h.Start])
		at = h.End
	}
	out.WriteString(text[at:])
	return out.String()
}

// hiddenBlock matches the beginning of an element that a browser does not show.
var hiddenBlock = regexp.MustCompile(`(?i)^<(script|style)[\s>]`)

// commentsOf returns the comments, scripts and styles in a Markdown text from a position on, with their lines where they
// stand alone. What stands in code is none.
func commentsOf(text string, from int) (found []textspan.Span) {
	if !strings.Contains(text[from:], "<!--") && !strings.Contains(strings.ToLower(text[from:]), "<s") {
		return nil
	}
	code := codeOf(text)
	ends := endings{text: text, found: map[string]int{}}
	for at := from; at < len(text); {
		next := strings.IndexAny(text[at:], "<`\\")
		if next < 0 {
			break
		}
		at += next
		if i := sort.Search(len(code), func(i int) bool { return code[i].End > at }); i < len(code) && code[i].Start <= at {
			at = code[i].End
			continue
		}
		switch text[at] {
		case '\\':
			at += 2
		case '`':
			at = ends.code(at)
		default:
			end := ends.hidden(at)
			if end == 0 {
				at++
				continue
			}
			found = append(found, wholeLines(text, from, at, end))
			at = max(end, found[len(found)-1].End)
		}
	}
	return found
}

// codeOf returns the blocks of code in a Markdown text.
func codeOf(text string) (code []textspan.Span) {
	for _, s := range markdown.Read(text, nil).Opaque {
		if !strings.HasPrefix(strings.TrimLeft(text[s.Start:s.End], " \t\r\n>"), "<") || strings.HasPrefix(strings.TrimLeft(text[s.Start:s.End], "\r\n"), "    ") {
			code = append(code, s)
		}
	}
	return code
}

// endings finds what ends comments, elements and code of a text. It remembers what it has found, so that a text in which
// many begin is read once.
type endings struct {
	text  string
	lower string         // text, "" until it is needed
	found map[string]int // the position of the next ending of a kind, -1 for none; by the ending
	runs  map[int][]int  // the positions of the runs of so many backticks, nil until they are needed
}

// next returns the position of an ending in a text, which is that of endings or its lower case, from a position on, -1 for none. The
// positions that it is asked for do not fall.
func (e *endings) next(text, ending string, from int) int {
	at, known := e.found[ending]
	if !known || at >= 0 && at < from {
		if at = strings.Index(text[from:], ending); at >= 0 {
			at += from
		}
		e.found[ending] = at
	}
	return at
}

// code returns the position after the code that begins with the backticks at a position, or after these if
// no such code ends in the paragraph.
func (e *endings) code(at int) int {
	if e.runs == nil {
		e.runs = runsOf(e.text)
	}
	after := at
	for after < len(e.text) && e.text[after] == '`' {
		after++
	}
	length := after - at
	end := e.next(e.text, "\n\n", after)
	if end < 0 {
		end = len(e.text)
	}
	runs := e.runs[length]
	for len(runs) > 0 && runs[0] < after {
		runs = runs[1:]
	}
	e.runs[length] = runs
	if len(runs) > 0 && runs[0] < end {
		return runs[0] + length
	}
	return after
}

// runsOf returns the positions of the runs of backticks in a text, by their length.
func runsOf(text string) map[int][]int {
	runs := map[int][]int{}
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			break
		}
		start := at + next
		for at = start; at < len(text) && text[at] == '`'; at++ {
		}
		runs[at-start] = append(runs[at-start], start)
	}
	return runs
}

// hidden returns the end of the comment or hidden element that begins at a position, 0 if none does.
func (e *endings) hidden(at int) int {
	text := e.text[at:]
	if strings.HasPrefix(text, "<!--") {
		if end := e.next(e.text, "-->", at+2); end >= 0 { // <!--> is one
			return end + len("-->")
		}
		return 0
	}
	name := hiddenBlock.FindStringSubmatch(text[:min(len(text), len("<script>"))])
	if name == nil {
		return 0
	}
	if e.lower == "" {
		e.lower = lowerASCII(e.text)
	}
	closing := "</" + strings.ToLower(name[1]) + ">"
	if end := e.next(e.lower, closing, at); end >= 0 {
		return end + len(closing)
	}
	return 0
}

// lowerASCII returns a text with the letters of ASCII in lower case; the others, whose lower case may be longer, keep their positions.
func lowerASCII(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

// wholeLines widens a part of a text to its lines if nothing else is in them.
func wholeLines(text string, from, start, end int) textspan.Span {
	const blanks = " \t\r\f\v"
	first := from + len(strings.TrimRight(text[from:start], blanks))
	rest := strings.TrimLeft(text[end:], blanks)
	if begins := first == from || text[first-1] == '\n'; !begins || rest != "" && rest[0] != '\n' {
		return textspan.Span{Start: start, End: end}
	}
	return textspan.Span{Start: first, End: min(len(text)-len(rest)+1, len(text))}
}
