package service

import (
	"context"

	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// observer records calls of tools as events of the caller's tenant. It implements
// toolset.Observer.
type observer struct{ recorder *journal.Recorder }

// Wants implements toolset.Observer.
func (o observer) Wants(ctx context.Context) bool {
	r, ok := access.FromContext(ctx)
	return ok && r.Tenant != "" && o.recorder.Wants(r.Tenant)
}

// Observe implements toolset.Observer.
func (o observer) Observe(ctx context.Context, e toolset.Event) {
	r, ok := access.FromContext(ctx)
	if !ok || e.Result.Question != nil { // the call is repeated with the answer
		return
	}
	o.recorder.Record(journal.ToolCall{
		Tenant: r.Tenant, Type: "tool." + string(e.Phase), CallID: e.CallID, Tool: e.Tool.Source, ShownAs: e.Tool.Name, Server: r.Server, Index: e.Index,
		Subject: r.Principal.Subject, Arguments: e.Arguments, Result: e.Result.Structured, Text: e.Result.Text, Took: e.Took, Err: e.Err,
	})
}
