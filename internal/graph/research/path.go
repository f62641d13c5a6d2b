package research

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/query"
)

// What paths are worth. They were chosen on the tuning half of examples/chains.
const (
	beamWidth   = 32   // paths that are followed on
	startNamed  = 1.0  // of a path that begins at what the part names
	startAsked  = 1.5  // of one that begins at a passage with the names and the years of the part
	startFound  = 0.2  // of one that begins at what a search found, times its score
	hopCost     = 0.25 // of each passage after the first
	unledCost   = 0.3  // of one that nothing of the question leads to
	arrivalPart = 0.6  // of a term that the beginning of the next passage has, and not the sentence that leads to it
	otherNearer = 0.5  // of a term in that sentence that is nearer to another name
	orderDecay  = 0.8  // of a term for each that is passed over
	revisited   = 0.3  // of a term that an earlier hop has used up
	finalPart   = 0.9  // of the terms in the sentence of the last passage that answers
)

// Bounds of a part.
const (
	startsFound   = 4   // sources of the search where paths begin
	askedPassages = 3   // whose names are searched for in one step, in an index without names
	askedNames    = 4   // of each
	maxLinks      = 64  // followed from one passage
	maxTargets    = 800 // read in one step
	fillPaths     = 1   // passages of further chains for each that the whole question found
)

// passage is a chunk with what it has of the terms of a part.
type passage struct {
	ref    graph.ChunkRef
	source query.Source
	units  []query.Span   // sentences and lines
	hits   [][]query.Span // of each term
	lead   int            // bytes of the text up to the end of its first sentence
	links  []mention
}

// mention is a link to another passage with the place of its name in the text.
type mention struct {
	graph.Link

	at query.Span // empty if the name was not found in the text
}

var sentences = sentence.NewEnders(nil)

// newPassage reads a chunk for the terms of a part.
func newPassage(source query.Source, terms int, f finder) *passage {
	p := &passage{ref: chunkOf(source), source: source, hits: make([][]query.Span, terms)}
	p.units = unitsOf(source.Text)
	if len(p.units) > 0 {
		p.lead = p.units[0].End
	}
	f.find(source.Text, func(term, start, end int) {
		p.hits[term] = append(p.hits[term], query.Span{Start: start, End: end})
	})
	f.find(source.Title, func(term, _, _ int) {
		if p.hits[term] == nil {
			p.hits[term] = []query.Span{{}}
		}
	})
	return p
}

func chunkOf(source query.Source) graph.ChunkRef {
	return graph.ChunkRef{DocumentID: source.DocumentID, Ordinal: source.Ordinal}
}

// unitsOf cuts a text into its sentences, at the ends of lines too.
func unitsOf(text string) (units []query.Span) {
	for start := 0; start < len(text); {
		end := len(text)
		if at := endsWithYear.FindStringIndex(text[start:]); at != nil {
			end = start + at[1] - 1
		}
		if n := strings.IndexByte(text[start:end], '\n'); n >= 0 {
			end = start + n
		}
		for at := start; at < end; {
			to := max(at+1, sentences.End(text, at, end))
			trimmed := strings.TrimSpace(text[at:to])
			if trimmed != "" {
				from := at + strings.Index(text[at:to], trimmed)
				units = append(units, query.Span{Start: from, End: from + len(trimmed)})
			}
			at = to
		}
		start = end + 1
	}
	return units
}

// endsWithYear matches the end of a sentence with a year, which looks like an ordinal number.
var endsWithYear = regexp.MustCompile(`[0-9]{4}\. `)

// unitOf returns the unit of a position.
func (p *passage) unitOf(at int) query.Span {
	for _, u := range p.units {
		if at < u.End {
			return u
		}
	}
	return query.Span{}
}

