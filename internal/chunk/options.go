package chunk

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/fault"
)

// Defaults for the options that a caller leaves out.
const (
	defaultSize          = 4000
	defaultOverlap       = 200
	defaultMinSize       = 50
	defaultJoinThreshold = 500
)

// Limits on what a caller may ask for. They bound the memory and the time of
// one split, not what is useful.
const (
	// MaxSizeLimit is the largest maxSize, overlap, minSize, targetSize and
	// joinThreshold that ParseOptions accepts.
	MaxSizeLimit = 1_000_000
	maxListItems = 100  // entries of one list option
	maxItemBytes = 1000 // length of one entry
)

// commonOptions are known to every strategy; where one has no use for an
// option (overlap in json) it is checked and then ignored.
var commonOptions = []string{
	"strategy", "maxSize", "size", "overlap",
	"separatorPosition", "keepSeparator", "stripWhitespace", "addStartIndex",
}

// ownOptions are the options that only some strategies know.
var ownOptions = map[Strategy][]string{
	Recursive:        {"separators", "isSeparatorRegex", "language"},
	Character:        {"separator", "isSeparatorRegex"},
	Token:            {"encodingName", "modelName", "allowedSpecial", "disallowedSpecial"},
	Markdown:         {"headers", "returnEachLine", "stripHeaders"},
	SemanticMarkdown: {"joinThreshold", "encodingName", "modelName", "allowedSpecial", "disallowedSpecial"},
	HTML:             {"headers", "sections", "returnEachLine"},
	JSON:             {"minSize", "ensureAscii", "convertLists"},
	LaTeX:            {},
	Sentence:         {"minSize", "targetSize", "sentenceEnders", "fallbackToWords", "fallbackToCharacters"},
}

// ParseOptions decodes the options of a split from their JSON form: the keys of
// the `chunking` message in camelCase, numbers as float64 or int, lists as
// []any or []string. A nil or empty map is the recursive strategy with its
// defaults; a nil value is an option left out.
//
// maxSize defaults to 4000, and overlap to 200 or a fifth of maxSize, whichever
// is smaller. The markdown strategy with headers, html and semantic-markdown
// leave MaxSize 0, no limit, unless the caller sets it.
//
// Errors are fault.Invalid and carry one violation for every option that is
// wrong: unknown to the strategy, of the wrong type or out of range.
func ParseOptions(raw map[string]any) (Options, error) {
	r := optionReader{raw: raw, strategy: Recursive}
	r.readStrategy()
	if len(r.problems) > 0 { // without a strategy nothing else can be judged
		return Options{}, r.err()
	}
	r.refuseUnknown()
	o := Options{
		Strategy:          r.strategy,
		Separators:        r.strings("separators"),
		Separator:         r.string("separator", "\n\n"),
		IsSeparatorRegex:  r.bool("isSeparatorRegex", false),
		SeparatorPosition: r.separatorPosition(),
		StripWhitespace:   r.bool("stripWhitespace", true),
		AddStartIndex:     r.bool("addStartIndex", false),
		Language:          r.string("language", ""),
		EncodingName:      r.string("encodingName", ""),
		ModelName:         r.string("modelName", ""),
		AllowedSpecial:    r.specials("allowedSpecial"),
		DisallowedSpecial: r.specials("disallowedSpecial"),
		Headers:           r.pairs("headers", "marker"),
		Sections:          r.pairs("sections", "path"),
		StripHeaders:      r.bool("stripHeaders", true),
		ReturnEachLine:    r.bool("returnEachLine", false),
		EnsureASCII:       r.bool("ensureAscii", true),
		ConvertLists:      r.bool("convertLists", false),
		JoinThreshold:     r.int("joinThreshold", 1, defaultJoinThreshold),
		SentenceEnders:    r.strings("sentenceEnders"),
		FallbackToWords:   r.bool("fallbackToWords", true),
		FallbackToChars:   r.bool("fallbackToCharacters", true),
	}
	r.readSizes(&o)
	r.resolve(&o)
	if len(r.problems) > 0 {
		return Options{}, r.err()
	}
	return o, nil
}

// optionReader takes options out of a map and collects what is wrong with them.
type optionReader struct {
	raw      map[string]any
	strategy Strategy
	problems []fault.Violation
}

