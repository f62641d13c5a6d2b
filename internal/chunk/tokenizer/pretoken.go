package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// The pre-tokens of an encoding are defined by a regular expression with
// look-ahead. The functions here find the same matches in one pass, without
// backtracking. Each has the expression in its comment.

// class is the kind of a character, as the expressions distinguish it.
type class uint8

const (
	other   class = iota // [^\s\p{L}\p{N}\p{M}]
	upper                // \p{Lu}\p{Lt}
	lower                // \p{Ll}
	letter               // \p{Lm}\p{Lo}, upper and lower at once
	mark                 // \p{M}
	number               // \p{N}
	newline              // [\r\n]
	space                // the rest of \s
)

func (c class) isLetter() bool { return c >= upper && c <= letter }
func (c class) isSpace() bool  { return c >= newline }
func (c class) isOther() bool  { return c == other || c == mark }

// isUpper and isLower are the two sets of o200k_base, which overlap.
func (c class) isUpper() bool { return c == upper || c == letter || c == mark }
func (c class) isLower() bool { return c >= lower && c <= mark }

var asciiClasses = func() (table [utf8.RuneSelf]class) {
	for r := range rune(utf8.RuneSelf) {
		table[r] = classOfRune(r)
	}
	return table
}()

// classAt returns the class and the length of the character at text[pos].
func classAt(text string, pos int) (class, int) {
	if c := text[pos]; c < utf8.RuneSelf {
		return asciiClasses[c], 1
	}
	r, n := utf8.DecodeRuneInString(text[pos:])
	return classOfRune(r), n
}

func classOfRune(r rune) class {
	switch {
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3, r >= 0x3041 && r <= 0x3096, r >= 0x30A1 && r <= 0x30FA:
		return letter // most of Chinese, Korean and Japanese
	case r == '\r', r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case unicode.IsLower(r) && unicode.Is(unicode.Ll, r):
		return lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsMark(r):
		return mark
	}
	return other
}

// run returns the end of the longest run of characters from pos on that belong.
func run(text string, pos, to int, belongs func(class) bool) int {
	for pos < to {
		c, n := classAt(text, pos)
		if !belongs(c) {
			break
		}
		pos += n
	}
	return pos
}

// preTokenGPT2 is for r50k_base and the p50k encodings:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func preTokenGPT2(text string, pos, to int) int {
	if n := contraction(text, pos, to, false); n > 0 {
		return pos + n
	}
	first, n := classAt(text, pos)
	if text[pos] == ' ' && pos+1 < to {
		if c, cn := classAt(text, pos+1); !c.isSpace() {
			first, n = c, 1+cn
		}
	}
	switch {
	case first.isLetter():
		return run(text, pos+n, to, class.isLetter)
	case first == number:
		return run(text, pos+n, to, func(c class) bool { return c == number })
	case first.isOther():
		return run(text, pos+n, to, class.isOther)
	}
	return blanks(text, pos, to)
}

// preTokenCl100k is for cl100k_base:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func preTokenCl100k(text string, pos, to int) int {
	if n := contraction(text, pos, to, true); n > 0 {
		return pos + n
	}
	first, n := classAt(text, pos)
	switch {
	case first.isLetter():
		return run(text, pos+n, to, class.isLetter)
	case first == number:
		return numbers(text, pos, to)
	case first != newline && pos+n < to:
		if c, cn := classAt(text, pos+n); c.isLetter() {
			return run(text, pos+n+cn, to, class.isLetter)
		}
	}
	if end := others(text, pos, to); end > pos {
		return run(text, end, to, func(c class) bool { return c == newline })
	}
	return lineBreaks(text, pos, to)
}

