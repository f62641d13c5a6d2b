// Package column keeps the metadata of indexes in memory, a column for each field that is counted by, so that facets are counted without
// reading the chunks:
//
//	counted, ok, err := keeper.Count(ctx, id, i, h, column.Query{Namespace: "default", Filter: f, Fields: []string{"kind"}})
//
// A Table has a number for each chunk and field, which stands for one of the different contents of the field. A filter is evaluated on these
// contents, of which there are few, and the truth of its conditions is combined for each chunk.
//
// The Keeper loads a table when an index is counted repeatedly, and evicts those used least. Every count first asks the database for the
// state of the index. If it has changed, what was changed since is read again: transactions list the chunks that they change in
// ragd_shared.chunk_changes while the index is watched, with what they add to the counts of the index. A table whose changes do not add up
// to the new state, because some were not listed, is loaded again. So is one of which much has changed.
//
// Nothing depends on the table: what it cannot answer, or not yet, the caller counts in the database.
package column
