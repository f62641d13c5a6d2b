package rerank

import (
	"cmp"
	"context"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/lexical"
	"github.com/ragdhq/ragd/internal/llm"
)

// lexicalScorer scores by the query's words: how many of them a text has, how
// often, and how close together. It is BM25 with what the candidates themselves
// say about which words are rare, a little for words that begin alike, proximity,
// and the best run of words. A text that another one names by its title is worth
// most of what that one is: questions that need two texts often have the words of
// the first alone. The constants were chosen by nDCG@10 on the questions
// of two English sets, see docs/reranking.md.
type lexicalScorer struct{}

// key is empty: a score depends on the other candidates, and is quickly made.
func (lexicalScorer) key() string { return "" }

const (
	saturation   = 0.5 // BM25's k1: how fast more of the same word stops counting
	lengthShare  = 0.3 // BM25's b: how much long texts pay for their length
	everyWord    = 0.5 // what a word is worth that all candidates have
	kinLetters   = 5   // words that begin with the same so many letters are kin
	kinCount     = 0.3 // how often a word counts that is there only as its kin
	nearShare    = 0.1
	nearDistance = 8   // words further apart than this are not near
	runShare     = 0.5 // of the best run of words
	runLength    = 15
	namedShare   = 0.75 // of the score of a text that names this one
	maxTerms     = 256  // different words of a question that are looked for, the first ones
)

func (lexicalScorer) score(ctx context.Context, t task) ([]verdict, llm.Usage) {
	query := readQuery(t.query)
	found := make([]occurrences, len(t.texts))
	for i, text := range t.texts {
		if err := ctx.Err(); err != nil {
			return failAll(len(t.texts), err), llm.Usage{}
		}
		found[i] = query.find(text)
	}
	query.weigh(found)
	mean := meanLength(found)
	scores := make([]float64, len(t.texts))
	for i := range found {
		scores[i] = (1-nearShare-runShare)*query.matched(&found[i], mean) + nearShare*query.near(&found[i]) + runShare*query.run(&found[i])
	}
	verdicts := make([]verdict, len(t.texts))
	named := named(ctx, t, scores)
	if err := ctx.Err(); err != nil {
		return failAll(len(t.texts), err), llm.Usage{}
	}
	for i, other := range named {
		verdicts[i].score = max(scores[i], namedShare*other+(1-namedShare)*scores[i])
	}
	return verdicts, llm.Usage{}
}

// query is the distinct words of a question that are worth looking for.
type query struct {
	terms  map[string]int // stem -> place in weight
	kin    map[string]int // first letters of a stem -> place in weight
	order  []int          // terms as they follow each other in the question
	weight []float64      // what a term is worth
}

// occurrences is where a text has the terms of a query.
type occurrences struct {
	places [][]int // by term, ascending ordinals of words
	kin    []bool  // by term, whether a word begins like it
	length int     // words in the text
}

// readQuery collects stems. Grammar counts only in a question that has nothing
// else.
func readQuery(text string) *query {
	q := &query{terms: map[string]int{}, kin: map[string]int{}}
	for _, least := range []lexical.Rank{lexical.Common, lexical.Stop} {
		for token := range lexical.Tokens(text) {
			if token.Rank() > least {
				continue
			}
			i, ok := q.terms[string(token.Stem)]
			if !ok && len(q.terms) == maxTerms {
				continue
			}
			if !ok {
				i = len(q.weight)
				q.terms[string(token.Stem)] = i
				if start := beginning(token.Stem); start != nil {
					q.kin[string(start)] = i
				}
				q.weight = append(q.weight, rankWeight(token.Rank()))
			}
			q.order = append(q.order, i)
		}
		if len(q.order) > 0 {
			break
		}
	}
	return q
}

func rankWeight(rank lexical.Rank) float64 {
	if rank == lexical.Content {
		return 1
	}
	return 0.7
}

func (q *query) find(text string) occurrences {
	o := occurrences{places: make([][]int, len(q.weight)), kin: make([]bool, len(q.weight))}
	for token := range lexical.Tokens(text) {
		if token.Form != lexical.Pair {
			o.length++
		}
		if i, ok := q.terms[string(token.Stem)]; ok {
			o.places[i] = append(o.places[i], token.Ordinal)
		} else if i, ok := q.kin[string(beginning(token.Stem))]; ok {
			o.kin[i] = true
		}
	}
	return o
}

// beginning returns the first kinLetters letters of a stem, nil if it has fewer.
func beginning(stem []byte) []byte {
	end := 0
	for range kinLetters {
		if end == len(stem) {
			return nil
		}
		_, size := utf8.DecodeRune(stem[end:])
		end += size
	}
	return stem[:end]
}

// weigh makes words worth less the more of the candidates have them.
func (q *query) weigh(found []occurrences) {
	n := float64(len(found))
	for i := range q.weight {
		having := 0.0
		for _, o := range found {
			if len(o.places[i]) > 0 {
				having++
			}
		}
		q.weight[i] *= math.Log(1+(n-having+0.5)/(having+0.5)) + everyWord
	}
}

// matched is the share of the query's weight that the text has, 0..1.
func (q *query) matched(o *occurrences, mean float64) float64 {
	var sum, all float64
	for i, w := range q.weight {
		count := float64(len(o.places[i]))
		if count == 0 && o.kin[i] {
			count = kinCount
		}
		norm := saturation * (1 - lengthShare + lengthShare*float64(o.length)/mean)
		sum += w * count / (count + norm)
		all += w
	}
	return sum / max(all, 1e-9)
}

// near is how close together words stand that follow each other in the query,
// 0..1: 1 if every two are side by side.
func (q *query) near(o *occurrences) float64 {
	var sum, all float64
	for k := 1; k < len(q.order); k++ {
		a, b := q.order[k-1], q.order[k]
		if a == b {
			continue
		}
		w := q.weight[a] + q.weight[b]
		all += w
		if d := closest(o.places[a], o.places[b]); d <= nearDistance {
			sum += w / float64(d)
		}
	}
	return sum / max(all, 1e-9)
}

// closest returns the least distance between a place of a and one of b, both
// ascending; more than any text has if either is empty.
func closest(a, b []int) int {
	best := math.MaxInt
	for i, j := 0, 0; i < len(a) && j < len(b); {
		d := b[j] - a[i]
		if d < 0 {
			d = -d
			j++
		} else {
			i++
		}
		best = min(best, max(d, 1))
	}
	return best
}

// run is the greatest share of the query's weight that runLength words in a row
// of the text have, 0..1.
func (q *query) run(o *occurrences) float64 {
	type occurrence struct{ place, term int }
	var all []occurrence
	var total float64
	for term, places := range o.places {
		total += q.weight[term]
		for _, place := range places {
			all = append(all, occurrence{place, term})
		}
	}
	slices.SortFunc(all, func(a, b occurrence) int { return cmp.Compare(a.place, b.place) })
	counts := make([]int, len(q.weight))
	var sum, best float64
	start := 0
	for _, last := range all {
		for ; all[start].place <= last.place-runLength; start++ {
			if gone := all[start].term; counts[gone] > 1 {
				counts[gone]--
			} else {
				counts[gone], sum = 0, sum-q.weight[gone]
			}
		}
		if counts[last.term]++; counts[last.term] == 1 {
			sum += q.weight[last.term]
		}
		best = max(best, sum)
	}
	return min(1, best/max(total, 1e-9)) // sums of what comes and goes are not exact
}

func meanLength(found []occurrences) float64 {
	sum := 0
	for _, o := range found {
		sum += o.length
	}
	return max(1, float64(sum)/float64(max(1, len(found))))
}
