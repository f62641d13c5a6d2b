package analyzer

import (
	"strings"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
)

const (
	// detectedBytes is how much of a text is looked at, and sureBytes how much tells its language for
	// sure.
	detectedBytes = 8 << 10
	sureBytes     = 400
	// sureConfidence is the least confidence about shorter texts.
	sureConfidence = 0.6
)

// detectable are the languages in Latin letters that have a stemmer.
var detectable = map[whatlanggo.Lang]string{
	whatlanggo.Dan: "danish", whatlanggo.Nld: "dutch", whatlanggo.Eng: "english", whatlanggo.Fin: "finnish", whatlanggo.Fra: "french",
	whatlanggo.Deu: "german", whatlanggo.Hun: "hungarian", whatlanggo.Ita: "italian", whatlanggo.Nob: "norwegian", whatlanggo.Nno: "norwegian",
	whatlanggo.Por: "portuguese", whatlanggo.Ron: "romanian", whatlanggo.Spa: "spanish", whatlanggo.Swe: "swedish", whatlanggo.Tur: "turkish",
}

// Detect returns the language of the words in Latin letters of a text: one that New knows, or Simple for
// a language without a stemmer. A text that is too short to tell is taken for English.
func Detect(text string) string {
	if len(text) > detectedBytes {
		end := detectedBytes
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	info := whatlanggo.Detect(text)
	language, ok := detectable[info.Lang]
	switch {
	case info.Script != latin:
		return English
	case ok && len(text) >= sureBytes && info.IsReliable(), ok && info.Confidence >= sureConfidence:
		return language
	case !ok && len(text) >= sureBytes && info.IsReliable():
		return Simple
	}
	return English
}

var latin = whatlanggo.DetectScript(strings.Repeat("a", 3))
