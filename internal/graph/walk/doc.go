// Package walk computes random walks with restart on weighted directed graphs.
// It is pure: numbers in, numbers out.
//
// A walker starts on a seed. Each step follows an edge, chosen in proportion to
// its weight, or returns to the seeds with the restart probability. The score of
// a node is the fraction of time that the walker spends on it. Scores are
// computed by power iteration, not sampled, so equal input gives equal output.
//
//	edges := []walk.Edge{{From: 0, To: 1, Weight: 1}, {From: 1, To: 2, Weight: 1}}
//	a := walk.NewAdjacency(3, edges, 0)
//	scores, err := a.Walk(ctx, []walk.Seed{{Node: 0, Weight: 1}}, walk.Options{Restart: 0.5})
//
// An Adjacency is also a gonum graph.WeightedDirected: gonum's algorithms for
// shortest paths, components, centrality and communities run on it without a
// copy.
package walk
