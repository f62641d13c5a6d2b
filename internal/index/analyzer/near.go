package analyzer

import (
	"slices"
	"strings"
	"unicode"
)

// The lengths of words, in letters, that are corrected by one edit, and from which on by two.
const (
	oneEdit   = 5
	twoEdits  = 8
	mostEdits = 32
)

// alphabet is a script whose words are made of letters.
type alphabet struct {
	script  *unicode.RangeTable
	letters []rune
}

var alphabets = []alphabet{
	{unicode.Latin, []rune("abcdefghijklmnopqrstuvwxyz")},
	{unicode.Cyrillic, []rune("абвгдежзийклмнопрстуфхцчшщъыьэюяёєіїґ")},
	{unicode.Greek, []rune("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώ")},
	{unicode.Arabic, []rune("ابتثجحخدذرزسشصضطظعغفقكلمنهويءةى")},
	{unicode.Hebrew, []rune("אבגדהוזחטיכלמנסעפצקרשתךםןףץ")},
	{unicode.Armenian, []rune("աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆև")},
	{unicode.Georgian, []rune("აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ")},
}

// lettersOf returns the alphabet of a word, nil for one that is not made of the letters of one.
func lettersOf(word []rune) []rune {
	if len(word) == 0 {
		return nil
	}
	for _, a := range alphabets {
		if !slices.ContainsFunc(word, func(r rune) bool { return !unicode.Is(a.script, r) }) {
			return a.letters
		}
	}
	return nil
}

// Edits returns how many edits a word may be away from the one that is meant: none for short ones, for numbers and for
// identifiers with digits, and in writing systems without an alphabet.
func Edits(word string) int {
	letters := []rune(word)
	switch {
	case len(letters) < oneEdit || len(letters) > mostEdits || lettersOf(letters) == nil:
		return 0
	case len(letters) < twoEdits:
		return 1
	}
	return 2
}

// Near returns the terms of the words that are one edit away from a word, each with a spelling that it is of, for texts
// in any of the languages: a letter is missing, is there too much, is another one, or has changed places with the next,
// which is the spelling of a term that has several.
func Near(word string, languages []string) map[string]string {
	analyzers := analyzersOf(languages)
	near := map[string]string{}
	for _, spelling := range edited([]rune(word)) {
		for _, a := range analyzers {
			term := a.stem(spelling)
			if _, known := near[term]; !known || SameLetters(spelling, word) {
				near[term] = spelling
			}
		}
	}
	return near
}

// Beginnings returns the first halves that words have which are two edits away from a word, if the first half has at most
// one of the edits, and the last half of the word's terms, for those with both edits in the first.
func Beginnings(word string, languages []string) (first, last []string) {
	letters := []rune(folded(word))
	half := len(letters) / 2
	first = edited(letters[:half])
	for _, language := range languages {
		if stem := []rune(New(language).stem(word)); len(stem) > half {
			last = append(last, string(stem[half:]))
		}
	}
	slices.Sort(last)
	return first, slices.Compact(last)
}

// edited returns a word, folded, and what one edit makes of it, each once.
func edited(word []rune) []string {
	letters := lettersOf(word)
	seen := map[string]bool{string(word): true}
	add := func(parts ...[]rune) {
		var b strings.Builder
		for _, part := range parts {
			b.WriteString(string(part))
		}
		if b.Len() > 0 {
			seen[b.String()] = true
		}
	}
	for n := range len(word) + 1 {
		before, after := word[:n], word[n:]
		for _, letter := range letters {
			add(before, []rune{letter}, after)
			if len(after) > 0 && after[0] != letter {
				add(before, []rune{letter}, after[1:])
			}
		}
		if len(after) > 0 {
			add(before, after[1:])
		}
		if len(after) > 1 {
			add(before, []rune{after[1], after[0]}, after[2:])
		}
	}
	out := make([]string, 0, len(seen))
	for spelling := range seen {
		out = append(out, spelling)
	}
	slices.Sort(out)
	return out
}

// StopWords returns a function that reports whether a word says little in one of the languages.
func StopWords(languages []string) func(word string) bool {
	analyzers := analyzersOf(languages)
	return func(word string) bool {
		return slices.ContainsFunc(analyzers, func(by *Analyzer) bool { return by.stop(word) })
	}
}

// SameLetters reports whether two words have the same letters, each as often, in any order.
func SameLetters(x, y string) bool {
	if len(x) != len(y) {
		return false
	}
	a, b := []rune(x), []rune(y)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// Spelled returns the first word of a text that has a term, in lower case, for a text in any of the languages; empty if
// there is none.
func Spelled(text, term string, languages []string) (spelled string) {
	analyzers := analyzersOf(languages)
	scan(text, func(t token) {
		if spelled != "" || t.kind != word && t.kind != whole {
			return
		}
		for _, a := range analyzers {
			if a.stem(t.text) == term {
				spelled = t.text
			}
		}
	})
	return spelled
}

// Distance returns the edits between two words: letters that are missing, too much or others, and neighbours that have
// changed places (optimal string alignment).
func Distance(x, y string) int {
	a, b := []rune(x), []rune(y)
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// Storable reports whether a term is one of a word that Near or a beginning may lead to: it begins with a letter of an
// alphabet and is not long.
func Storable(term string) bool {
	n := 0
	for _, r := range term {
		letter := 'a' <= r && r <= 'z' || r >= 0xc0 && r <= 0x7bf || r >= 0x10a0 && r <= 0x10ff || r >= 0x1e00 && r <= 0x1fff
		if !letter && (n == 0 || r != '.' && (r < '0' || r > '9')) {
			return false
		}
		n++
	}
	return n >= 2 && n <= mostEdits
}

// StorablePattern is Storable as a regular expression of PostgreSQL.
const StorablePattern = `^[a-z\u00c0-\u07bf\u10a0-\u10ff\u1e00-\u1fff][a-z0-9.\u00c0-\u07bf\u10a0-\u10ff\u1e00-\u1fff]{1,31}$`

// Fold returns a word without its accents, as terms have it.
func Fold(word string) string { return folded(strings.ToLower(word)) }
