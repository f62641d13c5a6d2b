// Package graph maintains the graph of an index, whose nodes are chunks, and
// answers queries by walking it.
//
// Connect stores the edges of documents as they are ingested: a chunk mentions a
// name of another (package names), is next to it, or is similar to it by
// embedding. Service.Query loads the edges around the seeds of a question and
// ranks chunks by a random walk with restart (package walk).
//
// Package research follows names step by step, for questions that no single passage answers.
//
// What needs no database has rooms of its own: walk, names, community (groups of
// chunks) and keyterm (what tells them apart).
//
// The wing may import query, index, rerank, model and tenant, and the leaf rooms of all wings.
package graph
