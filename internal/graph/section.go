package graph

import "strings"

// mostParts is how many chunks of its section a chunk leads to.
const mostParts = 20

// placedPart is a chunk of a section that another chunk begins.
type placedPart struct {
	Place
	head int // ordinal of the chunk with the section's heading
}

// partsOf returns the chunks that are led to from where their sections begin: those
// that do not follow on it, as what does is next to it anyway.
func partsOf(documents []Document) []placedPart {
	var parts []placedPart
	for _, d := range documents {
		count := map[int]int{}
		for ordinal, head := range headsOf(d.Texts) {
			if head+1 < ordinal && count[head] < mostParts {
				count[head]++
				parts = append(parts, placedPart{Place{d.DocumentID, ordinal}, head})
			}
		}
	}
	return parts
}

// headsOf returns, for each text of a document, the place of the one in which the
// section around it begins. The section of a text that begins with a heading is the
// one above that; the document is the section of what has no heading.
func headsOf(texts []string) []int {
	heads := make([]int, len(texts))
	open := outline{{0, 0}}
	fenced := false
	for i, text := range texts {
		begun := false
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
				fenced = !fenced
			}
			level := headingLevel(line)
			if fenced {
				level = 0
			}
			if level > 0 {
				open = open.above(level)
			}
			if !begun && strings.TrimSpace(line) != "" {
				begun, heads[i] = true, open.head()
			}
			if level > 0 {
				open = append(open, section{level, i})
			}
		}
		if !begun {
			heads[i] = open.head()
		}
	}
	return heads
}

// outline is the sections that are open at a place, the document first.
type outline []section

type section struct {
	level int // of its heading, 0 for the document
	head  int
}

func (o outline) head() int { return o[len(o)-1].head }

// above returns what stays open when a heading of the level comes.
func (o outline) above(level int) outline {
	for o[len(o)-1].level >= level {
		o = o[:len(o)-1]
	}
	return o
}

// headingLevel returns how many marks a Markdown heading has, or 0 for another line.
func headingLevel(line string) int {
	rest := strings.TrimLeft(line, " ")
	text := strings.TrimLeft(rest, "#")
	level := len(rest) - len(text)
	if len(line)-len(rest) > 3 || level > 6 || text == "" || text[0] != ' ' && text[0] != '\t' {
		return 0
	}
	return level
}
