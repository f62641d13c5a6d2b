package pdftext

import (
	"slices"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// letter is a letter or digit of a text, folded so that those of a page and of what was read from it are equal.
type letter struct {
	r  rune
	at int // of the first byte of its character in the text
}

// lettersIn returns the letters and digits of a text. White space, punctuation and the marks of Markdown are not among
// them, so they need not be the same in two texts that are aligned.
func lettersIn(text string) []letter {
	out := make([]letter, 0, len(text))
	for at, r := range text {
		for _, f := range folded(r) {
			out = append(out, letter{f, at})
		}
	}
	return out
}

// folded returns the letters and digits that a character stands for, such as those of a ligature.
func folded(r rune) []rune {
	if r < 0x80 {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return []rune{unicode.ToLower(r)}
		}
		return nil
	}
	var out []rune
	for _, f := range norm.NFKD.String(string(r)) {
		if unicode.IsLetter(f) || unicode.IsNumber(f) {
			out = append(out, unicode.ToLower(f))
		}
	}
	return out
}

const (
	// anchor lengths: the letters that must be equal where a text goes on elsewhere on the page, and, of short
	// texts and beside what was matched last, the least.
	longAnchor  = 8
	shortAnchor = 4
	// nearby is how many letters may be left out on either side before a match goes on, such as an address of a link
	// or the mark of a note.
	nearby = 24
	// farRun is how many more letters must follow elsewhere than nearby for the text to go on there.
	farRun = 8
	maxRun = 256 // letters that are compared to choose between places
	// maxPlaces bounds the places on a page that have the same anchor and are compared.
	maxPlaces = 200
)

// alignment finds the letters of a text on a page.
type alignment struct {
	text, page []letter
	used       []bool           // of the page
	at         []int            // for each of the text the one of the page, -1 for none
	anchors    map[string][]int // positions of letters of the page
	spelled    []rune           // of the page
}

// align returns for each letter of a text the letter of the page that it was read from, -1 where there is none. Both
// have the same letters in pieces: columns, notes and rows may follow each other in another order, and each may have
// what the other does not. A piece that is on the page several times is found in the order of the page.
func align(text, page []letter) []int {
	a := &alignment{text: text, page: page, used: make([]bool, len(page)), at: make([]int, len(text)), anchors: map[string][]int{}}
	for i := range a.at {
		a.at[i] = -1
	}
	for _, l := range page {
		a.spelled = append(a.spelled, l.r)
	}
	for i := range page {
		for _, n := range []int{longAnchor, shortAnchor} {
			if i+n <= len(page) {
				key := string(a.spelled[i : i+n])
				if places := a.anchors[key]; len(places) < maxPlaces {
					a.anchors[key] = append(places, i)
				}
			}
		}
	}
	next := 0 // on the page
	for i := 0; i < len(text); {
		if i > 0 && a.at[i-1] == next-1 && next > 0 && next < len(page) && !a.used[next] && text[i].r == page[next].r {
			a.match(i, next)
			i, next = i+1, next+1
			continue
		}
		skip, to := a.resume(i, next)
		if to < 0 {
			i++
			continue
		}
		i, next = i+skip, to
		a.match(i, next)
		i, next = i+1, next+1
	}
	return a.at
}

func (a *alignment) match(i, to int) { a.at[i], a.used[to] = to, true }

// resume returns where the text goes on from letter i: how many of its letters are left out, and the letter of the
// page, -1 if it does not go on with the letter i. next is the letter of the page after the last match.
func (a *alignment) resume(i, next int) (skip, to int) {
	near, nearRun := -1, 0
	for all := 0; all <= nearby && nearRun == 0; all++ { // left out, on both sides
		for left := 0; left <= all; left++ {
			from := next + all - left
			if run := a.run(i+left, from); run > nearRun && (run >= shortAnchor || run > 1 && i+left+run == len(a.text)) {
				skip, near, nearRun = left, from, run
			}
		}
	}
	far, farLength := -1, 0
	for _, n := range []int{longAnchor, shortAnchor} {
		if i+n > len(a.text) || far >= 0 || n == shortAnchor && len(a.text)-i > longAnchor {
			continue
		}
		key := make([]rune, n)
		for k := range key {
			key[k] = a.text[i+k].r
		}
		candidates := a.anchors[string(key)]
		// Those after the last match first, of equal runs.
		begin, _ := slices.BinarySearch(candidates, next)
		for k := range candidates {
			from := candidates[(begin+k)%len(candidates)]
			if run := a.run(i, from); run > farLength {
				far, farLength = from, run
			}
		}
	}
	if near >= 0 && nearRun+farRun >= farLength {
		return skip, near
	}
	return 0, far
}

// run returns the number of letters, at most maxRun, that are the same from a letter of the text and one of the page on.
func (a *alignment) run(i, from int) int {
	n := 0
	for n < maxRun && i+n < len(a.text) && from+n < len(a.page) && !a.used[from+n] && a.text[i+n].r == a.page[from+n].r {
		n++
	}
	return n
}