func (r *optionReader) refuse(field, format string, args ...any) {
	r.problems = append(r.problems, fault.Violation{Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (r *optionReader) err() error {
	reasons := make([]string, len(r.problems))
	for i, p := range r.problems {
		reasons[i] = p.Field + ": " + p.Reason
	}
	return &fault.Error{Kind: fault.Invalid, Message: strings.Join(reasons, "; "), Violations: r.problems}
}

// has reports whether the caller gave the option.
func (r *optionReader) has(name string) bool { return r.raw[name] != nil }

func (r *optionReader) readStrategy() {
	name := r.string("strategy", string(Recursive))
	r.strategy = Strategy(name)
	if _, ok := ownOptions[r.strategy]; !ok && len(r.problems) == 0 {
		r.refuse("strategy", "unknown strategy %q; choose one of %s", name, joinNames(slices.Collect(maps.Keys(ownOptions))))
	}
}

func (r *optionReader) refuseUnknown() {
	known := slices.Concat(commonOptions[1:], ownOptions[r.strategy])
	for _, name := range slices.Sorted(maps.Keys(r.raw)) {
		if name != "strategy" && r.has(name) && !slices.Contains(known, name) {
			r.refuse(name, "not an option of the %s strategy; it knows %s", r.strategy, joinNames(known))
		}
	}
}

// readSizes reads the sizes, whose defaults and ranges depend on each other.
func (r *optionReader) readSizes(o *Options) {
	sizeName := "maxSize"
	if r.has("size") {
		sizeName = "size"
		if r.has("maxSize") {
			r.refuse("size", "an alias of maxSize; give only one of the two")
		}
	}
	o.MaxSize = r.int(sizeName, 1, r.defaultMaxSize())
	switch given := r.has(sizeName); {
	case !given && (r.strategy == JSON || r.strategy == Sentence):
		r.refuse("maxSize", "the %s strategy needs it; give the size of the largest chunk, such as 1000", r.strategy)
		return
	case o.MaxSize == 0 && !given: // no limit, nothing to overlap
		o.Overlap = r.int("overlap", 0, 0)
	default:
		o.Overlap = r.int("overlap", 0, r.defaultOverlap(o.MaxSize))
	}
	if o.MaxSize > 0 && o.Overlap >= o.MaxSize {
		r.refuse("overlap", "must be smaller than %s (%d), got %d", sizeName, o.MaxSize, o.Overlap)
	}
	switch r.strategy {
	case JSON:
		o.MinSize = r.int("minSize", 0, min(max(o.MaxSize-200, defaultMinSize), o.MaxSize))
	case Sentence:
		o.MinSize = r.int("minSize", 0, min(defaultMinSize, o.MaxSize))
		o.TargetSize = r.int("targetSize", 1, max(o.MaxSize*8/10, 1))
		if o.MaxSize > 0 && o.TargetSize > o.MaxSize {
			r.refuse("targetSize", "must be at most %s (%d), got %d", sizeName, o.MaxSize, o.TargetSize)
		}
	}
	if o.MaxSize > 0 && o.MinSize > o.MaxSize {
		r.refuse("minSize", "must be at most %s (%d), got %d", sizeName, o.MaxSize, o.MinSize)
	}
}

func (r *optionReader) defaultMaxSize() int {
	switch {
	case r.strategy == HTML, r.strategy == SemanticMarkdown, r.strategy == Markdown && r.has("headers"):
		return 0
	}
	return defaultSize
}

// defaultOverlap keeps small sizes usable without an explicit overlap: a fixed
// 200 would refuse every size up to 200.
func (r *optionReader) defaultOverlap(maxSize int) int {
	if r.strategy == Sentence || r.strategy == JSON {
		return 0
	}
	return min(defaultOverlap, maxSize/5)
}

// resolve checks options against each other and settles what follows from them.
func (r *optionReader) resolve(o *Options) {
	if o.Language != "" && !knownLanguage(o.Language) {
		r.refuse("language", "no preset for %q; choose one of %s", o.Language, strings.Join(Languages(), ", "))
	}
	if o.IsSeparatorRegex {
		for i, s := range o.Separators {
			r.checkRegex(fmt.Sprintf("separators[%d]", i), s)
		}
		if r.has("separator") {
			r.checkRegex("separator", o.Separator)
		}
	}
	if o.Strategy == HTML && len(o.Headers) == 0 && len(o.Sections) == 0 {
		r.refuse("headers", `the html strategy needs headers or sections; give pairs of tag and metadata key, such as [["h1", "title"]]`)
	}
	if o.Strategy == HTML {
		r.checkSelectors("headers", o.Headers)
		r.checkSelectors("sections", o.Sections)
	}
	if o.Strategy == Token || o.Strategy == SemanticMarkdown {
		r.resolveEncoding(o)
	}
	for i, s := range o.SentenceEnders {
		if utf8.RuneCountInString(s) != 1 {
			r.refuse(fmt.Sprintf("sentenceEnders[%d]", i), "must be a single character, got %q", s)
		}
	}
}

func (r *optionReader) checkRegex(field, source string) {
	re, err := regexp.Compile(source)
	switch {
	case source == "": // cut anywhere, in regular expressions as in literals
	case err != nil:
		r.refuse(field, "not a regular expression in RE2 syntax (no look-around, no back references): %v", err)
	case re.MatchString(""):
		r.refuse(field, "the regular expression %q matches the empty text and so everywhere; use + in place of *", source)
	}
}

func (r *optionReader) checkSelectors(name string, pairs []HeaderKey) {
	for i, p := range pairs {
		if _, ok := parseSelector(p.Marker); !ok {
			r.refuse(fmt.Sprintf("%s[%d]", name, i), "%q is not a selector of the forms %s", p.Marker, selectorForms)
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
