package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// maxPageTopK is the most topK of a question with a key that web pages use.
const maxPageTopK = 50

// checkPageQuestion returns an error for a question whose cost the tenant has not chosen, if it is asked with a key that
// web pages use: anybody can ask with it. Errors: Invalid naming the field.
func checkPageQuestion(ctx context.Context, req *ragdv1.VectorQueryRequest) error {
	if caller, ok := access.FromContext(ctx); !ok || !caller.Principal.OfPages() {
		return nil
	}
	const why = "is not for a key with origins, with which anybody can ask: leave it out"
	switch {
	case req.GetTopK() > maxPageTopK:
		return fault.Field("topK", "must be at most %d with a key that has origins, got %d", maxPageTopK, req.GetTopK())
	case req.GetReranker() != nil:
		return fault.Field("reranker", why+", or give the index a ranking profile that reranks")
	case req.GetDatabaseConfig() != nil:
		return fault.Field("databaseConfig", why)
	case req.RecallTarget != nil:
		return fault.Field("recallTarget", why)
	case req.GetIncludeVectors():
		return fault.Field("includeVectors", why)
	case req.GetGroupBy() != nil:
		return fault.Field("groupBy", why)
	}
	return nil
}
