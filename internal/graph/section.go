package graph

import "strings"

// maxSectionEdges is the number of chunks of its section that the chunk with the
// heading leads to.
const maxSectionEdges = 20

// sectionChunk is a chunk of a section whose heading is in an earlier chunk.
type sectionChunk struct {
	ChunkRef
	head int // ordinal of the chunk with the heading
}

// sectionChunks returns the chunks that the heads of their sections lead to. The
// chunk after a head is left out: reading order connects the two already.
func sectionChunks(documents []Document) []sectionChunk {
	var chunks []sectionChunk
	for _, d := range documents {
		count := map[int]int{}
		for ordinal, head := range sectionHeads(d.Texts) {
			if head+1 < ordinal && count[head] < maxSectionEdges {
				count[head]++
				chunks = append(chunks, sectionChunk{ChunkRef{d.DocumentID, ordinal}, head})
			}
		}
	}
	return chunks
}

// sectionHeads returns, for each text of a document, the index of the text in
// which the section around it begins. A text that begins with a heading belongs
// to the section above that heading; text without a heading above it belongs to
// the document, which begins at 0.
func sectionHeads(texts []string) []int {
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

// outline is the stack of sections that are open at a line, the document first.
type outline []section

type section struct {
	level int // of its heading, 0 for the document
	head  int // index of the text with the heading
}

func (o outline) head() int { return o[len(o)-1].head }

// above returns the sections that stay open at a heading of the level.
func (o outline) above(level int) outline {
	for o[len(o)-1].level >= level {
		o = o[:len(o)-1]
	}
	return o
}

// headingLevel returns the level of a Markdown heading, or 0 for another line.
func headingLevel(line string) int {
	rest := strings.TrimLeft(line, " ")
	text := strings.TrimLeft(rest, "#")
	level := len(rest) - len(text)
	if len(line)-len(rest) > 3 || level > 6 || text == "" || text[0] != ' ' && text[0] != '\t' {
		return 0
	}
	return level
}
