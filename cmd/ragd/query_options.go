package main

import (
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// queryFlags are the flags that say what is looked for and how. The function it
// returns makes the request for a question.
func queryFlags(flags *pflag.FlagSet) func(question string) *ragdv1.VectorQueryRequest {
	topK := flags.Int32P("top-k", "k", 10, "chunks wanted")
	mode := flags.String("mode", "", "vector, keyword or hybrid (default hybrid where it is possible)")
	vector := flags.Float32Slice("vector", nil, "a ready-made embedding to look for, as numbers with commas between")
	filter := objectFlag(flags, "filter", "only chunks whose metadata match")
	namespace := flags.String("namespace", "", "part of the index to search (default \"default\")")
	minScore := flags.Float64("min-score", 0, "only chunks that score more than this")
	neighbours := flags.Int32("neighbours", 0, "chunks before and after each one to add to it, up to 10")
	diversity := flags.Float64("diversity", 0, "0 to 1: how much chunks that say the same give way to others")
	perDocument := flags.Int32("max-per-document", 0, "chunks of one document at most (default any number)")
	fusion := flags.String("fusion", "", "how hybrid mode joins its legs: weighted or rrf (default weighted)")
	reranker := rerankerFlag(flags, "score what was found a second time")
	explain := flags.Bool("explain", false, "print how the answer was found and how long each stage took")
	return func(question string) *ragdv1.VectorQueryRequest {
		req := &ragdv1.VectorQueryRequest{
			QueryText: question, QueryVector: *vector, TopK: topK, SearchMode: *mode, Namespace: *namespace,
			Neighbours: *neighbours, Diversity: *diversity, MaxPerDocument: *perDocument,
			Reranker: reranker(), Explain: *explain,
		}
		if object := filter(); object != nil {
			req.Filter = structpb.NewStructValue(object)
		}
		if *fusion != "" {
			req.Hybrid = &ragdv1.Hybrid{Fusion: *fusion}
		}
		if flags.Changed("min-score") {
			req.DatabaseConfig = &ragdv1.DatabaseConfig{Pgvector: &ragdv1.PgVectorConfig{MinScore: minScore}}
		}
		return req
	}
}
