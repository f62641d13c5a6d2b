package rpc

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// VectorQuery implements QueryService.
func (h *Handlers) VectorQuery(ctx context.Context, req *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
	if err := checkPageQuestion(ctx, req); err != nil {
		return nil, err
	}
	asked, err := requestOf(req)
	if err != nil {
		return nil, err
	}
	found, err := h.Queries.Query(ctx, asked)
	if err != nil {
		return nil, err
	}
	logReranking(ctx, found.Reranking)
	if !req.GetIncludeBoxes() {
		codecSlotOf(ctx).answers(found.Sources)
	}
	return h.answerMessage(ctx, req, found)
}

// BatchQuery implements QueryService.
func (h *Handlers) BatchQuery(ctx context.Context, req *ragdv1.BatchQueryRequest) (*ragdv1.BatchQueryResponse, error) {
	if n := len(req.GetQueries()); n > 0 && n <= query.MaxBatch { // others are refused
		caller, err := access.Require(ctx, access.Read)
		if err != nil {
			return nil, err
		}
		if err := h.Gate.Count(caller.Tenant, caller.Quotas, n-1); err != nil {
			return nil, err
		}
	}
	asked := make([]query.Asked, len(req.GetQueries()))
	for n, one := range req.GetQueries() {
		asked[n].Request, asked[n].Err = requestOf(one)
	}
	results, err := h.Queries.Batch(ctx, asked)
	if err != nil {
		return nil, err
	}
	var sources []query.Source
	boxes := false
	for n, result := range results {
		sources = append(sources, result.Sources...)
		logReranking(ctx, result.Reranking)
		boxes = boxes || req.GetQueries()[n].GetIncludeBoxes()
	}
	if !boxes {
		codecSlotOf(ctx).answers(sources)
	}
	res := &ragdv1.BatchQueryResponse{Answers: make([]*ragdv1.BatchAnswer, len(results))}
	for n, result := range results {
		res.Answers[n] = &ragdv1.BatchAnswer{}
		if result.Err == nil {
			res.Answers[n].Answer, result.Err = h.answerMessage(ctx, req.GetQueries()[n], result.Response)
		}
		if result.Err != nil {
			res.Answers[n].Error = queryError(ctx, result.Err)
		}
	}
	return res, nil
}

// queryError converts the error of one query of several.
func queryError(ctx context.Context, err error) *ragdv1.QueryError {
	p := partialError(ctx, err)
	return &ragdv1.QueryError{Code: p.code, Message: p.message, Field: p.field, RetryDelaySeconds: p.retryAfter.Seconds()}
}

// requestOf converts a query. Errors: Invalid.
func requestOf(req *ragdv1.VectorQueryRequest) (query.Request, error) {
	f, err := filter.Parse(req.GetFilter().AsInterface())
	return query.Request{
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
		Fusion: fusionOf(req.GetHybrid()), FieldWeights: fieldWeightsOf(req.GetFieldWeights()), DatabaseConfig: databaseConfigOf(req.GetDatabaseConfig()),
		Neighbours: int(req.GetNeighbours()), Diversity: req.GetDiversity(), MaxPerDocument: int(req.GetMaxPerDocument()), Prefix: req.GetPrefix(),
		Like: likeOf(req.GetLike()), Syntax: query.Syntax(req.GetQuerySyntax()),
		OrderBy: orderOf(req.GetOrderBy()), GroupBy: groupByOf(req.GetGroupBy()), PageSize: intOf(req.PageSize), PageToken: req.GetPageToken(),
	}, err
}

func (h *Handlers) answerMessage(ctx context.Context, req *ragdv1.VectorQueryRequest, found query.Response) (*ragdv1.VectorQueryResponse, error) {
	sources, err := convertLarge(ctx, h.Processor, found.Sources, new(objectReader).sourceMessage)
	if err == nil && req.GetIncludeBoxes() {
		var warnings []string
		warnings, err = h.addBoxes(ctx, req.GetIndexName(), found.Sources, sources)
		found.Warnings = append(found.Warnings, warnings...)
	}
	return &ragdv1.VectorQueryResponse{
		RelevantContext: found.RelevantContext, Sources: sources, Warnings: found.Warnings, Explain: explainMessage(found.Explain, found.Reranking),
		Budget: budgetMessage(found.Budget), QueryId: found.ID, Groups: groupMessages(found.Groups), GroupCount: numberOf(found.GroupCount), NextPageToken: found.NextPageToken, DidYouMean: found.DidYouMean,
	}, err
}

