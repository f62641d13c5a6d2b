package parse

import (
	"regexp"
	"slices"
	"strings"
)

// leader matches a line of a table of contents: a title, dots that lead to the number of its page, and
// the number, or several.
var leader = regexp.MustCompile(`^(?:#+[ \t]+)?(.*[^\s.…])[ \t]*(?:(?:\.[ \t]?){4,}|(?:[ \t]\.){2,}|(?:…[ \t]?){2,})[ \t]*(\d+(?:, ?\d+)*|[ivxlcdm]+|[A-Z]+[-.]?\d+)$`)

// fewestLeaders is how many such lines a page has at least whose contents are told from text. The
// page after it may have fewer.
const fewestLeaders = 5

// contentsOf finds the table of contents of a page of text: most of its lines or, on a page after
// one with contents, those at its beginning. It returns the page with short dots and without the marks of
// headings in the contents, and where they begin and end. ok is false for another page.
func contentsOf(page string, after bool) (text string, start, end int, ok bool) {
	lines := strings.Split(page, "\n")
	first, last, leaders, all, before := -1, 0, 0, 0, 0
	for n, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		all++
		if found := leader.FindStringSubmatch(line); found != nil {
			lines[n] = found[1] + " … " + found[2]
			leaders++
			last, before = n, all
			if first < 0 {
				first = n
			}
		}
	}
	switch {
	case leaders >= fewestLeaders && leaders*2 >= all:
		// Chapters often have no dots. The heading of the contents is not of them.
		for first > 0 && !strings.HasPrefix(lines[first-1], "#") {
			first--
		}
	case after && leaders > 0 && leaders*2 >= before:
		first = 0
	default:
		return page, 0, 0, false
	}
	text = strings.Join(lines, "\n")
	start, end = len(strings.Join(lines[:first], "\n")), len(strings.Join(lines[:last+1], "\n"))
	for start < end && text[start] == '\n' {
		start++
	}
	return text, start, end, true
}

// addContents adds the span of a table of contents to those of the text, or to the one before if nothing
// is between them.
func (p *parser) addContents(start, end int) {
	spans := p.doc.Spans
	if n := len(spans) - 1; n >= 0 && spans[n].Kind == Contents && strings.TrimSpace(p.text.String()[spans[n].End:start]) == "" {
		spans[n].End = end
		return
	}
	p.doc.Spans = append(spans, Span{Kind: Contents, Start: start, End: end})
}

// withHeadings extends the tables of contents among spans over the headings right above them, which would
// be passages of nothing else.
func withHeadings(text string, spans []Span) {
	for i := range spans {
		if spans[i].Kind != Contents {
			continue
		}
		for spans[i].Start > 0 {
			above := strings.TrimRight(text[:spans[i].Start], " \n")
			line := strings.LastIndexByte(above, '\n') + 1
			if !strings.HasPrefix(above[line:], "#") || slices.ContainsFunc(spans, func(s Span) bool { return s.Kind == Contents && s.Start < spans[i].Start && line < s.End }) {
				break
			}
			spans[i].Start = line
		}
	}
}
