package extract

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/lexical"
)

// titleWithoutModel returns the document's title, else its first line without
// heading marks; "" if there is none.
func titleWithoutModel(r Request) string {
	if r.Title != "" {
		return textlimit.Cut(tidy(r.Title), maxLineBytes)
	}
	for line := range strings.Lines(r.Chunks[0].Text) {
		if title := tidy(strings.TrimLeft(line, "#=*- \t")); title != "" {
			return textlimit.Cut(title, maxLineBytes)
		}
	}
	return ""
}

// term is the statistics of one stem in a chunk.
type term struct {
	word  string // its first form in the text, in lower case
	count int    // in the chunk
	worth float64
	score float64
}

// keywordsByFrequency returns for each chunk the count words with the highest TF-IDF
// weight (Spärck Jones 1972) among the document's chunks, joined by commas. Ties
// keep the order of the text. Function words are left out, and common words have
// half the weight.
func keywordsByFrequency(chunks []Chunk, count int) []string {
	terms := make([]map[string]*term, len(chunks)) // by stem
	order := make([][]string, len(chunks))
	chunksWith := map[string]int{}
	for i, c := range chunks {
		terms[i], order[i] = wordsOf(c.Text)
		for stem := range terms[i] {
			chunksWith[stem]++
		}
	}
	out := make([]string, len(chunks))
	for i := range chunks {
		found := make([]*term, 0, len(order[i]))
		for _, stem := range order[i] {
			t := terms[i][stem]
			n, df := float64(len(chunks)), float64(chunksWith[stem])
			t.score = t.worth * (1 + math.Log(float64(t.count))) * math.Log(1+(n-df+0.5)/(df+0.5))
			found = append(found, t)
		}
		slices.SortStableFunc(found, func(a, b *term) int { return cmp.Compare(b.score, a.score) })
		words := make([]string, 0, count)
		for _, t := range found[:min(count, len(found))] {
			words = append(words, t.word)
		}
		out[i] = strings.Join(words, ", ")
	}
	return out
}

// minWordBytes excludes single letters and short numbers.
const minWordBytes = 3

// wordsOf returns the candidate keywords of a text by stem, and the stems in the
// order of the text. In scripts without spaces, the words are pairs of characters.
func wordsOf(text string) (map[string]*term, []string) {
	terms := map[string]*term{}
	var order []string
	for token := range lexical.Tokens(text) {
		rank := token.Rank()
		if token.Form == lexical.Glyph || rank > lexical.Common || len(token.Folded) < minWordBytes {
			continue
		}
		stem := string(token.Stem)
		if terms[stem] == nil {
			terms[stem] = &term{word: string(token.Folded), worth: 1}
			if rank == lexical.Common {
				terms[stem].worth = 0.5
			}
			order = append(order, stem)
		}
		terms[stem].count++
	}
	return terms, order
}
