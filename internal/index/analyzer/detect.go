package analyzer

import (
	"math/bits"
	"strings"
	"sync"

	"github.com/abadojack/whatlanggo"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

const (
	// readBytes is how much of a text is searched for stop words, and modelBytes how much is given to
	// the trigram model, which takes a millisecond for them.
	readBytes  = 1 << 10
	modelBytes = 512
	// leastHits is how many stop words tell a language, if it has leadingFactor times as many as any other.
	leastHits     = 4
	leadingFactor = 1.5
	// tellingBytes is the least size of a text without stop words whose language the model tells.
	tellingBytes = 100
	// sureConfidence is the least confidence of the model.
	sureConfidence = 0.6
)

// detectable are the languages in Latin letters that have a stemmer.
var detectable = map[whatlanggo.Lang]string{
	whatlanggo.Dan: "danish", whatlanggo.Nld: "dutch", whatlanggo.Eng: "english", whatlanggo.Fin: "finnish", whatlanggo.Fra: "french",
	whatlanggo.Deu: "german", whatlanggo.Hun: "hungarian", whatlanggo.Ita: "italian", whatlanggo.Nob: "norwegian", whatlanggo.Nno: "norwegian",
	whatlanggo.Por: "portuguese", whatlanggo.Ron: "romanian", whatlanggo.Spa: "spanish", whatlanggo.Swe: "swedish", whatlanggo.Tur: "turkish",
}

// Detect returns the language of the words in Latin letters of a text: one that New knows, or Simple for
// a language without a stemmer. A text that is too short to tell is taken for English. Stop words tell the
// language of most texts, in some microseconds; a model of trigrams that of others.
func Detect(text string) string {
	text = textlimit.Cut(text, readBytes)
	language, hits := byStopWords(text)
	if language != "" {
		return language
	}
	if len(text) < tellingBytes && hits == 0 {
		return English
	}
	info := whatlanggo.Detect(textlimit.Cut(text, modelBytes))
	language, ok := detectable[info.Lang]
	switch {
	case info.Script != latin:
		return English
	case ok && info.Confidence >= sureConfidence:
		return language
	case !ok && info.IsReliable() && len(text) >= 2*tellingBytes:
		return Simple
	}
	return English
}

// listed are the languages with a list of stop words, and stopLanguages those that have a word in theirs, as a
// set of bits.
var (
	listed        = []string{"danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "norwegian", "portuguese", "spanish", "swedish", "turkish"}
	stopLanguages = sync.OnceValue(func() map[string]uint16 {
		all := map[string]uint16{}
		for n, language := range listed {
			for word := range stopWords(language) {
				all[word] |= 1 << n
			}
		}
		return all
	})
)

// byStopWords returns the language whose stop words a text has clearly more of than of any other, empty if
// there is none, and how many stop words of any language it has.
func byStopWords(text string) (language string, hits int) {
	languages := stopLanguages()
	var counts [16]int
	scan(text, func(t token) {
		if t.kind != word || len(t.text) < 2 {
			return
		}
		set := languages[folded(t.text)]
		if set != 0 {
			hits++
		}
		for ; set != 0; set &= set - 1 {
			counts[bits.TrailingZeros16(set)]++
		}
	})
	best, second := 0, 0
	for n, count := range counts {
		switch {
		case count > best:
			best, second, language = count, best, listed[n]
		case count > second:
			second = count
		}
	}
	if best < leastHits || float64(best) < leadingFactor*float64(second) {
		return "", hits
	}
	return language, hits
}

var latin = whatlanggo.DetectScript(strings.Repeat("a", 3))
