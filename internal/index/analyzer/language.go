package analyzer

import (
	"embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

// Languages that are not those of one text.
const (
	// Auto is the language of an index whose documents are each stemmed in their own.
	Auto = "auto"
	// Simple is a language without stemming and stop words.
	Simple = "simple"
	// English is the language of texts in Latin letters that are too short to tell.
	English = "english"
)

// stemmers are the Snowball stemmers of the languages.
var stemmers = map[string]func(*snowballstem.Env) bool{
	"arabic": arabic.Stem, "danish": danish.Stem, "dutch": dutch.Stem, "english": english.Stem, "finnish": finnish.Stem,
	"french": french.Stem, "german": german.Stem, "hungarian": hungarian.Stem, "irish": irish.Stem, "italian": italian.Stem,
	"norwegian": norwegian.Stem, "portuguese": portuguese.Stem, "romanian": romanian.Stem, "russian": russian.Stem,
	"spanish": spanish.Stem, "swedish": swedish.Stem, "tamil": tamil.Stem, "turkish": turkish.Stem,
}

// stop/ has the lists of the Snowball project (BSD licence), as PostgreSQL ships them.
//
//go:embed stop/*.txt
var stopFiles embed.FS

// stopWords returns the stop words of a language, without accents; none for a language without a list.
var stopWords = func() func(language string) map[string]bool {
	var lists sync.Map
	return func(language string) map[string]bool {
		if list, ok := lists.Load(language); ok {
			return list.(map[string]bool)
		}
		list := map[string]bool{}
		if text, err := stopFiles.ReadFile("stop/" + language + ".txt"); err == nil {
			for _, w := range strings.Fields(string(text)) {
				list[folded(w)] = true
			}
		}
		lists.Store(language, list)
		return list
	}
}()

// languageOf returns the language of a word, given that of words in Latin letters: a script that is
// mostly of one language is taken for it. Empty means none.
func languageOf(word, latin string) string {
	if word[0] < utf8.RuneSelf {
		return latin
	}
	r, _ := utf8.DecodeRuneInString(word)
	switch {
	case r < 0x250 || unicode.Is(unicode.Latin, r):
		return latin
	case unicode.Is(unicode.Cyrillic, r):
		return "russian"
	case unicode.Is(unicode.Arabic, r):
		return "arabic"
	case unicode.Is(unicode.Tamil, r):
		return "tamil"
	}
	return ""
}

// stem returns the stem of a word in lower case, without accents.
func stem(word, language string, env *snowballstem.Env) string {
	if f := stemmers[language]; f != nil && !hasDigit(word) {
		env.SetCurrent(word)
		f(env)
		if stemmed := env.Current(); strings.ContainsFunc(stemmed, kept) {
			word = stemmed
		}
	}
	return folded(word)
}

func hasDigit(word string) bool { return isDigit(word[0]) || strings.ContainsAny(word, "0123456789") }

// folded returns a word in lower case without its accents. Letters that are written as two where a
// keyboard lacks them become the first: ø is o, æ is ae.
func folded(word string) string {
	ascii := true
	for n := 0; n < len(word); n++ {
		if word[n] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return word
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(word) {
		if dropped(r) {
			continue
		}
		if plain, ok := plainLetters[r]; ok {
			b.WriteString(plain)
			continue
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

var plainLetters = map[rune]string{
	'ß': "ss", 'ς': "σ", 'ø': "o", 'æ': "ae", 'œ': "oe", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ħ': "h", 'ŋ': "n",
	'أ': "ا", 'إ': "ا", 'آ': "ا", 'ى': "ي", 'ة': "ه", 'ک': "ك", 'ی': "ي",
}

// digraphs are how umlauts and Nordic letters are written where a keyboard lacks them.
var digraphs = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u", "aa", "a")

// dropped reports whether a character of a word is no part of its term: accents of Latin, Greek and Cyrillic
// letters, vowel points of Hebrew and Arabic, and the tatweel.
func dropped(r rune) bool {
	return 0x300 <= r && r <= 0x36f || 0x5b0 <= r && r <= 0x5c7 || 0x64b <= r && r <= 0x65f || r == 0x670 || r == 0x640
}

// kept reports whether a character of a word is a part of its term.
func kept(r rune) bool { return !dropped(r) }
