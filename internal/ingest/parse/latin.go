package parse

import (
	"bytes"
	"cmp"
	_ "embed" // of latin_letters.txt
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// latinPages are the encodings of languages that are written with Latin letters, with the codes of these languages. Of two in which a text is the same, it
// is in the first.
var latinPages = []struct {
	encoding  string
	row       int // of letters outside of ASCII, the longest
	languages string
	rare      bool // a text in it has to fit clearly better than in others
}{
	{"windows-1252", 2, western + " et", false},
	{"windows-1250", 3, central, false},
	{"windows-1254", 3, "tr", false},
	{"iso-8859-2", 3, central, false},
	{"iso-8859-15", 2, "fr fi et", false},
	{"iso-8859-16", 2, "ro", false},
	{"windows-1257", 2, "lt lv et", false},
	{"iso-8859-13", 2, "lt lv", false},
	{"iso-8859-4", 2, "lt lv", false},
	{"iso-8859-3", 2, "eo", true},
	{"ibm850", 2, western, false},
	{"ibm852", 3, central, false},
	{"macintosh", 2, western, false},
	{"x-mac-ce", 3, central + " lt lv et", true},
	{"ibm857", 3, "tr", true},
	{"ibm775", 2, "lt lv et", true},
}

const (
	western = "ca da de en es eu fi fr ga gl is it nb nl pt sq sv"
	central = "cs hr hu pl ro sk sl"
)

// letterOf are the neighbours of a letter in a language.
type letterOf struct {
	language string
	letter   rune
}

// latinLetters are the letters before and after those of a language that are not of ASCII; _ is the begin or the end of a word, and * before a letter that
// is a word. They were counted in translations, see bench/parse/letters.py.
//
//go:embed latin_letters.txt
var latinLetters string

var latin = sync.OnceValue(func() (known struct {
	neighbours map[letterOf][2]string
	threes     map[string]map[string]bool // frequent sequences of three letters of ASCII, by language
}) {
	known.neighbours, known.threes = map[letterOf][2]string{}, map[string]map[string]bool{}
	for line := range strings.Lines(latinLetters) {
		fields := strings.Fields(line)
		if fields[1] == "=" {
			known.threes[fields[0]] = map[string]bool{}
			for _, three := range fields[2:] {
				known.threes[fields[0]][three] = true
			}
			continue
		}
		letter, _ := utf8.DecodeRuneInString(fields[1])
		known.neighbours[letterOf{fields[0], letter}] = [2]string{fields[2], fields[3]}
	}
	return known
})

// likenessOf returns for each language how much the letters of ASCII of a text are like those of that language, 1 for the likest.
func likenessOf(sample []byte) map[string]float64 {
	var threes []string
	for word := range bytes.FieldsFuncSeq(bytes.ToLower(sample), func(r rune) bool { return !isBasicLetter(r) && r != utf8.RuneError }) {
		word = []byte("_" + string(word) + "_")
		for i := range len(word) - 2 {
			threes = append(threes, string(word[i:i+3]))
		}
	}
	likeness, most := map[string]float64{}, fewThrees
	for language, known := range latin().threes {
		n := fewThrees
		for _, three := range threes {
			if known[three] {
				n++
			}
		}
		likeness[language] = n
		most = max(most, n)
	}
	for language := range likeness {
		likeness[language] /= most
	}
	return likeness
}

// Bounds of what is certain about a text in Latin letters.
const (
	leastLatin  = 0.6  // of the characters outside of ASCII, those that fit to one language
	fewThrees   = 3.0  // are added to the sequences of three letters that a text and a language share, so that few decide little
	rivalLatin  = 0.8  // of the best score: what comes nearer leaves the encoding uncertain
	fewAccents  = 0.04 // of the letters: names in a text of another language
	manyLetters = 80   // of such a text
	loneLetters = 15   // of a text with one letter outside of ASCII in another encoding than windows-1252: of less any encoding may be
	loneScore   = 0.75 // of such a text
	leastMixed  = 0.8  // of the characters outside of ASCII, those that fit to any Western language
	rivalMixed  = 0.7  // the score of another encoding that leaves such a text uncertain
)

// fit is how well a text is one in a language.
type fit struct {
	letters int     // outside of ASCII
	fitting float64 // of these
	odd     int     // signs where no text has them
}

func (f fit) share() float64 { return f.fitting / float64(max(f.letters+f.odd, 1)) }

// unseen is how much a letter of a language fits whose neighbours are not known.
const unseen = 0.5

// fitOf returns how well a text is one in a language, or in several.
func fitOf(text []rune, languages ...string) (f fit) {
	at := func(i int) rune {
		if i < 0 || i >= len(text) || !unicode.IsLetter(text[i]) {
			return '_'
		}
		return lower(text[i])
	}
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf:
		case unicode.IsLetter(r) && !strings.ContainsRune("ªºµ", r):
			f.letters++
			best := 0.0
			for _, language := range languages {
				best = max(best, fitOfLetter(language, lower(r), at(i-1), at(i+1), len(languages) > 1))
			}
			f.fitting += best
		case isOddSign(r, at(i-1) != '_', at(i+1) != '_'):
			f.odd++
		}
	}
	return f
}

