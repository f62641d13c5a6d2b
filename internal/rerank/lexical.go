package rerank

import (
	"cmp"
	"context"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query/lexical"
)

// lexicalScorer scores by the query's terms: how many of them a text has, how often,
// and how close together. It combines BM25, with document frequencies counted over the
// candidates, partial credit for words with the same prefix, proximity, and the best
// passage of runLength words. A text whose title is mentioned in another text gets most
// of the other text's score, because a question that needs two texts often has only
// the words of the first. The constants were chosen by nDCG@10 on two sets of English
// questions, see docs/explanation/reranking.md.
type lexicalScorer struct{ processor *limit.Processor }

// key is empty: a score depends on the other candidates and is cheap to compute.
func (lexicalScorer) key() string { return "" }

const (
	saturation   = 0.5 // BM25's k1: a smaller value makes repetitions count less
	lengthShare  = 0.3 // BM25's b: how strongly long texts are penalised
	everyWord    = 0.5 // added to the inverse document frequency of every term
	kinLetters   = 5   // words that share this many first letters are kin
	kinCount     = 0.3 // term frequency of a term that occurs only as its kin
	nearShare    = 0.1
	nearDistance = 8   // words further apart than this are not near
	runShare     = 0.5 // weight of the best run of words
	runLength    = 15
	namedShare   = 0.75 // weight of the score of a text that mentions this one's title
	maxTerms     = 256  // limit of distinct terms of a question; later ones are ignored
)

// smallTask is the size in bytes up to which texts are scored without a slot of the
// processor: some milliseconds of work.
const smallTask = 64 << 10

func (s lexicalScorer) score(ctx context.Context, t task) ([]verdict, llm.Usage) {
	size := 0
	for _, text := range t.texts {
		size += len(text)
	}
	if size <= smallTask {
		return scoreByTerms(ctx, t), llm.Usage{}
	}
	var verdicts []verdict
	err := s.processor.Run(ctx, t.tenant, func(ctx context.Context) error {
		verdicts = scoreByTerms(ctx, t)
		return nil
	})
	if err != nil {
		verdicts = failAll(len(t.texts), err)
	}
	return verdicts, llm.Usage{}
}

// scoreByTerms returns the verdicts of the lexical scorer.
func scoreByTerms(ctx context.Context, t task) []verdict {
	query := readQuery(t.query)
	found := make([]occurrences, len(t.texts))
	for i, text := range t.texts {
		if err := limit.Yield(ctx); err != nil {
			return failAll(len(t.texts), err)
		}
		found[i] = query.find(text)
	}
	query.weigh(found)
	mean := meanLength(found)
	scores := make([]float64, len(t.texts))
	for i := range found {
		if err := limit.Yield(ctx); err != nil {
			return failAll(len(t.texts), err)
		}
		scores[i] = (1-nearShare-runShare)*query.matched(&found[i], mean) + nearShare*query.near(&found[i]) + runShare*query.run(&found[i])
	}
	verdicts := make([]verdict, len(t.texts))
	named := named(ctx, t, scores)
	if err := ctx.Err(); err != nil {
		return failAll(len(t.texts), err)
	}
	for i, other := range named {
		verdicts[i].score = max(scores[i], namedShare*other+(1-namedShare)*scores[i])
	}
	return verdicts
}

// query holds the distinct terms of a question, without stop words if it has others.
type query struct {
	terms  map[string]int // stem -> index in weight
	kin    map[string]int // first letters of a stem -> index in weight
	order  []int          // indexes in weight, in the order of the question
	weight []float64      // by term
}

// occurrences records where the terms of a query occur in a text.
type occurrences struct {
	ordinals [][]int // by term, ascending
	kin      []bool  // by term, whether a word with the same first letters occurs
	length   int     // words in the text
}

// readQuery returns the terms of a question. Stop words are left out unless the
// question has nothing else.
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
	o := occurrences{ordinals: make([][]int, len(q.weight)), kin: make([]bool, len(q.weight))}
	for token := range lexical.Tokens(text) {
		if token.Form != lexical.Pair {
			o.length++
		}
		if i, ok := q.terms[string(token.Stem)]; ok {
			o.ordinals[i] = append(o.ordinals[i], token.Ordinal)
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

// weigh multiplies the weights by the inverse document frequencies of the terms among
// the candidates.
func (q *query) weigh(found []occurrences) {
	n := float64(len(found))
	for i := range q.weight {
		having := 0.0
		for _, o := range found {
			if len(o.ordinals[i]) > 0 {
				having++
			}
		}
		q.weight[i] *= math.Log(1+(n-having+0.5)/(having+0.5)) + everyWord
	}
}

// matched returns the BM25 score of a text divided by its upper limit, 0..1. mean is
// the mean length of the candidates in words.
func (q *query) matched(o *occurrences, mean float64) float64 {
	var sum, all float64
	for i, w := range q.weight {
		count := float64(len(o.ordinals[i]))
		if count == 0 && o.kin[i] {
			count = kinCount
		}
		norm := saturation * (1 - lengthShare + lengthShare*float64(o.length)/mean)
		sum += w * count / (count + norm)
		all += w
	}
	return sum / max(all, 1e-9)
}

// near returns how close together in the text the neighbouring terms of the query are,
// 0..1. It is 1 if every two neighbours are adjacent.
func (q *query) near(o *occurrences) float64 {
	var sum, all float64
	for k := 1; k < len(q.order); k++ {
		a, b := q.order[k-1], q.order[k]
		if a == b {
			continue
		}
		w := q.weight[a] + q.weight[b]
		all += w
		if d := closest(o.ordinals[a], o.ordinals[b]); d <= nearDistance {
			sum += w / float64(d)
		}
	}
	return sum / max(all, 1e-9)
}

// closest returns the least distance between an ordinal in a and one in b, at least 1.
// Both are ascending. It returns math.MaxInt if either is empty.
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

// run returns the greatest share of the query's weight, 0..1, whose terms occur within
// runLength consecutive words of the text.
func (q *query) run(o *occurrences) float64 {
	type occurrence struct{ ordinal, term int }
	var all []occurrence
	var total float64
	for term, ordinals := range o.ordinals {
		total += q.weight[term]
		for _, ordinal := range ordinals {
			all = append(all, occurrence{ordinal, term})
		}
	}
	slices.SortFunc(all, func(a, b occurrence) int { return cmp.Compare(a.ordinal, b.ordinal) })
	counts := make([]int, len(q.weight))
	var sum, best float64
	start := 0
	for _, last := range all {
		for ; all[start].ordinal <= last.ordinal-runLength; start++ {
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
	return min(1, best/max(total, 1e-9)) // rounding errors of sum may exceed 1
}

func meanLength(found []occurrences) float64 {
	sum := 0
	for _, o := range found {
		sum += o.length
	}
	return max(1, float64(sum)/float64(max(1, len(found))))
}
