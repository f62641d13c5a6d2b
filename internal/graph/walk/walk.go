package walk

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/ragdhq/ragd/internal/operate/limit"
)

// Seed is a node where walks start and restart.
type Seed struct {
	Node   int32
	Weight float64 // relative to the other seeds; not above 0: ignored
}

// Options says how a graph is walked.
type Options struct {
	// Restart is the probability that a step returns to the seeds, in (0,1).
	Restart float64
	// Steps is the number of nodes that a walk visits, the seed included; scores
	// are then the expectation over all walks of that length. 0 means walks
	// without end.
	Steps int
	// Tolerance bounds the sum of the absolute errors of all scores when Steps
	// is 0. 0 means 1e-9.
	Tolerance float64
}

const (
	defaultTolerance = 1e-9
	// stationaryTolerance bounds the error, summed over all visits, of ending a
	// finite walk early because its distribution no longer changes.
	stationaryTolerance = 1e-12
)

// Walk returns the fraction of time that a walk from the seeds spends on each
// node, in the order of the nodes. The scores are not negative and sum to 1, or
// are all 0 without seeds. From a node without outgoing edges the walker returns
// to the seeds.
//
// Each step is linear in edges. A walk without end takes about twenty steps on
// well mixed graphs and at most 1 + ln(tolerance/2)/ln(1-restart).
// Errors: that of ctx, which is checked between steps.
//
// Walks without end are personalised PageRank (Page et al. 1999) by power
// iteration, with the restart probability in the role of 1-damping; a positive
// Steps gives the expectation of a simulation of that many steps.
func (a *Adjacency) Walk(ctx context.Context, seeds []Seed, o Options) ([]float64, error) {
	start := a.start(seeds)
	switch {
	case start == nil:
		return make([]float64, a.nodes), nil
	case o.Steps > 0:
		return a.walkFinite(ctx, start, o)
	default:
		return a.walkEndless(ctx, start, o)
	}
}

// start returns the distribution over nodes that restarts lead to, or nil if no
// seed has a positive weight.
func (a *Adjacency) start(seeds []Seed) []float64 {
	total := 0.0
	for _, seed := range seeds {
		total += max(seed.Weight, 0)
	}
	if !(total > 0) {
		return nil
	}
	start := make([]float64, a.nodes)
	for _, seed := range seeds {
		start[seed.Node] += max(seed.Weight, 0) / total
	}
	return start
}

func (a *Adjacency) walkFinite(ctx context.Context, start []float64, o Options) ([]float64, error) {
	at, next := slices.Clone(start), make([]float64, a.nodes)
	visits := slices.Clone(start)
	for left := o.Steps - 1; left > 0; left-- {
		if err := limit.Yield(ctx); err != nil {
			return nil, err
		}
		a.step(at, next, start, o.Restart)
		at, next = next, at
		floats.Add(visits, at)
		if floats.Distance(at, next, 1)*float64(left) < stationaryTolerance { // later steps change no more than this one
			floats.AddScaled(visits, float64(left-1), at)
			break
		}
	}
	floats.Scale(1/float64(o.Steps), visits)
	return visits, nil
}

// walkEndless iterates until the remaining steps cannot change more than the
// tolerance. A step keeps the sum of the scores at 1, so only differences are
// left to even out, and on well mixed graphs these fade much faster than the
// restarts alone guarantee: on random graphs with 16 edges a node, 17 steps reach
// 1e-9, where Gauss-Seidel, which does not keep the sum, needs 60 sweeps.
func (a *Adjacency) walkEndless(ctx context.Context, start []float64, o Options) ([]float64, error) {
	tolerance := cmp.Or(o.Tolerance, defaultTolerance)
	at, next := slices.Clone(start), make([]float64, a.nodes)
	// A step brings any two distributions closer by the factor 1-restart, so the
	// remaining error is at most change·(1-restart)/restart. Two distributions
	// are never further apart than 2, which bounds the number of steps whatever
	// rounding does.
	most := 1 + int(min(math.Log(tolerance/2)/math.Log1p(-o.Restart), math.MaxInt32))
	for range most {
		if err := limit.Yield(ctx); err != nil {
			return nil, err
		}
		a.step(at, next, start, o.Restart)
		at, next = next, at
		if floats.Distance(at, next, 1)*(1-o.Restart) <= tolerance*o.Restart {
			break
		}
	}
	return at, nil
}

// step writes into next the distribution one step after at.
func (a *Adjacency) step(at, next, start []float64, restart float64) {
	leaked := 0.0
	for i, v := range a.leaking {
		leaked += at[v] * a.leaks[i]
	}
	back := restart + (1-restart)*leaked
	begin := a.first[0]
	for v, end := range a.first[1:] {
		sources, shares := a.sources[begin:end], a.shares[begin:end]
		shares = shares[:len(sources)]
		in := 0.0
		for i, source := range sources {
			in += at[source] * shares[i]
		}
		next[v] = back*start[v] + (1-restart)*in
		begin = end
	}
}

// Scored is a node with its score.
type Scored struct {
	Node  int32
	Score float64
}

// Rank returns all nodes with their scores, best first, ties by node.
func Rank(scores []float64) []Scored {
	ranked := make([]Scored, len(scores))
	for v, score := range scores {
		ranked[v] = Scored{int32(v), score}
	}
	slices.SortFunc(ranked, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Node, b.Node))
	})
	return ranked
}
