package analyzer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// kind is the kind of a token.
type kind uint8

const (
	word   kind = iota // a run of letters, or of digits, between borders
	whole              // several words written as one, such as CVE-2024-1234 or getUserById
	glyph              // one character, with its marks, of a writing system without spaces or of Hangul
	bigram             // two such characters side by side
)

// token is a piece of a text, in lower case, in NFKC and with its accents.
type token struct {
	kind       kind
	text       string
	position   int  // of its first word, from 0
	start, end int  // bytes of the text
	part       bool // a word of a whole
	alone      bool // a glyph without another beside it
}

// maxToken is the most bytes of a token. Words are cut there; wholes that are longer are left out.
const maxToken = 255

const (
	// maxBorders is the most words that changes of case and between letters and digits make of one
	// run. A run with more, such as a hash, is one word.
	maxBorders = 6
	// maxWholeWords is the most words of a whole.
	maxWholeWords = 24
)

// scanner splits a text into tokens.
type scanner struct {
	text     string
	yield    func(token)
	position int

	segments []segment // of the current compound
	joined   []byte
	groups   groupRun
}

// segment is a word of a compound.
type segment struct {
	text       string // lower case, NFKC
	start, end int
	joiner     rune // before it; 0 at a border without one
	digits     bool
	left       bool // out: the s of it's
}

// scan yields the tokens of a text in reading order; a whole comes after its words. What would be an empty term,
// such as an accent without a letter, is left out.
func scan(text string, yield func(token)) {
	s := scanner{text: text, yield: func(t token) {
		if t.text[0] < utf8.RuneSelf || strings.ContainsFunc(t.text, kept) {
			yield(t)
		}
	}}
	for at := 0; at < len(text); {
		r, size := rune(text[at]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[at:])
		}
		switch {
		case !wordRune(r) || r == utf8.RuneError && size == 1:
			at += size
		case unspaced(r):
			at = s.unspacedRun(at)
		default:
			at = s.compound(at)
		}
	}
	s.groups.finish(&s)
}

// wordRune reports whether a character belongs to a word.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// ignorable reports whether a character within a word is no part of it: a soft hyphen, or one
// without width.
func ignorable(r rune) bool {
	return r == 0xad || 0x200b <= r && r <= 0x200d || r == 0x2060 || r == 0xfeff
}

// A joiner between two word characters joins them to a compound. Names are joined by the first
// kind, paths of names by the second.
func joins(r rune) (joiner, path bool) {
	switch r {
	case '-', '_', '.', '\'', '’', '+', '&', '#', '~', '‐', '‑':
		return true, false
	case '/', ':', '@', '=', '\\':
		return true, true
	}
	return false, false
}

// compound reads the words that start at a position and are joined, and returns their end.
func (s *scanner) compound(start int) int {
	end := start
	for at := start; at < len(s.text); {
		r, size := utf8.DecodeRuneInString(s.text[at:])
		switch joiner, _ := joins(r); {
		case wordRune(r) && !unspaced(r):
			at += size
			end = at
			continue
		case ignorable(r):
			at += size
			continue
		case (joiner || r == ',' && s.thousands(at)) && end == at && s.wordAt(at+size):
			at += size
			continue
		}
		break
	}
	sign := s.signs(start, end)
	s.split(start, end)
	s.emit(sign, s.dotted(start))
	s.groups.add(s, start, end)
	return end + len(sign)
}

func (s *scanner) wordAt(at int) bool {
	r, _ := utf8.DecodeRuneInString(s.text[at:])
	return at < len(s.text) && wordRune(r) && !unspaced(r)
}

// thousands reports whether the comma at a position stands in a number such as 1,000.
func (s *scanner) thousands(at int) bool {
	digit := func(n int) bool { return n >= 0 && n < len(s.text) && isDigit(s.text[n]) }
	return digit(at-1) && digit(at+1) && digit(at+2) && digit(at+3) && !digit(at+4)
}

// signs returns the signs after a short name that belong to it: those of C++ and F#.
func (s *scanner) signs(start, end int) string {
	rest := s.text[end:]
	n := 0
	switch {
	case strings.HasPrefix(rest, "++"):
		n = 2
	case strings.HasPrefix(rest, "#") && end-start == 1:
		n = 1
	}
	if n == 0 || end-start > 12 || s.wordAt(end+n) || strings.HasPrefix(rest[n:], rest[:1]) {
		return ""
	}
	return rest[:n]
}

