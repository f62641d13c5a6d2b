package grounding

import (
	"context"
	"slices"
	"sort"

	"github.com/ragdhq/ragd/internal/index/analyzer"
)

// State says how far a sentence rests on the passages. The values are those of the API.
type State string

// The states of sentences.
const (
	Supported   State = "supported"
	Partly      State = "partly"
	Unsupported State = "unsupported"
	NoClaim     State = "no_claim" // a greeting, a question, a heading, or that nothing was found
)

// Kind is what a sentence has and its sources lack. The values are those of the API.
type Kind string

// The kinds.
const (
	Number   Kind = "number"
	Date     Kind = "date"
	Name     Kind = "name"
	Negation Kind = "negation" // the sentence denies what the source says, or the other way round
)

// Span is the range of bytes [Start, End) of a text.
type Span struct{ Start, End int }

// Source is a passage on which answers may rest.
type Source struct{ Title, Text string }

// Quote is the part of a source that supports a sentence.
type Quote struct {
	Span // in the text of the source; empty if only its title has what the sentence says

	Source int // from 0
}

// Missing is what a sentence has and no source, or not the supporting one.
type Missing struct {
	Span // in the answer

	Kind Kind
	// Elsewhere: some source has it, but not the passage that supports the sentence, nor another value in its place.
	Elsewhere bool
}

// Sentence is a sentence of an answer.
type Sentence struct {
	Span // in the answer, with the markers of citations behind it

	State State
	// Score is how much of the sentence its quotes say, in [0,1]; 0 for NoClaim.
	Score float64
	// Quotes are the best quote and, if a further one adds much to it, that.
	Quotes  []Quote
	Missing []Missing
}

// Report is what a check found.
type Report struct {
	Sentences []Sentence // in the order of the answer
	// Score is the mean of the scores of the sentences that claim something, 1 if none does.
	Score float64
}

// Count returns how many sentences have a state.
func (r Report) Count(state State) (n int) {
	for _, s := range r.Sentences {
		if s.State == state {
			n++
		}
	}
	return n
}

// What the labelled sentences of testdata have shown to separate the states best.
const (
	supportedFrom = 0.62
	partlyFrom    = 0.38
	// faultyScore is the most that a sentence scores which says something that no source says.
	faultyScore = 0.2
	// elsewhereScore bounds a sentence with a fact that another passage has.
	elsewhereScore = 0.6
	// deniedFrom is the coverage from which a sentence speaks of the same as its source, so that a negation counts.
	deniedFrom = 0.45
)

// Check compares an answer with sources. Words are stemmed in the languages given, and in those of the texts. It takes time
// linear in the texts. Errors: that of ctx.
func Check(ctx context.Context, answer string, sources []Source, stemmed ...string) (Report, error) {
	plain := withoutMarks(answer)
	c := newChecker(plain, sources, languagesOf(plain, sources, stemmed))
	var r Report
	sum, claims := 0.0, 0
	for _, at := range split(plain) {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		s := c.check(at)
		if s.State != NoClaim {
			sum, claims = sum+s.Score, claims+1
		}
		r.Sentences = append(r.Sentences, s)
	}
	r.Sentences = withMarkers(r.Sentences, answer, plain)
	if r.Score = 1; claims > 0 {
		r.Score = sum / float64(claims)
	}
	return r, nil
}

// checker compares the sentences of one answer with sources. It is not safe for concurrent use.
type checker struct {
	answer   string
	language string          // of the answer
	words    []hit           // of the answer, in their order
	facts    []fact          // of the answer, in their order
	named    map[string]bool // words of names of the answer
	sources  []source
	postings map[int][]place // of words
	total    int             // sentences of all sources
	weights  map[int]float64
}

// hit is a word of the answer in a text.
type hit struct {
	Span

	word int
}

// place is a sentence of a source.
type place struct{ source, sentence int }

// source is a source with what it says.
type source struct {
	text      string
	language  string
	sentences []said
	title     map[int]bool // words
	matcher   matcher      // of all
}

// said is what a sentence of a source says.
type said struct {
	Span

	words   []hit
	facts   []fact
	matcher *matcher // made when it is needed
}

