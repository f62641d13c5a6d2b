// Package keyterm finds the terms that tell groups of texts apart.
package keyterm

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query/lexical"
)

const (
	// considered is the number of best words of a group of which phrases are made.
	considered = 40
	// gap separates words that make no phrase.
	gap int32 = -1
	// most bounds the words of one text.
	most = 4_000
	// repeated is the number of texts of a group from which a term must occur in two.
	repeated = 4
	// covering is the part of a word's texts that has to have a phrase, for the phrase to
	// replace the word.
	covering = 0.6
)

// Collection counts in how many texts of each group terms occur. It is not safe for
// concurrent use.
type Collection struct {
	ids      map[string]int32 // of words, by stem
	words    []word           // by id
	groups   []group
	all      map[int32]float64 // texts of the corpus with each word, estimated
	allTexts float64
}

// word is a term of one word.
type word struct {
	rank     lexical.Rank
	form     lexical.Form
	surfaces map[string]int // how it is written, with counts
}

// group is a group of texts.
type group struct {
	texts  [][]int32 // ids of words, with gaps
	scale  float64   // texts of the group for each that was added
	counts map[int32]int
}

// NewCollection returns an empty collection of n groups.
func NewCollection(n int) *Collection {
	return &Collection{ids: map[string]int32{}, groups: make([]group, n), all: map[int32]float64{}}
}

// Add adds texts to a group. They stand for size texts: a sample of a group is enough.
func (c *Collection) Add(n int, texts []string, size int) {
	g := &c.groups[n]
	g.counts = map[int32]int{}
	g.scale = float64(max(size, len(texts))) / float64(max(1, len(texts)))
	for _, text := range texts {
		ids := c.read(text)
		g.texts = append(g.texts, ids)
		seen := map[int32]bool{}
		for _, id := range ids {
			if id != gap && !seen[id] {
				seen[id] = true
				g.counts[id]++
			}
		}
	}
	for id, count := range g.counts {
		c.all[id] += g.scale * float64(count)
	}
	c.allTexts += g.scale * float64(len(texts))
}

// read returns the ids of the words of a text.
func (c *Collection) read(text string) []int32 {
	var ids []int32
	rest := text
	for len(rest) > 0 && len(ids) < most {
		begin := strings.IndexFunc(rest, inWord)
		if begin < 0 {
			break
		}
		if between := rest[:begin]; between != " " && between != "-" && len(ids) > 0 {
			ids = append(ids, gap)
		}
		rest = rest[begin:]
		end := strings.IndexFunc(rest, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(rest)
		}
		ids = append(ids, c.number(rest[:end])...)
		rest = rest[end:]
	}
	return ids
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '\'' || r == '’'
}

// number returns the id of a word. Text without spaces is a sequence of pairs of runes.
func (c *Collection) number(written string) []int32 {
	written = strings.Trim(written, "'’")
	var ids []int32
	for token := range lexical.Tokens(written) {
		switch token.Form {
		case lexical.Glyph:
			continue
		case lexical.Pair:
			written = string(token.Folded)
		}
		id, ok := c.ids[string(token.Stem)]
		if !ok {
			id = int32(len(c.words))
			rank := token.Rank()
			if !readable(written) {
				rank = lexical.Stop
			}
			c.ids[string(token.Stem)] = id
			c.words = append(c.words, word{rank, token.Form, map[string]int{}})
		}
		c.words[id].surfaces[written]++
		ids = append(ids, id)
	}
	return ids
}

// readable reports whether a word can stand for a topic. Numbers and ordinals such as 14th
// cannot, nor can short words that are neither abbreviations nor of a script without spaces.
func readable(written string) bool {
	first, size := utf8.DecodeRuneInString(written)
	if !unicode.IsLetter(first) {
		return false
	}
	return utf8.RuneCountInString(written) > 2 || len(written) > size && !unicode.IsLower(first)
}

// scored is a term with its score.
type scored struct {
	first, second int32 // second is gap for a single word
	count         int
	score         float64
}