// dotted reports whether a dot before a compound belongs to it: the one of .NET and .gitignore.
func (s *scanner) dotted(start int) bool {
	if start == 0 || s.text[start-1] != '.' {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(s.text[:start-1])
	return start == 1 || r != '.' && !wordRune(r)
}

// split sets the segments of a compound.
func (s *scanner) split(start, end int) {
	s.segments = s.segments[:0]
	text, exact := s.text[start:end], true
	if !norm.NFKC.IsNormalString(text) {
		text, exact = norm.NFKC.String(text), false
	}
	var joiner rune
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !wordRune(r) {
			if is, _ := joins(r); is {
				joiner = r
			}
			at += size
			continue
		}
		stop := at
		for stop < len(text) {
			r, size := utf8.DecodeRuneInString(text[stop:])
			if !wordRune(r) && !ignorable(r) && r != ',' {
				break
			}
			stop += size
		}
		first := len(s.segments)
		s.splitRun(text[at:stop], start+at, joiner)
		if len(s.segments)-first > maxBorders {
			s.segments = append(s.segments[:first], segment{text: lowered(text[at:stop]), start: start + at, end: start + stop, joiner: joiner})
		}
		at, joiner = stop, 0
	}
	if !exact {
		for n := range s.segments {
			s.segments[n].start, s.segments[n].end = start, end
		}
	}
}

// class is what borders within a run lie between.
type class uint8

const (
	lower class = iota
	upper
	digit
)

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case 'A' <= r && r <= 'Z':
			return upper
		case '0' <= r && r <= '9':
			return digit
		}
		return lower
	case unicode.IsUpper(r):
		return upper
	case unicode.IsDigit(r):
		return digit
	}
	return lower
}

// splitRun appends the segments of a run without joiners: it has borders where small letters are
// followed by a capital, before the last capital of several that small letters follow (HTTPServer, but
// not URLs), and between letters and digits.
func (s *scanner) splitRun(run string, offset int, joiner rune) {
	begin, previous, capitals := 0, lower, 0
	cut := func(at int) {
		if at > begin {
			s.segments = append(s.segments, segment{text: lowered(run[begin:at]), start: offset + begin, end: offset + at, joiner: joiner,
				digits: previous == digit})
			begin, joiner = at, 0
		}
	}
	for at, r := range run {
		if r == ',' || ignorable(r) || unicode.IsMark(r) {
			continue
		}
		now := classOf(r)
		switch {
		case at == 0 || now == previous && now != lower:
		case now == digit || previous == digit, previous == lower && now == upper:
			cut(at)
			capitals = 0
		case previous == upper && now == lower && capitals > 1 && run[at:] != "s":
			_, size := utf8.DecodeLastRuneInString(run[:at])
			cut(at - size)
			capitals = 0
		}
		if now == upper {
			capitals++
		} else {
			capitals = 0
		}
		previous = now
	}
	cut(len(run))
}

// lowered returns a word in lower case, without commas and characters that are no part of it, at
// most maxToken bytes of it.
func lowered(text string) string {
	plain := true
	for n := 0; n < len(text); n++ {
		if c := text[n]; c >= utf8.RuneSelf || c == ',' || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if !plain {
		text = strings.Map(func(r rune) rune {
			switch {
			case r == ',' || ignorable(r):
				return -1
			case r == 'ẞ':
				return 'ß'
			case r >= utf8.RuneSelf && unicode.IsDigit(r):
				return digitOf(r)
			}
			return unicode.ToLower(r)
		}, text)
	}
	return textlimit.Cut(text, maxToken)
}

// digitOf returns the ASCII digit of a decimal digit of any script.
func digitOf(r rune) rune {
	// Decimal digits come in runs of ten, from 0 to 9.
	zero := r
	for n := 0; n < 9 && unicode.IsDigit(zero-1); n++ {
		zero--
	}
	if r-zero > 9 {
		return r
	}
	return '0' + r - zero
}
