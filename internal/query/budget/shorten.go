package budget

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sectionShare is the part of what fits, one in so many, that is given up to end a text with a section
// instead of a sentence.
const sectionShare = 4

// Shorten returns where the first part of a text that fits ends: with a section if there is one in the
// last quarter and the text is Markdown, else with a sentence; with a word if not even one sentence fits, and
// with a character if not even one word does. It is 0 only for an empty text. most is a position after which
// nothing fits, and whole says that the end of the text is one of a sentence.
func Shorten(text string, most int, markdown, whole bool, fits func(part string) bool) int {
	if most == len(text) && whole && fits(text) {
		return len(text)
	}
	seen := text[:most]
	ends := Ends(seen, 0)
	for n := len(ends); n > 0 && ends[n-1] >= len(strings.TrimRightFunc(seen, unicode.IsSpace)); n-- {
		ends = ends[:n-1] // where the text was cut off
	}
	low, high := 0, len(ends)
	for low < high {
		if middle := (low + high) / 2; fits(text[:ends[middle]]) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low > 0 {
		end := ends[low-1]
		if markdown {
			if section := SectionEnd(text, ends[:low]); section >= end-end/sectionShare {
				return section
			}
		}
		return end
	}
	for _, endBefore := range []func(text string, most int) int{WordEnd, runeEnd} {
		if end := longest(text, most, endBefore, fits); end > 0 {
			return end
		}
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}

// longest returns the last position up to most that endBefore returns and whose part fits, 0 for none.
func longest(text string, most int, endBefore func(text string, most int) int, fits func(part string) bool) (end int) {
	for low, high := 1, most; low <= high; {
		middle := (low + high + 1) / 2
		if at := endBefore(text, middle); at == 0 || fits(text[:at]) {
			end, low = max(end, at), middle+1
		} else {
			high = middle - 1
		}
	}
	return end
}

// runeEnd returns the end of the last character in text[:most].
func runeEnd(text string, most int) int {
	for most > 0 && most < len(text) && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}
