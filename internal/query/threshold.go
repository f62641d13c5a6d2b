package query

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
)

// bounded is a term of a question with bounds of what it adds to the score of a chunk.
type bounded struct {
	any    string // tsquery of the chunks that have the term
	strong string // tsquery of those in which it weighs more than index.WeakWeight
	weak   float64
	most   float64
	// Fractions of the chunks that have the term, weakly and strongly.
	weakly, strongly float64
}

// strongFraction says which fraction of the chunks with a term is assumed to have it with
// a weight above index.WeakWeight, where these have not been counted.
const strongFraction = 10

// bounds returns the terms with their bounds, those that can add most first.
func (q queryTerms) bounds() []bounded {
	out := make([]bounded, len(q.terms))
	for n, t := range q.terms {
		total := float64(max(t.Total, t.Chunks, 1))
		if t.phrase() {
			out[n] = bounded{any: t.Quoted, strong: t.Quoted, weak: t.most(), most: t.most(), weakly: float64(t.Chunks) / total}
			continue
		}
		strong := min(cmp.Or(t.Strong, t.Chunks/strongFraction), t.Chunks)
		out[n] = bounded{
			any: t.Quoted, strong: strings.TrimSuffix(t.Quoted, "'") + index.StrongMark + "'",
			weak: t.weight() * index.WeakWeight, most: t.most(),
			weakly: float64(t.Chunks-strong) / total, strongly: float64(strong) / total,
		}
	}
	slices.SortStableFunc(out, func(x, y bounded) int { return cmp.Compare(y.most, x.most) })
	return out
}

// buckets is the resolution of reachable.
const buckets = 512

// reachable estimates the distribution of the bounds of the chunks' scores, as if terms
// occurred independently. Its n-th value is the fraction of chunks whose bound is n times
// width or more.
func reachable(terms []bounded) (fractions []float64, width float64) {
	sum := 0.0
	for _, t := range terms {
		sum += t.most
	}
	width = sum / buckets
	now, next := make([]float64, buckets+1), make([]float64, buckets+1)
	now[0] = 1
	for _, t := range terms {
		// Rounded to whole buckets, and up, so that the estimate is rather too large.
		weak, most := int(math.Ceil(t.weak/width)), int(math.Ceil(t.most/width))
		clear(next)
		for n, p := range now {
			next[n] += p * (1 - t.weakly - t.strongly)
			next[min(n+weak, buckets)] += p * t.weakly
			next[min(n+most, buckets)] += p * t.strongly
		}
		now, next = next, now
	}
	for n := buckets - 1; n >= 0; n-- {
		now[n] += now[n+1]
	}
	return now, width
}

// threshold returns the least bound of a score that about limit chunks reach. It is 0 if no
// more than these have any term.
func (q queryTerms) threshold(limit int64) float64 {
	all := int64(0)
	for _, t := range q.terms {
		all += t.Chunks
	}
	if all <= limit {
		return 0
	}
	fractions, width := reachable(q.bounds())
	n := buckets
	for n > 1 && fractions[n-1]*float64(q.terms[0].Total) <= float64(limit) {
		n--
	}
	return float64(n) * width * rounding
}

// matching returns about how many chunks reach a bound.
func (q queryTerms) matching(bound float64) int64 {
	fractions, width := reachable(q.bounds())
	return int64(fractions[min(int(math.Ceil(bound/width)), buckets)] * float64(q.terms[0].Total))
}

// maxConditions bounds the conditions of a tsquery on terms, which PostgreSQL checks for
// each chunk that has one of the rarer terms, and maxThresholdTerms the terms in them.
const (
	maxConditions     = 60
	maxThresholdTerms = 16
)

// atLeast returns a tsquery that includes all chunks whose score can be least or more, and
// what the score of the others is at most. The query is as short as it has to be: the terms
// that add least are assumed to be in every chunk. ok is false if there is none with at most
// maxConditions.
func (q queryTerms) atLeast(least float64) (query string, others float64, ok bool) {
	terms := q.bounds()
	assumed := 0.0
	for n := len(terms); n > 0 && assumed < least; n-- {
		if n <= maxThresholdTerms {
			b := builder{terms: terms[:n], rest: make([]float64, n+1)}
			for i := n - 1; i >= 0; i-- {
				b.rest[i] = b.rest[i+1] + terms[i].most
			}
			if query, others = b.from(0, least-assumed); b.conditions <= maxConditions && query != never {
				return query, assumed + others, true
			}
		}
		assumed += terms[n-1].most
	}
	return "", 0, false
}

// builder writes a tsquery of a threshold.
type builder struct {
	terms      []bounded
	rest       []float64 // what the terms from a number on can add
	conditions int
}

// Results of builder.from that are no tsquery.
const (
	always = "true"
	never  = ""
)

// from returns a tsquery of the chunks to whose score the terms from a number on can add at
// least need, and what they can add to that of others. It stops with an incomplete one after
// maxConditions.
func (b *builder) from(n int, need float64) (query string, others float64) {
	switch {
	case need <= 0:
		return always, math.Inf(-1)
	case need > b.rest[n] || b.conditions > maxConditions:
		return never, b.rest[n]
	}
	t := b.terms[n]
	without, others := b.from(n+1, need)
	weakly, othersWeakly := b.from(n+1, need-t.weak)
	strongly, othersStrongly := b.from(n+1, need-t.most)
	others = max(others, othersWeakly+t.weak, othersStrongly+t.most)
	var either []string
	if weakly != without {
		either = append(either, b.and(t.any, weakly))
	}
	if strongly != weakly {
		either = append(either, b.and(t.strong, strongly))
	}
	if without != never {
		either = append(either, without)
	}
	return strings.Join(either, " | "), others
}

// and returns a tsquery of the chunks that match a condition and another tsquery.
func (b *builder) and(condition, query string) string {
	b.conditions++
	if query == always {
		return condition
	}
	return condition + " & (" + query + ")"
}
