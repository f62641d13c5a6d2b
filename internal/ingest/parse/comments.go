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

// hiddenBlock matches the beginning of an element that a browser does not show.
var hiddenBlock = regexp.MustCompile(`(?i)^<(script|style)[\s>]`)

// commentsOf returns the comments, scripts and styles in a Markdown text from a position on, with their lines where they
// stand alone. What stands in code is none.
func commentsOf(text string, from int) (found []textspan.Span) {
	if !strings.Contains(text[from:], "<!--") && !strings.Contains(strings.ToLower(text[from:]), "<s") {
		return nil
	}
	code := codeOf(text)
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
			at = endOfCode(text, at)
		default:
			end := endOfHidden(text[at:])
			if end == 0 {
				at++
				continue
			}
			found = append(found, wholeLines(text, from, at, at+end))
			at = max(at+end, found[len(found)-1].End)
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

// endOfCode returns the position after the code that begins with the backticks at a position, or after these if
// no such code ends in the paragraph.
func endOfCode(text string, at int) int {
	after := at
	for after < len(text) && text[after] == '`' {
		after++
	}
	mark := text[at:after]
	end := len(text)
	if blank := strings.Index(text[after:], "\n\n"); blank >= 0 {
		end = after + blank
	}
	for i := after; i < end; {
		next := strings.IndexByte(text[i:end], '`')
		if next < 0 {
			break
		}
		i += next
		run := i
		for run < end && text[run] == '`' {
			run++
		}
		if run-i == len(mark) {
			return run
		}
		i = run
	}
	return after
}

// endOfHidden returns the length of the comment or hidden element that begins a text, 0 for other text.
func endOfHidden(text string) int {
	if strings.HasPrefix(text, "<!--") {
		if end := strings.Index(text[2:], "-->"); end >= 0 { // <!--> is one
			return 2 + end + len("-->")
		}
		return 0
	}
	name := hiddenBlock.FindStringSubmatch(text[:min(len(text), len("<script>"))])
	if name == nil {
		return 0
	}
	closing := "</" + strings.ToLower(name[1]) + ">"
	if end := strings.Index(strings.ToLower(text), closing); end >= 0 {
		return end + len(closing)
	}
	return 0
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