// preTokenO200k is for o200k_base, in which U stands for
// \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M} and L for \p{Ll}\p{Lm}\p{Lo}\p{M}:
//
//	[^\r\n\p{L}\p{N}]?[U]*[L]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[U]+[L]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func preTokenO200k(text string, pos, to int) int {
	first, n := classAt(text, pos)
	if first == number {
		return numbers(text, pos, to)
	}
	if first != newline {
		if end := casedWord(text, pos, pos+n, to, first.isLetter()); end > 0 {
			return end + contraction(text, end, to, true)
		}
	}
	if end := others(text, pos, to); end > pos {
		for end < to && (text[end] == '\r' || text[end] == '\n' || text[end] == '/') {
			end++
		}
		return end
	}
	return lineBreaks(text, pos, to)
}

// casedWord returns the end of a word of o200k_base without its contraction, or 0. The
// first character ends at second; if it is not a letter, it may be the optional one
// before the word. The order is that of the alternatives in the expression: first
// words that end in lower case, then words in upper case, each first without and then
// with the first character in the word (which only a mark can be).
func casedWord(text string, pos, second, to int, firstIsLetter bool) int {
	starts := [2]int{second, pos}
	if firstIsLetter {
		starts[0] = pos
	}
	var upperEnds [2]int
	for i, start := range starts {
		end, upperEnd := lowerEnd(text, start, to)
		if end > 0 {
			return end
		}
		upperEnds[i] = upperEnd
	}
	for i, start := range starts {
		if upperEnds[i] > start {
			return upperEnds[i]
		}
	}
	return 0
}

// lowerEnd matches [U]*[L]+ and returns its end, or 0 and the end of [U]*. If no
// lower case follows the upper case, the match ends after the last character that is
// both.
func lowerEnd(text string, pos, to int) (end, upperEnd int) {
	both := 0
	for pos < to {
		c, n := classAt(text, pos)
		if !c.isUpper() {
			if c == lower {
				return run(text, pos, to, class.isLower), 0
			}
			break
		}
		pos += n
		if c.isLower() {
			both = pos
		}
	}
	return both, pos
}

// numbers matches \p{N}{1,3}.
func numbers(text string, pos, to int) int {
	for i := 0; i < 3 && pos < to; i++ {
		c, n := classAt(text, pos)
		if c != number {
			break
		}
		pos += n
	}
	return pos
}

// others matches " ?[^\s\p{L}\p{N}]+" and returns pos if it does not match.
func others(text string, pos, to int) int {
	start := pos
	if text[pos] == ' ' {
		start++
	}
	if end := run(text, start, to, class.isOther); end > start {
		return end
	}
	return pos
}

// lineBreaks matches \s*[\r\n]+|\s+(?!\S)|\s+: white space up to its last line
// break or, without one, the same as blanks.
func lineBreaks(text string, pos, to int) int {
	end := run(text, pos, to, class.isSpace)
	for i := end; i > pos; i-- {
		if text[i-1] == '\r' || text[i-1] == '\n' {
			return i
		}
	}
	return blanksTo(text, pos, end, to)
}

// blanks matches \s+(?!\S)|\s+: white space without its last character if a word
// follows, to which that character belongs.
func blanks(text string, pos, to int) int {
	return blanksTo(text, pos, run(text, pos, to, class.isSpace), to)
}

func blanksTo(text string, pos, end, to int) int {
	if end == to {
		return end
	}
	_, last := utf8.DecodeLastRuneInString(text[pos:end])
	if end-last > pos {
		return end - last
	}
	return end
}

// contraction returns the length of 's 't 're 've 'm 'll 'd at pos, or 0.
func contraction(text string, pos, to int, anyCase bool) int {
	if pos+1 >= to || text[pos] != '\'' {
		return 0
	}
	fold := byte(0)
	if anyCase {
		fold = 0x20
	}
	switch a := text[pos+1] | fold; a {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v', 'l':
		want := byte('e')
		if a == 'l' {
			want = 'l'
		}
		if pos+2 < to && text[pos+2]|fold == want {
			return 3
		}
	}
	return 0
}
