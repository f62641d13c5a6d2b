package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"connectrpc.com/connect"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/tenant"
)

// metaContext is the key in a call's _meta under which the client, not the
// model, decides parts of a query.
const metaContext = "ragd/context"

// overrider makes the overrides of a call known to the API. raw is what they
// were parsed from.
type overrider func(ctx context.Context, o tenant.Overrides, raw []byte) (context.Context, error)

// apply reads the overrides from a call's _meta. Of those for a fixed tool only the
// filter counts, wherever they stand. Errors: Invalid.
func (o overrider) apply(ctx context.Context, meta *mcpgo.Meta, fixed bool) (context.Context, error) {
	if fixed {
		ctx = filterOnly(ctx)
	}
	if meta == nil || meta.AdditionalFields[metaContext] == nil {
		return ctx, nil
	}
	raw, err := json.Marshal(meta.AdditionalFields[metaContext])
	if err != nil {
		return ctx, fmt.Errorf("read %s: %w", metaContext, err)
	}
	overrides, err := tenant.ParseOverrides(raw)
	if err != nil {
		return ctx, fault.Under("_meta", err)
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

// filterOnly leaves of the request context's overrides the filter.
func filterOnly(ctx context.Context) context.Context {
	request, ok := tenant.FromContext(ctx)
	if !ok {
		return ctx
	}
	changed := *request
	changed.Overrides = tenant.Overrides{Filter: request.Overrides.Filter}
	return tenant.NewContext(ctx, &changed)
}

// inRequest puts the overrides into a copy of the caller's request context, over
// those of the header: _meta decides where both speak, and both filters hold.
func inRequest(ctx context.Context, o tenant.Overrides, _ []byte) (context.Context, error) {
	request, ok := tenant.FromContext(ctx)
	if !ok {
		return ctx, fault.New(fault.Unauthenticated, "a valid API key is needed")
	}
	changed := *request
	header := request.Overrides
	changed.Overrides = tenant.Overrides{
		IndexName:       cmp.Or(o.IndexName, header.IndexName),
		VectorStoreName: cmp.Or(o.VectorStoreName, header.VectorStoreName),
		TopK:            cmp.Or(o.TopK, header.TopK),
		Filter:          filter.And(header.Filter, o.Filter),
		IncludeVectors:  cmp.Or(o.IncludeVectors, header.IncludeVectors),
		IncludeSources:  cmp.Or(o.IncludeSources, header.IncludeSources),
		RandomWalkSteps: cmp.Or(o.RandomWalkSteps, header.RandomWalkSteps),
		RestartProb:     cmp.Or(o.RestartProb, header.RestartProb),
		DatabaseConfig:  rawOf(o.DatabaseConfig, header.DatabaseConfig),
		Reranker:        rawOf(o.Reranker, header.Reranker),
	}
	return tenant.NewContext(ctx, &changed), nil
}

// rawOf returns the first that was given.
func rawOf(a, b json.RawMessage) json.RawMessage {
	if a != nil {
		return a
	}
	return b
}

// inHeader sends the overrides along with the call of a client.
func inHeader(ctx context.Context, _ tenant.Overrides, raw []byte) (context.Context, error) {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader().Set("Ragd-Context", string(raw))
	return ctx, nil
}
