package grounding

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

const (
	// maxLanguages is how many languages words are stemmed in: those of the answer and of the most sources.
	maxLanguages = 3
	// shortText is how many bytes of a text may be too few to tell its language.
	shortText = 250
	// readText is how many bytes of a text are read for its script.
	readText = 400
)

// languages are those of an answer and of its sources.
type languages struct {
	answer  string
	sources []string
	stems   []string // to stem words in
}

// languagesOf tells the languages of texts. A short text is in that of all texts together, or in one of its sources, whichever it has
// the most stop words of.
func languagesOf(answer string, sources []Source, given []string) languages {
	var whole strings.Builder
	bytes := map[string]int{}
	for _, s := range sources {
		whole.WriteString(textlimit.Cut(s.Text, readText) + "\n")
		if len(s.Text) > shortText {
			bytes[analyzer.Detect(s.Text)] += len(s.Text)
		}
	}
	often := slices.SortedFunc(maps.Keys(bytes), func(a, b string) int { return cmp.Or(bytes[b]-bytes[a], cmp.Compare(a, b)) })
	likely := slices.Concat(often, []string{analyzer.Detect(whole.String() + answer), analyzer.English})
	l := languages{answer: languageOf(answer, likely)}
	for _, s := range sources {
		l.sources = append(l.sources, languageOf(s.Text, likely))
	}
	for _, language := range slices.Concat(given, []string{l.answer}, l.sources) {
		if analyzer.Knows(language) && language != analyzer.Auto && !slices.Contains(l.stems, language) && len(l.stems) < maxLanguages {
			l.stems = append(l.stems, language)
		}
	}
	return l
}

// common are languages that a short text may have though nothing else tells.
var common = []string{"german", "french", "spanish", "italian", "portuguese", "dutch"}

// languageOf returns the language of a text. One that is too short to tell is in the one of several, the most likely first, of
// which it has the most stop words.
func languageOf(text string, likely []string) string {
	if cyrillic(text) {
		return "russian"
	}
	found := analyzer.Detect(text)
	if len(text) > shortText {
		return found
	}
	best, most := likely[0], -1
	for _, language := range slices.Concat(likely, []string{found}, common) {
		stop, hits := stopWord(language), 0
		for _, l := range lexemesOf(text) {
			if l.kind == letters && stop(l.fold) {
				hits++
			}
		}
		if hits > most {
			best, most = language, hits
		}
	}
	return best
}

// cyrillic reports whether most letters at the beginning of a text are Cyrillic.
func cyrillic(text string) bool {
	n, all := 0, 0
	for at, r := range text {
		if at > readText {
			break
		}
		if unicode.IsLetter(r) {
			all++
			if unicode.Is(unicode.Cyrillic, r) {
				n++
			}
		}
	}
	return 2*n > all
}
