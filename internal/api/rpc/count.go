package rpc

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/facet"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// CountChunks implements QueryService.
func (h *Handlers) CountChunks(ctx context.Context, req *ragdv1.CountChunksRequest) (*ragdv1.CountChunksResponse, error) {
	f, err := filter.Parse(req.GetFilter().AsInterface())
	if err != nil {
		return nil, err
	}
	counts, err := h.Queries.Count(ctx, query.CountRequest{
		IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), Filter: f, QueryText: req.GetQueryText(), Nearest: intOf(req.Nearest),
		QueryVector: req.GetQueryVector(), Mode: query.Mode(req.GetSearchMode()), Facets: facetsOf(req.GetFacets()), Freshness: freshnessOf(req),
	})
	if err != nil {
		return nil, err
	}
	res := &ragdv1.CountChunksResponse{ChunkCount: int32(counts.Chunks), DocumentCount: int32(counts.Documents), Warnings: counts.Warnings}
	for _, c := range counts.Facets {
		res.Facets = append(res.Facets, facetMessage(c))
	}
	return res, nil
}

func facetsOf(facets []*ragdv1.Facet) []facet.Facet {
	out := make([]facet.Facet, len(facets))
	for n, f := range facets {
		out[n] = facet.Facet{
			Field: f.GetField(), Limit: intOf(f.Limit), RangeCount: int(f.GetRangeCount()), Interval: facet.Interval(f.GetInterval()), TimeZone: f.GetTimeZone(),
			WithoutOwnFilter: f.GetWithoutOwnFilter(),
		}
		for _, r := range f.GetRanges() {
			out[n].Ranges = append(out[n].Ranges, facet.Range{From: r.GetFrom().AsInterface(), To: r.GetTo().AsInterface()})
		}
	}
	return out
}

func facetMessage(c facet.Counts) *ragdv1.FacetCounts {
	message := &ragdv1.FacetCounts{Field: c.Field, ChunkCount: int32(c.Chunks), MissingCount: int32(c.Missing), ValueCount: int32(c.Values)}
	for _, v := range c.Top {
		message.Values = append(message.Values, &ragdv1.ValueCount{Value: facetValue(v.Value), ChunkCount: int32(v.Chunks)})
	}
	for _, r := range c.Ranges {
		message.Ranges = append(message.Ranges, &ragdv1.RangeCount{From: facetValue(r.From), To: facetValue(r.To), ChunkCount: int32(r.Chunks)})
	}
	return message
}

// facetValue converts a value of a facet; nil stays nil.
func facetValue(v any) *structpb.Value {
	switch v := v.(type) {
	case string:
		return structpb.NewStringValue(v)
	case bool:
		return structpb.NewBoolValue(v)
	}
	if n, ok := facet.Number(v); ok {
		return structpb.NewNumberValue(n)
	}
	return nil
}
