package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/rerank"
)

// GraphRag implements QueryService.
func (h *Handlers) GraphRag(ctx context.Context, req *ragdv1.GraphRagRequest) (*ragdv1.GraphRagResponse, error) {
	f, err := filter.Parse(req.GetFilter().AsInterface())
	if err != nil {
		return nil, err
	}
	found, err := h.Graphs.Query(ctx, graph.Request{
		Question: query.Question{
			Boost: boostOf(req.GetBoost()), Boosts: boostsOf(req.GetBoosts()), Profile: req.GetProfile(),
			QueryText: req.GetQueryText(), QueryVector: req.GetQueryVector(), IndexName: req.GetIndexName(),
			VectorStoreName: req.GetVectorStoreName(), Namespace: req.GetNamespace(), TopK: intOf(req.TopK), Filter: f,
			Mode: query.Mode(req.GetSearchMode()), IncludeVectors: req.IncludeVectors, IncludeSources: req.IncludeSources,
			Reranker: rerankerOf(req.GetReranker()), Explain: req.GetExplain(),
			Highlight: req.GetHighlight(), MinScore: req.MinScore, MinSimilarity: req.MinSimilarity, RecallTarget: req.RecallTarget,
			Freshness: freshnessOf(req), MaxTokens: intOf(req.MaxTokens), EncodingName: req.GetEncodingName(), Distinct: req.Distinct, Expand: query.Expand(req.GetExpand()),
		},
		IndexNames: req.GetIndexNames(), IndexWeights: indexWeightsOf(req.GetIndexWeights()),
		Options: graphOptions(req.GetGraphOptions()),
		Scope:   graph.Scope(req.GetScope()), ExplainNodes: intOf(req.ExplainNodes),
	})
	if err != nil {
		return nil, err
	}
	logReranking(ctx, found.Reranking)
	sources, err := convertLarge(ctx, h.Processor, found.Sources, new(objectReader).graphSourceMessage)
	if err == nil && req.GetIncludeBoxes() {
		plain := make([]query.Source, len(found.Sources))
		for n, s := range found.Sources {
			plain[n] = s.Source
		}
		var warnings []string
		warnings, err = h.addBoxes(ctx, req.GetIndexName(), plain, sources)
		found.Warnings = append(found.Warnings, warnings...)
	}
	return &ragdv1.GraphRagResponse{
		RelevantContext: found.RelevantContext, Sources: sources, Warnings: found.Warnings, Explain: graphExplainMessage(found.Explain, found.Reranking),
		Budget: budgetMessage(found.Budget), QueryId: found.ID,
	}, err
}

// ListEdges implements QueryService.
func (h *Handlers) ListEdges(ctx context.Context, req *ragdv1.ListEdgesRequest) (*ragdv1.ListEdgesResponse, error) {
	chunk := graph.ChunkRef{DocumentID: req.GetDocumentId(), Ordinal: int(req.GetOrdinal())}
	found, next, err := h.Graphs.Edges(ctx, req.GetIndexName(), chunk, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	reader := new(objectReader)
	edges, err := convertLarge(ctx, h.Processor, found, func(e graph.ChunkEdge) (*ragdv1.ChunkEdge, error) {
		other, err := reader.sourceMessage(e.Other)
		return &ragdv1.ChunkEdge{Type: string(e.Type), Direction: string(e.Direction), Words: e.Label, Weight: e.Weight, Chunk: other}, err
	})
	return &ragdv1.ListEdgesResponse{Edges: edges, NextPageToken: next}, err
}

func graphOptions(o *ragdv1.GraphOptions) graph.Options {
	if o == nil {
		return graph.Options{}
	}
	options := graph.Options{
		Dimension: int(o.GetDimension()), Threshold: o.Threshold, Steps: intOf(o.RandomWalkSteps), Restart: o.RestartProb,
		Candidates: int(o.GetCandidates()),
	}
	for _, t := range o.GetEdgeTypes() {
		options.EdgeTypes = append(options.EdgeTypes, graph.EdgeType(t))
	}
	return options
}

func (r *objectReader) graphSourceMessage(s graph.Source) (*ragdv1.Source, error) {
	message, err := r.sourceMessage(s.Source)
	if err == nil {
		message.Path, message.Topic = s.Path, s.Topic
	}
	return message, err
}

func graphExplainMessage(e *graph.Explain, r *rerank.Report) *ragdv1.GraphExplain {
	if e == nil {
		return nil
	}
	search := explainMessage(&query.Explain{Mode: e.Mode, Stages: e.Stages}, r)
	message := &ragdv1.GraphExplain{SearchMode: search.GetSearchMode(), Stages: search.GetStages(), Reranking: search.GetReranking(), Context: contextMessages(e.Context), RepeatedCount: int32(e.Repeated), FilterNotes: e.FilterNotes, Profiles: appliedMessages(e.Profiles)}
	for _, n := range e.Nodes {
		message.Nodes = append(message.Nodes, graphNodeMessage(n))
	}
	for _, edge := range e.Edges {
		message.Edges = append(message.Edges, &ragdv1.GraphEdge{
			From: int32(edge.From), To: int32(edge.To), Type: string(edge.Type), Share: edge.Share, Words: edge.Label,
		})
	}
	for _, t := range e.Topics {
		message.Topics = append(message.Topics, &ragdv1.ChosenTopic{TopicId: t.TopicID, Title: t.Title, Reason: t.Reason, Sources: int32(t.Sources)})
	}
	return message
}

func graphNodeMessage(n graph.Node) *ragdv1.GraphNode {
	message := &ragdv1.GraphNode{
		DocumentId: n.DocumentID, Ordinal: int32(n.Ordinal), Title: n.Title, Score: n.Score, Seed: n.Seed, Source: n.Source,
		Path: n.Path, TopicId: n.TopicID, IndexName: n.IndexName, Uri: n.URI, StartByte: uint32(n.StartByte), EndByte: uint32(n.EndByte),
	}
	if n.ReachedBy >= 0 {
		message.ReachedBy = new(int32(n.ReachedBy))
	}
	return message
}
