package distinct

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// leastWords is the number of words below which passages are the same only if all their words are.
const leastWords = 30

// shingleWords is the number of words of a shingle.
const shingleWords = 3

// passage is a text as words.
type passage struct {
	words  []word
	hash   uint64   // of all words
	sample []uint64 // hashes of some shingles, the same ones in all texts
	at     map[uint64]int
}

// word is the hash of a word, whose lowest bits are flags.
type word uint64

const (
	hasNumber word = 1 << iota // it has a digit
	isJoined                   // a sign of markup joins it to the word before or after
	flags     = hasNumber | isJoined
)

func (w word) hash() uint64 { return uint64(w &^ flags) }

// newPassage reads the words of a text: runs of letters, marks and digits, and each character of scripts
// that are written without spaces.
func newPassage(text string) *passage {
	p := &passage{words: make([]word, 0, len(text)/4+1)}
	hash, flag, inside, joins := uint64(seed), word(0), false, false
	end := func() {
		if inside {
			p.words = append(p.words, word(hash)&^flags|flag)
		}
		hash, flag, inside = seed, 0, false
	}
	for n := 0; n < len(text); {
		r, size := rune(text[n]), 1
		class := ascii[text[n]]
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[n:])
			r, class = unicode.ToLower(r), classOf(r)
		}
		if class == comparison && !compares(text, n) {
			class = sign
		}
		if class == minus && !isSigned(text, n) {
			class = space
		}
		n += size
		switch class {
		case space:
			end()
			joins = false
			continue
		case sign:
			end()
			joins = joins || len(p.words) > 0 && n >= 2 && ascii[text[n-2]] != space
			continue
		case upper:
			r += 'a' - 'A'
		case single:
			end()
			joins = false
		case symbol, comparison, minus:
			end()
			joins = false
			flag |= hasNumber
		case number:
			flag |= hasNumber
		}
		if !inside && joins {
			flag |= isJoined
			p.words[len(p.words)-1] |= isJoined
		}
		inside, joins = true, false
		hash = mix(hash, uint64(r))
		if class >= single {
			end()
		}
	}
	end()
	p.sample = make([]uint64, 0, 2*len(p.words)/sampledOf)
	for n := range p.words {
		p.hash = mix(p.hash, p.words[n].hash())
		if len(p.words) >= leastWords && n+shingleWords <= len(p.words) {
			if shingle := p.shingle(n); shingle>>32%sampledOf == 0 {
				p.sample = append(p.sample, shingle)
			}
		}
	}
	return p
}

// class is what a character is to a word.
type class uint8

const (
	space  class = iota // or a sign that joins no words: "non-refundable" says something else than "refundable"
	sign                // of markup, which joins the words before and after it if there is no space
	letter              // or a mark
	upper               // an ASCII letter
	number
	single // a letter of a script that is written without spaces: a word of its own
	symbol // a word of its own that matters as a number does: a currency, a percentage, ≥
	comparison
	minus
)

// ascii has the classes of the ASCII characters.
var ascii = func() (classes [256]class) {
	for b := range utf8.RuneSelf {
		switch {
		case 'a' <= b && b <= 'z':
			classes[b] = letter
		case 'A' <= b && b <= 'Z':
			classes[b] = upper
		case '0' <= b && b <= '9':
			classes[b] = number
		case strings.ContainsRune(":/_*`[](){}|#@\\=+~^", rune(b)):
			classes[b] = sign
		case b == '%' || b == '$':
			classes[b] = symbol
		case b == '<' || b == '>':
			classes[b] = comparison
		case b == '-':
			classes[b] = minus
		}
	}
	return classes
}()

// compares reports whether the < or > at a byte of a text compares two values, and is no bracket.
func compares(text string, n int) bool {
	if n == 0 || n+1 == len(text) {
		return false
	}
	before, after := ascii[text[n-1]], ascii[text[n+1]]
	return (text[n-1] <= ' ' || before == number) && (text[n+1] <= ' ' || text[n+1] == '=' || after == number)
}

// isSigned reports whether the minus at a byte of a text is that of a number.
func isSigned(text string, n int) bool {
	return (n == 0 || text[n-1] <= ' ') && n+1 < len(text) && ascii[text[n+1]] == number
}

func classOf(r rune) class {
	switch {
	case unicode.IsNumber(r):
		return number
	case unicode.In(r, unicode.Sc, unicode.Sm):
		return symbol
	case !unicode.In(r, unicode.L, unicode.M):
		return space
	case r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return single
	}
	return letter
}

// seed begins the hash of a word. It is the same everywhere, so that all processes answer alike.
const seed = 0x9E3779B97F4A7C15

// mix returns a hash of a sequence from that of its beginning and of what follows.
func mix(hash, next uint64) uint64 {
	hash = (hash ^ next) * seed
	return hash ^ hash>>29
}

// shingle returns the hash of the shingle at a word.
func (p *passage) shingle(n int) uint64 {
	return mix(mix(mix(0, p.words[n].hash()), p.words[n+1].hash()), p.words[n+2].hash())
}

// shingles returns where each shingle stands that the passage has once, and -1 for the others.
func (p *passage) shingles() map[uint64]int {
	if p.at == nil {
		p.at = make(map[uint64]int, len(p.words))
		for n := range len(p.words) - shingleWords + 1 {
			shingle := p.shingle(n)
			if _, again := p.at[shingle]; again {
				p.at[shingle] = -1
			} else {
				p.at[shingle] = n
			}
		}
	}
	return p.at
}

func (p *passage) equals(o *passage) bool {
	return slices.EqualFunc(p.words, o.words, func(a, b word) bool { return a.hash() == b.hash() })
}