// fitOfLetter returns how well a letter fits to a language between two others, at most 1. With halves, one known neighbour counts, too.
func fitOfLetter(language string, letter, before, after rune, halves bool) float64 {
	n, own := latin().neighbours[letterOf{language, letter}]
	known, follows := strings.ContainsRune(n[0], before), strings.ContainsRune(n[1], after)
	switch alone := before == '_' && after == '_'; {
	case alone && strings.Contains(n[0], "*"), !alone && known && follows:
		return 1
	case own && halves && (known || follows):
		return (1 + unseen) / 2
	case own:
		return unseen
	}
	return 0
}

// isOddSign reports whether no text has a sign there, after or before a letter.
func isOddSign(r rune, after, before bool) bool {
	switch {
	case after && before:
		return !strings.ContainsRune("’\u00ad·", r)
	case after:
		return !strings.ContainsRune("’”“»›…%°™®©²³¹ªºµ\u00ad\u00a0:–—", r)
	case before:
		return !strings.ContainsRune("¿¡«„“‘‹”»’…–—·€£§©°×±½¼¾µ\u00a0", r)
	}
	return false
}

// latinGuess is an encoding of Latin letters that a text may be in.
type latinGuess struct {
	encoding encoding.Encoding
	name     string
	text     string
	language string  // the likeliest, "" for none
	accents  int     // letters outside of ASCII
	letters  int     // all
	share    float64 // of the characters outside of ASCII that fit to one language
	score    float64 // the share, and how much the letters of ASCII are like those of that language
}

// isLone reports whether too little speaks for another encoding than windows-1252: one letter, which may as well be a broken byte.
func (g latinGuess) isLone() bool {
	return g.name != latinPages[0].encoding && g.accents < 2 && (g.letters < loneLetters || g.score < loneScore)
}

// latinGuesses returns the encodings in which a sample looks like words of a European language, the first that gives a text, by their scores.
func latinGuesses(sample []byte) []latinGuess {
	var all []latinGuess
	likeness := likenessOf(sample)
	for i, page := range latinPages {
		candidate, name := encodingNamed(page.encoding)
		decoded, err := candidate.NewDecoder().Bytes(sample)
		if err != nil || !isEuropean(string(decoded), page.row) {
			continue
		}
		g := latinGuess{encoding: candidate, name: name, text: string(decoded)}
		text := []rune(g.text)
		for language := range strings.FieldsSeq(page.languages) {
			share := fitOf(text, language).share()
			if score := share * likeness[language]; score > g.score {
				g.language, g.share, g.score = language, share, score
			}
		}
		accents, letters := accented(g.text)
		g.accents, g.letters = len(accents), letters
		switch {
		case i > 0:
		case len(accents) == 0 && fitOf(text).odd == 0:
			g.share, g.score = 1, 1
		case letters >= manyLetters && float64(len(accents)) <= fewAccents*float64(letters):
			g.share, g.score = max(g.share, leastLatin), max(g.score, leastLatin)
		}
		if page.rare {
			g.score *= rareShare
		}
		at := slices.IndexFunc(all, func(other latinGuess) bool { return other.text == g.text })
		if at < 0 {
			all = append(all, g)
		} else if g.score > all[at].score {
			all[at].language, all[at].share, all[at].score = g.language, g.share, g.score
		}
	}
	slices.SortStableFunc(all, func(a, b latinGuess) int { return cmp.Compare(b.score, a.score) })
	return all
}

// latinOf returns the encoding in which a sample looks like words of a European language, and in which most characters outside of ASCII stand
// where words of one language have them, or windows-1252 for words of several Western languages, such as names. It returns nil if there is none, or if
// another comes near.
func latinOf(sample []byte) (encoding.Encoding, string) {
	all := latinGuesses(sample)
	if len(all) > 0 && all[0].share >= leastLatin && !all[0].isLone() && !slices.ContainsFunc(all[1:], func(other latinGuess) bool {
		isWorse := other.language == all[0].language && other.share < all[0].share // the same words with letters that they do not have
		return !isWorse && other.score > rivalLatin*all[0].score
	}) {
		return all[0].encoding, all[0].name
	}
	isCommon := func(g latinGuess) bool { return g.name == latinPages[0].encoding }
	at := slices.IndexFunc(all, isCommon)
	if at < 0 || slices.ContainsFunc(all, func(other latinGuess) bool { return !isCommon(other) && other.score > rivalMixed }) {
		return nil, ""
	}
	if g := all[at]; fitOf([]rune(g.text), strings.Fields(latinPages[0].languages)...).share() >= leastMixed {
		return g.encoding, g.name
	}
	return nil, ""
}

// accented returns the letters of a text that are not of ASCII, in lower case, and the number of
// all letters.
func accented(text string) (accents []rune, letters int) {
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if r > unicode.MaxASCII && !strings.ContainsRune("ªºµ", r) { // these three are signs
			accents = append(accents, lower(r))
		}
	}
	return accents, letters
}

// lower returns a letter in lower case. The capital of ı is I, so that İ has none of one letter.
func lower(r rune) rune {
	if r == 'İ' {
		return 'ı'
	}
	return unicode.ToLower(r)
}