// intOf converts an optional number; nil stays nil.
func intOf(n *int32) *int {
	if n == nil {
		return nil
	}
	wide := int(*n)
	return &wide
}

// numberOf converts an optional number; nil stays nil.
func numberOf[N int | int64](n *N) *int32 {
	if n == nil {
		return nil
	}
	return new(int32(*n))
}

func fusionOf(h *ragdv1.Hybrid) query.Fusion {
	if h == nil {
		return query.Fusion{}
	}
	return query.Fusion{Method: query.Method(h.GetFusion()), VectorWeight: h.VectorWeight, KeywordWeight: h.KeywordWeight, VectorLogOdds: h.VectorLogOdds}
}

func orderOf(order []*ragdv1.OrderBy) []filter.Order {
	out := make([]filter.Order, len(order))
	for n, o := range order {
		out[n] = filter.Order{Field: o.GetField(), Descending: o.GetDescending(), Origin: o.GetOrigin().AsInterface()}
	}
	return out
}

func groupByOf(g *ragdv1.GroupBy) *query.GroupBy {
	if g == nil {
		return nil
	}
	return &query.GroupBy{Field: g.GetField(), Size: intOf(g.Size)}
}

func groupMessages(groups []query.Group) []*ragdv1.SourceGroup {
	out := make([]*ragdv1.SourceGroup, len(groups))
	for n, g := range groups {
		out[n] = &ragdv1.SourceGroup{Value: facetValue(g.Value), ChunkCount: numberOf(g.Chunks)}
	}
	return out
}

func indexWeightsOf(weights []*ragdv1.IndexWeight) []query.IndexWeight {
	out := make([]query.IndexWeight, len(weights))
	for n, w := range weights {
		out[n] = query.IndexWeight{IndexName: w.GetIndexName(), Weight: w.GetWeight()}
	}
	return out
}

func likeOf(l *ragdv1.Like) *query.Like {
	if l == nil {
		return nil
	}
	return &query.Like{
		Positive: examplesOf(l.GetPositive()), Negative: examplesOf(l.GetNegative()), Exclude: examplesOf(l.GetExclude()), Combine: query.Combine(l.GetCombine()),
	}
}

func examplesOf(examples []*ragdv1.Example) []query.Example {
	out := make([]query.Example, len(examples))
	for n, e := range examples {
		out[n] = query.Example{ID: e.GetId(), DocumentID: e.GetDocumentId(), URI: e.GetUri(), Text: e.GetText()}
	}
	return out
}

func databaseConfigOf(c *ragdv1.DatabaseConfig) query.DatabaseConfig {
	var out query.DatabaseConfig
	if p := c.GetPgvector(); p != nil {
		out.PGVector = &query.PGVectorConfig{MinScore: p.MinScore, Ef: intOf(p.Ef), Probes: intOf(p.Probes)}
	}
	if p := c.GetPinecone(); p != nil {
		out.Pinecone = &query.PineconeConfig{Namespace: p.GetNamespace(), SparseVector: sparseOf(p.GetSparseVector())}
	}
	if p := c.GetChroma(); p != nil {
		out.Chroma = &query.ChromaConfig{Where: p.GetWhere().AsInterface(), WhereDocument: p.GetWhereDocument().AsInterface()}
	}
	return out
}

// sourceMessage converts a source, whose metadata r parses.
func (r *objectReader) sourceMessage(s query.Source) (*ragdv1.Source, error) {
	metadata, err := r.read(s.Metadata)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of chunk %s: %w", s.ID, err)
	}
	// Clients of other vector stores expect a chunk's text in its metadata.
	if _, taken := metadata.Fields["text"]; !taken {
		metadata.Fields["text"] = structpb.NewStringValue(s.Text)
	}
	return &ragdv1.Source{
		Id: s.ID, Metadata: metadata, Vector: s.Vector, Score: s.Score, Document: s.Text, DocumentId: s.DocumentID,
		Uri: s.URI, Title: s.Title, Ordinal: int32(s.Ordinal), StartByte: uint32(s.StartByte), EndByte: uint32(s.EndByte),
		Details: rerankDetails(s.Details), Highlight: highlightMessage(s.Highlight), Chunk: chunkMessage(s.Chunk), Similarity: s.Similarity, KeywordScore: s.KeywordScore,
		AlsoIn: placeMessages(s.AlsoIn), AlsoInCount: int32(s.AlsoInCount), Hits: hitMessages(s.Hits), Recency: recencyMessage(s.Recency), IndexName: s.IndexName, Group: numberOf(s.Group), Pinned: s.Pin > 0, KeywordFactor: s.KeywordFactor,
	}, nil
}

