package chunk

import (
	"path"
	"strings"
)

// StrategyFor returns the strategy that fits a document best, and for source
// code the language preset of the recursive strategy ("" if there is none). A
// known content type takes precedence over the file name; text/plain,
// application/octet-stream, unknown types and the empty one are ignored. The file
// name may be a path or a URL.
func StrategyFor(contentType, fileName string) (Strategy, string) {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	if k, ok := mediaTypes[mediaType]; ok {
		return k.strategy, k.language
	}
	if strings.HasSuffix(mediaType, "+json") {
		return JSON, ""
	}
	if k, ok := extensions[extension(fileName)]; ok {
		return k.strategy, k.language
	}
	return Recursive, ""
}

// Default sizes for retrieval; docs/explanation/chunk-sizes.md has the measurements. The
// defaults of Options are larger, like those of other chunkers.
const (
	DefaultMaxSize       = 800 // UTF-16 code units
	DefaultOverlap       = 200
	DefaultMaxTokens     = 200 // for the token strategy
	DefaultOverlapTokens = 50
)

// OptionsFor returns the options for a document. Without a strategy in the settings
// it chooses one by content type and file name and adds the options that this
// strategy requires: a maxSize for json; a maxSize and the headings h1 to h6 for
// html. Errors are those of Options.
func (s Settings) OptionsFor(contentType, fileName string) (Options, error) {
	return s.withStrategy(contentType, fileName).Options()
}

// RetrievalOptions returns the options for a document that will be searched. It
// chooses the strategy like OptionsFor. Without a size in the settings it sets
// DefaultMaxSize and DefaultOverlap, or DefaultMaxTokens and DefaultOverlapTokens
// for the token strategy; semantic-markdown has no default size, as joinThreshold
// limits its chunks. Sentences are cut only if they are longer than a chunk: Cuts is
// CutsSentences. Errors are those of Options.
func (s Settings) RetrievalOptions(contentType, fileName string) (Options, error) {
	filled := s.withStrategy(contentType, fileName)
	if !s.hasSize() && filled.Strategy != SemanticMarkdown {
		size, overlap := DefaultMaxSize, DefaultOverlap
		if filled.Strategy == Token {
			size, overlap = DefaultMaxTokens, DefaultOverlapTokens
		}
		filled.MaxSize = &size
		if s.Overlap == nil {
			filled.Overlap = &overlap
		}
	}
	o, err := filled.Options()
	if err != nil {
		return Options{}, err
	}
	o.Cuts = CutsSentences
	return o, nil
}

func (s Settings) hasSize() bool { return s.MaxSize != nil || s.Size != nil }

// withStrategy returns the settings with a strategy. If it had to choose one, it
// adds the options that this strategy requires.
func (s Settings) withStrategy(contentType, fileName string) Settings {
	if s.Strategy != "" {
		return s
	}
	filled := s
	var language string
	filled.Strategy, language = StrategyFor(contentType, fileName)
	switch filled.Strategy {
	case Recursive:
		if language != "" && s.Language == nil && len(s.Separators) == 0 {
			filled.Language = &language
		}
	case HTML, JSON:
		if !s.hasSize() {
			filled.MaxSize = new(defaultSize)
		}
		if filled.Strategy == HTML && len(s.Headers) == 0 && len(s.Sections) == 0 {
			filled.Headers = DefaultHTMLHeaders
		}
	}
	return filled
}

// kind is the strategy for a format, with a language for recursive.
type kind struct {
	strategy Strategy
	language string
}

