package chunk

import (
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// splitSentence fills chunks with whole sentences. A line break between two sentences of a script
// with spaces becomes one space; all other text is unchanged.
func splitSentence(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	b := &builder{steps: steps, src: newSource(text), opts: o}
	g := sentenceGroup{out: b, opts: o}
	enders := sentence.NewEnders(o.SentenceEnders)
	_, textEnd := textspan.Trim(text, 0, len(text))
	for start := 0; b.step(pieceSteps); {
		start, _ = textspan.Trim(text, start, textEnd)
		if start == textEnd {
			break
		}
		end := enders.End(text, start, textEnd)
		g.add(textspan.Span{Start: start, End: end}, b.src.size(start, end))
		b.step(end - start)
		start = end
	}
	g.finish()
	return b.chunks, b.err
}

// sentenceGroup is the current chunk.
type sentenceGroup struct {
	out       *builder
	opts      *Options
	sentences []textspan.Span
	sizes     []int
	joints    []int // units between a sentence and the one before it
	size      int   // of the joined sentences, in units
	fresh     int   // sentences at the end that are in no chunk yet
}

func (g *sentenceGroup) add(s textspan.Span, size int) {
	if size > g.opts.MaxSize {
		g.finish()
		g.addOversized(s)
		return
	}
	joiner := 0
	if n := len(g.sentences); n > 0 {
		joiner = g.out.jointSize(g.sentences[n-1].End, s.Start)
		if g.size+joiner+size > g.opts.MaxSize {
			g.emit()
			g.keepOverlap(min(g.opts.Overlap, g.opts.MaxSize-joiner-size))
			// As in the reference data, the joiner counts even without overlap.
		}
	}
	g.sentences = append(g.sentences, s)
	g.sizes = append(g.sizes, size)
	g.joints = append(g.joints, joiner)
	g.size += joiner + size
	g.fresh++
	if g.size >= g.opts.TargetSize {
		g.emit()
		g.keepOverlap(g.opts.Overlap)
	}
}

// finish emits the sentences that are in no chunk yet and empties the group.
func (g *sentenceGroup) finish() {
	if g.fresh > 0 {
		g.emit()
	}
	g.keepOverlap(-1)
}

func (g *sentenceGroup) emit() {
	g.out.addJoined(g.sentences)
	g.fresh = 0
}

// keepOverlap drops sentences from the front until the rest is at most limit units
// long.
func (g *sentenceGroup) keepOverlap(limit int) {
	keep, size := len(g.sentences), 0
	for keep > 0 {
		longer := size + g.sizes[keep-1]
		if keep < len(g.sentences) {
			longer += g.joints[keep]
		}
		if longer > limit {
			break
		}
		keep--
		size = longer
	}
	g.sentences = append(g.sentences[:0], g.sentences[keep:]...)
	g.sizes = append(g.sizes[:0], g.sizes[keep:]...)
	g.joints = append(g.joints[:0], g.joints[keep:]...)
	g.size = size
}

// addOversized adds a sentence that is longer than maxSize. It cuts the sentence
// into words and longer words into characters, as far as the options allow.
func (g *sentenceGroup) addOversized(s textspan.Span) {
	switch {
	case g.opts.FallbackToWords:
		g.addWords(s)
	case g.opts.FallbackToChars:
		g.addCharacters(s)
	default:
		g.out.addJoined([]textspan.Span{s})
	}
}

// addWords adds a sentence that is cut into words. With the default enders it is cut first at the
// clauses of scripts without spaces, and words are those of Unicode there.
func (g *sentenceGroup) addWords(s textspan.Span) {
	text := g.out.src.text
	var words []textspan.Span
	size := 0
	flush := func() {
		if len(words) > 0 {
			g.out.addJoined(words)
		}
		words, size = words[:0], 0
	}
	add := func(word textspan.Span, cut func(textspan.Span)) {
		n, joiner := g.out.src.size(word.Start, word.End), 0
		if len(words) > 0 {
			joiner = g.out.jointSize(words[len(words)-1].End, word.Start)
			if size+joiner+n > g.opts.MaxSize {
				flush()
				joiner = 0
			}
		}
		if n > g.opts.MaxSize && cut != nil {
			cut(word)
			return
		}
		words = append(words, word)
		size += joiner + n
	}
	var byCharacters func(textspan.Span)
	if g.opts.FallbackToChars {
		byCharacters = func(word textspan.Span) { flush(); g.addCharacters(word) }
	}
	bySpaces := func(part textspan.Span) {
		for from, _ := textspan.Trim(text, part.Start, part.End); from < part.End && g.out.err == nil; from, _ = textspan.Trim(text, from, part.End) {
			word := textspan.Span{Start: from, End: wordEnd(text, from, part.End)}
			if len(g.opts.SentenceEnders) > 0 || sentence.IsSpaced(text[word.Start:word.End]) {
				add(word, byCharacters)
			} else {
				for c := sentence.NewWords(text, word.Start, word.End); from < word.End && g.out.err == nil; {
					end := c.Next()
					add(textspan.Span{Start: from, End: end}, byCharacters)
					from = end
				}
			}
			from = word.End
		}
	}
	if len(g.opts.SentenceEnders) > 0 || sentence.IsSpaced(text[s.Start:s.End]) {
		bySpaces(s)
	} else {
		for from := s.Start; from < s.End && g.out.err == nil; {
			end := sentence.NextClause(text, sentence.Semicolons+sentence.Commas, from, s.End)
			if end < 0 {
				end = s.End
			}
			start, _ := textspan.Trim(text, from, end)
			add(textspan.Span{Start: start, End: end}, bySpaces)
			from = end
		}
	}
	flush()
}

func (g *sentenceGroup) addCharacters(s textspan.Span) {
	src := &g.out.src
	windows := merger{max: g.opts.MaxSize, emit: func(start, end int) { g.out.addJoined([]textspan.Span{{Start: start, End: end}}) }}
	c := newCutter(src, s.Start, s.End, g.opts.MaxSize)
	for from := s.Start; from < s.End && g.out.err == nil; {
		to := c.next()
		windows.add(piece{start: from, end: to, size: src.size(from, to)})
		from = to
	}
	windows.flush()
}

// wordEnd returns the end of the run of non-space characters that starts at from.
func wordEnd(text string, from, end int) int {
	for from < end && textspan.LeadingSpace(text[from:end]) == 0 {
		_, n := utf8.DecodeRuneInString(text[from:end])
		from += n
	}
	return from
}

// addJoined appends a chunk of the trimmed spans, with what joins them. If
// the source has the same text, the chunk is a slice of it.
func (b *builder) addJoined(spans []textspan.Span) {
	first, last := spans[0], spans[len(spans)-1]
	start, _ := textspan.Trim(b.src.text, first.Start, first.End)
	_, end := textspan.Trim(b.src.text, last.Start, last.End)
	n := len(b.chunks)
	b.add(start, end)
	if len(b.chunks) == n || b.joinedAsTheyStand(spans) {
		return
	}
	var sb strings.Builder
	sb.Grow(end - start)
	before := start
	for _, p := range spans {
		if p.Start > start {
			sb.WriteString(b.joint(before, p.Start))
		}
		sb.WriteString(b.src.text[max(p.Start, start):min(p.End, end)])
		before = p.End
	}
	b.chunks[n].Text = sb.String()
}

func (b *builder) joinedAsTheyStand(spans []textspan.Span) bool {
	for i, p := range spans[1:] {
		if gap := b.src.text[spans[i].End:p.Start]; gap != "" && gap != " " && gap != b.joint(spans[i].End, p.Start) {
			return false
		}
	}
	return true
}

// joint returns what stands in a chunk between two sentences or words that end at end and begin at
// start: what stands in the source. In scripts with spaces, white space with a line break is
// one space, as in the reference data.
func (b *builder) joint(end, start int) string {
	gap := b.src.text[end:start]
	if gap == "" || gap == " " || !breaksLine(gap) || sentence.IsUnspacedBorder(b.src.text, end, start) {
		return gap
	}
	return " "
}

// breaksLine reports whether white space has a line break.
func breaksLine(space string) bool {
	return strings.IndexByte(space, '\n') >= 0 || strings.IndexByte(space, '\r') >= 0 || strings.Contains(space, "\u2028") || strings.Contains(space, "\u2029")
}

// jointSize returns the units of a joint.
func (b *builder) jointSize(end, start int) int {
	if start-end <= 1 {
		return start - end
	}
	return textspan.Units(b.joint(end, start))
}
