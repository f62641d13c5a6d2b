// Package distinct finds passages that say again what another passage says: a manual that is stored as
// text and as HTML, an option that two pages describe with the same words, overlapping chunks.
package distinct

import (
	"cmp"
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/limit"
)

// leastShare is the share of a passage's words that has to stand in another passage for it to be repeated.
// It allows for the ends of chunks that were cut at different places.
const leastShare = 0.8

// A passage is compared with those that have half of its sampled shingles: one in sampledOf is.
const sampledOf = 8

// Of the passages that share a shingle, such as that of a boilerplate sentence, the last mostCandidates are
// looked at, and the mostCompared that share most with a passage are compared with it.
const (
	mostCandidates = 64
	mostCompared   = 32
)

// Repeated returns for each text the number of the first text before it whose words it repeats; its own
// number if there is none. A text repeats another if
//   - at least 80 % of its words stand there in the same order,
//   - between those that do, neither text has words or numbers of its own, but parts of a word joined by
//     signs, such as the name of a role in markup: one "not" more makes another passage, and so does
//     another version, date or price,
//   - at the beginning, and likewise at the end, at most one of them has further words: one was cut
//     elsewhere.
//
// Texts of fewer than 30 words have to have the same ones. Case, white space, punctuation and markup do not
// count; currencies, percent signs and comparisons count as numbers do. The work is linear in the length
// of the texts. Errors: that of ctx.
func Repeated(ctx context.Context, texts []string) ([]int, error) {
	numbers := make([]int, len(texts))
	f := folder{
		kept: make([]*passage, 0, len(texts)), equal: make(map[uint64]int, len(texts)),
		having: make(map[uint64]int32, 16*len(texts)), shared: make([]int, len(texts)),
	}
	for n, text := range texts {
		if err := limit.Yield(ctx); err != nil {
			return nil, err
		}
		numbers[n] = f.add(n, text)
	}
	return numbers, nil
}

// folder has the texts that repeat none before them.
type folder struct {
	kept   []*passage       // by number; nil for one that repeats another
	equal  map[uint64]int   // by the hash of all words
	having map[uint64]int32 // by sampled shingle: one more than the number of the last of its uses
	uses   []use
	shared []int // counts for one call of add
}

// use is a sampled shingle in a passage.
type use struct {
	passage int
	before  int32 // as in having: the last use of the same shingle before, 0 for none
}

func (f *folder) add(n int, text string) (first int) {
	p := newPassage(text)
	f.kept = append(f.kept, nil)
	if len(p.words) == 0 {
		return n
	}
	if same, ok := f.equal[p.hash]; ok && f.kept[same].equals(p) {
		return same
	}
	var met []int
	for _, shingle := range p.sample {
		for at, most := f.having[shingle], mostCandidates; at > 0 && most > 0; most-- {
			with := f.uses[at-1]
			if f.shared[with.passage] == 0 {
				met = append(met, with.passage)
			}
			f.shared[with.passage]++
			at = with.before
		}
	}
	slices.SortFunc(met, func(a, b int) int { return cmp.Or(f.shared[b]-f.shared[a], a-b) })
	first = n
	for at, other := range met {
		if at < mostCompared && other < first && 2*f.shared[other] >= len(p.sample) && p.repeats(f.kept[other]) {
			first = other
		}
		f.shared[other] = 0
	}
	if first != n {
		return first
	}
	f.kept[n], f.equal[p.hash] = p, n
	for _, shingle := range p.sample {
		f.uses = append(f.uses, use{n, f.having[shingle]})
		f.having[shingle] = int32(len(f.uses))
	}
	return n
}

// repeats reports whether p repeats o.
func (p *passage) repeats(o *passage) bool {
	mine, at := p.shingles(), o.shingles() // what stands once in both shows where they run together
	matched, end, otherEnd := 0, 0, 0      // of what is matched so far
	for n := 0; n+shingleWords <= len(p.words); {
		shingle := p.shingle(n)
		start, ok := at[shingle]
		if !ok || start < otherEnd || mine[shingle] < 0 {
			n++
			continue
		}
		begin := n
		for begin > end && start > otherEnd && p.words[begin-1].hash() == o.words[start-1].hash() {
			begin, start = begin-1, start-1
		}
		length := 0
		for begin+length < len(p.words) && start+length < len(o.words) && p.words[begin+length].hash() == o.words[start+length].hash() {
			length++
		}
		if length < shingleWords { // another shingle has the same hash
			n++
			continue
		}
		own, others, same := apart(p.words[end:begin], o.words[otherEnd:start])
		if matched == 0 && own && others || matched > 0 && (own || others) {
			return false
		}
		matched += length + same
		end, otherEnd = begin+length, start+length
		n = end
	}
	own, others, same := apart(p.words[end:], o.words[otherEnd:])
	if own && others {
		return false
	}
	return float64(matched+same) >= leastShare*float64(len(p.words))
}

// apart reports whether words that stand between what two texts share say something, but for those that
// both begin or end with, and how many these are.
func apart(own, others []word) (ownSay, othersSay bool, same int) {
	for len(own) > 0 && len(others) > 0 && own[0].hash() == others[0].hash() {
		own, others, same = own[1:], others[1:], same+1
	}
	for len(own) > 0 && len(others) > 0 && own[len(own)-1].hash() == others[len(others)-1].hash() {
		own, others, same = own[:len(own)-1], others[:len(others)-1], same+1
	}
	return says(own), says(others), same
}

// says reports whether words that only one of two texts has may change what it says.
func says(words []word) bool {
	for _, w := range words {
		if w&hasNumber != 0 || w&isJoined == 0 {
			return true
		}
	}
	return false
}
