package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// referenceEnding is the ending of a reference: the text of the file of the same name
// without it, as Markdown.
const referenceEnding = ".ref.md"

// scores are shares of a reference in [0,1], or -1 where the reference has none. other is the
// share of the text's words that the reference does not have: running titles, menus and the like.
type scores struct {
	words, order, other   float64
	headings, items, rows float64
}

// address is that of a link or a picture in Markdown, which readers of PDF files cannot show.
var address = regexp.MustCompile(`\]\(<?[a-z]+:[^)\s]*>?( "[^"]*")?\)`)

// tag is a tag of HTML, with which pandoc writes what Markdown has not.
var tag = regexp.MustCompile(`</?[a-z][a-z0-9]*(\s[^<>]*)?/?>`)

// words returns the words of a text in order, in lower case and compatibility form. A word
// hyphenated at the end of a line is one word. Each ideograph, syllable of Hangul and kana
// is a word.
func words(text string) []string {
	text = tag.ReplaceAllString(address.ReplaceAllString(text, "]"), " ")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\u00ad\n", ""), "\u00ad", "")
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
	s := scores{
		words: found(count(got), count(want)),
		order: found(count(pairs(got)), count(pairs(want))),
		other: -1,
	}
	if known := found(count(want), count(got)); known >= 0 {
		s.other = 1 - known
	}
	made, said := structure(text), structure(reference)
	s.headings, s.items, s.rows = found(made["heading"], said["heading"]), found(made["item"], said["item"]), found(made["row"], said["row"])
	return s
}

// structure returns the headings, list items and table rows of a Markdown text by their words.
// The number of a numbered heading and the marks of notes are not among them. The row above the
// rule is the head of a table: it counts as "head" and its words.
func structure(text string) map[string]map[string]int {
	out := map[string]map[string]int{"heading": {}, "item": {}, "row": {}}
	row := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		kind := ""
		switch {
		case strings.HasPrefix(line, "#"):
			kind, line = "heading", strings.TrimLeft(line, "#*_0123456789. ")
		case strings.HasPrefix(line, "|") && strings.ContainsFunc(line, isWord):
			kind = "row"
		case strings.HasPrefix(line, "|") && strings.Contains(line, "--") && row != "":
			out["row"][row]--
			out["row"]["head "+row]++
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "+ "):
			kind = "item"
		case numbered(line):
			kind, line = "item", strings.TrimLeft(line, "0123456789.) ")
		}
		row = ""
		content := strings.Join(words(line), " ")
		if kind == "" || content == "" {
			continue
		}
		out[kind][content]++
		if kind == "row" {
			row = content
		}
	}
	return out
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func numbered(line string) bool {
	digits := strings.TrimLeft(line, "0123456789")
	return len(digits) < len(line) && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}
