// Package tokenizer cuts texts into the tokens of the byte pair encodings that
// language models read. The tables of an encoding are built on first use and
// shared; everything is safe for concurrent use.
package tokenizer

import (
	"embed"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

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
	cl100k = lazyEncoding("cl100k_base", 100_256, preTokenCl100k)
	o200k  = lazyEncoding("o200k_base", 199_998, preTokenO200k)
	p50k   = lazyEncoding("p50k_base", 50_281, preTokenGPT2)
	r50k   = lazyEncoding("p50k_base", 50_256, preTokenGPT2) // the tokens of p50k_base without its last ones
)

// tables are the tokens of the encodings, which hack/ranks writes and describes.
//
//go:embed ranks/*.zst
var tables embed.FS

// lazyEncoding returns a function that builds an encoding on its first call, from the first size
// ranks of a table.
func lazyEncoding(table string, size uint32, preToken func(string, int, int) int) func() *Encoding {
	return sync.OnceValue(func() *Encoding {
		e := &Encoding{ranks: make(map[string]uint32, size), pairs: make([]uint32, 1<<16), preToken: preToken}
		for i := range e.pairs {
			e.pairs[i] = noRank
		}
		tokens := unpack(table)
		for rank := range size {
			var token string
			token, tokens = cutToken(tokens)
			if token == "" { // a gap between the ranks and the special tokens
				continue
			}
			e.ranks[token] = rank
			if len(token) == 2 {
				e.pairs[int(token[0])<<8|int(token[1])] = rank
			}
		}
		return e
	})
}

// unpack returns a table as one string. It panics if the binary holds none that can be read.
func unpack(table string) string {
	packed, err := tables.ReadFile("ranks/" + table + ".zst")
	if err != nil {
		panic(err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	defer decoder.Close()
	tokens, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		panic(fmt.Errorf("read the tokens of %s: %w", table, err))
	}
	return string(tokens)
}

// cutToken returns the first token of a table, and what follows it.
func cutToken(tokens string) (token, rest string) {
	length := int(tokens[0])
	if length < 0x80 {
		return tokens[1 : 1+length], tokens[1+length:]
	}
	length = length&0x7f | int(tokens[1])<<7 // no token has more than 16383 bytes
	return tokens[2 : 2+length], tokens[2+length:]
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