func newChecker(answer string, sources []Source, in languages) *checker {
	finder := analyzer.NewFinder(answer, in.stems)
	c := &checker{answer: answer, language: in.answer, postings: map[int][]place{}, weights: map[int]float64{}, named: map[string]bool{}}
	c.words = wordsIn(finder, answer)
	c.facts = factsOf(answer, in.answer)
	for _, f := range c.facts {
		if !f.weak {
			for _, word := range f.words {
				c.named[word] = true
			}
		}
	}
	for n, given := range sources {
		s := source{text: given.Text, language: in.sources[n], title: map[int]bool{}}
		for _, h := range wordsIn(finder, given.Title) {
			s.title[h.word] = true
		}
		words, facts := wordsIn(finder, given.Text), factsOf(given.Text, s.language)
		plain := withoutMarks(given.Text)
		for k, at := range split(plain) {
			one := said{Span: at}
			one.words, words = within(words, at, func(h hit) int { return h.Start })
			one.facts, facts = within(facts, at, func(f fact) int { return f.start })
			s.sentences = append(s.sentences, one)
			seen := map[int]bool{}
			for _, h := range one.words {
				if !seen[h.word] {
					seen[h.word] = true
					c.postings[h.word] = append(c.postings[h.word], place{n, k})
				}
			}
		}
		s.matcher = newMatcher(given.Title + "\n" + given.Text)
		s.matcher.add(factsOf(given.Title, s.language))
		for _, one := range s.sentences {
			s.matcher.add(one.facts)
		}
		c.sources = append(c.sources, s)
		c.total += len(s.sentences)
	}
	return c
}

// wordsIn returns the words of the finder's question in a text, in their order.
func wordsIn(finder *analyzer.Finder, text string) (hits []hit) {
	finder.Find(text, func(word, start, end int) { hits = append(hits, hit{Span{start, end}, word}) })
	slices.SortStableFunc(hits, func(a, b hit) int { return a.Start - b.Start })
	return hits
}

// within returns the items that start in a span, and those behind it. Items are in the order of their starts.
func within[T any](items []T, at Span, start func(T) int) (inside, rest []T) {
	from := sort.Search(len(items), func(n int) bool { return start(items[n]) >= at.Start })
	items = items[from:]
	to := sort.Search(len(items), func(n int) bool { return start(items[n]) >= at.End })
	return items[:to], items[to:]
}

// check checks the sentence of the answer in a span.
func (c *checker) check(at Span) Sentence {
	s := Sentence{Span: at}
	words, _ := within(c.words, at, func(h hit) int { return h.Start })
	facts, _ := within(c.facts, at, func(f fact) int { return f.start })
	text := c.answer[at.Start:at.End]
	needed := c.needed(words)
	for _, f := range facts {
		if c.claims(f) && !c.known(f) {
			s.Missing = append(s.Missing, Missing{Span: Span{f.start, f.end}, Kind: f.kind})
		}
	}
	if len(s.Missing) == 0 && (saysNothing(text) || len(needed) == 0 && len(facts) == 0) {
		s.State = NoClaim
		return s
	}
	found := c.support(needed)
	c.coverFacts(&found, needed, words, facts)
	s.Score = found.coverage
	s.Quotes = found.quotes(c)
	if len(found.parts) > 0 {
		c.compare(&s, found, facts)
	}
	if s.State, s.Score = stateOf(s); s.State == Unsupported && !slices.ContainsFunc(s.Missing, func(m Missing) bool { return m.Kind == Negation }) {
		s.Quotes = nil // but of what denies it
	}
	return s
}

// stateOf returns the state of a sentence, and its score with what it lacks.
func stateOf(s Sentence) (State, float64) {
	elsewhere := false
	for _, m := range s.Missing {
		if !m.Elsewhere {
			return Unsupported, min(s.Score, faultyScore)
		}
		elsewhere = true
	}
	switch {
	case s.Score < partlyFrom:
		return Unsupported, s.Score
	case elsewhere:
		return Partly, min(s.Score, elsewhereScore)
	case s.Score < supportedFrom:
		return Partly, s.Score
	}
	return Supported, s.Score
}
