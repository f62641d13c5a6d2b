// Package tokenizer cuts texts into the tokens of the byte pair encodings that
// language models read. The tables of an encoding are built on first use and
// shared; everything is safe for concurrent use.
package tokenizer

import (
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// Encoding is a byte pair encoding: a function that cuts a text into pre-tokens,
// and the ranks by which the bytes of a pre-token are merged into tokens.
type Encoding struct {
	ranks    map[string]uint32
	pairs    []uint32 // rank of two bytes, indexed by first<<8 | second
	preToken func(text string, pos, to int) int
}

// Load returns the encoding with one of the Names. The first call for a name builds its
// table of ranks, with 50,000 to 200,000 entries, which is kept for the life of the
// process.
func Load(name string) *Encoding {
	switch name {
	case "o200k_base":
		return o200k()
	case "p50k_base", "p50k_edit":
		return p50k()
	case "r50k_base", "gpt2":
		return r50k()
	}
	return cl100k()
}

var (
	cl100k = lazyEncoding(codec.NewCl100kBase, 100_256, preTokenCl100k)
	o200k  = lazyEncoding(codec.NewO200kBase, 199_998, preTokenO200k)
	p50k   = lazyEncoding(codec.NewP50kBase, 50_281, preTokenGPT2)
	r50k   = lazyEncoding(codec.NewR50kBase, 50_256, preTokenGPT2)
)

// lazyEncoding returns a function that builds an encoding on its first call. It reads
// the ranks from a codec by decoding every token. The codec's own encoder is not used
// because its time is quadratic in the longest word.
func lazyEncoding(newCodec func() *codec.Codec, size uint, preToken func(string, int, int) int) func() *Encoding {
	return sync.OnceValue(func() *Encoding {
		e := &Encoding{ranks: make(map[string]uint32, size), pairs: make([]uint32, 1<<16), preToken: preToken}
		for i := range e.pairs {
			e.pairs[i] = noRank
		}
		c := newCodec()
		for id := range size {
			token, err := c.Decode([]uint{id})
			if err != nil { // a gap between the ranks and the special tokens
				continue
			}
			e.ranks[token] = uint32(id)
			if len(token) == 2 {
				e.pairs[int(token[0])<<8|int(token[1])] = uint32(id)
			}
		}
		return e
	})
}

// each calls yield with the end of every token of text[from:to], in order. Special
// tokens are encoded as ordinary text. It returns false if it ended early, soon after yield
// returned false.
func (e *Encoding) each(text string, from, to int, yield func(end int) bool) bool {
	var m pairMerger
	goOn := true
	emit := func(end int) { goOn = yield(end) && goOn }
	for from < to && goOn {
		end := e.preToken(text, from, to)
		for end-from > maxMerge {
			cut := textspan.RuneStart(text, from+maxMerge)
			m.merge(e, text, from, cut, emit)
			from = cut
		}
		m.merge(e, text, from, end, emit)
		from = end
	}
	return goOn
}
