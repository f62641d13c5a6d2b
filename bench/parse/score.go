package main

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// referenceEnding is the ending of a reference: the text of the file of the same name
// without it, as Markdown.
const referenceEnding = ".ref.md"

// scores are shares of a reference in [0,1], or -1 where the reference has none.
type scores struct {
	words, order, structure float64
}

// words returns the words of a text in order, in lower case and compatibility form. A word
// hyphenated at the end of a line is one word. Each ideograph, syllable of Hangul and kana
// is a word.
func words(text string) []string {
	text = strings.ReplaceAll(text, "\u00ad\n", "")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "-\r\n", ""), "-\n", "")
	text = strings.ToLower(norm.NFKC.String(text))
	var out []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
			flush()
			out = append(out, string(r))
		case unicode.IsLetter(r), unicode.IsDigit(r):
			word.WriteRune(r)
		case unicode.IsMark(r):
		default:
			flush()
		}
	}
	flush()
	return out
}

func count(list []string) map[string]int {
	counts := map[string]int{}
	for _, w := range list {
		counts[w]++
	}
	return counts
}

// pairs returns each word joined with the next.
func pairs(list []string) []string {
	var out []string
	for i := 1; i < len(list); i++ {
		out = append(out, list[i-1]+" "+list[i])
	}
	return out
}

// found returns the share of want that is in got, each entry as often as it occurs, or -1
// if want is empty.
func found(got, want map[string]int) float64 {
	all, hits := 0, 0
	for w, n := range want {
		all += n
		hits += min(n, got[w])
	}
	if all == 0 {
		return -1
	}
	return float64(hits) / float64(all)
}

// agreed returns the words that most of the texts have, each as often as most have it.
func agreed(texts []string) map[string]int {
	counts := map[string][]int{}
	for i, text := range texts {
		for w, n := range count(words(text)) {
			if counts[w] == nil {
				counts[w] = make([]int, len(texts))
			}
			counts[w][i] = n
		}
	}
	out := map[string]int{}
	for w, list := range counts {
		slices.Sort(list)
		if n := list[(len(list)-1)/2]; n > 0 {
			out[w] = n
		}
	}
	return out
}

// score compares a text with a reference.
func score(text, reference string) scores {
	got, want := words(text), words(reference)
	return scores{
		words:     found(count(got), count(want)),
		order:     found(count(pairs(got)), count(pairs(want))),
		structure: found(structure(text), structure(reference)),
	}
}

// structure returns the headings, list items and table rows of a Markdown text, each as
// its kind and words.
func structure(text string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		kind := ""
		switch {
		case strings.HasPrefix(line, "#"):
			kind = "heading"
		case strings.HasPrefix(line, "|") && strings.ContainsFunc(line, unicode.IsLetter):
			kind = "row"
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "+ "), numbered(line):
			kind = "item"
		}
		if content := strings.Join(words(line), " "); kind != "" && content != "" {
			out[kind+" "+content]++
		}
	}
	return out
}

func numbered(line string) bool {
	digits := strings.TrimLeft(line, "0123456789")
	return len(digits) < len(line) && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}
