package chunk

import (
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
)

// splitSemantic cuts a Markdown text at its headings and joins small sections to
// the ones before them, the deepest first. The text of a section is rebuilt:
// heading, line feed, content without white space around it. A section of more
// than maxSize tokens, if that was given, is cut like plain Markdown.
func splitSemantic(text string, o *Options) ([]Chunk, error) {
	if err := checkSpecials(text, o); err != nil {
		return nil, err
	}
	enc := loadEncoding(o.EncodingName)
	specials := allowedSpecials(o)
	count := func(s string) int { return enc.countWithSpecials(s, specials) }

	b := &builder{src: newSource(text), opts: o}
	r := recursion{
		src:      source{text: text, count: count},
		position: SeparatorStart,
		out:      b,
		merger:   merger{max: o.MaxSize, overlap: o.Overlap, emit: b.add},
	}
	parts, err := sectionParts(text, count)
	if err != nil {
		return nil, err
	}
	for _, s := range joinSections(text, parts, o.JoinThreshold, count) {
		first := len(b.chunks)
		start, end := s.parts[0].start, s.parts[len(s.parts)-1].content.end
		rebuilt := s.text(text)
		if o.MaxSize > 0 && count(strings.TrimSpace(rebuilt)) > o.MaxSize {
			if r.seps == nil {
				r.seps = append(markdownSeparators(text), generalSeparators()...)
			}
			r.split(start, end, 0)
		} else if b.add(start, end); len(b.chunks) > first {
			b.chunks[first].Text = rebuilt
		}
		for i := first; i < len(b.chunks); i++ {
			c := &b.chunks[i]
			start, end := trim(c.Text, 0, len(c.Text))
			c.TokenCount = count(c.Text[start:end])
			if c.Metadata == nil {
				c.Metadata = map[string]any{}
			}
			c.Metadata["tokenCount"] = c.TokenCount
		}
	}
	return b.chunks, b.err
}

// section is a heading with what stands below it, and the sections that were
// joined to it.
type section struct {
	parts  []sectionPart
	tokens int // of the contents, and of the headings between them
}

// sectionPart is one heading with its content.
type sectionPart struct {
	start   int  // in the source
	depth   int  // of the heading; 0 for what stands before all headings
	content span // trimmed
	tokens  int  // of the content
}

// heading returns the heading as it stands in a chunk, "" for depth 0.
func (p sectionPart) heading(source string) string {
	if p.depth == 0 {
		return ""
	}
	line, _, _ := strings.Cut(source[p.start:], "\n")
	_, title := headingLine(line)
	return line[:p.depth] + " " + title + "\n"
}

// text rebuilds the section.
func (s section) text(source string) string {
	var sb strings.Builder
	for i, p := range s.parts {
		if i > 0 {
			sb.WriteString("\n\n")
		}
		sb.WriteString(p.heading(source))
		sb.WriteString(source[p.content.start:p.content.end])
	}
	return sb.String()
}

// maxSections bounds the memory for a text that is made of headings.
const maxSections = 1_000_000

// sectionParts cuts a text at its headings.
func sectionParts(text string, count func(string) int) ([]sectionPart, error) {
	var parts []sectionPart
	var part sectionPart
	from := 0 // where the content of part starts
	finish := func(end int) {
		part.content.start, part.content.end = trim(text, from, end)
		if part.depth == 0 {
			if part.content.start == part.content.end {
				return
			}
			part.start = part.content.start
		}
		part.tokens = count(text[part.content.start:part.content.end])
		parts = append(parts, part)
	}
	eachHeading(text, func(start, end, depth int, _ string) bool {
		finish(start)
		part = sectionPart{start: start, depth: depth}
		from = end
		return len(parts) < maxSections
	})
	if len(parts) == maxSections {
		return nil, fault.Field("text", "has more than %d headings, which semantic-markdown does not join; choose another strategy", maxSections)
	}
	finish(len(text))
	return parts, nil
}

// joinSections joins a section to the one before it if that is not deeper and
// both together, with the heading between them, stay under the threshold. The
// deepest sections are joined first.
func joinSections(text string, parts []sectionPart, threshold int, count func(string) int) []section {
	sections := make([]section, len(parts))
	for i, p := range parts {
		sections[i] = section{parts: parts[i : i+1], tokens: p.tokens}
	}
	for depth := 6; depth > 0; depth-- {
		joined := sections[:0]
		for _, s := range sections {
			if last := len(joined) - 1; last >= 0 && s.parts[0].depth == depth && joined[last].parts[0].depth <= depth {
				before := &joined[last]
				tokens := before.tokens + count("\n\n"+s.parts[0].heading(text)) + s.tokens
				if tokens < threshold {
					before.parts = before.parts[:len(before.parts)+len(s.parts)] // they are neighbours
					before.tokens = tokens
					continue
				}
			}
			joined = append(joined, s)
		}
		sections = joined
	}
	return sections
}
