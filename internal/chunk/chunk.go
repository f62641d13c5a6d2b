// Package chunk cuts a text into chunks: text and options in, chunks out. It
// does no I/O, keeps no state and is safe for concurrent use.
//
//	opts, err := chunk.Settings{Strategy: chunk.Recursive, MaxSize: new(800)}.Options()
//	chunks, err := chunk.Split(text, opts)
package chunk

// Chunk is a piece of a text.
type Chunk struct {
	// Text is embedded and shown: valid UTF-8, never empty, and never
	// blank unless the options keep white space.
	Text string
	// Metadata describes the position of the chunk as far as the strategy knows it:
	// header path, section title, token count, startIndex. Nil if nothing. The
	// caller owns it; no two chunks share one map.
	Metadata map[string]any
	// StartByte and EndByte bound the part of the source that the chunk was
	// made from: source[StartByte:EndByte], in bytes, on code point borders.
	StartByte, EndByte int
	// TokenCount is the number of tokens of Text in the encoding of the options,
	// set by the strategies that count tokens and 0 for the others.
	TokenCount int
}

// Strategy names a way of cutting.
type Strategy string

// The strategies.
const (
	Recursive        Strategy = "recursive"
	Character        Strategy = "character"
	Token            Strategy = "token"
	Markdown         Strategy = "markdown"
	SemanticMarkdown Strategy = "semantic-markdown"
	HTML             Strategy = "html"
	JSON             Strategy = "json"
	LaTeX            Strategy = "latex"
	Sentence         Strategy = "sentence"
)

// SeparatorPosition says on which side of a cut the separator's text stays.
type SeparatorPosition string

// The separator positions. Dropped, the default, removes a separator at the
// outer edge of a chunk and keeps it inside one.
const (
	SeparatorDropped SeparatorPosition = ""
	SeparatorStart   SeparatorPosition = "start"
	SeparatorEnd     SeparatorPosition = "end"
)

// HeaderKey maps a header marker ("##") or an HTML tag ("h2") to the metadata
// key under which its text is stored.
type HeaderKey struct {
	Marker string `json:"marker"`
	Key    string `json:"key"`
}

// Options are the settings of one split, checked and with the defaults of the
// strategy. Settings.Options makes them. Sizes are in UTF-16
// code units, except for the strategies that count tokens.
type Options struct {
	Strategy          Strategy
	MaxSize           int // upper bound of a chunk
	MinSize           int // json: chunks under it are merged where they fit
	Overlap           int // wanted repetition between neighbours
	Separators        []string
	Separator         string
	IsSeparatorRegex  bool
	SeparatorPosition SeparatorPosition
	StripWhitespace   bool
	AddStartIndex     bool
	Language          string // preset of separators for recursive
	EncodingName      string // tokenizer
	ModelName         string // names the tokenizer by a model; beats EncodingName
	AllowedSpecial    []string
	DisallowedSpecial []string
	Headers           []HeaderKey // markdown, html
	Sections          []HeaderKey // html: Marker is the tag
	StripHeaders      bool
	ReturnEachLine    bool
	EnsureASCII       bool
	ConvertLists      bool
	JoinThreshold     int // semantic-markdown: tokens
	SentenceEnders    []string
	TargetSize        int
	FallbackToWords   bool
	FallbackToChars   bool
}
