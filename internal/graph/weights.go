package graph

import (
	"math"

	"github.com/ragdhq/ragd/internal/graph/names"
)

// EdgeType says how two chunks are connected. The values are those of the API.
type EdgeType string

// The edge types.
const (
	Mention EdgeType = "mention" // the text contains a name of the other chunk
	Next    EdgeType = "next"    // in reading order, or from the head of a section to its chunks
	Similar EdgeType = "similar" // near by embedding
)

// edgeTypes are all types, in the order in which answers list them.
var edgeTypes = []EdgeType{Mention, Next, Similar}

// Weights of edges and seeds. docs/explanation/graph.md has the measurements; all values are
// good over a wide range.
const (
	// defaultRestart keeps walks short: an answer is rarely more than two steps
	// from what the question names.
	defaultRestart = 0.5
	// seedCount is the number of best chunks of the search that are seeds; the one
	// at rank r weighs 1/r.
	seedCount = 10
	// namedWeight is the weight of a seed that the question names. weakName is its factor for
	// headings and paths, whose words may stand in a question by chance.
	namedWeight = 4
	weakName    = 0.1
	// namedSpread is the part of the weight of named chunks that chunks of the same document
	// get if the search found them, divided by their rank.
	namedSpread = 0.5
	// towardsCount is the number of best chunks of the search whose documents attract: an edge
	// from another document to that of the first of them weighs 1 + towardsWeight times as
	// much, and the addition halves at towardsHalf chunks further.
	towardsCount  = 20
	towardsWeight = 1
	towardsHalf   = 10
	// leastArriving is the probability of arriving at a chunk from which its edges are followed.
	// What is left out by that is far below the scores of sources.
	leastArriving = 1e-4
	// leastWeight is the sum of outgoing weights that uses all steps from a chunk.
	leastWeight = 1
	// nextWeight and similarWeight are low because these edges say less than a
	// mention. similarWeight is multiplied by the cosine.
	nextWeight    = 0.2
	similarWeight = 0.3
)

// mentionWeight returns the weight of an edge for a name that definitions chunks
// have and mentions chunks mention: a common name says little.
func mentionWeight(definitions, mentions int) float64 {
	return 1 / (float64(max(definitions, 1)) * math.Sqrt(float64(max(mentions, 1))))
}

// namedSeedWeight returns the weight of a seed for a name of the kind in the question that
// definitions chunks have.
func namedSeedWeight(kind names.Kind, definitions int) float64 {
	weight := namedWeight / float64(max(definitions, 1))
	if kind == names.Heading || kind == names.Path {
		weight *= weakName
	}
	return weight
}

// towardsFactor returns the factor of edges from other documents to a document whose best
// chunk the search found at a rank, counted from 0.
func towardsFactor(rank int) float64 {
	return 1 + towardsWeight/(1+float64(rank)/towardsHalf)
}

// foundSeedWeight returns the weight of a seed that the search found at a rank,
// counted from 0.
func foundSeedWeight(rank int) float64 { return 1 / float64(rank+1) }
