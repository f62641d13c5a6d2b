package rpc

import (
	"context"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// fresh is a request that says how fresh its answer has to be.
type fresh interface {
	GetMaxStaleness() *durationpb.Duration
	GetWriteToken() string
}

func freshnessOf(req fresh) data.Freshness {
	f := data.Freshness{WriteToken: req.GetWriteToken()}
	if most := req.GetMaxStaleness(); most != nil {
		f.MaxStaleness = new(most.AsDuration())
	}
	return f
}

// tellsOfWrites are the procedures that write nothing and whose answers have a write token all the
// same: callers ask them whether work that was begun before has ended.
var tellsOfWrites = []string{
	ragdv1connect.DocumentServiceGetDocumentProcedure, ragdv1connect.DocumentServiceGetJobProcedure, ragdv1connect.WorkflowServiceGetRunProcedure,
}

// writeToken returns the write token for the answer of a call that has succeeded, empty for none.
func (i interceptor) writeToken(ctx context.Context, of connect.Spec) string {
	r, ok := access.FromContext(ctx)
	reads := of.IdempotencyLevel == connect.IdempotencyNoSideEffects && !slices.Contains(tellsOfWrites, of.Procedure)
	if i.token == nil || !ok || r.Tenant == "" || reads {
		return ""
	}
	return i.token(ctx, r.Tenant)
}
