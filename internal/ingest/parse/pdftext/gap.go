package pdftext

import (
	"cmp"
	"math"
	"slices"
	"unicode"

	"github.com/klippa-app/go-pdfium/requests"
)

const (
	// wordGap is the distance between two letters, in font sizes, from which on they belong to two words.
	// It is larger by the usual distance of the line, if its letters are spaced.
	wordGap = 0.18
	// inkGap is wordGap behind a letter whose ink ends its room. The room may end before that, where the letter
	// beside it would begin.
	inkGap = 0.06
	// minSpaced is the number of distances from which on a line may be one of spaced letters.
	minSpaced = 4
)

// extent is the room that a character takes along its line, with the blank around its ink.
type extent struct {
	from, to float64
	inked    bool // its ink ends it
}

// extent returns the room that a character takes. It is not known in a line that is neither upright nor
// turned by a right angle.
func (p *pageReader) extent(index int) (e extent, ok bool) {
	const straight = 0.01
	if min(math.Abs(p.sin), math.Abs(p.cos)) > straight {
		return extent{}, false
	}
	found, err := p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: p.text, Index: p.at(index)})
	if err != nil {
		return extent{}, false
	}
	r := found.Rect
	a, b := float64(r.Left)*p.cos+float64(r.Bottom)*p.sin, float64(r.Right)*p.cos+float64(r.Top)*p.sin
	return extent{from: min(a, b), to: max(a, b)}, true
}

// blanks writes a space where the letters of a line stand as far apart as words do: some files move on
// instead, and PDFium sees no word's end in some of these places.
func (p *pageReader) blanks(lines []line) {
	var chars []rune
	var index []int
	next := 0
	upTo := func(end int) {
		for ; next < end; next++ {
			chars, index = append(chars, p.chars[next]), append(index, next)
		}
	}
	for i := range lines {
		l := &lines[i]
		gaps := p.gaps(l)
		upTo(l.start)
		start := len(chars)
		for _, gap := range gaps {
			upTo(gap)
			chars, index = append(chars, ' '), append(index, gap)
		}
		upTo(l.last + 1)
		last := len(chars) - 1
		upTo(l.stop)
		l.start, l.last, l.stop = start, last, len(chars)
	}
	upTo(len(p.chars))
	p.chars, p.index = chars, index
}

// gaps returns the characters of a line written from left to right before which a space is missing.
func (p *pageReader) gaps(l *line) (found []int) {
	if slices.ContainsFunc(p.chars[l.start:l.last+1], isRightToLeft) {
		return nil // its characters may have any order
	}
	p.sin, p.cos = math.Sincos(l.angle)
	size := p.largest(l)
	var widths []float64
	var before []int
	var left extent
	known := false
	for i := l.start; i <= l.last; i++ {
		if !p.visible(i) || unicode.IsMark(p.chars[i]) {
			known = false
			continue
		}
		e, ok := p.extent(i)
		if ok && known && endsWord(p.chars[i-1], p.chars[i]) {
			widths, before = append(widths, e.from-left.to), append(before, i)
		}
		left, known = e, ok
	}
	least := size*wordGap + usualGap(widths)
	for i, width := range widths {
		if size > 0 && width > least {
			found = append(found, before[i])
		}
	}
	return found
}

// endsWord reports whether a gap between two characters may be the end of a word: in scripts that have
// spaces, and not within rows of dots and the like.
func endsWord(a, b rune) bool {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return (word(a) || word(b)) && !isDense(a) && !isDense(b)
}

// usualGap returns the median of the distances within a line, at least 0.
func usualGap(widths []float64) float64 {
	if len(widths) < minSpaced {
		return 0
	}
	sorted := slices.Sorted(slices.Values(widths))
	return max(0, sorted[len(sorted)/2])
}

// wordStarts returns the positions along a line of what stands as far from what is before it as words do.
func wordStarts(extents []extent, size float64) (starts []float64) {
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	var widths []float64
	var inked []bool
	last := extent{to: math.Inf(-1)}
	for i, e := range extents {
		if i > 0 {
			widths, inked = append(widths, e.from-last.to), append(inked, last.inked)
		}
		if e.to > last.to {
			last = e
		}
	}
	usual := usualGap(widths)
	for i, width := range widths {
		least := wordGap
		if inked[i] {
			least = inkGap
		}
		if size > 0 && width > least*size+usual {
			starts = append(starts, extents[i+1].from)
		}
	}
	return starts
}

// cutAt returns the words that begin at positions within a word. All are in order.
func cutAt(word []glyph, starts []float64) [][]glyph {
	const slack = 0.1 // points
	var words [][]glyph
	begun := 0
	for i := 1; i < len(word); i++ {
		if slices.ContainsFunc(starts, func(at float64) bool { return at > word[i-1].at+slack && at <= word[i].at+slack }) {
			words = append(words, word[begun:i])
			begun = i
		}
	}
	return append(words, word[begun:])
}
