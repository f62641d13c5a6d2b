package chunk

import (
	"cmp"
	"context"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// MaxChunks is the largest number of chunks that Split makes of one text.
const MaxChunks = 1_000_000

// Split cuts text by the options, which come from Settings. The chunks are in the
// order of the text; those of json may start out of order. A blank text has no
// chunks.
//
// For recursive, character, token, latex, and markdown without headers,
// text[c.StartByte:c.EndByte] is c.Text, but for the header rows of a table that a later
// chunk of the table repeats. The other strategies rebuild the text of a
// chunk; its bounds are those of the text that it was made from.
//
// Texts are slices of the source wherever possible, so keeping one chunk keeps
// the whole source in memory.
//
// Errors are fault.Invalid: for text that is not valid UTF-8 or not of the
// strategy's format, for options that Settings.Options would reject, for more than
// MaxChunks chunks, for chunks that are together more than 32 times (json: 4
// times) as long as a long text, and for more work than a text of this length may take; and that
// of ctx, which is checked with limit.Yield every few hundred microseconds.
func Split(ctx context.Context, text string, opts Options) ([]Chunk, error) {
	if !utf8.ValidString(text) {
		return nil, fault.Field("text", "is not valid UTF-8 (first bad byte at offset %d); convert it to UTF-8 first", firstInvalid(text))
	}
	if start, end := textspan.Trim(text, 0, len(text)); start == end && opts.Strategy != JSON {
		return nil, nil
	}
	steps := limit.NewSteps(ctx)
	steps.AtMost(stepsFor(len(text), &opts), tooMuchWork(&opts))
	chunks, err := split(steps, text, &opts)
	if ended := steps.Err(); ended != nil {
		return nil, ended
	}
	return chunks, err
}

// A split may take so many steps for each byte of the text, and as many more with regular
// expressions, which read it character by character, and some for short texts. Usual options take
// about 10 for recursive, 35 for token, and 120 with two short regular expressions.
const (
	workPerByte  = 128
	regexPerByte = 256
	workSlack    = 16 << 20
)

// stepsFor returns how many steps the split of n bytes may take.
func stepsFor(n int, o *Options) int64 {
	each := workPerByte
	if o.IsSeparatorRegex {
		each += regexPerByte
	}
	return int64(n)*int64(each) + workSlack
}

// tooMuchWork returns the error for a split that takes more steps, which names the option that
// makes it so.
func tooMuchWork(o *Options) error {
	switch {
	case o.IsSeparatorRegex:
		return fault.Field("separators", "the regular expressions take too much work on this text: repeat less in them, make them match what they read, or use plain separators")
	case o.Overlap > 0:
		return fault.Field("overlap", "the chunks repeat the text so often that they take too much work; choose an overlap well below maxSize")
	}
	return fault.Field("strategy", "takes too much work on this text; choose another one, or divide the text")
}

// split cuts a text by its strategy. It stops early when the steps end; what it returns
// then is of no use.
func split(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	switch o.Strategy {
	case Recursive, LaTeX:
		return splitRecursive(steps, text, o)
	case Character:
		return splitCharacter(steps, text, o)
	case Token:
		return splitToken(steps, text, o)
	case SemanticMarkdown:
		return splitSemantic(steps, text, o)
	case Sentence:
		return splitSentence(steps, text, o)
	case Markdown:
		if len(o.Headers) > 0 {
			return splitMarkdownHeaders(steps, text, o)
		}
		if o.Cuts != CutsWords && o.SeparatorPosition == SeparatorDropped && o.MaxSize > 0 {
			return splitTables(steps, text, o)
		}
		return splitRecursive(steps, text, o)
	case HTML:
		return splitHTML(steps, text, o)
	case JSON:
		return splitJSON(steps, text, o)
	}
	return nil, fault.Field("strategy", "unknown strategy %q", o.Strategy)
}

func firstInvalid(text string) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(text)
}

// All chunks together may be at most maxRepeat times as long as the text, plus
// maxRepeatSlack bytes for short texts. Without this bound, an overlap close to
// maxSize could turn a megabyte into a terabyte.
const (
	maxRepeat      = 32
	maxRepeatSlack = 1 << 20
)

// builder collects the chunks of one split whose texts are slices of the
// source.
type builder struct {
	steps  *limit.Steps
	src    source
	opts   *Options
	chunks []Chunk
	err    error // the first: too many chunks, too much repetition, or that of steps

	bytes   int // of all chunks
	lastEnd int // of the last chunk

	// The start of the last chunk, in bytes and in UTF-16 units; the startIndex of
	// the next one is counted from it.
	lastByte, lastUnit int
}

// startIndexKey is the metadata key of the start of a chunk in UTF-16 code units.
const startIndexKey = "startIndex"

// The steps that a piece of text and a chunk cost besides those of their bytes.
const (
	pieceSteps = 16
	chunkSteps = 64
)

// step counts n steps of the work. It returns false when the work must end.
func (b *builder) step(n int) bool {
	if !b.steps.Next(n) {
		b.err = cmp.Or(b.err, b.steps.Err())
	}
	return b.err == nil
}

// add appends the chunk src.text[start:end], trimmed if the options say so. It
// skips a chunk that is empty or lies within the one before. Chunks must be added
// in order of their start.
func (b *builder) add(start, end int) {
	if b.opts.StripWhitespace {
		start, end = textspan.Trim(b.src.text, start, end)
	}
	if start == end || end <= b.lastEnd || !b.step(chunkSteps) {
		return
	}
	b.lastEnd = end
	b.bytes += end - start
	switch {
	case len(b.chunks) == MaxChunks:
		b.err = tooManyChunks()
		return
	case b.bytes > maxRepeat*len(b.src.text)+maxRepeatSlack:
		b.err = fault.Field("overlap", "the chunks would repeat the text more than %d times; choose an overlap well below maxSize", maxRepeat)
		return
	}
	c := Chunk{Text: b.src.text[start:end], StartByte: start, EndByte: end}
	if b.opts.AddStartIndex {
		b.lastUnit += b.src.size(b.lastByte, start)
		b.lastByte = start
		c.Metadata = map[string]any{startIndexKey: b.lastUnit}
	}
	b.chunks = append(b.chunks, c)
}

func tooManyChunks() error {
	return fault.Field("maxSize", "the text would make more than %d chunks; choose a larger maxSize or a smaller overlap", MaxChunks)
}
