package main

import (
	"math"
	"math/rand/v2"
	"strings"
)

// Word frequencies follow the law of Zipf and Mandelbrot: that of rank r is proportional to
// 1 / (r + shift)^exponent. The constants fit English Wikipedia passages: the ranks 10, 100,
// 1,000 and 10,000 have 8,800, 900, 80 and 7 of a million words, where such passages have 8,800 to
// 12,000, 800 to 900, 120 and 8.
const (
	vocabulary = 500_000
	exponent   = 1.07
	shift      = 2.7
	// commonRank separates words that are in more than about 0.7 % of the passages from others.
	commonRank = 1_000
	// pairChance is the chance that a word is followed by one of its partners.
	pairChance = 0.2
	partners   = 4
)

// functionWords have the most frequent ranks, and every second one after that.
var functionWords = strings.Fields(`the of in and a to is was by as on for it with from that at an he his which are were its has or be their who
	after had have but all during other not been she her this most into only they also`)

// language makes passages and questions of made-up words. It is not safe for concurrent use.
type language struct {
	random     *rand.Rand
	cumulative []float64 // by rank, from 0
	ranks      []int32   // of a passage under construction
}

func newLanguage(seed uint64) *language {
	l := &language{cumulative: make([]float64, vocabulary)}
	sum := 0.0
	for rank := range l.cumulative {
		sum += math.Pow(float64(rank+1)+shift, -exponent)
		l.cumulative[rank] = sum
	}
	l.reseed(seed)
	return l
}

func (l *language) reseed(seed uint64) { l.random = rand.New(rand.NewPCG(seed, 1)) }

// draw returns a rank from the distribution, given a number in [0, 1).
func (l *language) draw(at float64) int32 {
	at *= l.cumulative[vocabulary-1]
	low, high := 0, vocabulary-1
	for low < high {
		if middle := (low + high) / 2; l.cumulative[middle] < at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return int32(low)
}

// passage returns the ranks of the words of a passage, whose first words are its title. They
// are valid until the next call.
func (l *language) passage() (ranks []int32, title int) {
	const shortest, longest = 40, 120
	l.ranks = l.ranks[:0]
	title = 2 + l.random.IntN(3)
	for len(l.ranks) < title {
		if rank := l.draw(l.random.Float64()); rank > commonRank/2 {
			l.ranks = append(l.ranks, rank)
		}
	}
	for end := title + shortest + l.random.IntN(longest-shortest+1); len(l.ranks) < end; {
		if last := l.ranks[len(l.ranks)-1]; last > int32(len(functionWords)) && l.random.Float64() < pairChance {
			pair := rand.New(rand.NewPCG(uint64(last), uint64(l.random.IntN(partners))))
			l.ranks = append(l.ranks, l.draw(pair.Float64()))
			continue
		}
		if l.random.Float64() < 0.02 { // passages repeat the words of their titles
			l.ranks = append(l.ranks, l.ranks[l.random.IntN(title)])
			continue
		}
		l.ranks = append(l.ranks, l.draw(l.random.Float64()))
	}
	return l.ranks, title
}

// kinds of questions.
const (
	mixed  = "mixed"  // words of a passage, a third of them as frequent as in texts
	common = "common" // frequent words alone
	titled = "title"  // the title of a passage
)

// question returns the text of a question of a kind to a random passage.
func (l *language) question(kind string) string {
	ranks, title := l.passage()
	const shortest, longest = 4, 10
	asked := ranks[:title]
	if kind != titled {
		asked = nil
		for end := shortest + l.random.IntN(longest-shortest+1); len(asked) < end; {
			rank := ranks[l.random.IntN(len(ranks))]
			if kind == common {
				rank = l.draw(l.random.Float64())
			}
			if kind == common && rank > commonRank || kind == mixed && isFunction(rank) && l.random.Float64() < 0.5 {
				continue
			}
			asked = append(asked, rank)
		}
	}
	return text(asked)
}

// isFunction reports whether a rank is that of a function word: each of the first
// len(functionWords)/2, and every second one of as many more.
func isFunction(rank int32) bool {
	half := int32(len(functionWords) / 2)
	return rank < half || rank < 3*half && (rank-half)%2 == 0
}

// word returns the word of a rank.
func word(rank int32) string {
	half := int32(len(functionWords) / 2)
	switch {
	case rank < half:
		return functionWords[rank]
	case rank < 3*half && (rank-half)%2 == 0:
		return functionWords[half+(rank-half)/2]
	}
	// Syllables that no English ending matches, least frequent first so that ranks differ.
	const consonants, vowels = "bdfgkmnprtvz", "aou"
	var b strings.Builder
	for n := int(rank) + len(consonants)*len(vowels); n > 0; n /= len(consonants) * len(vowels) {
		syllable := n % (len(consonants) * len(vowels))
		b.WriteByte(consonants[syllable/len(vowels)])
		b.WriteByte(vowels[syllable%len(vowels)])
	}
	return b.String()
}

// text joins the words of ranks.
func text(ranks []int32) string {
	var b strings.Builder
	for n, rank := range ranks {
		if n > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word(rank))
	}
	return b.String()
}
