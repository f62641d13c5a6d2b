// Package graph is about the links between chunks: it finds them in the texts,
// walks them from what a question asks for, and draws what the walk saw.
//
// The walk is a random walk with restart, worked out rather than drawn: a walker
// stands on a seed, each step goes along a link chosen in proportion to its
// weight or, with the probability of a restart, back to the seeds, and what
// counts is the share of time spent on each node. The same question gives the
// same answer.
//
//	links := []graph.Link{{From: 0, To: 1, Weight: 1}, {From: 1, To: 2, Weight: 1}}
//	shares := graph.NewAdjacency(3, links, Shape{}).Walk([]graph.Seed{{Node: 0, Weight: 1}}, graph.Walk{Restart: 0.5})
package graph
