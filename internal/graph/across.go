package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/budget"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// part is what one of several indexes answers.
type part struct {
	name     string
	index    index.Index
	response Response
	err      error
}

// across answers an effective request from several indexes: the graph of each is walked by itself, within its deadline, then again from what the
// best passages of the others name in it, and the sources of all are in one order. A score of a walk is a probability within its graph, so the scores of an index are scaled: its best
// one becomes the score of its best seed, which can be compared with those of others. An index that cannot answer is named in a
// warning. Errors: as for Query, and that of an index if none answers.
func (s *Service) across(ctx context.Context, id tenant.ID, req Request, names []string) (Response, error) {
	if req.Scope == Global {
		return Response{}, fault.Field("scope", "global is for one index, whose topics it ranks: name one with indexName; the indexes are %s", strings.Join(names, ", "))
	}
	most, err := budget.New(req.MaxTokens, req.EncodingName)
	if err != nil {
		return Response{}, err
	}
	watch := query.StartStopwatch(ctx, "graph")
	parts, err := s.walkEach(ctx, id, req, names)
	if err != nil {
		return Response{}, err
	}
	watch.Lap("indexes", len(parts))
	response, answered := joined(parts, req.IndexWeights)
	if len(answered) == 0 {
		return Response{}, parts[0].err
	}
	if err := s.arrange(ctx, id, req, &response, watch); err != nil {
		return Response{}, err
	}
	if err := s.fitInto(ctx, id, most, &response, watch); err != nil {
		return Response{}, err
	}
	if response.Explain != nil {
		response.Explain.Stages, response.Explain.Context = append(response.Explain.Stages, watch.Stages...), req.Context()
		response.Explain.FilterNotes = req.FilterNotes()
		response.Explain.keepSources(response.Sources)
	}
	if req.IncludeSources != nil && !*req.IncludeSources {
		response.Sources = nil
		return response, nil
	}
	response.ID = query.AnswerID(ctx, answered, cmp.Or(req.Namespace, index.DefaultNamespace), req.QueryText, foundOf(response.Sources))
	return response, nil
}

// walkEach walks the graphs of several indexes side by side. Errors: those of the service alone.
func (s *Service) walkEach(ctx context.Context, id tenant.ID, req Request, names []string) ([]part, error) {
	req.several, req.IncludeSources, req.MaxTokens = true, new(true), nil
	if req.Reranker != nil { // all are reranked together
		if strings.TrimSpace(req.QueryText) == "" {
			return nil, fault.Field("queryText", "is needed to rerank and must not be blank")
		}
		_, fetch, err := req.Reranker.Depth(*cmp.Or(req.TopK, new(query.DefaultTopK)))
		if err != nil {
			return nil, err
		}
		req.TopK, req.Reranker = &fetch, nil
	}
	parts := query.Each(names, func(name string) part {
		one := part{name: name}
		one.err = query.WithinIndex(query.Apart(ctx), func(ctx context.Context) error { return s.walkOne(ctx, id, req, &one) })
		return one
	})
	for _, one := range parts {
		if query.IsOurs(one.err) {
			return nil, one.err
		}
	}
	return parts, s.cross(ctx, id, req, parts)
}

// walkOne walks the graph of the index of a part.
func (s *Service) walkOne(ctx context.Context, id tenant.ID, req Request, one *part) error {
	return s.indexes.Use(ctx, id, one.name, func(i index.Index, tables *data.Handle) (err error) {
		one.index = i
		one.response, err = s.walkIndex(ctx, id, i, tables, req)
		return err
	})
}

// joined returns the sources of all parts in one order, best first, ties by index, and what is explained of them; and the indexes that have answered.
func joined(parts []part, weights []query.IndexWeight) (Response, []index.Index) {
	var all Response
	var answered []index.Index
	names, notices := make([]string, len(parts)), make([]query.PartNotices, len(parts))
	for n, one := range parts {
		names[n] = one.name
	}
	shares := query.Shares(names, weights)
	for n, one := range parts {
		notices[n] = query.PartNotices{IndexName: one.name, EmbeddingModel: one.index.EmbeddingModel, Mode: one.response.found.Mode, Warnings: one.response.Warnings, Err: one.err}
		if one.err != nil {
			continue
		}
		answered = append(answered, one.index)
		scale := shares[one.name] * one.response.scale()
		for _, source := range one.response.Sources {
			source.Score *= scale
			query.NameIndex(&source.Source, one.name)
			all.Sources = append(all.Sources, source)
		}
		if one.response.Explain != nil {
			if all.Explain == nil {
				all.Explain = &Explain{Mode: one.response.found.Mode}
			}
			all.Explain.add(one.name, *one.response.Explain)
		}
	}
	slices.SortStableFunc(all.Sources, func(a, b Source) int { return cmp.Compare(b.Score, a.Score) })
	all.Warnings = query.WarningsOf(notices)
	return all, answered
}

