package sentence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// knownAbbreviation reports whether a word before a full stop does not end a sentence, by the
// rules of the reference data: a title, initials, a number, am or pm.
func knownAbbreviation(word string) bool {
	switch word {
	case "Dr", "Mr", "Mrs", "Ms", "Prof", "Sr", "Jr", "am", "pm", "AM", "PM":
		return true
	}
	return word != "" && (dotted(word, 'a', 'z') || dotted(word, 'A', 'Z') || digits(word))
}

// abbreviation reports whether a word before a full stop is an abbreviation in one of many
// languages, and so does not end a sentence. In the reference data St. ends one.
func (e *Enders) abbreviation(word string) bool {
	if word == "" {
		return false
	}
	if c := word[0] | 0x20; 'a' <= c && c <= 'z' && strings.IndexByte(word, '.') < 0 { // most words
		return len(word) <= longest && (len(word) == 1 || abbreviations[word] || e.closing && word == "St")
	}
	word = strings.TrimLeftFunc(word, func(r rune) bool { return r == '"' || r == '\'' || unicode.In(r, unicode.Ps, unicode.Pi) })
	return knownAbbreviation(word) || abbreviations[word] || initials(word) || e.closing && word == "St"
}

// initials reports whether a word consists of one or two letters between full stops, or is one
// letter of a script with capitals: Ph.D, z.B, т.е, É.
func initials(word string) bool {
	if word == "" {
		return false
	}
	parts := 0
	for part := range strings.SplitSeq(word, ".") {
		n := utf8.RuneCountInString(part)
		if n == 0 || n > 2 || strings.ContainsFunc(part, func(r rune) bool { return !unicode.IsUpper(r) && !unicode.IsLower(r) }) {
			return false
		}
		parts++
	}
	return parts > 1 || utf8.RuneCountInString(word) == 1
}

// longest is the length of the longest of the abbreviations that begin with an ASCII letter.
const longest = 7

// abbreviations are those after which a capital often follows within the sentence. Words that
// also end sentences are left out.
var abbreviations = setOf(
	// English: titles, months, what stands before names and numbers
	`Dr Mr Mrs Ms Prof Sr Jr am pm AM PM
	Capt Cmdr Col Drs Fr Gen Gov Hon Lt Maj Messrs Mt Pres Rep Rev Sen Sgt Supt Ft
	Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
	Fig Figs Eq Eqs Sec Vol vol Ch Nos Ref Refs pp vs viz cf approx Dept dept Univ Assn Bros Ltd Inc Corp ed eds`,
	// German
	`bzw ca evtl ggf inkl exkl zzgl sog vgl Nr Abs Bd Hrsg Str Hr Dipl Ing bspw insb geb gest Tel`,
	// French, Spanish, Portuguese, Italian, Dutch
	`Mme Mlle MM Sra Srta Dra Ud Uds Av Avda pág págs núm Exmo Sig Dott Avv bijv blz dhr mevr`,
	// Russian, Ukrainian
	`ул пр им рис см стр тыс млн млрд проф акад др напр гл табл`,
	// Polish, Czech
	`ul prof tzw tzn np dr inż mgr č str tj tzv např`,
	// Hindi and other languages in Devanagari
	`डॉ प्रो श्री सुश्री मि पृ सं रु`,
)

func setOf(lists ...string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for word := range strings.FieldsSeq(list) {
			set[word] = true
		}
	}
	return set
}

// dotted reports whether s is single letters from low to high with dots between
// them.
func dotted(s string, low, high byte) bool {
	for i := range len(s) {
		if i%2 == 1 && s[i] != '.' || i%2 == 0 && (s[i] < low || s[i] > high) {
			return false
		}
	}
	return len(s)%2 == 1
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
