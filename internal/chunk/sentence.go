package chunk

import (
	"strings"
	"unicode"
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

// enders are the characters that may end a sentence.
type enders struct {
	ascii [utf8.RuneSelf]bool
	other map[rune]bool
	// unicode is set for our own enders: then the script decides what may
	// follow. For those of a caller only white space and an ASCII capital may,
	// as in the reference.
	unicode bool
}

// ownEnders are used if the caller gives none. Those of wide enders need no
// white space behind them.
const (
	ownEnders  = ".!?…؟۔।"
	wideEnders = "。！？｡"
)

func newEnders(list []string) *enders {
	e := &enders{other: map[rune]bool{}, unicode: len(list) == 0}
	for _, r := range strings.Join(list, "") {
		e.set(r)
	}
	if e.unicode {
		for _, r := range ownEnders + wideEnders {
			e.set(r)
		}
	}
	return e
}

func (e *enders) set(r rune) {
	if r < utf8.RuneSelf {
		e.ascii[r] = true
	} else {
		e.other[r] = true
	}
}

// sentenceEnd returns the end of the sentence that starts at start; end is that
// of the trimmed text.
func (e *enders) sentenceEnd(text string, start, end int) int {
	for at := start; at < end; {
		c := text[at]
		switch {
		case c < utf8.RuneSelf:
			at++
			if !e.ascii[c] {
				continue
			}
		case c < 0xC0: // in the middle of a character
			at++
			continue
		default:
			r, n := utf8.DecodeRuneInString(text[at:end])
			at += n
			if !e.other[r] {
				continue
			}
			if e.unicode && strings.ContainsRune(wideEnders, r) {
				return afterClosing(text, at, end)
			}
		}
		if e.boundary(text, at, end) && !abbreviation(text, start, at) {
			return at
		}
	}
	return end
}

// afterClosing skips what belongs to a sentence behind its wide ender: more of
// them, and the quotes and brackets that close.
func afterClosing(text string, at, end int) int {
	for at < end {
		r, n := utf8.DecodeRuneInString(text[at:end])
		if !unicode.In(r, unicode.Pf, unicode.Pe) && !strings.ContainsRune(wideEnders, r) {
			break
		}
		at += n
	}
	return at
}

// boundary reports whether a new sentence may start after at: nothing follows,
// or white space and then a capital (with our own enders: of any script, or a
// letter of a script without case).
func (e *enders) boundary(text string, at, end int) bool {
	next, _ := trim(text, at, end)
	if next == end {
		return true
	}
	if next == at {
		return false
	}
	if c := text[next]; c < utf8.RuneSelf || !e.unicode {
		return 'A' <= c && c <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(text[next:end])
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lo)
}

// abbreviation reports whether the word that ends with an ender, text[..at], is
// one after which a sentence goes on: a title, initials, a number, am or pm.
func abbreviation(text string, start, at int) bool {
	_, n := utf8.DecodeLastRuneInString(text[start:at])
	word := text[start : at-n]
	for i := len(word); i > 0; {
		if trailingSpace(word[:i]) > 0 {
			word = word[i:]
			break
		}
		_, n := utf8.DecodeLastRuneInString(word[:i])
		i -= n
	}
	switch word {
	case "Dr", "Mr", "Mrs", "Ms", "Prof", "Sr", "Jr", "am", "pm", "AM", "PM":
		return true
	}
	return word != "" && (dotted(word, 'a', 'z') || dotted(word, 'A', 'Z') || digits(word))
}

// dotted reports whether s is letters between low and high, one by one, with a
// dot between them.
func dotted(s string, low, high byte) bool {
	for i := range len(s) {
		if i%2 == 1 && s[i] != '.' || i%2 == 0 && (s[i] < low || s[i] > high) {
			return false
		}
	}
	return len(s)%2 == 1
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
