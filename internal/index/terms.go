package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index/analyzer"
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

// The constants of the weight of a term, see termOccurrences.weight. They were chosen by leaving one labelled set out
// at a time, see docs/explanation/retrieval.md. With the mean length of the texts of an index in
// place of typicalLength the quality is the same, but weights would change with every write.
const (
	k1            = 1.2
	b             = 0.4
	typicalLength = 100.0
	titleCount    = 3
	headingCount  = 1
)

// The constants for terms of PostgreSQL's parser, see termWeights. The SQL function weigh_terms
// repeats those of BM25.
const (
	parsedK1            = 0.9
	parsedB             = 0.4
	parsedLength        = 50.0
	parsedHeadingWeight = 0.4
)

// Bounds of the weight of a term in a chunk. A chunk in which a term weighs more than
// WeakWeight also has the term with StrongMark after it, so that a tsquery can ask for such
// chunks. In a text without headings a term that occurs once never weighs more.
const (
	MaxTermWeight = 1 + parsedHeadingWeight
	WeakWeight    = 0.65
	StrongMark    = "\x01" // in no term of a text
)

// maxLexeme is the most bytes of a term in a tsvector.
const maxLexeme = 2046

// Text is the text of a chunk for keyword search.
type Text struct {
	Title    string // of the document
	Headings string // those above the chunk, a line each
	Body     string
	Contents bool   // a table of contents, whose terms weigh ContentsWeight of others
	Language string // of the document, for an index of analyzer.Auto; empty if it is not known
}

// ContentsWeight is the weight of a table of contents, which names what other chunks say, beside other
// texts: a factor of the weights of its terms, and of scores that are made of more than terms.
const ContentsWeight = 0.5

// TermsOf returns the terms of texts for keyword search of an index, in the order of the texts. In
// the tsvector the terms of the headings come first and have the label A, and terms that weigh more
// than WeakWeight are repeated with StrongMark.
func (i Index) TermsOf(ctx context.Context, q data.Queryer, texts []Text) ([]Terms, error) {
	if !analyzer.Knows(i.TextLanguage) {
		return parsedTerms(ctx, q, i.TextLanguage, texts)
	}
	w := weigher{by: map[string]*analyzer.Analyzer{}}
	terms := make([]Terms, len(texts))
	for n, text := range texts {
		language := i.TextLanguage
		if language == analyzer.Auto {
			language = cmp.Or(text.Language, language)
		}
		terms[n] = w.terms(text, language)
	}
	return terms, nil
}

// weigher finds and weighs the terms of texts.
type weigher struct {
	by     map[string]*analyzer.Analyzer // by language
	counts map[string]*termOccurrences
	order  []string
}

// termOccurrences are those of a term in a text.
type termOccurrences struct {
	positions []uint16 // with their labels, as a tsvector encodes them
	count     int      // in the body
	title     bool     // the title has it
	heading   bool     // a heading has it
}

// The most that a tsvector keeps: the largest position, and the positions of a term.
const (
	maxPosition  = 1<<14 - 1
	maxPositions = 255
)

func (w *weigher) terms(text Text, language string) Terms {
	by := w.by[language]
	if by == nil {
		by = analyzer.New(language)
		w.by[language] = by
	}
	w.counts, w.order = map[string]*termOccurrences{}, w.order[:0]
	words, last := 0, 0
	add := func(t analyzer.Term, from int, label uint16) *termOccurrences {
		if t.Word {
			words++
		}
		last = from + t.Position + 1
		c := w.counts[t.Text]
		if c == nil {
			c = &termOccurrences{}
			w.counts[t.Text], w.order = c, append(w.order, t.Text)
		}
		position := label | uint16(min(last, maxPosition))
		if n := len(c.positions); n < maxPositions && (n == 0 || c.positions[n-1]&maxPosition < position&maxPosition) {
			c.positions = append(c.positions, position)
		}
		return c
	}
	by.Terms(text.Title, func(t analyzer.Term) { add(t, 0, labelA).title = true })
	from := last
	by.Terms(text.Headings, func(t analyzer.Term) { add(t, from, labelA).heading = true })
	from = last
	by.Terms(text.Body, func(t analyzer.Term) { add(t, from, 0).count++ })
	slices.Sort(w.order)

	factor := float32(1)
	if text.Contents {
		factor = ContentsWeight
	}
	encoded := make([]byte, 4, 64*len(w.order))
	weights := make([]termWeight, 0, len(w.order))
	terms := uint32(0)
	for _, term := range w.order {
		c := w.counts[term]
		weight := c.weight(words)
		weights = append(weights, termWeight{TermDimension(term), factor * weight})
		encoded = append(append(encoded, term...), 0)
		encoded = binary.BigEndian.AppendUint16(encoded, uint16(len(c.positions)))
		for _, position := range c.positions {
			encoded = binary.BigEndian.AppendUint16(encoded, position)
		}
		terms++
		if factor*weight > WeakWeight {
			// The mark is the least byte of any term, so the order stays that of PostgreSQL.
			encoded = append(append(encoded, term...), StrongMark[0], 0, 0, 0)
			terms++
		}
	}
	binary.BigEndian.PutUint32(encoded, terms)
	return Terms{encoded, encodeSparse(byDimension(weights))}
}

