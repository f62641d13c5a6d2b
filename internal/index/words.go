package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/ragdhq/ragd/internal/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Words are what keyword search reads of a chunk, as its columns take it.
type Words struct {
	Words   postgres.Binary // tsvector
	Weights postgres.Binary // sparsevec of WordSpace dimensions; nil for a chunk without words
}

// WordSpace is the number of dimensions of word weights, more than a word's place can
// be, and maxWeights how many of them a sparse vector holds.
const (
	WordSpace  = 1_000_000_000
	maxWeights = 16_000
)

// WordsOf returns the words of texts, in their order. Of a chunk, the text is its
// title, a blank and its own. It is what the trigger weigh_words finds in a chunk that
// is written without words, for the price of having PostgreSQL find them: SQL takes
// as long again to weigh them.
func WordsOf(ctx context.Context, q tenant.Queryer, i Index, texts []string) ([]Words, error) {
	type row struct {
		Words  postgres.Binary
		Places []int64
	}
	found, err := tenant.Select[row](ctx, q, `
		SELECT w.words, ARRAY(SELECT tenant.word_place(l.lexeme) FROM unnest(tsvector_to_array(w.words)) AS l (lexeme)) AS places
		FROM unnest($2::text[]) WITH ORDINALITY AS t (text, n)
		CROSS JOIN LATERAL (SELECT to_tsvector($1::text::regconfig, t.text) AS words OFFSET 0) AS w
		ORDER BY t.n`, i.TextLanguage, texts)
	if err != nil {
		return nil, err
	}
	words := make([]Words, len(found))
	for n, f := range found {
		counts, err := wordCounts(f.Words)
		if err != nil {
			return nil, err
		}
		words[n] = Words{f.Words, sparse(weigh(counts, f.Places))}
	}
	return words, nil
}

// wordCounts returns how often each word of a tsvector stands in the text. A tsvector
// is sent as the number of words and, for each, the word, a zero byte, the number of
// its positions in two bytes and the positions in two bytes each.
func wordCounts(words []byte) ([]int, error) {
	if len(words) < 4 {
		return nil, fmt.Errorf("a tsvector of %d bytes", len(words))
	}
	counts := make([]int, binary.BigEndian.Uint32(words))
	rest := words[4:]
	for n := range counts {
		end := bytes.IndexByte(rest, 0)
		if end < 0 || len(rest) < end+3 {
			return nil, fmt.Errorf("a tsvector of %d words that ends in word %d", len(counts), n)
		}
		counts[n] = int(binary.BigEndian.Uint16(rest[end+1:]))
		rest = rest[min(len(rest), end+3+2*counts[n]):]
	}
	return counts, nil
}

// weight is that of a word of a chunk, at its place, which counts from 1.
type weight struct {
	place int64
	value float32
}

// weigh returns the weights of words by place, one for each; see weigh_words for the
// formula. Words whose place is the same share the weight of the heaviest.
func weigh(counts []int, places []int64) []weight {
	length := 0.0
	for _, count := range counts {
		length += float64(count)
	}
	weights := make([]weight, len(places))
	for n, place := range places {
		count := float64(counts[n])
		weights[n] = weight{place, float32(count / (count + 0.9*(0.6+0.4*length/50)))}
	}
	slices.SortFunc(weights, func(a, b weight) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(b.value, a.value))
	})
	weights = slices.CompactFunc(weights, func(a, b weight) bool { return a.place == b.place })
	return weights[:min(len(weights), maxWeights)]
}

// sparse writes weights as a sparsevec is sent: dimensions, the number of values, zero,
// the values' dimensions counted from 0, and the values.
func sparse(weights []weight) postgres.Binary {
	if len(weights) == 0 {
		return nil
	}
	out := make([]byte, 0, 12+8*len(weights))
	out = binary.BigEndian.AppendUint32(out, WordSpace)
	out = binary.BigEndian.AppendUint32(out, uint32(len(weights)))
	out = binary.BigEndian.AppendUint32(out, 0)
	for _, w := range weights {
		out = binary.BigEndian.AppendUint32(out, uint32(w.place-1))
	}
	for _, w := range weights {
		out = binary.BigEndian.AppendUint32(out, math.Float32bits(w.value))
	}
	return out
}
