// Package research answers questions that no single passage answers, by rules and without a model: it plans, follows what it finds,
// and returns the passages that answer together.
//
//	plan.go      cuts a question into parts: clauses, and the items of lists and comparisons
//	pursue.go    for each part a search, and chains of passages that name each other
//	terms.go     what a part asks, in the order in which a chain meets it
//	path.go      what a chain is worth
//	relation.go  what a part asks, cut into the links that a chain has to have
//	stated.go    where a passage states a relation of a thing
//	prove.go     which links of a chain its passages state
//	evidence.go  the passages of all parts without doubles, with quotes, and what was not found
//
// A chain begins at what a part names or a search finds. It goes on over names: a sentence of a passage names the next one. A chain is
// worth more if these sentences speak of what the part asks, in its order, so that of all that a page mentions the question's own
// relation is followed. Each search and each following of names is a step of the budget.
//
// Whether a part is found is judged apart from what its chains are worth: each relation must be stated of the thing that the one before
// leads to.
//
// All that is read is within what the caller may see: searches and names are those of packages query and graph.
package research
