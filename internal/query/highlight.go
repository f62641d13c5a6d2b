package query

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/lexical"
	"github.com/ragdhq/ragd/internal/tenant/data"
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

// Highlight sets the Highlight of the sources, best first, for a question about index i,
// whose tables are given. Sources after the first MiB of texts have none.
func (*Service) Highlight(ctx context.Context, h *data.Handle, i index.Index, question string, sources []Source) error {
	examined := 0
	for n := range sources {
		if examined += len(sources[n].Text); examined > maxHighlightedBytes {
			sources = sources[:n]
			break
		}
	}
	texts := make([]wordedText, len(sources))
	numbers := map[string]int{}
	for n, source := range sources {
		texts[n] = wordsOf(source.Text, numbers)
	}
	terms, err := matchingWords(ctx, h, i, question, numbers)
	if err != nil {
		return fmt.Errorf("find the words that match: %w", err)
	}
	weights := weigh(texts, terms)
	for n := range sources {
		sources[n].Highlight = texts[n].highlight(terms, weights)
	}
	return nil
}

// wordedText is a text with its words.
type wordedText struct {
	text  string
	words []numberedWord
}

// numberedWord is an occurrence of the word with a number.
type numberedWord struct {
	Span
	number int
}

// wordsOf finds the words of a text: runs of letters, digits and marks, and decimal
// numbers. It numbers those that have no number yet.
func wordsOf(text string, numbers map[string]int) wordedText {
	t := wordedText{text: text}
	for at := 0; at < len(text); {
		end := wordEnd(text, at)
		if end == at {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			continue
		}
		word := text[at:end]
		number, known := numbers[word]
		if !known {
			number = len(numbers)
			numbers[word] = number
		}
		t.words = append(t.words, numberedWord{Span{at, end}, number})
		at = end
	}
	return t
}

// wordEnd returns the end of the word that starts at a position, which is the position
// itself if none does.
func wordEnd(text string, at int) int {
	digit := false // the last character
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		point := r == '.' && digit && at+1 < len(text) && text[at+1] >= '0' && text[at+1] <= '9'
		if !point && (r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)) {
			break
		}
		digit = unicode.IsDigit(r)
		at += size
	}
	return at
}

// matchingWords returns the term of each word, by its number, that is a term of the
// question in the text search language of the index.
func matchingWords(ctx context.Context, h *data.Handle, i index.Index, question string, numbers map[string]int) (map[int]string, error) {
	if unframed := lexical.Unframed(question); i.TextLanguage == "english" && strings.TrimSpace(unframed) != "" {
		question = unframed
	}
	words := make([]string, len(numbers))
	for word, number := range numbers {
		words[number] = word
	}
	type match struct {
		Number int
		Term   string
	}
	found, err := data.Select[match](ctx, h, `
		SELECT w.number::int - 1 AS number, min(term) AS term
		FROM unnest($3::text[]) WITH ORDINALITY AS w (word, number)
		CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector($1::text::regconfig, w.word))) AS term
		WHERE term = ANY (tsvector_to_array(to_tsvector($1::text::regconfig, $2)))
		GROUP BY w.number`, i.TextLanguage, question, words)
	terms := make(map[int]string, len(found))
	for _, m := range found {
		terms[m.Number] = m.Term
	}
	return terms, err
}

// weigh returns the weight of each term, more if fewer of the texts have it.
func weigh(texts []wordedText, terms map[int]string) map[string]float64 {
	counts := map[string]int{}
	for _, t := range texts {
		seen := map[string]bool{}
		for _, w := range t.words {
			if term, ok := terms[w.number]; ok && !seen[term] {
				seen[term] = true
				counts[term]++
			}
		}
	}
	weights := make(map[string]float64, len(counts))
	for term, count := range counts {
		weights[term] = 1 + math.Log(float64(len(texts))/float64(count))
	}
	return weights
}

// highlight finds the matches in a text and the passage whose terms weigh most together,
// each counted once: the first one and no more of it than is needed, with lines around it.
func (t wordedText) highlight(terms map[int]string, weights map[string]float64) *Highlight {
	h := &Highlight{}
	var matched []string // the term of each match
	for _, w := range t.words {
		if term, ok := terms[w.number]; ok {
			h.Matches, matched = append(h.Matches, w.Span), append(matched, term)
		}
	}
	units := unitsOf(t.text)
	if len(units) == 0 {
		return h
	}
	first, last := bestUnits(t.text, units, h.Matches, func(match int) (string, float64) { return matched[match], weights[matched[match]] })
	first, last = t.widened(units, first, last)
	h.Passage = Span{units[first].Start, units[last].End}
	return h
}

// widened adds to a passage the lines of its section that follow, then those of its
// paragraph before, and the heading above, while it fits. Sections begin with Markdown
// headings.
func (t wordedText) widened(units []Span, first, last int) (widerFirst, widerLast int) {
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
// together, whose matches weigh most, each term counted once, less the cost of blank lines.
func bestUnits(text string, units, matches []Span, weigh func(match int) (term string, weight float64)) (first, last int) {
	best := math.Inf(-1)
	from := 0 // the first match of the window
	for a := range units {
		for from < len(matches) && matches[from].Start < units[a].Start {
			from++
		}
		sum, breaks, seen, next := 0.0, 0.0, map[string]bool{}, from
		for b := a; b < len(units) && (b == a || units[b].End-units[a].Start <= passageBytes); b++ {
			if b > a && brokenBefore(text, units, b) {
				breaks += breakCost
			}
			for ; next < len(matches) && matches[next].Start < units[b].End; next++ {
				if term, weight := weigh(next); !seen[term] {
					seen[term] = true
					sum += weight
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
