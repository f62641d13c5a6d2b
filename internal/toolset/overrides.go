package toolset

import (
	"context"
	"encoding/json"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// withContext adds the overrides of a call to a copy of the caller's request context. They take
// precedence over those of the header and of the server, except over those that the server has
// fixed; the filters are and-ed. For a fixed tool only the filters apply. Errors: Invalid.
func withContext(ctx context.Context, raw json.RawMessage, fixed bool) (context.Context, error) {
	if fixed {
		ctx = filterOnly(ctx)
	}
	if raw == nil {
		return ctx, nil
	}
	overrides, err := tenant.ParseOverrides(raw)
	if err != nil {
		return ctx, err
	}
	if fixed {
		overrides = tenant.Overrides{Filter: overrides.Filter}
	}
	request, ok := tenant.FromContext(ctx)
	if !ok {
		return ctx, fault.New(fault.Unauthenticated, "a valid API key is needed")
	}
	changed := *request
	changed.Overrides = overrides.Or(request.Overrides)
	if !fixed {
		changed.Overrides = request.Fixed.Or(changed.Overrides)
	}
	return tenant.NewContext(ctx, &changed), nil
}

// filterOnly removes all overrides of the request context but the filter.
func filterOnly(ctx context.Context) context.Context {
	request, ok := tenant.FromContext(ctx)
	if !ok {
		return ctx
	}
	changed := *request
	changed.Overrides = tenant.Overrides{Filter: request.Overrides.Filter}
	return tenant.NewContext(ctx, &changed)
}
