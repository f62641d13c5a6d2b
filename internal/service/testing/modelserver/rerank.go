package modelserver

import "sort"

// ranked returns the scores of the texts, best first as providers send them, each with the
// index of its text.
func (s *Server) ranked(query string, texts []string, scoreKey string) []map[string]any {
	out := make([]map[string]any, len(texts))
	for i, text := range texts {
		out[i] = map[string]any{"index": i, scoreKey: s.Score(query, text)}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i][scoreKey].(float64) > out[j][scoreKey].(float64) })
	return out
}

// rerankResults answers in the shape of Cohere v2.
func (s *Server) rerankResults(r Request) any {
	query, _ := r.Body["query"].(string)
	return map[string]any{
		"id": "rerank-1", "results": s.ranked(query, texts(r.Body["documents"]), "relevance_score"),
		"meta": map[string]any{"billed_units": map[string]any{"search_units": 1}},
	}
}

// rerankV1 answers as Jina if the request has top_n, else as Voyage.
func (s *Server) rerankV1(r Request) any {
	query, _ := r.Body["query"].(string)
	documents := texts(r.Body["documents"])
	key := "results"
	if _, jina := r.Body["top_n"]; !jina {
		key = "data"
	}
	return map[string]any{
		"object": "list", "model": r.Body["model"], key: s.ranked(query, documents, "relevance_score"),
		"usage": usage(append(documents, query)...),
	}
}

// rerankTEI answers as text-embeddings-inference, with a JSON array.
func (s *Server) rerankTEI(r Request) any {
	query, _ := r.Body["query"].(string)
	return s.ranked(query, texts(r.Body["texts"]), "score")
}
