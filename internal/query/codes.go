package query

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
)

// maxCodesBytes limits the codes of one list.
const maxCodesBytes = 8 << 20

// productError is by how much a product of two vectors of length 1 differs at most between PostgreSQL and this package,
// which add in other orders.
const productError = 1e-5

// codes are the embeddings of a list, rounded to 8-bit integers. They tell which chunks can be among the nearest to a
// question, so that PostgreSQL compares those alone: the error of each product is bounded by what rounding has taken
// from both vectors, by the inequality of Cauchy and Schwarz. Immutable.
type codes struct {
	engine  kernel.Engine
	metric  index.Metric
	weights *kernel.Int8Weights
	lengths []float32 // of the embeddings; 1 if the metric is the cosine, 0 for those without a direction
	lost    []float32 // lengths of what rounding has taken
}

// mostCodes returns the largest number of chunks of an index whose embeddings have codes.
func mostCodes(i index.Index) int { return min(maxCoded, maxCodesBytes/i.Dimension) }

// newCodes returns the codes of embeddings, which follow each other in values, and changes values. nil: some are too long to
// be compared, or this processor would not compare them faster.
func newCodes(i index.Index, values []float32) *codes {
	engine := kernel.Best()
	if !codable(i) || len(values) == 0 {
		return nil
	}
	n := len(values) / i.Dimension
	c := &codes{engine: engine, metric: i.Metric, lengths: make([]float32, n), lost: make([]float32, n)}
	for at := range n {
		v := blasVector(values[at*i.Dimension:][:i.Dimension])
		length := lengthOf(v)
		if i.Metric == index.Cosine && length > 0 {
			blas32.Scal(1/length, v)
			length = 1
		}
		if !finite(float64(length)) {
			return nil
		}
		c.lengths[at], c.lost[at] = length, kernel.Rounded(v.Data)
	}
	c.weights = engine.PackInt8(values, n, i.Dimension, nil)
	return c
}

func lengthOf(v blas32.Vector) float32 { return float32(math.Sqrt(float64(blas32.Dot(v, v)))) }

// codable reports whether the embeddings of an index can have codes on this processor.
func codable(i index.Index) bool {
	return kernel.Best().HasInt8() && (i.VectorType == index.Vector || i.VectorType == index.HalfVec)
}

// bytes returns the memory of the codes.
func (c *codes) bytes() int {
	if c == nil {
		return 0
	}
	return c.weights.Bytes() + 8*len(c.lengths)
}

// comparison is the memory of one comparison.
type comparison struct {
	question kernel.Int8Rows
	products []float32
	least    []float32 // the least values that the wanted chunks have at most, in order
}

var comparisons = sync.Pool{New: func() any { return new(comparison) }}

// nearest returns the places in the list of all chunks that can be among the wanted nearest ones to a question.
func (c *codes) nearest(question []float32, wanted int) (places []int) {
	length := lengthOf(blasVector(question))
	if length == 0 || !finite(float64(length)) || len(c.lengths) <= wanted {
		return every(len(c.lengths))
	}
	m, _ := comparisons.Get().(*comparison)
	defer comparisons.Put(m)
	lost := kernel.Rounded(question)
	c.engine.Round(&m.question, question, len(question), 1, c.weights)
	m.products = slices.Grow(m.products[:0], kernel.Stride(len(c.lengths)))[:kernel.Stride(len(c.lengths))]
	c.engine.MultiplyInt8(m.products, len(m.products), &m.question, c.weights)
	m.least = m.least[:0]
	for at := range c.lengths {
		value, err := c.value(at, m.products[at], length, lost)
		m.keep(value+err, wanted)
	}
	most := m.least[len(m.least)-1]
	for at := range c.lengths {
		if value, err := c.value(at, m.products[at], length, lost); value-err <= most {
			places = append(places, at)
		}
	}
	return places
}

// value returns a value that grows with the distance of a chunk, and its error at most.
func (c *codes) value(at int, product, length, lost float32) (value, err float32) {
	if c.metric == index.Cosine && c.lengths[at] == 0 {
		return float32(math.Inf(1)), 0 // it comes last
	}
	err = length*c.lost[at] + lost*(c.lengths[at]+c.lost[at]) + productError*length*c.lengths[at]
	if c.metric == index.Euclidean {
		square := c.lengths[at] * c.lengths[at]
		return square - 2*product, 2*err + productError*square
	}
	return -product, err
}

// keep puts a value among the least, of which it keeps so many.
func (m *comparison) keep(value float32, wanted int) {
	full := len(m.least) == wanted
	if full && value >= m.least[wanted-1] {
		return
	}
	if full {
		m.least = m.least[:wanted-1]
	}
	at, _ := slices.BinarySearch(m.least, value)
	m.least = slices.Insert(m.least, at, value)
}

// every returns the numbers below n.
func every(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
