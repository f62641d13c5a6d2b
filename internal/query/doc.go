// Package query finds the chunks of an index that answer a question, by embedding,
// by keyword or by both, and assembles them into sources and a context for a prompt.
//
// A request passes through it once:
//
//	Question.Effective   the overrides of the request context, and the filters
//	Request.prepare      everything that can be validated without the index
//	prepared.settle      the mode and the vector, by the index
//	Service.search       lookUp of terms, choice of a plan, and the statement
//	Service.retrieve     reranking, diversity and more of the documents around
//
// Service.Count counts the chunks of a filter instead, in memory where it can.
//
// internal/graph enters at Service.Candidates, with an effective question.
//
// The wing has rooms more:
//
//	column   keeps metadata in memory to count by
//	alert    compares new passages with standing questions
//	facet    counts chunks by the values of a field
//	filter   the language in which callers select by metadata, and its SQL
//	grounding  checks the sentences of answers against passages
//	lexical  splits text into the tokens that keyword search matches
//	table    turns questions about tables in documents into SQL
//	notable  records questions that found nothing, took long or failed
//
// The wing may import index, rerank, model and tenant, and the leaf rooms of all wings.
package query
