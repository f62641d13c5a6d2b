package grounding

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

const (
	// maxWindow is how many sentences of a source, one after the other, support a sentence together.
	maxWindow = 3
	// maxCandidates is how many sentences of sources are looked at more closely.
	maxCandidates = 24
	// windowCost lowers what a further sentence adds, and secondCost what a second source does.
	windowCost = 0.9
	secondCost = 0.8
	// leastGain is the least share of a sentence for which a further sentence or source is quoted.
	leastGain = 0.12
	// unseenWeight is the weight of a word that no source has.
	unseenWeight = 1.25
	// maxCommon is from how many sentences on a word leads to none, if a sentence has rarer ones.
	maxCommon = 400
)

// needed are the words of a sentence, each with its weight.
type needed map[int]float64

func (c *checker) needed(words []hit) needed {
	need := needed{}
	for _, h := range words {
		if _, ok := need[h.word]; ok {
			continue
		}
		weight, known := c.weights[h.word]
		if !known {
			weight = unseenWeight
			if n := len(c.postings[h.word]); n > 0 {
				weight = 1 + 0.35*math.Log(float64(1+c.total)/float64(1+n))
			}
			for _, s := range c.sources {
				if len(c.postings[h.word]) == 0 && s.title[h.word] {
					weight = 1
				}
			}
			c.weights[h.word] = weight
		}
		need[h.word] = weight
	}
	return need
}

func (n needed) total() (sum float64) {
	for _, word := range slices.Sorted(maps.Keys(n)) { // so that sums are equal each time
		sum += n[word]
	}
	return sum
}

// part is what a source says of a sentence: sentences first to last of it.
type part struct {
	source, first, last int
	sum                 float64
	words               map[int]bool // that it covers
}

// support is what sources say of a sentence, the best part first.
type support struct {
	parts    []part
	coverage float64 // share of the weights, in [0,1]
}

// support finds the sentences of sources that cover most of the words of a sentence.
func (c *checker) support(need needed) support {
	total := need.total()
	best, ok := c.best(need, total)
	if !ok {
		return support{}
	}
	found := support{parts: []part{best}}
	sum := best.sum
	rest := maps.Clone(need)
	maps.DeleteFunc(rest, func(word int, _ float64) bool { return best.words[word] })
	if second, ok := c.best(rest, total); ok && secondCost*second.sum >= leastGain*total {
		found.parts = append(found.parts, second)
		sum += secondCost * second.sum
	}
	found.coverage = min(1, sum/total)
	return found
}

// best returns the part of a source that covers most of the words. total is the weight of the whole sentence.
func (c *checker) best(need needed, total float64) (best part, ok bool) {
	sums := map[place]float64{}
	rarest := slices.SortedFunc(maps.Keys(need), func(a, b int) int {
		return cmp.Or(cmp.Compare(len(c.postings[a]), len(c.postings[b])), cmp.Compare(a, b))
	})
	for _, word := range rarest {
		places := c.postings[word]
		if len(places) > maxCommon {
			if len(sums) > 0 {
				break // rarer words have led to better places
			}
			places = places[:maxCommon]
		}
		for _, at := range places {
			sums[at] += need[word]
		}
	}
	candidates := slices.SortedFunc(maps.Keys(sums), func(a, b place) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), a.source-b.source, a.sentence-b.sentence)
	})
	for _, at := range candidates[:min(len(candidates), maxCandidates)] {
		for first := max(0, at.sentence-maxWindow+1); first <= at.sentence; first++ {
			last := min(first+maxWindow, len(c.sources[at.source].sentences))
			for end := at.sentence + 1; end <= last; end++ {
				if p := c.part(need, at.source, first, end-1, total); !ok || p.sum > best.sum {
					best, ok = p, true
				}
			}
		}
	}
	if !ok {
		return c.titled(need)
	}
	return best, true
}

// part returns what sentences of a source cover. A further one that adds little costs more than it adds.
func (c *checker) part(need needed, number, first, last int, total float64) part {
	s := c.sources[number]
	p := part{source: number, first: first, last: last, words: map[int]bool{}}
	for word := range s.title {
		if weight, ok := need[word]; ok {
			p.words[word] = true
			p.sum += weight
		}
	}
	for n := first; n <= last; n++ {
		gain := 0.0
		for _, h := range s.sentences[n].words {
			if weight, ok := need[h.word]; ok && !p.words[h.word] {
				p.words[h.word] = true
				gain += weight
			}
		}
		switch {
		case n == first:
			p.sum += gain
		case gain < leastGain*total:
			p.sum += windowCost*gain - leastGain*total/2
		default:
			p.sum += windowCost * gain
		}
	}
	return p
}

// titled returns the source whose title has most of the words.
func (c *checker) titled(need needed) (best part, ok bool) {
	for n, s := range c.sources {
		p := part{source: n, first: 0, last: -1, words: map[int]bool{}}
		for word := range s.title {
			if weight, there := need[word]; there {
				p.words[word] = true
				p.sum += weight
			}
		}
		if p.sum > best.sum {
			best, ok = p, true
		}
	}
	return best, ok
}

// quotes returns the parts as quotes.
func (s support) quotes(c *checker) (quotes []Quote) {
	for _, p := range s.parts {
		q := Quote{Source: p.source}
		if p.last >= p.first {
			sentences := c.sources[p.source].sentences
			q.Span = Span{sentences[p.first].Start, sentences[p.last].End}
		}
		quotes = append(quotes, q)
	}
	return quotes
}