// weight returns the part of the term's BM25 score that depends on the text alone, in [0, 1), for a
// text of so many words. Title and headings count as if the text repeated each of their terms titleCount
// or headingCount times.
func (c *termOccurrences) weight(words int) float32 { return c.weightAs(FieldWeights{1, 1, 1}, words) }

// weightAs returns the weight with other weights of the fields.
func (c *termOccurrences) weightAs(fields FieldWeights, words int) float32 {
	count := fields.Text * float64(c.count)
	switch {
	case c.title:
		count += fields.Title * titleCount
	case c.heading:
		count += fields.Headings * headingCount
	}
	return float32(count / (count + k1*(1-b+b*float64(words)/typicalLength)))
}

// parsedTerms returns the terms of texts by PostgreSQL's parser and a text search configuration, for
// languages that the analyzer does not know. For a text without headings the result is what the trigger
// function weigh_terms computes for a chunk that is written without terms, in half the time.
func parsedTerms(ctx context.Context, q data.Queryer, language string, texts []Text) ([]Terms, error) {
	headings, bodies := make([]string, len(texts)), make([]string, len(texts))
	for n, text := range texts {
		headings[n], bodies[n] = strings.TrimSpace(text.Title+"\n"+text.Headings), text.Body
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

// termCounts returns the counts of the terms of a tsvector.
func termCounts(tsvector []byte) (counts []termCount, err error) {
	err = eachTerm(tsvector, func(encoded []byte, length int) {
		if counts == nil {
			counts = make([]termCount, 0, binary.BigEndian.Uint32(tsvector))
		}
		positions := encoded[min(len(encoded), length+3):]
		// The headings come first, so the first position tells.
		heading := len(positions) >= 2 && binary.BigEndian.Uint16(positions)&labelA == labelA
		counts = append(counts, termCount{encoded, length, int(binary.BigEndian.Uint16(encoded[length+1:])), heading})
	})
	return counts, err
}

// eachTerm yields the encoding of each term of a tsvector, and the length of the term. The encoding of a tsvector is the number
// of terms in four bytes and, for each term, the term, a zero byte, the number of its positions in two bytes and each position in
// two bytes, the label in the upper two bits.
func eachTerm(tsvector []byte, yield func(encoded []byte, length int)) error {
	if len(tsvector) < 4 {
		return fmt.Errorf("a tsvector of %d bytes", len(tsvector))
	}
	terms, rest := int(binary.BigEndian.Uint32(tsvector)), tsvector[4:]
	for n := range terms {
		end := bytes.IndexByte(rest, 0)
		if end < 0 || len(rest) < end+3 {
			return fmt.Errorf("a tsvector of %d terms that ends in term %d", terms, n)
		}
		size := min(len(rest), end+3+2*int(binary.BigEndian.Uint16(rest[end+1:])))
		yield(rest[:size], end)
		rest = rest[size:]
	}
	return nil
}

// termWeight is the weight of a term in a chunk.
type termWeight struct {
	dimension int64 // from 1
	value     float32
}

// termWeights returns the weights of a text's terms, in their order.
//
// The weight is the part of a term's BM25 score that depends on the chunk alone, in
// [0, 1), and parsedHeadingWeight more for a term of the headings: a weighted sum of two
// fields, of which the headings are so short that their counts are not compared.
func termWeights(counts []termCount, dimensions []int64) []termWeight {
	length := 0.0
	for _, c := range counts {
		length += float64(c.count)
	}
	weights := make([]termWeight, len(dimensions))
	for n, dimension := range dimensions {
		count := float64(counts[n].count)
		value := count / (count + parsedK1*(1-parsedB+parsedB*length/parsedLength))
		if counts[n].heading {
			value += parsedHeadingWeight
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
// values, zero, the dimensions of the values termOccurrences from 0, and the values.
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
