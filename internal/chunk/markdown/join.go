package markdown

import (
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// Joined is one or more neighbouring sections of the source, each a heading with its
// content.
type Joined struct {
	sections []section
	tokens   int // of the contents, and of the headings between them
}

// Span returns the source from the first heading to the end of the last content.
func (j Joined) Span() textspan.Span {
	return textspan.Span{Start: j.sections[0].start, End: j.sections[len(j.sections)-1].content.End}
}

// Text returns the headings and contents, each heading on a line of its own,
// without the white space around them.
func (j Joined) Text(source string) string {
	var sb strings.Builder
	for i, s := range j.sections {
		if i > 0 {
			sb.WriteString("\n\n")
		}
		sb.WriteString(s.heading(source))
		sb.WriteString(source[s.content.Start:s.content.End])
	}
	return sb.String()
}

// section is one heading with its content.
type section struct {
	start   int           // in the source
	head    Heading       // Level 0 for the text before all headings
	content textspan.Span // trimmed
	tokens  int           // of the content
}

// heading returns the heading for a chunk, with a line feed, "" for the text before all headings.
func (s section) heading(source string) string {
	if s.head.Level == 0 {
		return ""
	}
	return s.head.source(source) + "\n"
}

// maxSections bounds the memory for a text of many headings.
const maxSections = 1_000_000

// cutAtHeadings returns the sections of a text in order.
func cutAtHeadings(text string, steps *limit.Steps, count func(string) int) ([]section, error) {
	var sections []section
	var open section
	from := 0 // start of the content of open
	finish := func(end int) {
		open.content.Start, open.content.End = textspan.Trim(text, from, end)
		if open.head.Level == 0 {
			if open.content.Start == open.content.End {
				return
			}
			open.start = open.content.Start
		}
		open.tokens = count(text[open.content.Start:open.content.End])
		sections = append(sections, open)
	}
	headings := Headings(text, steps)
	if len(headings) > maxSections {
		return nil, fault.Field("text", "has more than %d headings, which semantic-markdown does not join; choose another strategy", maxSections)
	}
	for _, h := range headings {
		finish(h.Start)
		open = section{start: h.Start, head: h}
		from = h.End
	}
	finish(len(text))
	return sections, nil
}

// JoinSections cuts a text at its headings. It joins a section to the one before if
// that is not deeper and both, with the heading between them, have fewer tokens than
// the threshold. The deepest sections are joined first. Errors:
// Invalid about text when it has too many headings.
func JoinSections(text string, threshold int, steps *limit.Steps, count func(string) int) ([]Joined, error) {
	sections, err := cutAtHeadings(text, steps, count)
	if err != nil {
		return nil, err
	}
	all := make([]Joined, len(sections))
	for i, s := range sections {
		all[i] = Joined{sections: sections[i : i+1], tokens: s.tokens}
	}
	for depth := 6; depth > 0; depth-- {
		joined := all[:0]
		for _, j := range all {
			if last := len(joined) - 1; last >= 0 && j.sections[0].head.Level == depth && joined[last].sections[0].head.Level <= depth {
				before := &joined[last]
				tokens := before.tokens + count("\n\n"+j.sections[0].heading(text)) + j.tokens
				if tokens < threshold {
					before.sections = before.sections[:len(before.sections)+len(j.sections)] // they are neighbours
					before.tokens = tokens
					continue
				}
			}
			joined = append(joined, j)
		}
		all = joined
	}
	return all, nil
}
