package walk

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// Candidates is the candidate graph: the similarity graph over what a search
// fetched, as comparable retrieval libraries build it. Two nodes are connected in
// both directions if the cosine of their embeddings is above a threshold; the
// cosine is the weight.
type Candidates struct {
	adjacency  *Adjacency
	embeddings [][]float64
}

// blockRows is the number of embeddings that are compared with all before them
// at once. Cancellation is checked between blocks, and a block of similarities
// takes 4·blockRows bytes for each embedding.
const blockRows = 64

// compareRows is the number of embeddings with which a block is compared at once. gonum
// computes a product of this size on one processor; a larger one would take all.
const compareRows = 3 * blockRows

// NewCandidates returns the candidate graph of the embeddings, which all have the
// same length and are kept. Pairs whose cosine is not above threshold, or not
// above 0, are not connected. Time is quadratic in the number of embeddings;
// memory is linear in embeddings and edges. Errors: that of ctx.
//
// A product of float32 matrices finds the pairs that may be above the threshold;
// the weights of those are then computed in float64.
func NewCandidates(ctx context.Context, embeddings [][]float64, threshold float64) (*Candidates, error) {
	c := &Candidates{adjacency: NewAdjacency(len(embeddings), nil, 0), embeddings: embeddings}
	if len(embeddings) == 0 || len(embeddings[0]) == 0 {
		return c, nil
	}
	threshold = max(threshold, 0) // an edge has a positive weight
	squares := make([]float64, len(embeddings))
	for i, embedding := range embeddings {
		squares[i] = floats.Dot(embedding, embedding)
	}
	var edges []Edge
	err := eachPair(ctx, normalized(embeddings, squares), threshold, func(i, j int) {
		cos := cosine(floats.Dot(embeddings[i], embeddings[j]), squares[i], squares[j])
		if cos > threshold {
			edges = append(edges, Edge{int32(i), int32(j), cos}, Edge{int32(j), int32(i), cos})
		}
	})
	if err != nil {
		return nil, err
	}
	c.adjacency = NewAdjacency(len(embeddings), edges, 0)
	return c, nil
}

// normalized returns a matrix with the embeddings scaled to unit length as rows.
// Zero vectors stay zero.
func normalized(embeddings [][]float64, squares []float64) blas32.General {
	n, dimension := len(embeddings), len(embeddings[0])
	m := blas32.General{Rows: n, Cols: dimension, Stride: dimension, Data: make([]float32, n*dimension)}
	for i, embedding := range embeddings {
		if squares[i] == 0 {
			continue
		}
		scale := 1 / math.Sqrt(squares[i])
		for j, value := range embedding {
			m.Data[i*dimension+j] = float32(value * scale)
		}
	}
	return m
}

// eachPair calls visit with i > j for all pairs of rows whose inner product may
// be above threshold, ordered by i, then j. Rows have unit length.
func eachPair(ctx context.Context, rows blas32.General, threshold float64, visit func(i, j int)) error {
	// An inner product of two unit vectors of length n in float32 is off by at
	// most n·u/(1-n·u), u = 2^-24 (Higham 2002, section 3.1); rounding the
	// vectors themselves adds less than 4u. The margin is twice that.
	margin := float64(rows.Cols+8) * 0x1p-23
	least := float32(threshold - margin)
	similarities := make([]float32, blockRows*rows.Rows)
	for begin := 0; begin < rows.Rows; begin += blockRows {
		end := min(begin+blockRows, rows.Rows)
		block := blas32.General{Rows: end - begin, Cols: rows.Cols, Stride: rows.Stride, Data: rows.Data[begin*rows.Stride:]}
		if err := compare(ctx, block, rows, begin, similarities); err != nil {
			return err
		}
		for i := begin; i < end; i++ {
			for j, similarity := range similarities[(i-begin)*rows.Rows:][:i] {
				if similarity >= least {
					visit(i, j)
				}
			}
		}
	}
	return nil
}

// compare writes the inner products of the rows of a block, which begins at row
// begin of rows, with all rows before each of them. Row i of the block has its
// products at out[i*rows.Rows:]. Errors: that of ctx.
func compare(ctx context.Context, block, rows blas32.General, begin int, out []float32) error {
	for from := 0; from < begin; from += compareRows {
		if err := limit.Yield(ctx); err != nil {
			return err
		}
		n := min(compareRows, begin-from)
		before := blas32.General{Rows: n, Cols: rows.Cols, Stride: rows.Stride, Data: rows.Data[from*rows.Stride:]}
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, block, before, 0,
			blas32.General{Rows: block.Rows, Cols: n, Stride: rows.Rows, Data: out[from:]})
	}
	blas32.Syrk(blas.NoTrans, 1, block, 0,
		blas32.Symmetric{N: block.Rows, Stride: rows.Rows, Data: out[begin:], Uplo: blas.Lower})
	return limit.Yield(ctx)
}

// Rank returns all candidates, best first, ties by node. Each of the seeds
// candidates nearest to the question starts a walk; the score of a node is the
// sum over these walks of the cosine of seed and question times the fraction of
// time that the walk spends on the node. Scores are not probabilities: they sum
// to the sum of the cosines, and a seed with a negative cosine lowers the scores
// of its neighbours. Errors: Invalid if the question has another length than the
// embeddings; that of ctx.
func (c *Candidates) Rank(ctx context.Context, question []float64, seeds int, o Options) ([]Scored, error) {
	similarity := make([]float64, len(c.embeddings))
	norm := floats.Dot(question, question)
	for v, embedding := range c.embeddings {
		if len(embedding) != len(question) {
			return nil, fault.Field("queryVector", "has %d dimensions, but the candidates have %d", len(question), len(embedding))
		}
		similarity[v] = cosine(floats.Dot(question, embedding), norm, floats.Dot(embedding, embedding))
	}
	nearest := Rank(similarity)
	scores, err := c.walk(ctx, nearest[:min(seeds, len(nearest))], o)
	if err != nil {
		return nil, err
	}
	return Rank(scores), nil
}

// walk returns the weighted sum of the walks from each seed. The visits of a
// walk are linear in its start where every node has an edge, so one walk from all
// seeds with positive scores and one from those with negative scores give the
// sum. A walker on a node without edges stays there.
func (c *Candidates) walk(ctx context.Context, seeds []Scored, o Options) ([]float64, error) {
	scores := make([]float64, len(c.embeddings))
	var positive, negative []Seed
	for _, seed := range seeds {
		switch {
		case c.adjacency.isSink(seed.Node):
			scores[seed.Node] += seed.Score
		case seed.Score > 0:
			positive = append(positive, Seed{seed.Node, seed.Score})
		default:
			negative = append(negative, Seed{seed.Node, -seed.Score})
		}
	}
	for _, side := range []struct {
		seeds []Seed
		sign  float64
	}{{positive, 1}, {negative, -1}} {
		total := 0.0
		for _, seed := range side.seeds {
			total += seed.Weight
		}
		shares, err := c.adjacency.Walk(ctx, side.seeds, o)
		if err != nil {
			return nil, err
		}
		floats.AddScaled(scores, side.sign*total, shares)
	}
	return scores, nil
}

// cosine returns the cosine of two vectors, in [-1,1], from their inner product
// and squared lengths; 0 if either is zero.
func cosine(ab, aa, bb float64) float64 {
	if aa == 0 || bb == 0 {
		return 0
	}
	return max(-1, min(1, ab/math.Sqrt(aa*bb)))
}
