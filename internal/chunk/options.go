package chunk

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/htmlsplit"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pattern"
)

// Defaults of options.
const (
	defaultSize          = 4000
	defaultOverlap       = 200
	defaultMinSize       = 50
	defaultJoinThreshold = 500
)

// Limits of options. They bound the memory and time of one split.
const (
	// MaxSizeLimit is the largest maxSize, overlap, minSize, targetSize and
	// joinThreshold that Settings may have.
	MaxSizeLimit = 1_000_000
	maxListItems = 100  // entries of one list option
	maxItemBytes = 1000 // length of one entry
)

// commonOptions are accepted by every strategy. A strategy that does not use one
// of them (such as json with overlap) checks and ignores it.
var commonOptions = []string{
	"strategy", "maxSize", "size", "overlap",
	"separatorPosition", "keepSeparator", "stripWhitespace", "addStartIndex", "includeHidden",
}

// ownOptions are the options that a strategy accepts besides commonOptions.
var ownOptions = map[Strategy][]string{
	Recursive:        {"separators", "separator", "isSeparatorRegex", "language"},
	Character:        {"separator", "isSeparatorRegex"},
	Token:            {"encodingName", "modelName", "allowedSpecial", "disallowedSpecial"},
	Markdown:         {"headers", "returnEachLine", "stripHeaders"},
	SemanticMarkdown: {"joinThreshold", "encodingName", "modelName", "allowedSpecial", "disallowedSpecial"},
	HTML:             {"headers", "sections", "returnEachLine"},
	JSON:             {"minSize", "ensureAscii", "convertLists"},
	LaTeX:            {},
	Sentence:         {"minSize", "targetSize", "sentenceEnders", "fallbackToWords", "fallbackToCharacters"},
}

// Options checks the settings and fills in the defaults of the strategy. The
// default strategy is recursive.
//
// maxSize defaults to 4000, and overlap to 200 or a fifth of maxSize, whichever is
// smaller. For html, semantic-markdown, and markdown with headers, maxSize defaults
// to 0, no limit. json and sentence require maxSize; their overlap defaults to 0.
//
// Cuts is CutsWords with an overlap in the settings, else CutsClauses.
//
// Errors are fault.Invalid with one violation for every option that the strategy
// does not have, that is out of range, or that contradicts another.
func (s Settings) Options() (Options, error) {
	c := checker{given: s, strategy: cmp.Or(s.Strategy, Recursive)}
	if _, ok := ownOptions[c.strategy]; !ok { // the other checks depend on the strategy
		c.refuse("strategy", "unknown strategy %q; choose one of %s", s.Strategy, joinNames(slices.Collect(maps.Keys(ownOptions))))
		return Options{}, c.err()
	}
	c.refuseForeign()
	o := Options{
		Strategy:          c.strategy,
		Separators:        c.separators(),
		Separator:         c.text("separator", s.Separator, "\n\n"),
		IsSeparatorRegex:  valueOr(s.IsSeparatorRegex, false),
		SeparatorPosition: c.separatorPosition(),
		StripWhitespace:   valueOr(s.StripWhitespace, true),
		AddStartIndex:     valueOr(s.AddStartIndex, false),
		Language:          c.text("language", s.Language, ""),
		EncodingName:      c.text("encodingName", s.EncodingName, ""),
		ModelName:         c.text("modelName", s.ModelName, ""),
		AllowedSpecial:    c.list("allowedSpecial", s.AllowedSpecial),
		DisallowedSpecial: c.list("disallowedSpecial", s.DisallowedSpecial),
		Headers:           c.headers("headers", "marker", s.Headers),
		Sections:          c.headers("sections", "path", s.sectionHeaders()),
		StripHeaders:      valueOr(s.StripHeaders, true),
		ReturnEachLine:    valueOr(s.ReturnEachLine, false),
		EnsureASCII:       valueOr(s.EnsureASCII, true),
		ConvertLists:      valueOr(s.ConvertLists, false),
		JoinThreshold:     c.size("joinThreshold", s.JoinThreshold, 1, defaultJoinThreshold),
		SentenceEnders:    c.list("sentenceEnders", s.SentenceEnders),
		FallbackToWords:   valueOr(s.FallbackToWords, true),
		FallbackToChars:   valueOr(s.FallbackToCharacters, true),
	}
	if o.Cuts = CutsClauses; valueOr(s.Overlap, 0) > 0 {
		o.Cuts = CutsWords
	}
	c.sizes(&o)
	c.checkTogether(&o)
	if len(c.problems) > 0 {
		return Options{}, c.err()
	}
	return o, nil
}

