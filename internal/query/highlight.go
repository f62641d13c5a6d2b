package query

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
)

const (
	// maxHighlightedBytes bounds the texts of one answer that are searched for the terms
	// of the question.
	maxHighlightedBytes = 1 << 20
	// passageBytes is the maximum length of a passage.
	passageBytes = 480
	// breakCost is what a blank line within a passage costs, in weights of terms.
	breakCost = 2
)

// Span is the range of bytes [Start, End) of a text.
type Span struct{ Start, End int }

// Highlight tells where a source matches the question.
type Highlight struct {
	Passage Span   // the sentences or lines that match best, at most 480 bytes
	Matches []Span // the words that match, in order
}

// Highlight sets the Highlight of the sources, best first, for a question about index i. Sources after
// the first MiB of texts have none.
func (*Service) Highlight(i index.Index, question string, sources []Source) {
	examined := 0
	for n := range sources {
		if examined += len(sources[n].Text); examined > maxHighlightedBytes {
			sources = sources[:n]
			break
		}
	}
	noted := slices.Clone(i.Languages)
	for _, source := range sources { // of documents that were written since the index was read
		if language := i.LanguageOf(source.Text); language != "" && !slices.Contains(noted, language) {
			noted = append(noted, language)
		}
	}
	finder := analyzer.NewFinder(question, i.AskedLanguages(noted))
	texts := make([]matchedText, len(sources))
	for n, source := range sources {
		texts[n] = match(finder, source.Text)
	}
	weights := weigh(texts)
	for n := range sources {
		sources[n].Highlight = texts[n].highlight(weights)
	}
}

// matchedText is a text with the words of a question in it.
type matchedText struct {
	text  string
	words []matchedWord
}

// matchedWord is an occurrence of the word of a question with a number.
type matchedWord struct {
	Span
	number int
}

func match(finder *analyzer.Finder, text string) matchedText {
	t := matchedText{text: text}
	finder.Find(text, func(word, start, end int) { t.words = append(t.words, matchedWord{Span{start, end}, word}) })
	slices.SortStableFunc(t.words, func(x, y matchedWord) int { return cmp.Compare(x.Start, y.Start) })
	return t
}

// matches returns where words of the question stand, those that overlap as one.
func (t matchedText) matches() (spans []Span) {
	for _, w := range t.words {
		if last := len(spans) - 1; last >= 0 && w.Start < spans[last].End {
			spans[last].End = max(spans[last].End, w.End)
			continue
		}
		spans = append(spans, w.Span)
	}
	return spans
}

// weigh returns the weight of each word, more if fewer of the texts have it.
func weigh(texts []matchedText) map[int]float64 {
	counts := map[int]int{}
	for _, t := range texts {
		seen := map[int]bool{}
		for _, w := range t.words {
			if !seen[w.number] {
				seen[w.number] = true
				counts[w.number]++
			}
		}
	}
	weights := make(map[int]float64, len(counts))
	for word, count := range counts {
		weights[word] = 1 + math.Log(float64(len(texts))/float64(count))
	}
	return weights
}

// highlight returns the matches in a text and the passage whose words weigh most together,
// each counted once: the first one and no more of it than is needed, with lines around it.
func (t matchedText) highlight(weights map[int]float64) *Highlight {
	h := &Highlight{Matches: t.matches()}
	units := unitsOf(t.text)
	if len(units) == 0 {
		return h
	}
	first, last := t.bestUnits(units, weights)
	first, last = t.widened(units, first, last)
	h.Passage = Span{units[first].Start, units[last].End}
	return h
}

// widened adds to a passage the lines of its section that follow, then those of its
// paragraph before, and the heading above, while it fits. Sections begin with Markdown
// headings.
func (t matchedText) widened(units []Span, first, last int) (widerFirst, widerLast int) {
	heading := func(unit int) bool { return t.text[units[unit].Start] == '#' }
	fits := func(first, last int) bool { return units[last].End-units[first].Start <= passageBytes }
	withHeading := func() {
		if first > 0 && heading(first-1) && fits(first-1, last) {
			first--
		}
	}
	withHeading()
	for last+1 < len(units) && !heading(last+1) && fits(first, last+1) {
		last++
	}
	for first > 0 && !heading(first) && !brokenBefore(t.text, units, first) && fits(first-1, last) {
		first--
	}
	withHeading()
	return first, last
}

// brokenBefore reports whether there is a blank line before a unit that is not the first.
func brokenBefore(text string, units []Span, unit int) bool {
	return strings.Count(text[units[unit-1].End:units[unit].Start], "\n") > 1
}

// bestUnits returns the first and the last of the adjacent units, at most passageBytes
// together, whose words weigh most, each counted once, less the cost of blank lines.
func (t matchedText) bestUnits(units []Span, weights map[int]float64) (first, last int) {
	best := math.Inf(-1)
	from := 0 // the first word of the window
	for a := range units {
		for from < len(t.words) && t.words[from].Start < units[a].Start {
			from++
		}
		sum, breaks, seen, next := 0.0, 0.0, map[int]bool{}, from
		for b := a; b < len(units) && (b == a || units[b].End-units[a].Start <= passageBytes); b++ {
			if b > a && brokenBefore(t.text, units, b) {
				breaks += breakCost
			}
			for ; next < len(t.words) && t.words[next].Start < units[b].End; next++ {
				if word := t.words[next].number; !seen[word] {
					seen[word] = true
					sum += weights[word]
				}
			}
			if value := sum - breaks; value > best || value == best && b <= last {
				first, last, best = a, b, value
			}
		}
	}
	return first, last
}

var sentences = sentence.NewEnders(nil)

// unitsOf cuts a text into its lines without surrounding white space, long ones into
// sentences, and long sentences at white space.
func unitsOf(text string) (units []Span) {
	for start := 0; start < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
			end = start + n
		}
		for at := start; at < end; {
			at += len(text[at:end]) - len(strings.TrimLeftFunc(text[at:end], unicode.IsSpace))
			if at == end {
				break
			}
			to := min(sentences.End(text, at, end), cutAt(text, at, end))
			units = append(units, Span{at, at + len(strings.TrimRightFunc(text[at:to], unicode.IsSpace))})
			at = to
		}
		start = end + 1
	}
	return units
}

// cutAt returns the end of the longest start of text[start:end] that fits in a passage,
// at white space if there is any.
func cutAt(text string, start, end int) int {
	if end-start <= passageBytes {
		return end
	}
	limit := start + passageBytes
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	if space := strings.LastIndexFunc(text[start:limit], unicode.IsSpace); space > 0 {
		return start + space
	}
	return limit
}
