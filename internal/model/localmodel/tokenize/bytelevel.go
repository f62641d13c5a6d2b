package tokenize

import (
	"container/heap"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// byteRunes maps each byte to the visible character that stands for it in GPT-2's vocabulary.
var byteRunes = func() (table [256]rune) {
	next := rune(256)
	for b := range table {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			table[b] = rune(b)
			continue
		}
		table[b] = next
		next++
	}
	return table
}()

// byteLevel splits a text into the words of GPT-2 and writes their bytes as characters.
func byteLevel(prefixSpace bool) splitter {
	return func(text string, _ bool, word func(string)) {
		if prefixSpace && !beginsWithSpace(text) {
			text = " " + text
		}
		for len(text) > 0 {
			n := wordEnd(text)
			var out strings.Builder
			for i := range n {
				out.WriteRune(byteRunes[text[i]])
			}
			word(out.String())
			text = text[n:]
		}
	}
}

func beginsWithSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// wordEnd returns the length of the first match of GPT-2's pattern
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func wordEnd(text string) int {
	for _, suffix := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(text, suffix) {
			return len(suffix)
		}
	}
	space := 0
	if text[0] == ' ' && len(text) > 1 {
		space = 1
	}
	if r, _ := utf8.DecodeRuneInString(text[space:]); !unicode.IsSpace(r) {
		kind := runeKind(r)
		return space + run(text[space:], func(r rune) bool { return runeKind(r) == kind })
	}
	n := run(text, unicode.IsSpace)
	if _, last := utf8.DecodeLastRuneInString(text[:n]); n < len(text) && n > last {
		return n - last // the last space begins the next word
	}
	return n
}

// runeKind returns 0 for white space, 1 for letters, 2 for numbers, 3 for others.
func runeKind(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 0
	case unicode.IsLetter(r):
		return 1
	case unicode.IsNumber(r):
		return 2
	}
	return 3
}

func run(text string, is func(rune) bool) int {
	for i, r := range text {
		if !is(r) {
			return i
		}
	}
	return len(text)
}

// bpe merges the characters of a word, the pair with the lowest rank first.
type bpe struct {
	vocabulary map[string]int32
	ranks      map[[2]int32]merge
	unknown    int32
}

type merge struct {
	rank int
	id   int32
}

func newBPE(vocabulary map[string]int32, merges [][2]string, unknown string) (*bpe, error) {
	b := &bpe{vocabulary: vocabulary, ranks: make(map[[2]int32]merge, len(merges)), unknown: -1}
	if id, ok := vocabulary[unknown]; ok {
		b.unknown = id
	}
	for rank, pair := range merges {
		left, ok1 := vocabulary[pair[0]]
		right, ok2 := vocabulary[pair[1]]
		both, ok3 := vocabulary[pair[0]+pair[1]]
		if !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("the merge of %q and %q is not in the vocabulary", pair[0], pair[1])
		}
		b.ranks[[2]int32{left, right}] = merge{rank, both}
	}
	return b, nil
}

func (b *bpe) id(token string) (int32, bool) {
	id, ok := b.vocabulary[token]
	return id, ok
}

// symbol is a token of a word in a list; id is -1 once it is merged into the one before it.
type symbol struct {
	id             int32
	previous, next int
}

// candidate is a pair of neighbours that could be merged.
type candidate struct {
	merge
	left        int // index of its first symbol
	first, last int32
}

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].left < c[j].left
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push implements heap.Interface.
func (c *candidates) Push(x any) { *c = append(*c, x.(candidate)) }

// Pop implements heap.Interface.
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

func (b *bpe) tokens(out []int32, word string) []int32 {
	var symbols []symbol
	for _, r := range word {
		id, ok := b.vocabulary[string(r)]
		if !ok {
			id = b.unknown
		}
		if id >= 0 {
			symbols = append(symbols, symbol{id, len(symbols) - 1, len(symbols) + 1})
		}
	}
	var queue candidates
	consider := func(left int) {
		if left < 0 || symbols[left].next >= len(symbols) {
			return
		}
		first, last := symbols[left].id, symbols[symbols[left].next].id
		if m, ok := b.ranks[[2]int32{first, last}]; ok {
			heap.Push(&queue, candidate{m, left, first, last})
		}
	}
	for i := range symbols {
		consider(i)
	}
	for len(queue) > 0 {
		c := heap.Pop(&queue).(candidate)
		left := &symbols[c.left]
		if left.id != c.first || left.next >= len(symbols) || symbols[left.next].id != c.last {
			continue // one of them was merged meanwhile
		}
		right := &symbols[left.next]
		left.id, right.id = c.id, -1
		left.next = right.next
		if left.next < len(symbols) {
			symbols[left.next].previous = c.left
		}
		consider(left.previous)
		consider(c.left)
	}
	for _, s := range symbols {
		if s.id >= 0 {
			out = append(out, s.id)
		}
	}
	return out
}
