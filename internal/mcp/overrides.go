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

// metaContext is the key in a call's _meta with which the client, not the model,
// overrides parts of a query.
const metaContext = "ragd/context"

// overrider passes the overrides of a call to the API. raw is the JSON that they were
// parsed from.
type overrider func(ctx context.Context, o tenant.Overrides, raw []byte) (context.Context, error)

// apply adds the overrides from a call's _meta to ctx. For a fixed tool only the filter
// applies, from _meta and from the request context. Errors: Invalid.
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

// overrideContext adds the overrides to a copy of the caller's request context. They take
// precedence over those of the header, but the filters are and-ed.
func overrideContext(ctx context.Context, o tenant.Overrides, _ []byte) (context.Context, error) {
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
		MinScore:        cmp.Or(o.MinScore, header.MinScore),
		MinSimilarity:   cmp.Or(o.MinSimilarity, header.MinSimilarity),
		DatabaseConfig:  firstRaw(o.DatabaseConfig, header.DatabaseConfig),
		Reranker:        firstRaw(o.Reranker, header.Reranker),
	}
	return tenant.NewContext(ctx, &changed), nil
}

// firstRaw returns a, or b if a is nil.
func firstRaw(a, b json.RawMessage) json.RawMessage {
	if a != nil {
		return a
	}
	return b
}

// overrideHeader adds the overrides as a header to calls of a client.
func overrideHeader(ctx context.Context, _ tenant.Overrides, raw []byte) (context.Context, error) {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader().Set("Ragd-Context", string(raw))
	return ctx, nil
}
