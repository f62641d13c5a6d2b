package pdftext

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/bidi"
)

// direction is the direction of writing of a word.
type direction int8

const (
	leftToRight direction = iota
	rightToLeft
	neutral
)

// directionOf returns the direction of the first character of a word that has one. Numbers
// are written from left to right.
func directionOf(word string) direction {
	for _, r := range word {
		properties, _ := bidi.LookupRune(r)
		switch properties.Class() {
		case bidi.R, bidi.AL:
			return rightToLeft
		case bidi.L, bidi.EN, bidi.AN:
			return leftToRight
		}
	}
	return neutral
}

// logical returns a line whose words stand as they are seen, from left to right, in the
// order in which they are read. The letters of a word are in that order already.
func logical(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return directionOf(string(r)) == rightToLeft }) {
		return text
	}
	words := strings.Fields(text)
	letters := [neutral + 1]int{}
	for i, word := range words {
		d := directionOf(word)
		letters[d] += len([]rune(word))
		if d == rightToLeft {
			words[i] = mirrored(word)
		}
	}
	inner := rightToLeft // runs of words against the direction of the line
	if letters[rightToLeft] > letters[leftToRight] {
		slices.Reverse(words)
		inner = leftToRight
	}
	reverseRuns(words, inner)
	return strings.Join(words, " ")
}

// reverseRuns reverses each run of words of a direction, with neutral words between them.
func reverseRuns(words []string, of direction) {
	for i := 0; i < len(words); i++ {
		if directionOf(words[i]) != of {
			continue
		}
		end := i + 1
		for j := i + 1; j < len(words) && directionOf(words[j]) != 1-of; j++ {
			if directionOf(words[j]) == of {
				end = j + 1
			}
		}
		slices.Reverse(words[i:end])
		i = end
	}
}

// mirrored returns a word written from right to left with the punctuation at its ends
// exchanged.
func mirrored(word string) string {
	runes := []rune(word)
	plain := func(r rune) bool { return !unicode.IsPunct(r) && !unicode.IsSymbol(r) }
	first := slices.IndexFunc(runes, plain)
	if first < 0 {
		return word
	}
	last := len(runes)
	for !plain(runes[last-1]) {
		last--
	}
	var out strings.Builder
	for i := len(runes) - 1; i >= last; i-- {
		out.WriteRune(runes[i])
	}
	out.WriteString(string(runes[first:last]))
	for i := first - 1; i >= 0; i-- {
		out.WriteRune(runes[i])
	}
	return out.String()
}
