// Package community divides weighted undirected graphs into communities of high
// modularity, in time and memory linear in edges.
//
// Detect is the Louvain method (Blondel et al. 2008): nodes move to the community of
// their neighbours that raises modularity most, then the communities become the nodes
// of a smaller graph. The moves are made over compact arrays, and gonum's
// community.Modularize divides the contracted graph. gonum alone compares a node with
// all members of each neighbouring community, which takes minutes from some thousand
// nodes.
package community