func valueOr[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// checker converts settings to options and collects the violations.
type checker struct {
	given    Settings
	strategy Strategy
	problems []fault.Violation
}

func (c *checker) refuse(field, format string, args ...any) {
	c.problems = append(c.problems, fault.Violation{Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (c *checker) err() error {
	reasons := make([]string, len(c.problems))
	for i, p := range c.problems {
		reasons[i] = p.Field + ": " + p.Reason
	}
	return &fault.Error{Kind: fault.Invalid, Message: strings.Join(reasons, "; "), Violations: c.problems}
}

// refuseForeign adds a violation for each option that the strategy does not have.
func (c *checker) refuseForeign() {
	known := slices.Concat(commonOptions[1:], ownOptions[c.strategy])
	for _, name := range c.given.names() {
		if name != "strategy" && !slices.Contains(known, name) {
			c.refuse(name, "not an option of the %s strategy; it knows %s", c.strategy, joinNames(known))
		}
	}
}

// size returns the given size or otherwise. It must be from low to MaxSizeLimit.
func (c *checker) size(name string, given *int, low, otherwise int) int {
	if given == nil {
		return otherwise
	}
	if *given < low || *given > MaxSizeLimit {
		c.refuse(name, "must be a whole number from %d to %d, got %d", low, MaxSizeLimit, *given)
		return otherwise
	}
	return *given
}

func (c *checker) text(name string, given *string, otherwise string) string {
	text := valueOr(given, otherwise)
	c.checkText(name, text)
	return text
}

// list returns a copy of the given texts, nil if there are none.
func (c *checker) list(name string, given []string) []string {
	if !c.checkLength(name, len(given)) {
		return nil
	}
	for i, text := range given {
		c.checkText(fmt.Sprintf("%s[%d]", name, i), text)
	}
	return append([]string(nil), given...)
}

// separators reads separators or, for recursive, separator, which the default separators
// follow.
func (c *checker) separators() []string {
	given := c.list("separators", c.given.Separators)
	if c.strategy != Recursive || c.given.Separator == nil {
		return given
	}
	if given != nil {
		c.refuse("separator", "a short form of separators; give only one of the two")
	}
	return append([]string{*c.given.Separator}, defaultSeparators...)
}

// headers returns a copy of the given headers. markerName is the caller's name for
// the marker, for errors.
func (c *checker) headers(name, markerName string, given []HeaderKey) []HeaderKey {
	if !c.checkLength(name, len(given)) {
		return nil
	}
	for i, h := range given {
		field := fmt.Sprintf("%s[%d]", name, i)
		if strings.TrimSpace(h.Marker) == "" || h.Key == "" {
			c.refuse(field, `must be a pair of non-empty strings, {"%s": ..., "key": ...}`, markerName)
			continue
		}
		c.checkText(field, h.Marker)
		c.checkText(field, h.Key)
	}
	return append([]HeaderKey(nil), given...)
}

func (c *checker) checkLength(name string, length int) bool {
	if length > maxListItems {
		c.refuse(name, "must have at most %d entries, got %d", maxListItems, length)
		return false
	}
	return true
}

// checkText checks that a text is UTF-8 and at most maxItemBytes long.
func (c *checker) checkText(field, text string) {
	if len(text) > maxItemBytes {
		c.refuse(field, "must be at most %d bytes long, got %d", maxItemBytes, len(text))
	}
	if !utf8.ValidString(text) {
		c.refuse(field, "must be valid UTF-8, got %q", text)
	}
}

// separatorPosition reads separatorPosition or its alias keepSeparator.
func (c *checker) separatorPosition() SeparatorPosition {
	name, position := "separatorPosition", valueOr(c.given.SeparatorPosition, SeparatorDropped)
	if keep := c.given.KeepSeparator; keep != nil {
		name = "keepSeparator"
		if c.given.SeparatorPosition != nil {
			c.refuse(name, "an alias of separatorPosition; give only one of the two")
		}
		position = keep.position()
	}
	switch position {
	case SeparatorDropped, SeparatorStart, SeparatorEnd:
		return position
	}
	c.refuse(name, `must be "start" or "end", got %v; leave it out to drop separators at the edges of chunks`, position)
	return SeparatorDropped
}

func (k KeepSeparator) position() SeparatorPosition {
	switch k {
	case KeepTrue:
		return SeparatorStart
	case KeepFalse:
		return SeparatorDropped
	}
	return SeparatorPosition(k)
}

// sizes sets the sizes, whose defaults and ranges depend on each other.
func (c *checker) sizes(o *Options) {
	name, given := "maxSize", c.given.MaxSize
	if c.given.Size != nil {
		name, given = "size", c.given.Size
		if c.given.MaxSize != nil {
			c.refuse("size", "an alias of maxSize; give only one of the two")
		}
	}
	if given == nil && (c.strategy == JSON || c.strategy == Sentence) {
		c.refuse("maxSize", "the %s strategy needs it; give the size of the largest chunk, such as 1000", c.strategy)
		return
	}
	o.MaxSize = c.size(name, given, 1, c.defaultMaxSize())
	o.Overlap = c.size("overlap", c.given.Overlap, 0, c.defaultOverlap(o.MaxSize))
	if o.MaxSize > 0 && o.Overlap >= o.MaxSize {
		c.refuse("overlap", "must be smaller than %s (%d), got %d", name, o.MaxSize, o.Overlap)
	}
	switch c.strategy {
	case JSON:
		o.MinSize = c.size("minSize", c.given.MinSize, 0, min(max(o.MaxSize-200, defaultMinSize), o.MaxSize))
	case Sentence:
		o.MinSize = c.size("minSize", c.given.MinSize, 0, min(defaultMinSize, o.MaxSize))
		o.TargetSize = c.size("targetSize", c.given.TargetSize, 1, max(o.MaxSize*8/10, 1))
		if o.MaxSize > 0 && o.TargetSize > o.MaxSize {
			c.refuse("targetSize", "must be at most %s (%d), got %d", name, o.MaxSize, o.TargetSize)
		}
	}
	if o.MaxSize > 0 && o.MinSize > o.MaxSize {
		c.refuse("minSize", "must be at most %s (%d), got %d", name, o.MaxSize, o.MinSize)
	}
}

func (c *checker) defaultMaxSize() int {
	switch {
	case c.strategy == HTML, c.strategy == SemanticMarkdown, c.strategy == Markdown && len(c.given.Headers) > 0:
		return 0
	}
	return defaultSize
}

// defaultOverlap returns the overlap of settings without one. It is smaller for a
// small maxSize, which it must stay below, and 0 without a maxSize.
func (c *checker) defaultOverlap(maxSize int) int {
	if c.strategy == Sentence || c.strategy == JSON {
		return 0
	}
	return min(defaultOverlap, maxSize/5)
}

// checkTogether checks options that depend on each other and sets the encoding.
func (c *checker) checkTogether(o *Options) {
	if o.Language != "" && !knownLanguage(o.Language) {
		c.refuse("language", "no preset for %q; choose one of %s", o.Language, strings.Join(Languages(), ", "))
	}
	if o.IsSeparatorRegex {
		states := maxStates
		for i, s := range c.given.Separators {
			c.checkRegex(fmt.Sprintf("separators[%d]", i), s, &states)
		}
		if c.given.Separator != nil {
			c.checkRegex("separator", o.Separator, &states)
		}
	}
	if o.Strategy == HTML && len(o.Headers) == 0 && len(o.Sections) == 0 {
		c.refuse("headers", `the html strategy needs headers or sections; give pairs of tag and metadata key, such as [["h1", "title"]]`)
	}
	if o.Strategy == HTML {
		c.checkSelectors("headers", o.Headers)
		c.checkSelectors("sections", o.Sections)
	}
	if o.Strategy == Token || o.Strategy == SemanticMarkdown {
		c.resolveEncoding(o)
	}
	for i, s := range o.SentenceEnders {
		if utf8.RuneCountInString(s) != 1 {
			c.refuse(fmt.Sprintf("sentenceEnders[%d]", i), "must be a single character, got %q", s)
		}
	}
}

// checkRegex checks a regular expression, which may have so many states; it takes them.
func (c *checker) checkRegex(field, source string, states *int) {
	if source == "" { // cut anywhere, in regular expressions as in literals
		return
	}
	re, err := pattern.Compile(source, *states)
	switch {
	case errors.Is(err, pattern.ErrTooLarge):
		c.refuse(field, "the regular expressions are too large: repetitions such as {1,1000} count with what they stand for, and all together may have %d states", maxStates)
	case err != nil:
		c.refuse(field, "not a regular expression in RE2 syntax (no look-around, no back references): %v", err)
	case re.MatchString(""):
		c.refuse(field, "the regular expression %q matches the empty text and so everywhere; use + in place of *", source)
	}
	*states -= re.States
}

func (c *checker) checkSelectors(name string, headers []HeaderKey) {
	for i, h := range headers {
		if _, ok := htmlsplit.ParseSelector(h.Marker, h.Key); !ok {
			c.refuse(fmt.Sprintf("%s[%d]", name, i), "%q is not a selector of the forms %s", h.Marker, htmlsplit.SelectorForms)
		}
	}
}

func joinNames[S ~string](names []S) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