var mediaTypes = map[string]kind{
	"text/html":                {HTML, ""},
	"application/xhtml+xml":    {HTML, ""},
	"text/markdown":            {Markdown, ""},
	"text/x-markdown":          {Markdown, ""},
	"application/json":         {JSON, ""},
	"text/json":                {JSON, ""},
	"application/x-tex":        {LaTeX, ""},
	"application/x-latex":      {LaTeX, ""},
	"text/x-tex":               {LaTeX, ""},
	"text/x-latex":             {LaTeX, ""},
	"text/x-rst":               {Recursive, "rst"},
	"text/prs.fallenstein.rst": {Recursive, "rst"},
	"text/x-c":                 {Recursive, "c"},
	"text/x-csrc":              {Recursive, "c"},
	"text/x-chdr":              {Recursive, "c"},
	"text/x-c++":               {Recursive, "cpp"},
	"text/x-c++src":            {Recursive, "cpp"},
	"text/x-c++hdr":            {Recursive, "cpp"},
	"text/x-csharp":            {Recursive, "csharp"},
	"text/x-go":                {Recursive, "go"},
	"text/x-java":              {Recursive, "java"},
	"text/x-java-source":       {Recursive, "java"},
	"text/x-kotlin":            {Recursive, "kotlin"},
	"text/x-scala":             {Recursive, "scala"},
	"text/javascript":          {Recursive, "js"},
	"application/javascript":   {Recursive, "js"},
	"application/x-javascript": {Recursive, "js"},
	"application/typescript":   {Recursive, "ts"},
	"text/x-typescript":        {Recursive, "ts"},
	"text/x-php":               {Recursive, "php"},
	"application/x-php":        {Recursive, "php"},
	"application/x-httpd-php":  {Recursive, "php"},
	"text/x-python":            {Recursive, "python"},
	"text/x-script.python":     {Recursive, "python"},
	"application/x-python":     {Recursive, "python"},
	"text/x-ruby":              {Recursive, "ruby"},
	"application/x-ruby":       {Recursive, "ruby"},
	"text/x-rust":              {Recursive, "rust"},
	"text/rust":                {Recursive, "rust"},
	"text/x-swift":             {Recursive, "swift"},
	"text/x-lua":               {Recursive, "lua"},
	"text/x-perl":              {Recursive, "perl"},
	"application/x-perl":       {Recursive, "perl"},
	"text/x-haskell":           {Recursive, "haskell"},
	"text/x-elixir":            {Recursive, "elixir"},
	"text/x-protobuf":          {Recursive, "proto"},
	"text/x-cobol":             {Recursive, "cobol"},
}

var extensions = map[string]kind{
	".html": {HTML, ""}, ".htm": {HTML, ""}, ".xhtml": {HTML, ""},
	".md": {Markdown, ""}, ".markdown": {Markdown, ""}, ".mdown": {Markdown, ""}, ".mkd": {Markdown, ""}, ".mdx": {Markdown, ""},
	".json": {JSON, ""}, ".geojson": {JSON, ""}, ".jsonld": {JSON, ""}, ".webmanifest": {JSON, ""}, ".ipynb": {Markdown, ""},
	".tex": {LaTeX, ""}, ".latex": {LaTeX, ""}, ".ltx": {LaTeX, ""},
	".rst": {Recursive, "rst"},
	".c":   {Recursive, "c"}, ".h": {Recursive, "c"},
	".cc": {Recursive, "cpp"}, ".cpp": {Recursive, "cpp"}, ".cxx": {Recursive, "cpp"}, ".hh": {Recursive, "cpp"}, ".hpp": {Recursive, "cpp"}, ".hxx": {Recursive, "cpp"},
	".cs":   {Recursive, "csharp"},
	".go":   {Recursive, "go"},
	".java": {Recursive, "java"},
	".kt":   {Recursive, "kotlin"}, ".kts": {Recursive, "kotlin"},
	".scala": {Recursive, "scala"}, ".sc": {Recursive, "scala"},
	".js": {Recursive, "js"}, ".mjs": {Recursive, "js"}, ".cjs": {Recursive, "js"}, ".jsx": {Recursive, "js"},
	".ts": {Recursive, "ts"}, ".mts": {Recursive, "ts"}, ".cts": {Recursive, "ts"}, ".tsx": {Recursive, "ts"},
	".php": {Recursive, "php"},
	".py":  {Recursive, "python"}, ".pyi": {Recursive, "python"},
	".rb":    {Recursive, "ruby"},
	".rs":    {Recursive, "rust"},
	".swift": {Recursive, "swift"},
	".sol":   {Recursive, "sol"},
	".lua":   {Recursive, "lua"},
	".pl":    {Recursive, "perl"}, ".pm": {Recursive, "perl"},
	".hs": {Recursive, "haskell"},
	".ex": {Recursive, "elixir"}, ".exs": {Recursive, "elixir"},
	".ps1": {Recursive, "powershell"}, ".psm1": {Recursive, "powershell"},
	".proto": {Recursive, "proto"},
	".cob":   {Recursive, "cobol"}, ".cbl": {Recursive, "cobol"}, ".cpy": {Recursive, "cobol"},
}

// extension returns the lower-case extension of a file name, path or URL.
func extension(name string) string {
	if strings.Contains(name, "://") {
		name, _, _ = strings.Cut(name, "#")
		name, _, _ = strings.Cut(name, "?")
	}
	return strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
}
