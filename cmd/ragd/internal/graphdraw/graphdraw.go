// Package graphdraw exports the walk that answered a graph query, as an SVG
// picture or as DOT. It is pure: the same walk gives the same output.
package graphdraw

// Node is a chunk that the walk reached.
type Node struct {
	Label  string
	Score  float64 // fraction of the time that the walk spends here
	Seed   float64 // weight as a seed, 0 for other nodes
	Source bool    // whether the answer contains it
}

// Edge is an arrow between two nodes, given as indices.
type Edge struct {
	From, To int
	Type     string // mention, next or similar
	Label    string
	Share    float64 // probability that a step from From takes it, in [0,1]
}

// valid reports whether an edge connects two different nodes of n.
func (e Edge) valid(n int) bool {
	return e.From >= 0 && e.From < n && e.To >= 0 && e.To < n && e.From != e.To
}
