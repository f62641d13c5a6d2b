package toolset

import (
	"context"
	"encoding/json"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// withContext adds the overrides of a call to a copy of the caller's request context. They take
// precedence over those of the header and of the server, except over those that the server has
// fixed; the filters are and-ed. For a fixed tool only the filters and the
// values of declared keys apply. Errors: Invalid; Denied for a key that callers cannot set.
func withContext(ctx context.Context, raw json.RawMessage, fixed bool) (context.Context, error) {
	if fixed {
		ctx = filterOnly(ctx)
	}
	if raw == nil {
		return ctx, nil
	}
	overrides, err := access.ParseOverrides(raw)
	if err != nil {
		return ctx, err
	}
	request, ok := access.FromContext(ctx)
	if !ok {
		return ctx, fault.New(fault.Unauthenticated, "a valid API key is needed")
	}
	if overrides, err = request.Accept(access.OriginCall, overrides); err != nil {
		return ctx, err
	}
	last := request.Fixed
	if fixed {
		overrides, last = overrides.FilterOnly(), last.FilterOnly()
	}
	changed := *request
	changed.Overrides = last.Or(overrides.Or(request.Overrides))
	return access.NewContext(ctx, &changed), nil
}

// keepsIndex checks that a caller whose credential is bound to tools or servers uses a tool with
// the index of its settings: the key may use the tool, and not the other indexes. What the
// server says takes precedence over the settings as for others. Errors: Denied.
func keepsIndex(ctx context.Context, t *tool) error {
	r, ok := access.FromContext(ctx)
	if !ok || !r.Principal.Bounds.OnlyTools() {
		return nil
	}
	index, named := t.indexIn(ctx)
	if !named {
		return nil
	}
	if wanted := r.Overrides.IndexName; wanted == nil || *wanted == index || r.Overrides.Origin("indexName") == access.OriginServer {
		return nil
	}
	denied := fault.Field("Ragd-Context.indexName", "cannot be set for this tool: it has an index of its own, and the credential is bound to tools or servers")
	denied.Kind = fault.Denied
	return denied
}

// filterOnly removes all overrides of the request context but the filter and the values of
// declared keys.
func filterOnly(ctx context.Context) context.Context {
	request, ok := access.FromContext(ctx)
	if !ok {
		return ctx
	}
	changed := *request
	changed.Overrides = request.Overrides.FilterOnly()
	return access.NewContext(ctx, &changed)
}
