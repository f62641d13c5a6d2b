package graph

import "math"

// Seed is a node where a walk begins and restarts.
type Seed struct {
	Node   int32
	Weight float64 // above 0; counts in proportion to the other seeds
}

// Walk says how a graph is walked.
type Walk struct {
	// Restart is the probability of going back to the seeds, in (0,1).
	Restart float64
	// Steps, if above 0, is how many nodes a walk visits, the first among them:
	// the shares are then the expectation over all walks of that length. If 0,
	// walks go on for ever.
	Steps int
	// Tolerance bounds the error of shares when Steps is 0: the sum of all
	// errors is below it. 1e-9 if 0.
	Tolerance float64
	// Done, if given, ends a walk early when it is closed; the shares are then of
	// no use.
	Done <-chan struct{}
}

// ended reports whether the walk is to end early.
func (w Walk) ended() bool {
	select {
	case <-w.Done:
		return true
	default:
		return false
	}
}

const (
	defaultTolerance = 1e-9
	// settledTolerance is what a finite walk may be off by, in the sum of all its
	// visits, for having stopped where it stood still.
	settledTolerance = 1e-12
)

// Walk returns the share of time that a walk from the seeds spends on each node.
// Shares are not negative and sum to 1, or are all 0 without seeds. A walker
// that reaches a node without links goes back to the seeds. Time is linear in
// links for each step; endless walks take some twenty steps where links are well
// mixed, and never more than ln(tolerance/2)/ln(1-restart).
//
// The endless walk is personalised PageRank (Page et al. 1999), by power
// iteration; Steps cuts it
// off where a simulation of so many steps would.
func (a *Adjacency) Walk(seeds []Seed, w Walk) []float64 {
	home := a.home(seeds)
	if home == nil {
		return make([]float64, a.nodes)
	}
	if w.Steps > 0 {
		return a.finite(home, w)
	}
	return a.endless(home, w)
}

// home returns where restarts lead: the seeds' weights, scaled to sum to 1.
func (a *Adjacency) home(seeds []Seed) []float64 {
	sum := 0.0
	for _, seed := range seeds {
		sum += max(seed.Weight, 0)
	}
	if !(sum > 0) {
		return nil
	}
	home := make([]float64, a.nodes)
	for _, seed := range seeds {
		home[seed.Node] += max(seed.Weight, 0) / sum
	}
	return home
}

func (a *Adjacency) finite(home []float64, w Walk) []float64 {
	at, next := append([]float64(nil), home...), make([]float64, a.nodes)
	visits := append([]float64(nil), home...)
	for left := w.Steps - 1; left > 0 && !w.ended(); left-- {
		a.step(at, next, home, w.Restart)
		at, next = next, at
		change := 0.0
		for v, share := range at {
			visits[v] += share
			change += math.Abs(share - next[v])
		}
		if change*float64(left) < settledTolerance { // no later step changes more
			for v, share := range at {
				visits[v] += share * float64(left-1)
			}
			break
		}
	}
	for v := range visits {
		visits[v] /= float64(w.Steps)
	}
	return visits
}

// endless iterates until the steps left cannot change much. Steps keep the sum
// of shares at 1, which leaves only differences to even out, and where links are
// well mixed those fade far faster than restarts alone would have it: on random
// graphs with 16 links a node 17 steps do for 1e-9, against 60 sweeps of
// Gauss-Seidel, which does not keep the sum.
func (a *Adjacency) endless(home []float64, w Walk) []float64 {
	tolerance := w.Tolerance
	if tolerance == 0 {
		tolerance = defaultTolerance
	}
	at, next := append([]float64(nil), home...), make([]float64, a.nodes)
	// A step brings any two distributions closer by 1-restart, so what is left
	// to go is at most change·(1-restart)/restart. Two distributions are never
	// further apart than 2, which bounds the steps whatever rounding does.
	most := 1 + int(math.Log(tolerance/2)/math.Log1p(-w.Restart))
	for range most {
		if w.ended() {
			break
		}
		a.step(at, next, home, w.Restart)
		at, next = next, at
		change := 0.0
		for v, share := range at {
			change += math.Abs(share - next[v])
		}
		if change*(1-w.Restart) <= tolerance*w.Restart {
			break
		}
	}
	return at
}

// step writes into next where a walker is one step after at.
func (a *Adjacency) step(at, next, home []float64, restart float64) {
	stuck := 0.0
	for i, v := range a.losing {
		stuck += at[v] * a.losses[i]
	}
	back := restart + (1-restart)*stuck
	begin := a.first[0]
	for v, end := range a.first[1:] {
		sources, shares := a.sources[begin:end], a.shares[begin:end]
		shares = shares[:len(sources)]
		in := 0.0
		for i, source := range sources {
			in += at[source] * shares[i]
		}
		next[v] = back*home[v] + (1-restart)*in
		begin = end
	}
}