// locate finds the names of links in the text, and keeps one link to each chunk.
func (p *passage) locate(links []graph.Link) {
	seen := map[graph.ChunkRef]bool{}
	for _, l := range links {
		if seen[l.To] {
			continue
		}
		seen[l.To] = true
		m := mention{Link: l}
		if l.Name != "" {
			if spans := spansOf(p.source.Text, []string{l.Name}); len(spans) > 0 {
				m.at = spans[0].Span
			}
		}
		p.links = append(p.links, m)
	}
}

// path is a chain of passages, each named by the one before.
type path struct {
	steps  []step
	used   []float64 // of each term, the share of its weight that counts
	cursor int       // order of the farthest term that was used
	value  float64   // without what the last passage adds
	whole  float64   // with it
}

// step is a passage of a path and the sentence of the passage before that leads to it.
type step struct {
	*passage

	by mention
}

func (p path) last() *passage { return p.steps[len(p.steps)-1].passage }

func (p path) has(ref graph.ChunkRef) bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return s.ref == ref })
}

// beginning returns the path of one passage.
func beginning(p *passage, value float64, terms []term) path {
	b := path{steps: []step{{passage: p}}, used: make([]float64, len(terms)), cursor: -1, value: value}
	b.close(terms)
	return b
}

// close sets the value of the path as a whole.
func (p *path) close(terms []term) {
	_, speaks := p.last().answering(terms, p.used)
	p.whole = p.value + finalPart*speaks
}

// along returns the path that goes on to the passage next, over a mention of it in the last one.
func (p path) along(m mention, next *passage, terms []term) path {
	from := p.last()
	longer := path{steps: append(slices.Clip(p.steps), step{next, m}), used: slices.Clone(p.used), cursor: p.cursor, value: p.value - hopCost}
	unit := query.Span{}
	if m.at.End > 0 {
		unit = from.unitOf(m.at.Start)
	}
	reached := p.cursor
	matched := false
	for n, t := range terms {
		if n == len(terms)-1 && n > 0 {
			break // what is asked of the last passage
		}
		share := from.sharedBy(n, m, unit)
		if share < arrivalPart && m.Name != "" && next.leads(n) {
			share = arrivalPart
		}
		if share == 0 {
			continue
		}
		matched = true
		if p.used[n] > 0 {
			if t.order < p.cursor {
				continue
			}
			longer.value += revisited * share * t.weight
			continue
		}
		share *= math.Pow(orderDecay, math.Abs(float64(t.order-p.cursor-1)))
		longer.value += share * t.weight
		longer.used[n] = share
		reached = max(reached, t.order)
	}
	if !matched {
		longer.value -= unledCost
	}
	longer.cursor = reached
	longer.close(terms)
	return longer
}

// sharedBy returns how far the sentence of a mention speaks of a term: 1, less if the term stands nearer to another name.
func (p *passage) sharedBy(term int, m mention, unit query.Span) float64 {
	best := 0.0
	for _, hit := range p.hits[term] {
		if hit.End == 0 || hit.Start < unit.Start || hit.End > unit.End || hit.Start < m.at.End && m.at.Start < hit.End {
			continue
		}
		share := 1.0
		for _, other := range p.links {
			if other.To != m.To && other.at.End > 0 && other.at.Start >= unit.Start && other.at.End <= unit.End && gap(hit, other.at) < gap(hit, m.at) {
				share = otherNearer
			}
		}
		best = max(best, share)
	}
	return best
}

// leads reports whether the title or the first sentence has a term.
func (p *passage) leads(term int) bool {
	return slices.ContainsFunc(p.hits[term], func(s query.Span) bool { return s.End <= p.lead })
}

// gap returns the bytes between two spans.
func gap(a, b query.Span) int { return max(0, b.Start-a.End, a.Start-b.End) }

// best keeps the best paths, the best first; of equal ones those to the first chunks.
func best(paths []path, most int) []path {
	slices.SortStableFunc(paths, func(a, b path) int {
		return cmp.Or(cmp.Compare(b.whole, a.whole), cmp.Compare(len(a.steps), len(b.steps)), cmp.Compare(a.last().source.ID, b.last().source.ID))
	})
	return paths[:min(most, len(paths))]
}
