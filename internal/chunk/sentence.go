package chunk

import (
	"strings"
	"unicode/utf8"
)

// splitSentence fills chunks with whole sentences. The white space between them
// becomes one space; within a sentence everything stays.
func splitSentence(text string, o *Options) ([]Chunk, error) {
	b := &builder{src: newSource(text), opts: o}
	g := sentenceGroup{out: b, opts: o}
	enders := newEnders(o.SentenceEnders)
	_, textEnd := trim(text, 0, len(text))
	for start := 0; b.err == nil; {
		start, _ = trim(text, start, textEnd)
		if start == textEnd {
			break
		}
		end := enders.sentenceEnd(text, start, textEnd)
		g.add(span{start, end}, b.src.size(start, end))
		start = end
	}
	g.finish()
	return b.chunks, b.err
}

// sentenceGroup is the chunk that is being filled.
type sentenceGroup struct {
	out   *builder
	opts  *Options
	parts []span
	sizes []int
	size  int // of the joined parts, in units
	fresh int // parts that no chunk has yet
}

func (g *sentenceGroup) add(s span, size int) {
	if size > g.opts.MaxSize {
		g.finish()
		g.addOversized(s)
		return
	}
	joiner := 0
	if len(g.parts) > 0 {
		joiner = 1
		if g.size+joiner+size > g.opts.MaxSize {
			g.emit()
			g.keepOverlap(min(g.opts.Overlap, g.opts.MaxSize-joiner-size))
			// The joiner is counted even if no overlap was kept, as the
			// reference data has it.
		}
	}
	g.parts = append(g.parts, s)
	g.sizes = append(g.sizes, size)
	g.size += joiner + size
	g.fresh++
	if g.size >= g.opts.TargetSize {
		g.emit()
		g.keepOverlap(g.opts.Overlap)
	}
}

// finish emits what no chunk has yet and starts anew.
func (g *sentenceGroup) finish() {
	if g.fresh > 0 {
		g.emit()
	}
	g.keepOverlap(-1)
}

func (g *sentenceGroup) emit() {
	g.out.addJoined(g.parts)
	g.fresh = 0
}

// keepOverlap drops parts from the front until the rest is at most limit long.
func (g *sentenceGroup) keepOverlap(limit int) {
	keep, size := len(g.parts), 0
	for keep > 0 {
		longer := size + g.sizes[keep-1]
		if keep < len(g.parts) {
			longer++
		}
		if longer > limit {
			break
		}
		keep--
		size = longer
	}
	g.parts = append(g.parts[:0], g.parts[keep:]...)
	g.sizes = append(g.sizes[:0], g.sizes[keep:]...)
	g.size = size
}

// addOversized cuts a sentence that is longer than a chunk into words and the
// words that are, or a sentence of one word, into characters, as far as the
// options allow.
func (g *sentenceGroup) addOversized(s span) {
	switch {
	case g.opts.FallbackToWords:
		g.addWords(s)
	case g.opts.FallbackToChars:
		g.addCharacters(s)
	default:
		g.out.addJoined([]span{s})
	}
}

func (g *sentenceGroup) addWords(s span) {
	text := g.out.src.text
	var words []span
	size := 0
	flush := func() {
		if len(words) > 0 {
			g.out.addJoined(words)
		}
		words, size = words[:0], 0
	}
	for from, _ := trim(text, s.start, s.end); from < s.end && g.out.err == nil; from, _ = trim(text, from, s.end) {
		word := span{from, wordEnd(text, from, s.end)}
		n := g.out.src.size(word.start, word.end)
		if size > 0 && size+1+n > g.opts.MaxSize {
			flush()
		}
		switch {
		case n <= g.opts.MaxSize:
			if size > 0 {
				size++
			}
			words = append(words, word)
			size += n
		case g.opts.FallbackToChars:
			g.addCharacters(word)
		default:
			g.out.addJoined([]span{word})
		}
		from = word.end
	}
	flush()
}

func (g *sentenceGroup) addCharacters(s span) {
	src := &g.out.src
	windows := merger{max: g.opts.MaxSize, emit: func(start, end int) { g.out.addJoined([]span{{start, end}}) }}
	c := newCutter(src, s.start, s.end, g.opts.MaxSize)
	for from := s.start; from < s.end && g.out.err == nil; {
		to := c.next()
		windows.add(piece{start: from, end: to, size: src.size(from, to)})
		from = to
	}
	windows.flush()
}

// wordEnd returns the end of the run without white space that starts at from.
func wordEnd(text string, from, end int) int {
	for from < end && leadingSpace(text[from:end]) == 0 {
		_, n := utf8.DecodeRuneInString(text[from:end])
		from += n
	}
	return from
}

// addJoined appends a chunk of the trimmed parts with one space between them.
// Where the source has nothing else between them either, the text is a slice of
// it.
func (b *builder) addJoined(parts []span) {
	first, last := parts[0], parts[len(parts)-1]
	start, _ := trim(b.src.text, first.start, first.end)
	_, end := trim(b.src.text, last.start, last.end)
	n := len(b.chunks)
	b.add(start, end)
	if len(b.chunks) == n || b.joinedBySpaces(parts) {
		return
	}
	var sb strings.Builder
	sb.Grow(end - start)
	for i, p := range parts {
		if i > 0 {
			sb.WriteByte(' ')
		}
		sb.WriteString(b.src.text[max(p.start, start):min(p.end, end)])
	}
	b.chunks[n].Text = sb.String()
}

func (b *builder) joinedBySpaces(parts []span) bool {
	for i, p := range parts[1:] {
		if gap := b.src.text[parts[i].end:p.start]; gap != " " {
			return false
		}
	}
	return true
}
