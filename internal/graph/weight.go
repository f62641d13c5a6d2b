package graph

import "math"

// EdgeType is how two chunks are connected.
type EdgeType string

// The types.
const (
	Mention EdgeType = "mention" // the text names the other chunk
	Next    EdgeType = "next"    // the chunk before or after in the document
	Similar EdgeType = "similar" // near by embedding
)

// How much edges and seeds weigh. The values are measured, see docs/graph.md;
// all are good over a wide range.
const (
	// DefaultRestart keeps walks short: what answers a question is rarely more
	// than two steps from what the question says.
	DefaultRestart = 0.5
	// seedCount is how many of the best chunks found are seeds; the one at rank r
	// weighs 1/r.
	seedCount = 10
	// namedWeight is what a chunk weighs as a seed because the question names it.
	namedWeight = 4
	// leastWeight is the sum of weights that takes all steps from a chunk.
	leastWeight = 1
	// nextWeight and similarWeight are for what is near in another sense than
	// being named: similarWeight is multiplied by the cosine.
	nextWeight    = 0.2
	similarWeight = 0.3
)

// mentionWeight is the weight of an edge for a name that so many chunks have
// and so many mention: what everything mentions says little.
func mentionWeight(definitions, mentions int) float64 {
	return 1 / (float64(max(definitions, 1)) * math.Sqrt(float64(max(mentions, 1))))
}

// namedSeedWeight is the weight of a seed for a name in the question that so
// many chunks have.
func namedSeedWeight(definitions int) float64 {
	return namedWeight / float64(max(definitions, 1))
}

// foundSeedWeight is the weight of a seed for the chunk found at a rank, from 0.
func foundSeedWeight(rank int) float64 { return 1 / float64(rank+1) }
