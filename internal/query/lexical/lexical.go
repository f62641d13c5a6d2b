// Package lexical splits text into tokens for matching. It folds case, accents and
// compatibility forms, removes common English endings, and splits writing systems
// without spaces into runes and pairs of runes. Every token has a Rank, an estimate of
// how much it tells about the text. The package needs no corpus and no model. It works
// for any language, and best for English.
//
// Stored vectors of embed's builtin model depend on the tokens: a change here changes
// vectors, and the golden test of that model fails.
package lexical

import (
	"iter"
	"math"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Form is the kind of text that a Token stands for.
type Form uint8

// The forms.
const (
	Word  Form = iota // a run of letters, digits and marks between other characters
	Glyph             // one rune of a writing system that does not space its words
	Pair              // two such runes side by side; follows the Glyph it starts with
)

// Token is one token of a text. Its slices are valid until the next token is requested
// and must not be changed.
type Token struct {
	Form Form
	// Folded is the word in lower case without accents.
	Folded []byte
	// Stem is Folded without its English ending. For forms other than Word it is Folded.
	Stem []byte
	// Upper is whether the first letter was written in upper case.
	Upper bool
	// Capitals is whether the word has two letters or more, all ASCII and in upper case.
	Capitals bool
	// Joined is whether an underscore joins the word to the one before, as in work_mem.
	Joined bool
	// Ordinal counts words and glyphs from 0. A Pair has the ordinal of its first Glyph.
	Ordinal int
}

// Tokens yields the tokens of the text in reading order. Each byte of invalid UTF-8
// separates words. Canonically or compatibly equivalent texts (NFC, NFD, full width,
// ligatures) yield the same tokens, and so do texts that differ only in case.
func Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		if !norm.NFKC.IsNormalString(text) {
			text = norm.NFKC.String(text)
		}
		s := scanner{text: text, yield: yield}
		s.run()
	}
}

// scanner splits a text in NFKC into tokens and yields them. word holds the folded
// bytes of the current word.
type scanner struct {
	text    string
	yield   func(Token) bool
	word    []byte
	storage [48]byte
	upper   bool // the current word began in upper case
	capital int  // letters of the current word in upper case, negative if it has others
	joined  bool // an underscore joins the current word to the one before
	elided  bool // the current word follows an apostrophe, like the s of it's
	pair    [2 * utf8.UTFMax]byte
	glyph   rune // the unspaced rune just before this position, or 0
	ordinal int
	stopped bool
}

// notCapitals marks a word as not written in capitals, however many follow.
const notCapitals = math.MinInt32

func (s *scanner) run() {
	s.word = s.storage[:0]
	for i := 0; i < len(s.text) && !s.stopped; {
		c := s.text[i]
		if c < utf8.RuneSelf {
			s.ascii(c, i)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s.text[i:])
		s.rune(r, i, size)
		i += size
	}
	s.endWord()
}

// ascii processes the byte c at offset i.
func (s *scanner) ascii(c byte, i int) {
	switch {
	case 'a' <= c && c <= 'z':
		s.word = append(s.word, c)
		s.capital = notCapitals
		s.glyph = 0
	case '0' <= c && c <= '9':
		s.word = append(s.word, c)
		s.glyph = 0
	case 'A' <= c && c <= 'Z':
		s.upper = s.upper || len(s.word) == 0
		s.capital++
		s.word = append(s.word, c|0x20)
		s.glyph = 0
	case c == '\'':
		s.apostrophe()
	case c == '_':
		inside := len(s.word) > 0
		s.endWord()
		s.joined = inside
		s.glyph = 0
	case c == ',' && s.betweenDigits(i):
		// 1,000 is 1000.
	default:
		s.endWord()
		s.glyph = 0
	}
}

// rune processes the non-ASCII rune r at offset i.
func (s *scanner) rune(r rune, i, size int) {
	switch {
	case r == '’':
		s.apostrophe()
	case isAccent(r):
		// An accent that NFKC could not compose, dropped like any other.
	case unspaced(r):
		s.endWord()
		s.unspaced(r)
	case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
		s.upper = s.upper || len(s.word) == 0 && unicode.IsUpper(r)
		s.capital = notCapitals
		s.word = appendFolded(s.word, s.text[i:i+size], r)
		s.glyph = 0
	default:
		s.endWord()
		s.glyph = 0
	}
}

// apostrophe ends the current word and marks the next one as elided, so that the s of
// "Tesla's" and the t of "don't" are left out.
func (s *scanner) apostrophe() {
	inside := len(s.word) > 0
	s.endWord()
	s.elided = inside
	s.glyph = 0
}

func (s *scanner) betweenDigits(i int) bool {
	return len(s.word) > 0 && isDigit(s.word[len(s.word)-1]) && i+1 < len(s.text) && isDigit(s.text[i+1])
}

func (s *scanner) endWord() {
	word, elided := s.word, s.elided
	t := Token{Form: Word, Folded: word, Upper: s.upper, Capitals: s.capital > 1, Joined: s.joined, Ordinal: s.ordinal}
	s.word, s.elided, s.upper, s.capital, s.joined = s.word[:0], false, false, 0, false
	if len(word) == 0 || s.stopped || elided && len(word) <= 2 {
		return
	}
	t.Stem = stem(word)
	s.emit(t)
	s.ordinal++
}

// unspaced yields the pair of the previous unspaced rune and r, if there is one, and
// then the Glyph of r.
func (s *scanner) unspaced(r rune) {
	if s.glyph != 0 {
		pair := utf8.AppendRune(utf8.AppendRune(s.pair[:0], s.glyph), r)
		s.emit(Token{Form: Pair, Folded: pair, Stem: pair, Ordinal: s.ordinal - 1})
	}
	glyph := utf8.AppendRune(s.pair[:0], r)
	s.emit(Token{Form: Glyph, Folded: glyph, Stem: glyph, Ordinal: s.ordinal})
	s.ordinal++
	s.glyph = r
}

func (s *scanner) emit(t Token) {
	if !s.stopped && !s.yield(t) {
		s.stopped = true
	}
}

// appendFolded appends r, whose encoding is text, in lower case and without
// accents. Hangul syllables have no decomposition here and stay whole.
func appendFolded(dst []byte, text string, r rune) []byte {
	switch r {
	case 'ß', 'ẞ':
		return append(dst, "ss"...)
	case 'ς':
		return append(dst, "σ"...)
	}
	parts := norm.NFD.PropertiesString(text).Decomposition()
	if len(parts) == 0 {
		return utf8.AppendRune(dst, unicode.ToLower(r))
	}
	for len(parts) > 0 {
		part, size := utf8.DecodeRune(parts)
		if !isAccent(part) {
			dst = utf8.AppendRune(dst, unicode.ToLower(part))
		}
		parts = parts[size:]
	}
	return dst
}

// isAccent reports whether r is a combining mark of Latin, Greek or Cyrillic letters.
// Vowel signs of other scripts are not accents and are kept.
func isAccent(r rune) bool { return 0x300 <= r && r <= 0x36f }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// unspaced reports whether r belongs to a writing system without spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
