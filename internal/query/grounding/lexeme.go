package grounding

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/index/analyzer"
)

// lexemeKind is what a lexeme consists of.
type lexemeKind uint8

const (
	letters  lexemeKind = iota // of a script with spaces
	digits                     // ASCII or full width digits
	katakana                   // a run of it
	unspaced                   // one character of another script without spaces
	sign                       // one other character, but white space
)

// lexeme is a smallest piece of a text.
type lexeme struct {
	Span

	kind lexemeKind
	text string // as it stands
	fold string // letters in lower case without accents, digits in ASCII
}

// capital reports whether a word begins with a capital.
func (l lexeme) capital() bool {
	r, _ := utf8.DecodeRuneInString(l.text)
	return l.kind == letters && (unicode.IsUpper(r) || unicode.IsTitle(r))
}

// shouted reports whether a word has several letters, all of them capitals.
func (l lexeme) shouted() bool {
	return l.kind == letters && utf8.RuneCountInString(l.text) > 1 && strings.ToUpper(l.text) == l.text && strings.ToLower(l.text) != l.text
}

// mixed reports whether a capital follows a small letter in a word, as in iPhone.
func (l lexeme) mixed() bool {
	small := false
	for _, r := range l.text {
		if small && unicode.IsUpper(r) {
			return true
		}
		small = unicode.IsLower(r)
	}
	return false
}

// lexemesOf returns the lexemes of a text.
func lexemesOf(text string) (all []lexeme) {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		kind, ok := kindOf(r)
		if !ok || r == utf8.RuneError && size <= 1 {
			at += size
			continue
		}
		end := at + size
		for kind != unspaced && kind != sign && end < len(text) {
			next, n := utf8.DecodeRuneInString(text[end:])
			if other, ok := kindOf(next); !unicode.IsMark(next) && (!ok || other != kind) {
				break
			}
			end += n
		}
		l := lexeme{Span: Span{at, end}, kind: kind, text: text[at:end]}
		switch kind {
		case letters:
			l.fold = analyzer.Fold(l.text)
		case digits:
			l.fold = strings.Map(narrow, l.text)
		default:
			l.fold = l.text
		}
		all = append(all, l)
		at = end
	}
	return all
}

// narrow returns the ASCII character of one in full width.
func narrow(r rune) rune {
	if '！' <= r && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

func kindOf(r rune) (kind lexemeKind, ok bool) {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z':
			return letters, true
		case '0' <= r && r <= '9':
			return digits, true
		}
		return sign, !unicode.IsSpace(r) && !unicode.IsControl(r)
	case '０' <= r && r <= '９':
		return digits, true
	case unicode.Is(unicode.Katakana, r) || r == 'ー':
		return katakana, true
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == '〇':
		return unspaced, true
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return letters, true
	case unicode.IsSpace(r) || unicode.IsControl(r):
		return sign, false
	}
	return sign, true
}