func fieldWeightsOf(w *ragdv1.FieldWeights) *query.FieldWeights {
	if w == nil {
		return nil
	}
	return &query.FieldWeights{Title: w.Title, Headings: w.Headings, Text: w.Text}
}

func placeMessages(places []query.Place) []*ragdv1.Place {
	messages := make([]*ragdv1.Place, len(places))
	for n, p := range places {
		messages[n] = &ragdv1.Place{
			Id: p.ID, DocumentId: p.DocumentID, Uri: p.URI, Title: p.Title, Ordinal: int32(p.Ordinal),
			StartByte: uint32(p.StartByte), EndByte: uint32(p.EndByte), IndexName: p.IndexName,
		}
	}
	return messages
}

func hitMessages(hits []query.Hit) []*ragdv1.Hit {
	messages := make([]*ragdv1.Hit, len(hits))
	for n, hit := range hits {
		messages[n] = &ragdv1.Hit{
			Id: hit.ID, Ordinal: int32(hit.Ordinal), Score: hit.Score, StartByte: uint32(hit.StartByte), EndByte: uint32(hit.EndByte), Range: rangeMessage(hit.Span),
		}
	}
	return messages
}

func highlightMessage(h *query.Highlight) *ragdv1.Highlight {
	if h == nil {
		return nil
	}
	message := &ragdv1.Highlight{Passage: rangeMessage(h.Passage)}
	for _, match := range h.Matches {
		message.Matches = append(message.Matches, rangeMessage(match))
	}
	return message
}

func rangeMessage(s query.Span) *ragdv1.ByteRange {
	return &ragdv1.ByteRange{StartByte: uint32(s.Start), EndByte: uint32(s.End)}
}

func explainMessage(e *query.Explain, r *rerank.Report) *ragdv1.Explain {
	if e == nil {
		return nil
	}
	message := &ragdv1.Explain{
		SearchMode: string(e.Mode), Plan: e.Plan, Candidates: int32(e.Candidates), Complete: e.Complete, Exact: e.Exact,
		SearchWidth: int32(e.SearchWidth), RecallTarget: e.RecallTarget, MeasuredRecall: e.MeasuredRecall, Calibration: e.Calibration, RepeatedCount: int32(e.Repeated), Context: contextMessages(e.Context),
		Reranking: rerankingMessage(r), FilterNotes: e.FilterNotes, VectorWeight: e.VectorWeight, VectorLogOdds: e.VectorLogOdds, Conditions: e.Conditions,
		Profiles: appliedMessages(e.Profiles),
	}
	for _, stage := range e.Stages {
		message.Stages = append(message.Stages, &ragdv1.Stage{
			Name: stage.Name, DurationMs: milliseconds(stage.Duration), Candidates: int32(stage.Candidates),
		})
	}
	for _, c := range e.Corrections {
		message.Corrections = append(message.Corrections, &ragdv1.Correction{Word: c.Word, Searched: c.Searched})
	}
	message.CurationIds = e.Curations
	for _, u := range e.Synonyms {
		message.Synonyms = append(message.Synonyms, &ragdv1.SynonymUse{Term: u.Term, Searched: u.Searched})
	}
	return message
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Embed implements QueryService.
func (h *Handlers) Embed(ctx context.Context, req *ragdv1.EmbedRequest) (*ragdv1.EmbedResponse, error) {
	made, err := h.Queries.Embed(ctx, req.GetModel(), int(req.GetDimension()), req.GetTexts())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.EmbedResponse{Model: made.Model, Dimension: int32(made.Dimension)}
	for _, values := range made.Values {
		res.Embeddings = append(res.Embeddings, &ragdv1.Embedding{Values: values})
	}
	return res, nil
}

// DescribeFields returns the metadata fields of an index with some values, as a text for the
// descriptions of tools; nothing for a caller with a filter.
func (h *Handlers) DescribeFields(ctx context.Context, indexName string) (string, error) {
	return h.Queries.DescribeFields(ctx, indexName)
}
