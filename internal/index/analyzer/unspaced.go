package analyzer

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// unspaced reports whether a character belongs to a writing system that does not part words by spaces,
// or to Hangul, whose particles are written together with their noun.
func unspaced(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r == 'ー' || r == 'ｰ' || 0xff9e <= r && r <= 0xff9f: // prolong or voice kana
		return true
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// unspacedRun yields the characters of a run in such a writing system and their pairs, and returns
// the end of the run.
func (s *scanner) unspacedRun(start int) int {
	s.groups.finish(s)
	end := start
	for end < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[end:])
		if attached := end > start && (unicode.IsMark(r) || ignorable(r)); !attached && !unspaced(r) {
			break
		}
		end += size
	}
	run, exact := s.text[start:end], true
	if !norm.NFKC.IsNormalString(run) {
		run, exact = norm.NFKC.String(run), false
	}
	before := token{}
	for at := 0; at < len(run); {
		_, size := utf8.DecodeRuneInString(run[at:])
		to := at + size
		for to < len(run) {
			r, size := utf8.DecodeRuneInString(run[to:])
			if !unicode.IsMark(r) && !ignorable(r) {
				break
			}
			to += size
		}
		t := token{kind: glyph, text: lowered(run[at:to]), position: s.position, start: start + at, end: start + to, alone: at == 0 && to == len(run)}
		if !exact {
			t.start, t.end = start, end
		}
		if before.text != "" {
			s.yield(token{kind: bigram, text: textlimit.Cut(before.text+t.text, maxToken), position: before.position, start: before.start, end: t.end})
		}
		s.yield(t)
		s.position++
		before, at = t, to
	}
	return end
}
