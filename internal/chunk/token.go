package chunk

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// splitToken cuts a text into windows of tokens. The text is encoded once. A window
// begins and ends between two tokens, never within a code point, even if that has
// several tokens, and within a grapheme cluster only if none ends in the window.
func splitToken(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	if err := checkSpecials(text, o); err != nil {
		return nil, err
	}
	b := &builder{steps: steps, src: newSource(text), opts: o}
	enc := tokenizer.Load(o.EncodingName)
	start, end := 0, len(text)
	if o.StripWhitespace {
		start, end = textspan.Trim(text, start, end)
	}
	w := tokenWindow{out: b, max: o.MaxSize, overlap: o.Overlap, bounds: []int{start}, meter: tokenMeter{end: start}}
	enc.Each(text, start, end, allowedSpecials(o), w.add)
	w.finish()
	for i := range b.chunks {
		if !b.step(chunkSteps) {
			break
		}
		b.chunks[i].TokenCount = countTokens(steps, enc, b.chunks[i].Text, allowedSpecials(o))
	}
	return b.chunks, b.err
}

// tokenMeter returns what finding tokens costs, in steps. In a long word each byte costs more:
// all its pairs are candidates to be merged.
type tokenMeter struct {
	end  int // of the last token
	word int // bytes of the current word, with the last token
}

const longWord = 64

// to returns the cost of the token from the last one's end to the given one.
func (m *tokenMeter) to(text string, end int) int {
	size, each := end-m.end, 16
	if size <= 0 {
		return each
	}
	if c := text[m.end]; c == ' ' || c == '\n' {
		m.word = 0
	}
	if m.word += size; m.word > longWord {
		each = 40
	}
	m.end = end
	return 16 + each*size
}

// countTokens returns the number of tokens of a text, less if the steps end.
func countTokens(steps *limit.Steps, enc *tokenizer.Encoding, text string, specials []string) int {
	n, meter := 0, tokenMeter{}
	enc.Each(text, 0, len(text), specials, func(end int) bool {
		n++
		return steps.Next(meter.to(text, end))
	})
	return n
}

// tokenWindow is the current chunk.
type tokenWindow struct {
	out          *builder
	max, overlap int
	bounds       []int // bounds[head:] are the borders of the tokens in the source, one more than tokens
	head         int
	emitted      int // end of the last chunk
	meter        tokenMeter
}

// add appends the token that ends at end. It returns false when no more are wanted.
func (w *tokenWindow) add(end int) bool {
	w.bounds = append(w.bounds, end)
	if len(w.bounds)-1-w.head > w.max && w.out.err == nil {
		w.cut()
	}
	return w.out.step(w.meter.to(w.out.src.text, end))
}

// cut emits the first max tokens, or as many as end at a border, and begins the next chunk.
func (w *tokenWindow) cut() {
	cut := w.last(w.head+w.max, w.clusterBorder)
	if cut == w.head {
		cut = w.last(w.head+w.max, w.codePointBorder)
	}
	if cut == w.head {
		// A code point of more tokens than maxSize is kept whole: continue until
		// its last token is added.
		if cut = len(w.bounds) - 1; !w.codePointBorder(cut) {
			return
		}
	}
	w.emit(cut)
	next := w.last(cut-w.overlap, w.clusterBorder)
	if next == w.head {
		next = cut
	}
	w.head = next
	if w.head > len(w.bounds)/2 {
		w.bounds = append(w.bounds[:0], w.bounds[w.head:]...)
		w.head = 0
	}
}

// finish emits the tokens that are in no chunk yet.
func (w *tokenWindow) finish() {
	if last := len(w.bounds) - 1; w.bounds[last] > max(w.emitted, w.bounds[w.head]) {
		w.emit(last)
	}
}

func (w *tokenWindow) emit(cut int) {
	w.out.add(w.bounds[w.head], w.bounds[cut])
	w.emitted = w.bounds[cut]
}

// last returns the largest index from head to i that is a border. head is always a
// border.
func (w *tokenWindow) last(i int, border func(int) bool) int {
	for i > w.head && !border(i) {
		i--
	}
	return max(i, w.head)
}

func (w *tokenWindow) clusterBorder(i int) bool {
	return textspan.IsClusterBorder(w.out.src.text, w.bounds[w.head], w.bounds[i])
}

func (w *tokenWindow) codePointBorder(i int) bool {
	at := w.bounds[i]
	return at == len(w.out.src.text) || utf8.RuneStart(w.out.src.text[at])
}

// allowedSpecials returns the special tokens that are encoded as one token each.
func allowedSpecials(o *Options) []string {
	return tokenizer.NamedSpecials(o.EncodingName, o.AllowedSpecial)
}

// checkSpecials returns an error if the text has a special token that the caller
// disallows.
func checkSpecials(text string, o *Options) error {
	allowed := allowedSpecials(o)
	for _, s := range tokenizer.NamedSpecials(o.EncodingName, o.DisallowedSpecial) {
		if !slices.Contains(allowed, s) && strings.Contains(text, s) {
			return fault.Field("disallowedSpecial", "the text contains the special token %q; leave the option out to read it as ordinary text", s)
		}
	}
	return nil
}

// checkSpecialNames checks that the encoding has the special tokens that the
// options name.
func (c *checker) checkSpecialNames(o *Options) {
	for name, list := range map[string][]string{"allowedSpecial": o.AllowedSpecial, "disallowedSpecial": o.DisallowedSpecial} {
		for _, s := range list {
			if known := tokenizer.SpecialTokens(o.EncodingName); s != "all" && !slices.Contains(known, s) {
				c.refuse(name, `%q is no special token of %s; choose from %s, or "all"`, s, o.EncodingName, strings.Join(known, ", "))
			}
		}
	}
}

// resolveEncoding sets EncodingName: that of the model, else the given one, else the
// default.
func (c *checker) resolveEncoding(o *Options) {
	if o.ModelName != "" {
		name, ok := tokenizer.OfModel(o.ModelName)
		if !ok {
			c.refuse("modelName", "no known encoding for the model %q; give encodingName instead, one of %s",
				o.ModelName, strings.Join(tokenizer.Names, ", "))
			return
		}
		o.EncodingName = name
	}
	if o.EncodingName == "" {
		o.EncodingName = tokenizer.Default
	}
	if !slices.Contains(tokenizer.Names, o.EncodingName) {
		c.refuse("encodingName", "unknown encoding %q; choose one of %s", o.EncodingName, strings.Join(tokenizer.Names, ", "))
		return
	}
	c.checkSpecialNames(o)
}
