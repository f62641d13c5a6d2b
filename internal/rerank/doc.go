// Package rerank is the second stage of retrieval: it scores candidates against the
// question with a language model, a cross-encoder API or lexical matching, and sorts
// them by score. A failed provider does not fail the request: if no candidate can be
// scored, the result has the order of the first stage and a warning.
//
//	result, err := reranker.Rerank(ctx, rerank.Request{
//		Tenant: "acme", Query: question, Candidates: candidates,
//		Model: "openai/gpt-5-mini", TopK: 10,
//	})
//
// docs/explanation/reranking.md shows what callers see when a provider fails.
//
// The wing is one package. It may import the leaf rooms of model, query and operate.
package rerank
