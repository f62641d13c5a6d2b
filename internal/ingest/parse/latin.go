package parse

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/encoding"
)

// latinPages are the encodings of languages that are written with Latin letters, each with the
// letters of its languages that are not of ASCII, in lower case. The first is the one that texts
// have where they look alike.
var latinPages = []struct {
	encoding  string
	row       int // of such letters, the longest
	languages []string
	// like is the page of the same languages that is more common. The one of the two that fits better is the right one.
	like string
}{
	{"windows-1252", 2, western, ""},
	{"iso-8859-16", 2, []string{"ăâîșț"}, ""},
	{"windows-1250", 3, central, ""},
	{"windows-1254", 3, []string{"çğıöşüâîû"}, ""},
	{"iso-8859-2", 3, central, "windows-1250"},
	{"iso-8859-15", 2, []string{"àâæçéèêëîïôœùûüÿ", "åäöšž"}, ""},
	{"windows-1257", 2, []string{"ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž"}, ""},
	{"iso-8859-13", 2, []string{"ąčęėįšųūž", "āčēģīķļņšūž"}, "windows-1257"},
	{"iso-8859-4", 2, []string{"ąčęėįšųūž", "āčēģīķļņšūž"}, "windows-1257"},
	{"iso-8859-3", 2, []string{"ċġħżàèìòù", "ĉĝĥĵŝŭ"}, ""},
	{"ibm850", 2, western, ""},
	{"ibm852", 3, central, "ibm850"},
	{"macintosh", 2, western, ""},
}

// western and central are the letters of the languages of the west and the centre of Europe. Romanian has cedillas for the commas below that these
// encodings lack; the letters alone are the same bytes in ISO-8859-16, and then read as what they stand for.
var (
	western = []string{
		"àâæçéèêëîïôœùûüÿ", "äöüßéèà", "áéíñóúüàç", "áâãàçéêíóôõúü", "àèéìòùóîú", "æøåéòôäöü", "åäöéüàšž", "áðéíóúýþæö", "ëïéèöüçáíó", "àèéíïòóúüç·",
	}
	central = []string{"ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž"}
)

// commonPages is the number of latinPages that texts are in by default. One in another has to fit clearly better.
const (
	commonPages  = 4
	clearlyWorse = 0.9
)

// Bounds of what is certain about a text in Latin letters.
const (
	leastLatin   = 0.75 // of the letters outside of ASCII, those of one language
	fewAccents   = 0.02 // of the letters: names in a text of another language
	rareCodePage = 3    // letters outside of ASCII of a text that is not in windows-1252
)

// latinOf returns the encoding in which a sample looks like words of a European language and in
// which most letters outside of ASCII belong to one language. It returns nil if there is none.
func latinOf(sample []byte) (encoding.Encoding, string) {
	best, at, tied := 0.0, 0, false // at is the page of best
	var known encoding.Encoding
	name, text := "", ""
	for i, page := range latinPages {
		candidate, canonical := encodingNamed(page.encoding)
		decoded, err := candidate.NewDecoder().Bytes(sample)
		if err != nil || !isEuropean(string(decoded), page.row) {
			continue
		}
		accents, letters := accented(string(decoded))
		share := 1.0
		if len(accents) > 0 {
			share = shareOfLanguage(accents, page.languages)
		}
		sparse := i == 0 && float64(len(accents)) <= fewAccents*float64(letters)
		if i >= commonPages && best > clearlyWorse*share && (name != page.like || share <= best) {
			tied = tied || best == share && at >= commonPages && string(decoded) != text
			continue
		}
		if i > 0 && (len(accents) < rareCodePage || share <= best) || share <= best || share < leastLatin && !sparse {
			continue
		}
		best, at, known, name, text, tied = share, i, candidate, canonical, string(decoded), false
	}
	if tied {
		return nil, ""
	}
	return known, name
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

// shareOfLanguage returns the greatest share of letters that a language has.
func shareOfLanguage(letters []rune, languages []string) float64 {
	shares := make([]float64, len(languages))
	for i, language := range languages {
		hits := 0
		for _, r := range letters {
			if strings.ContainsRune(language, r) {
				hits++
			}
		}
		shares[i] = float64(hits) / float64(len(letters))
	}
	return slices.Max(shares)
}
