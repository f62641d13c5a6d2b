package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Terms are the columns of a chunk that keyword search reads, in the encoding of
// PostgreSQL's binary protocol.
type Terms struct {
	Terms   postgres.Binary // tsvector: the terms with their positions
	Weights postgres.Binary // sparsevec of TermDimensions dimensions; nil for a chunk without terms
}

// TermDimensions is the number of dimensions of the column term_weights. The SQL function
// term_dimension returns the dimension of a term, which is smaller.
const TermDimensions = 1_000_000_000

// maxTerms is the number of values that a sparsevec can hold.
const maxTerms = 16_000

// The constants of the weight of a term; see termWeights. The SQL function weigh_terms
// repeats those of BM25.
const (
	k1            = 0.9
	b             = 0.4
	typicalLength = 50.0
	headingWeight = 0.4
)

// Bounds of the weight of a term in a chunk. A chunk in which a term weighs more than
// WeakWeight also has the term with StrongMark after it, so that a tsquery can ask for such
// chunks. In a text without headings a term that occurs once never weighs more.
const (
	MaxTermWeight = 1 + headingWeight
	WeakWeight    = 0.65
	StrongMark    = "\x01" // in no term of a text
)

// maxLexeme is the most bytes of a term in a tsvector.
const maxLexeme = 2046

// Text is the text of a chunk for keyword search.
type Text struct {
	Headings string // the title of the document and the headings above the chunk
	Body     string
	Contents bool // a table of contents, whose terms weigh ContentsWeight of others
}

// ContentsWeight is the weight of a table of contents, which names what other chunks say, beside other
// texts: a factor of the weights of its terms, and of scores that are made of more than terms.
const ContentsWeight = 0.5

// TermsOf returns the terms of texts in a text search language, in the order of the
// texts. In the tsvector the terms of the headings come first and have the label A, and
// terms that weigh more than WeakWeight are repeated with StrongMark. For a text without headings the result is what the trigger function weigh_terms computes
// for a chunk that is written without terms, in half the time.
func TermsOf(ctx context.Context, q data.Queryer, language string, texts []Text) ([]Terms, error) {
	headings, bodies := make([]string, len(texts)), make([]string, len(texts))
	for n, text := range texts {
		headings[n], bodies[n] = text.Headings, text.Body
	}
	type row struct {
		Terms      postgres.Binary
		Dimensions []int64
	}
	rows, err := data.Select[row](ctx, q, `
		SELECT v.terms, ARRAY(SELECT ragd_shared.term_dimension(l.lexeme) FROM unnest(tsvector_to_array(v.terms)) AS l (lexeme)) AS dimensions
		FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS t (headings, body, n)
		CROSS JOIN LATERAL (
			SELECT CASE t.headings WHEN '' THEN '' ELSE setweight(to_tsvector($1::text::regconfig, t.headings), 'A') END
				|| to_tsvector($1::text::regconfig, t.body) AS terms
			OFFSET 0
		) AS v
		ORDER BY t.n`, language, headings, bodies)
	if err != nil {
		return nil, err
	}
	terms := make([]Terms, len(rows))
	for n, r := range rows {
		counts, err := termCounts(r.Terms)
		if err != nil {
			return nil, err
		}
		weights := termWeights(counts, r.Dimensions)
		if texts[n].Contents {
			for i := range weights {
				weights[i].value *= ContentsWeight
			}
		}
		terms[n] = Terms{markStrong(counts, weights), encodeSparse(byDimension(weights))}
	}
	return terms, nil
}

// termCount is how often a term occurs in a text.
type termCount struct {
	encoded []byte // of the term in the tsvector: the term, a zero byte and the positions
	length  int    // of the term, in bytes
	count   int
	heading bool // also in the headings
}

// labelA is the label A of a position in the encoding of a tsvector.
const labelA = 3 << 14

