package chunk

import (
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/fault"
)

// MaxChunks is the largest number of chunks that Split makes of one text.
const MaxChunks = 1_000_000

// Split cuts text by the options, which come from Settings. The chunks are
// in the order of the text (json: of the parts that they show); a blank text
// has none.
//
// For the strategies that cut and do not rebuild (recursive, character, token,
// markdown without headers, latex) text[c.StartByte:c.EndByte] is c.Text. The
// others give the bounds of the part of the source that a chunk was made from.
//
// Texts are slices of the source wherever possible, so keeping one chunk keeps
// the whole source in memory.
//
// Errors are fault.Invalid: text that is not valid UTF-8 or not what the
// strategy reads, options that Settings.Options would refuse, and splits into more
// than MaxChunks or with so much overlap that a text is repeated over and over.
func Split(text string, opts Options) ([]Chunk, error) {
	if !utf8.ValidString(text) {
		return nil, fault.Field("text", "is not valid UTF-8 (first bad byte at offset %d); convert it to UTF-8 first", firstInvalid(text))
	}
	if start, end := textspan.Trim(text, 0, len(text)); start == end && opts.Strategy != JSON {
		return nil, nil
	}
	switch opts.Strategy {
	case Recursive, LaTeX:
		return splitRecursive(text, &opts)
	case Character:
		return splitCharacter(text, &opts)
	case Token:
		return splitToken(text, &opts)
	case SemanticMarkdown:
		return splitSemantic(text, &opts)
	case Sentence:
		return splitSentence(text, &opts)
	case Markdown:
		if len(opts.Headers) > 0 {
			return splitMarkdownHeaders(text, &opts)
		}
		return splitRecursive(text, &opts)
	case HTML:
		return splitHTML(text, &opts)
	case JSON:
		return splitJSON(text, &opts)
	}
	return nil, fault.Field("strategy", "unknown strategy %q", opts.Strategy)
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

// maxRepeat is how many times its own length a text may be long in all its
// chunks together, some slack for short texts apart. An overlap close to the
// size would otherwise turn a megabyte into a terabyte.
const (
	maxRepeat      = 32
	maxRepeatSlack = 1 << 20
)

// builder collects the chunks of one split whose texts are slices of the
// source.
type builder struct {
	src    source
	opts   *Options
	chunks []Chunk
	err    error // set once, when there is too much

	bytes   int // of all chunks
	lastEnd int // of the last chunk

	// The start of the last chunk, in bytes and in UTF-16 units: startIndex of
	// the next one is counted from here.
	lastByte, lastUnit int
}

// add appends the chunk src.text[start:end], trimmed if the options say so,
// unless nothing is left of it that the chunk before does not have. Chunks come
// in order of their start.
func (b *builder) add(start, end int) {
	if b.opts.StripWhitespace {
		start, end = textspan.Trim(b.src.text, start, end)
	}
	if start == end || end <= b.lastEnd || b.err != nil {
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
		c.Metadata = map[string]any{"startIndex": b.lastUnit}
	}
	b.chunks = append(b.chunks, c)
}

func tooManyChunks() error {
	return fault.Field("maxSize", "the text would make more than %d chunks; choose a larger maxSize or a smaller overlap", MaxChunks)
}