// Terms returns the terms of a group that occur in more of its texts than of the rest, best
// first, at most n. A term is a word or two that stand side by side, as the texts write it
// most often. Errors: that of ctx.
//
// The score is the z-score of the log odds of a text having the term, within the group
// and elsewhere, with the whole collection as the prior (Monroe, Colaresi and Quinn,
// "Fightin' Words", 2008). Where there is nothing else to compare with, it is the number
// of texts. Common English words score less, stop words nothing.
func (c *Collection) Terms(ctx context.Context, group, n int) ([]string, error) {
	g := &c.groups[group]
	var words []scored
	for id, count := range g.counts {
		if c.words[id].rank != lexical.Stop && (count > 1 || len(g.texts) < repeated) {
			words = append(words, scored{id, gap, count, c.score(g, count, c.all[id], c.words[id].rank)})
		}
	}
	if err := limit.Yield(ctx); err != nil {
		return nil, err
	}
	best(words)
	words = words[:min(considered, len(words))]
	terms := append(slices.Clone(words), c.phrases(g, words)...)
	best(terms)
	return c.choose(terms, n), nil
}

// best sorts terms by score, ties by id.
func best(terms []scored) {
	slices.SortFunc(terms, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second))
	})
}

// prior is the number of texts that the prior counts for.
const prior = 10

// score returns how much more a term that count texts of the group have is theirs than
// that of others. all is the number of texts of the corpus with it.
func (c *Collection) score(g *group, count int, all float64, rank lexical.Rank) float64 {
	texts := float64(len(g.texts))
	weight := 1.0
	if rank == lexical.Common {
		weight = 0.5
	}
	elsewhere := max(0, c.allTexts-g.scale*texts)
	if elsewhere == 0 {
		return weight * float64(count)
	}
	expected := prior * all / c.allTexts
	odds := func(with, of float64) float64 {
		return math.Log((with + expected) / (max(0, of-with) + prior - expected + 0.5))
	}
	here, there := float64(count), max(0, all-g.scale*float64(count))
	difference := odds(here, texts) - odds(there, elsewhere)
	return weight * difference / math.Sqrt(1/(here+expected)+1/(there+expected))
}

// phrases returns the pairs of words that stand side by side in a group.
func (c *Collection) phrases(g *group, words []scored) []scored {
	known := map[int32]scored{}
	for _, w := range words {
		known[w.first] = w
	}
	counts := map[[2]int32]int{}
	for _, text := range g.texts {
		seen := map[[2]int32]bool{}
		for i := range len(text) - 1 {
			pair := [2]int32{text[i], text[i+1]}
			_, ok := known[pair[0]]
			_, ok2 := known[pair[1]]
			if ok && ok2 && pair[0] != pair[1] && !seen[pair] && c.words[pair[0]].form == lexical.Word {
				seen[pair] = true
				counts[pair]++
			}
		}
	}
	var found []scored
	for pair, count := range counts {
		a, b := known[pair[0]], known[pair[1]]
		if rarer := min(a.count, b.count); count < 2 || float64(count) < covering*float64(rarer) {
			continue
		}
		found = append(found, scored{pair[0], pair[1], count, max(a.score, b.score) * math.Sqrt(float64(count)/float64(max(a.count, b.count))) * 1.01})
	}
	return found
}

// choose returns the best terms, without words that a phrase has and phrases whose words
// came before.
func (c *Collection) choose(terms []scored, n int) []string {
	phrase := map[int32]bool{}
	for _, t := range terms {
		if t.second != gap {
			phrase[t.first], phrase[t.second] = true, true
		}
	}
	used := map[int32]bool{}
	var chosen []string
	for _, t := range terms {
		switch {
		case len(chosen) == n || t.score <= 0:
			return chosen
		case t.second == gap && !used[t.first] && (!phrase[t.first] || c.alone(terms, t)):
			chosen = append(chosen, c.surface(t.first))
			used[t.first] = true
		case t.second != gap && !used[t.first] && !used[t.second]:
			chosen = append(chosen, c.surface(t.first)+" "+c.surface(t.second))
			used[t.first], used[t.second] = true, true
		}
	}
	return chosen
}

// alone reports whether most texts with a word have it outside of phrases.
func (c *Collection) alone(terms []scored, w scored) bool {
	for _, t := range terms {
		if t.second != gap && (t.first == w.first || t.second == w.first) && float64(t.count) >= covering*float64(w.count) {
			return false
		}
	}
	return true
}

// surface returns how a word is written most often, of equals in lower case.
func (c *Collection) surface(id int32) string {
	chosen, count := "", 0
	for written, n := range c.words[id].surfaces {
		if n > count || n == count && written > chosen { // lower case is greater
			chosen, count = written, n
		}
	}
	return chosen
}