// termCounts returns the counts of the terms of a tsvector. Its encoding is the number of
// terms in four bytes and, for each term, the term, a zero byte, the number of its
// positions in two bytes and each position in two bytes, the label in the upper two bits.
func termCounts(tsvector []byte) ([]termCount, error) {
	if len(tsvector) < 4 {
		return nil, fmt.Errorf("a tsvector of %d bytes", len(tsvector))
	}
	counts := make([]termCount, binary.BigEndian.Uint32(tsvector))
	rest := tsvector[4:]
	for n := range counts {
		end := bytes.IndexByte(rest, 0)
		if end < 0 || len(rest) < end+3 {
			return nil, fmt.Errorf("a tsvector of %d terms that ends in term %d", len(counts), n)
		}
		count := int(binary.BigEndian.Uint16(rest[end+1:]))
		size := min(len(rest), end+3+2*count)
		// The headings come first, so the first position tells.
		heading := size >= end+5 && binary.BigEndian.Uint16(rest[end+3:])&labelA == labelA
		counts[n] = termCount{rest[:size], end, count, heading}
		rest = rest[size:]
	}
	return counts, nil
}

// termWeight is the weight of a term in a chunk.
type termWeight struct {
	dimension int64 // from 1
	value     float32
}

// termWeights returns the weights of a text's terms, in their order.
//
// The weight is the part of a term's BM25 score that depends on the chunk alone, in
// [0, 1), and headingWeight more for a term of the headings: a weighted sum of two
// fields, of which the headings are so short that their counts are not compared.
func termWeights(counts []termCount, dimensions []int64) []termWeight {
	length := 0.0
	for _, c := range counts {
		length += float64(c.count)
	}
	weights := make([]termWeight, len(dimensions))
	for n, dimension := range dimensions {
		count := float64(counts[n].count)
		value := count / (count + k1*(1-b+b*length/typicalLength))
		if counts[n].heading {
			value += headingWeight
		}
		weights[n] = termWeight{dimension, float32(value)}
	}
	return weights
}

// markStrong returns the encoding of a tsvector of terms, with one more term for each that
// weighs more than WeakWeight.
func markStrong(counts []termCount, weights []termWeight) postgres.Binary {
	out := make([]byte, 4)
	terms := uint32(len(counts))
	for n, c := range counts {
		out = append(out, c.encoded...)
		if weights[n].value > WeakWeight && c.length < maxLexeme {
			// The mark is the least byte of any term, so the order stays that of PostgreSQL.
			out = append(append(out, c.encoded[:c.length]...), StrongMark[0], 0, 0, 0)
			terms++
		}
	}
	binary.BigEndian.PutUint32(out, terms)
	return out
}

// byDimension sorts weights by ascending dimension and returns at most maxTerms of them.
// Terms that share a dimension have the weight of the heaviest.
func byDimension(weights []termWeight) []termWeight {
	slices.SortFunc(weights, func(x, y termWeight) int {
		return cmp.Or(cmp.Compare(x.dimension, y.dimension), cmp.Compare(y.value, x.value))
	})
	weights = slices.CompactFunc(weights, func(x, y termWeight) bool { return x.dimension == y.dimension })
	return weights[:min(len(weights), maxTerms)]
}

// encodeSparse encodes weights as a sparsevec: the number of dimensions, the number of
// values, zero, the dimensions of the values counted from 0, and the values.
func encodeSparse(weights []termWeight) postgres.Binary {
	if len(weights) == 0 {
		return nil
	}
	out := make([]byte, 0, 12+8*len(weights))
	out = binary.BigEndian.AppendUint32(out, TermDimensions)
	out = binary.BigEndian.AppendUint32(out, uint32(len(weights)))
	out = binary.BigEndian.AppendUint32(out, 0)
	for _, w := range weights {
		out = binary.BigEndian.AppendUint32(out, uint32(w.dimension-1))
	}
	for _, w := range weights {
		out = binary.BigEndian.AppendUint32(out, math.Float32bits(w.value))
	}
	return out
}
