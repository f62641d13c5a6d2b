package chunk

// Chunk is a piece of a text.
type Chunk struct {
	// Text is the text to embed and show. It is valid UTF-8 and never empty; it
	// is blank only if the options keep white space.
	Text string
	// Metadata is what the strategy knows of the chunk: titles of headings,
	// xpath, tokenCount, startIndex. It is nil if there is nothing. The caller
	// owns it; no two chunks share one map.
	Metadata map[string]any
	// The chunk was made from source[StartByte:EndByte], in bytes, at borders of
	// code points.
	StartByte, EndByte int
	// TokenCount is the number of tokens of Text in the encoding of the options. It
	// is 0 for strategies that do not count tokens.
	TokenCount int
}

// Strategy names a way of cutting texts into chunks.
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

// SeparatorPosition says which of two neighbouring chunks keeps the separator
// between them.
type SeparatorPosition string

// The separator positions.
const (
	SeparatorDropped SeparatorPosition = ""      // neither chunk; separators within a chunk stay
	SeparatorStart   SeparatorPosition = "start" // the start of the second chunk
	SeparatorEnd     SeparatorPosition = "end"   // the end of the first chunk
)

// HeaderKey maps a header marker ("##") or an HTML tag ("h2") to the metadata
// key under which the text of the heading or element is stored.
type HeaderKey struct {
	Marker string `json:"marker"`
	Key    string `json:"key"`
}

// Options are checked settings with the defaults of the strategy filled in.
// Settings.Options returns them. Sizes are in UTF-16 code units, or in tokens for
// the strategies that count tokens.
type Options struct {
	Strategy          Strategy
	MaxSize           int // upper bound of a chunk; 0 is no limit
	MinSize           int // json: smaller chunks are merged where they fit
	Overlap           int // how much of a chunk the next one repeats, at most
	Separators        []string
	Separator         string
	IsSeparatorRegex  bool
	SeparatorPosition SeparatorPosition
	StripWhitespace   bool
	AddStartIndex     bool
	Language          string // preset of separators for recursive
	EncodingName      string // tokenizer
	ModelName         string // model whose tokenizer is used; overrides EncodingName
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
	Cuts              Cuts
}

// Cuts says where recursive, latex, and the strategies that cut their chunks as recursive does may
// cut within a line, if they are not given separators.
type Cuts int

// The places of cuts, each before the next.
const (
	CutsWords     Cuts = iota // spaces, characters
	CutsClauses               // ends of sentences and clauses in scripts that need no white space after them, spaces, words, characters
	CutsSentences             // the same, and before them ends of sentences in all scripts
)
