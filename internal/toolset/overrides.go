package toolset

import (
	"context"
	"encoding/json"

	"connectrpc.com/connect"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Overrider passes the overrides of a call to the API. raw is the JSON that they were
// parsed from.
type Overrider func(ctx context.Context, o tenant.Overrides, raw []byte) (context.Context, error)

// apply adds the overrides of a call to ctx. For a fixed tool only the filter applies, that
// of the call and that of the request context. Errors: Invalid.
func (o Overrider) apply(ctx context.Context, raw json.RawMessage, fixed bool) (context.Context, error) {
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
		raw = []byte(`{}`)
		if !overrides.Filter.IsZero() {
			raw = []byte(`{"filter":` + string(overrides.Filter.JSON()) + `}`)
		}
	}
	return o(ctx, overrides, raw)
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

// Override adds the overrides to a copy of the caller's request context. They take precedence
// over those of the header and of the server, except over those that the server has fixed; the
// filters are and-ed.
func Override(ctx context.Context, o tenant.Overrides, _ []byte) (context.Context, error) {
	request, ok := tenant.FromContext(ctx)
	if !ok {
		return ctx, fault.New(fault.Unauthenticated, "a valid API key is needed")
	}
	changed := *request
	changed.Overrides = request.Fixed.Or(o.Or(request.Overrides))
	return tenant.NewContext(ctx, &changed), nil
}

// OverrideHeader adds the overrides as a header to calls of a client.
func OverrideHeader(ctx context.Context, _ tenant.Overrides, raw []byte) (context.Context, error) {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader().Set("Ragd-Context", string(raw))
	return ctx, nil
}