// scale returns the factor that makes the best score of the walk, before boosts, that of the best seed; 0 without seeds of a search.
func (r Response) scale() float64 {
	best := 0.0
	for _, source := range r.Sources {
		best = max(best, source.walked())
	}
	if best == 0 {
		return 0
	}
	return max(r.best, 0) / best
}

// arrange makes one source of those that are near-identical, reranks them if that is wanted, and keeps the best.
func (s *Service) arrange(ctx context.Context, id tenant.ID, req Request, response *Response, watch *query.Stopwatch) error {
	topK := *cmp.Or(req.TopK, new(query.DefaultTopK))
	if req.Distinct == nil || *req.Distinct {
		found := foundOf(response.Sources)
		kept, err := s.queries.Distinct(ctx, id, found)
		if err != nil {
			return err
		}
		sources := make([]Source, len(kept))
		for n, repeats := range kept {
			sources[n] = response.Sources[repeats.Source]
			sources[n].Source = repeats.AlsoIn(found)
		}
		if response.Explain != nil {
			response.Explain.Repeated += len(found) - len(kept)
		}
		response.Sources = sources
		watch.Lap("distinct", len(sources))
	}
	if req.Reranker != nil {
		results, fetch, err := req.Reranker.Depth(topK)
		if err != nil {
			return err
		}
		found := response.Sources[:min(fetch, len(response.Sources))]
		reranked, report, err := s.queries.RerankFound(ctx, id, req.QueryText, foundOf(found), *req.Reranker, results, true)
		if err != nil {
			return err
		}
		response.Sources, response.Reranking, response.Warnings = chosen(found, reranked), &report, append(response.Warnings, report.Warnings...)
		topK = results
		watch.Lap("rerank", len(response.Sources))
	}
	response.Sources = response.Sources[:min(topK, len(response.Sources))]
	return nil
}

// fitInto fits the sources into a budget, nil for none, and sets the context.
func (s *Service) fitInto(ctx context.Context, id tenant.ID, most *budget.Budget, response *Response, watch *query.Stopwatch) error {
	if most == nil {
		response.RelevantContext = relevantContext(response.Sources)
		return nil
	}
	found := response.Sources
	before := func(n int) string { return beforeText(found, n) }
	render := func(kept []query.Source, _ []int) string { return query.RelevantContext(kept) }
	fitted, err := s.queries.Fit(ctx, id, most, foundOf(found), before, render)
	if err != nil {
		return err
	}
	response.Sources, response.RelevantContext, response.Budget = chosen(found, fitted.Sources), fitted.Context, fitted.Report
	watch.Lap("budget", len(response.Sources))
	return nil
}

// chosen returns what became of some of the sources, with the paths of the walks.
func chosen(from []Source, found []query.Source) []Source {
	type key struct{ index, id string }
	paths := make(map[key]string, len(from))
	for _, source := range from {
		paths[key{source.IndexName, source.ID}] = source.Path
	}
	sources := make([]Source, len(found))
	for n, source := range found {
		sources[n] = Source{Source: source, Path: paths[key{source.IndexName, source.ID}]}
	}
	return sources
}

// add adds what is explained of one of several indexes.
func (e *Explain) add(indexName string, of Explain) {
	if of.Mode != e.Mode {
		e.Mode = ""
	}
	first := len(e.Edges)
	offset := len(e.Nodes)
	for _, node := range of.Nodes {
		node.IndexName = indexName
		if node.ReachedBy >= 0 {
			node.ReachedBy += first
		}
		e.Nodes = append(e.Nodes, node)
	}
	for _, edge := range of.Edges {
		edge.From, edge.To = edge.From+offset, edge.To+offset
		e.Edges = append(e.Edges, edge)
	}
	for _, stage := range of.Stages {
		stage.Name = fmt.Sprintf("%s: %s", indexName, stage.Name)
		e.Stages = append(e.Stages, stage)
	}
	e.Repeated += of.Repeated
	e.Profiles = append(e.Profiles, of.Profiles...)
}

// keepSources marks as sources the nodes of these alone.
func (e *Explain) keepSources(sources []Source) {
	type key struct {
		index string
		chunk ChunkRef
	}
	kept := map[key]bool{}
	for _, source := range sources {
		kept[key{source.IndexName, chunkOf(source.Source)}] = true
		for _, hit := range source.Hits {
			kept[key{source.IndexName, ChunkRef{source.DocumentID, hit.Ordinal}}] = true
		}
	}
	for n := range e.Nodes {
		node := &e.Nodes[n]
		node.Source = node.Source && kept[key{node.IndexName, node.ChunkRef}]
	}
}
