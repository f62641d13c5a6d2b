package pdftext

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/bidi"
)

// direction is the direction of writing of a character.
type direction int8

const (
	leftToRight direction = iota
	rightToLeft
	number // written from left to right, in a line of either direction
	neutral
)

func directionOf(r rune) direction {
	properties, _ := bidi.LookupRune(r)
	switch properties.Class() {
	case bidi.R, bidi.AL:
		return rightToLeft
	case bidi.L:
		return leftToRight
	case bidi.EN, bidi.AN:
		return number
	}
	return neutral
}

func isRightToLeft(r rune) bool { return r > unicode.MaxLatin1 && directionOf(r) == rightToLeft }

// glyph is what is drawn at one position: a character or a ligature, with its marks.
type glyph struct {
	text      []rune
	at        float64 // along the line
	direction direction
	number    int // of its first character, in the word and then on the page
}

// glyphs returns the glyphs of a word as they are seen from left to right. at are the
// positions of its characters, which may have any order. Marks follow what they are drawn on.
func glyphs(word []rune, at []float64) []glyph {
	const same = 0.01 // points
	var found []glyph
	for i, r := range word {
		n := len(found)
		switch {
		case n > 0 && (math.Abs(found[n-1].at-at[i]) < same):
			found[n-1].text = append(found[n-1].text, r)
		default:
			found = append(found, glyph{text: []rune{r}, at: at[i], number: i})
		}
	}
	slices.SortStableFunc(found, func(a, b glyph) int { return cmp.Compare(a.at, b.at) })
	var joined []glyph
	for i := range found {
		slices.SortStableFunc(found[i].text, func(a, b rune) int { return markRank(a) - markRank(b) })
		g := found[i]
		g.direction = directionOf(g.text[0])
		joined = append(joined, g)
	}
	return withMarks(joined)
}

func markRank(r rune) int {
	if unicode.IsMark(r) {
		return 1
	}
	return 0
}

// withMarks joins marks that are drawn on their own with the letter that they begin on: the
// one to their left.
func withMarks(all []glyph) []glyph {
	var out []glyph
	for i := 0; i < len(all); i++ {
		g := all[i]
		switch n := len(out); {
		case n > 0 && unicode.IsMark(g.text[0]):
			out[n-1].text = append(out[n-1].text, g.text...)
		case i+1 == len(all) || !unicode.IsMark(g.text[0]):
			out = append(out, g)
		default:
			all[i+1].text = append(all[i+1].text, g.text...)
			slices.SortStableFunc(all[i+1].text, func(a, b rune) int { return markRank(a) - markRank(b) })
		}
	}
	return out
}

// logical returns the words of a line, which stand as they are seen from left to right, in the
// order in which they are read. A line has the direction of most of its letters.
func logical(words [][]glyph) string {
	var out strings.Builder
	for _, g := range readingOrder(words) {
		out.WriteString(string(g.text))
	}
	return out.String()
}

// readingOrder returns the glyphs of logical, with spaces between words.
func readingOrder(words [][]glyph) (line []glyph) {
	letters := [neutral + 1]int{}
	for i, word := range words {
		if i > 0 {
			line = append(line, glyph{text: []rune{' '}, direction: neutral, number: -1})
		}
		for _, g := range word {
			letters[g.direction]++
		}
		line = append(line, word...)
	}
	if letters[rightToLeft] > letters[leftToRight] {
		reverseRuns(line, func(d direction) bool { return d == leftToRight || d == number })
		slices.Reverse(line)
		turnBrackets(line)
	} else {
		reverseRuns(line, func(d direction) bool { return d == rightToLeft })
	}
	return line
}

// columnsOfWords returns the pieces of a line that are long enough for columns of text, in the order in which they are
// read; nil if there are no two. words stand as they are seen.
func columnsOfWords(words [][]glyph, size float64) (cells []cell) {
	if size == 0 {
		return nil
	}
	begun, letters := 0, 0
	end := func(word []glyph) float64 { return word[len(word)-1].at + size/2 }
	for i, word := range words {
		letters += len(word)
		if i+1 < len(words) && words[i+1][0].at-end(word) <= cellGap*size {
			continue
		}
		if letters < minNarrowText {
			return nil
		}
		cells = append(cells, cell{clean(logical(words[begun : i+1])), words[begun][0].at, end(word)})
		begun, letters = i+1, 0
	}
	if len(cells) < 2 {
		return nil
	}
	balance := 0
	for _, g := range slices.Concat(words...) {
		switch g.direction {
		case rightToLeft:
			balance++
		case leftToRight:
			balance--
		}
	}
	if balance > 0 {
		slices.Reverse(cells)
	}
	return cells
}

// reverseRuns reverses each run of glyphs of a direction, with neutral ones between them.
func reverseRuns(line []glyph, of func(direction) bool) {
	for i := 0; i < len(line); i++ {
		if !of(line[i].direction) {
			continue
		}
		end := i + 1
		for j := i + 1; j < len(line) && (of(line[j].direction) || line[j].direction == neutral); j++ {
			if of(line[j].direction) {
				end = j + 1
			}
		}
		slices.Reverse(line[i:end])
		i = end
	}
}

// turnBrackets makes brackets in a line from right to left open before a word and close after it:
// some files say what is drawn, some what is meant.
func turnBrackets(line []glyph) {
	const opening, closing = "([{«", ")]}»"
	space := func(i int) bool { return i < 0 || i == len(line) || line[i].text[0] == ' ' }
	for i, g := range line {
		pair := strings.IndexRune(opening, g.text[0])
		if closes := strings.IndexRune(closing, g.text[0]); pair < 0 {
			pair = closes
		}
		if pair < 0 || space(i-1) == space(i+1) {
			continue
		}
		text := opening
		if space(i + 1) {
			text = closing
		}
		line[i].text = append([]rune(text[pair:])[:1:1], g.text[1:]...) // with its marks
	}
}
