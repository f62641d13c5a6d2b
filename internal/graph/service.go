package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/notable"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// cacheBytes bounds the memory for cached edges of all tenants.
const cacheBytes = 64 << 20

// Service answers graph queries and manages the graphs of indexes. Safe for
// concurrent use.
type Service struct {
	db        *data.DB
	queue     *job.Queue
	indexes   *index.Service
	queries   *query.Service
	processor *limit.Processor
	edges     *cache.Cache[edgeKey, []chunkEdge]
	bounds    bounds
	meter     *usage.Meter
}

// WithMeter makes the Service count searches of the graph. Call it before the first.
func (s *Service) WithMeter(m *usage.Meter) *Service {
	s.meter = m
	return s
}

// New returns a Service that searches for seeds with queries and enqueues the
// tasks of its jobs. Long computations use the processor; nil is no limit.
func New(db *data.DB, indexes *index.Service, queries *query.Service, queue *job.Queue, processor *limit.Processor) *Service {
	return &Service{
		db: db, queue: queue, indexes: indexes, queries: queries, processor: processor,
		edges: newEdgeCache(cacheBytes), bounds: defaultBounds,
	}
}

func newEdgeCache(bytes int64) *cache.Cache[edgeKey, []chunkEdge] {
	return cache.New(cache.Config[edgeKey, []chunkEdge]{Bytes: bytes, Weigh: func(_ edgeKey, edges []chunkEdge) int {
		weight := int64(100)
		for _, edge := range edges {
			weight += edge.bytes()
		}
		return int(weight)
	}})
}

// EdgeCache returns the counts of the cache of edges.
func (s *Service) EdgeCache() cache.Stats { return s.edges.Stats() }

// Query returns the chunks where walks from the question's seeds spend most time,
// best first, then others that a search finds. The seeds are the best chunks of
// that search and the chunks that the question names. Errors: as those of
// query.Service.Query.
func (s *Service) Query(ctx context.Context, req Request) (Response, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Response{}, err
	}
	if req.Scope == Global {
		if r, err = requireTopics(ctx); err != nil {
			return Response{}, err
		}
	}
	if req, err = req.effective(r); err != nil {
		return Response{}, err
	}
	if err := s.queries.CheckReranker(ctx, r.Tenant, req.Reranker); err != nil {
		return Response{}, err
	}
	names, several, err := s.queries.Indexes(ctx, r.Tenant, query.Request{Question: req.Question, IndexNames: req.IndexNames, IndexWeights: req.IndexWeights})
	if err != nil {
		return Response{}, err
	}
	if several {
		return s.across(ctx, r.Tenant, req, names)
	}
	var response Response
	err = s.indexes.Use(ctx, r.Tenant, names[0], func(i index.Index, tables *data.Handle) (err error) {
		response, err = s.walkIndex(ctx, r.Tenant, i, tables, req)
		return err
	})
	return response, err
}

// walkIndex answers an effective request from one index, and counts it.
func (s *Service) walkIndex(ctx context.Context, id tenant.ID, i index.Index, tables *data.Handle, req Request) (Response, error) {
	ctx = usage.InIndex(ctx, i.Name)
	s.meter.Add(ctx, string(id), usage.Walk, usage.Counts{Calls: 1})
	return s.walkWith(ctx, id, i, tables.Reading(req.Freshness), req)
}

// walkWith answers an effective request from one index, whose tables are given.
func (s *Service) walkWith(ctx context.Context, id tenant.ID, i index.Index, tables *data.Handle, req Request) (Response, error) {
	response, err := s.answer(ctx, id, i, tables, req)
	if err == nil && req.Highlight {
		s.highlight(i, req.QueryText, response.Sources)
	}
	return response, err
}

// foundOf returns the sources as a search returns them.
func foundOf(sources []Source) []query.Source {
	found := make([]query.Source, len(sources))
	for n, source := range sources {
		found[n] = source.Source
	}
	return found
}

// highlight sets the Highlight of the sources.
func (s *Service) highlight(i index.Index, question string, sources []Source) {
	found := foundOf(sources)
	s.queries.Highlight(i, question, found)
	for n := range sources {
		sources[n].Highlight = found[n].Highlight
	}
}

// answer answers a request from one index, whose tables are given.
func (s *Service) answer(ctx context.Context, id tenant.ID, i index.Index, tables *data.Handle, req Request) (Response, error) {
	p, err := req.plan(i)
	if err != nil {
		return Response{}, err
	}
	var warnings []string
	ranked, applied, err := req.profiled(i)
	if err == nil && len(applied) > 0 {
		if err = s.queries.CheckReranker(ctx, id, ranked.Reranker); err == nil {
			var with walkPlan
			if with, err = ranked.plan(i); err == nil {
				p = with
			}
		}
	}
	if err != nil {
		warning, err := query.SkippedProfile(applied, err)
		if err != nil {
			return Response{}, err
		}
		applied, warnings = nil, []string{warning}
	}
	if p.boosts, err = s.queries.Popular(ctx, id, tables, i, req.Namespace, req.Access(), p.boosts); err != nil {
		return Response{}, err
	}
	p.tenant, p.tables = id, tables
	began := time.Now()
	run := &run{service: s, plan: p, watch: query.StartStopwatch(ctx, "graph"), explain: Explain{Profiles: applied}, warnings: warnings}
	switch {
	case req.Scope == Global:
		err = run.global(ctx)
	case req.Options.Candidates > 0:
		err = run.candidates(ctx)
	default:
		err = run.stored(ctx)
	}
	if err == nil && p.expansion.Stage() != "" {
		err = run.expand(ctx)
	}
	if err == nil && p.budget != nil {
		err = run.fit(ctx)
	}
	if req.several {
		return run.response(), err
	}
	s.queries.Note(ctx, id, i, notable.Asked{Question: req.QueryText, Namespace: cmp.Or(req.Namespace, index.DefaultNamespace), Sources: len(run.sources), Best: run.found.Best, Took: time.Since(began), Err: err})
	response := run.response()
	if p.withSources {
		response.ID = query.AnswerID(ctx, []index.Index{i}, p.request.Namespace, req.QueryText, foundOf(run.sources))
	}
	return response, err
}

// run is the state of one query.
type run struct {
	service *Service
	plan    walkPlan
	watch   *query.Stopwatch

	found     query.Found // by the search for seeds
	sources   []Source
	explain   Explain
	warnings  []string // in addition to those of the search
	reranking *rerank.Report
	fitted    query.Fitted // into the budget
}

// search finds the seeds, or the candidates.
func (r *run) search(ctx context.Context, mode query.Mode, topK int, withVectors bool) (err error) {
	if before := r.plan.request.crossing.found; before != nil {
		r.found, r.explain.Mode = *before, before.Mode
		return nil
	}
	q := r.plan.request.Question
	q.Mode, q.TopK, q.IncludeVectors = mode, &topK, &withVectors
	r.found, err = r.service.queries.Candidates(ctx, r.plan.tenant, r.plan.index, r.plan.tables, q)
	r.explain.Mode = r.found.Mode
	return err
}

// rerank orders the sources by a second scoring, if the request asks for one, and
// keeps the best. Scores of walks mean little in themselves, so they are mapped
// to [0,1] before they are combined.
func (r *run) rerank(ctx context.Context) error {
	p := r.plan
	if p.request.Reranker == nil {
		return nil
	}
	sources, report, err := r.service.queries.RerankFound(ctx, p.tenant, p.request.QueryText, foundOf(r.sources), *p.request.Reranker, p.topK, true)
	if err != nil {
		return err
	}
	r.sources = r.sources[:0]
	for _, source := range sources {
		r.sources = append(r.sources, Source{Source: source})
	}
	r.reranking, r.warnings = &report, append(r.warnings, report.Warnings...)
	r.watch.Lap("rerank", len(r.sources))
	return nil
}

// expand adds to the sources more of their documents.
func (r *run) expand(ctx context.Context) error {
	p := r.plan
	expanded, err := p.expansion.Expand(ctx, p.tables, p.index, p.request.Namespace, p.request.Filter, foundOf(r.sources))
	if err != nil {
		return fmt.Errorf("expand the sources: %w", err)
	}
	all := make(map[string]Source, len(r.sources))
	for _, source := range r.sources {
		all[source.ID] = source
	}
	r.sources = r.sources[:0]
	for _, found := range expanded {
		source := all[found.ID]
		source.Source = found
		r.sources = append(r.sources, source)
	}
	r.explainSources()
	r.watch.Lap(p.expansion.Stage(), len(r.sources))
	return nil
}

// response returns the answer.
func (r *run) response() Response {
	response := Response{found: r.found, best: max(r.found.TopScore(), r.plan.request.crossing.best), RelevantContext: r.fitted.Context, Budget: r.fitted.Report, Warnings: slices.Clone(r.found.Warnings), Reranking: r.reranking}
	if r.fitted.Report == nil {
		response.RelevantContext = relevantContext(r.sources)
	}
	if r.plan.withSources {
		response.Sources = r.sources
	}
	response.Warnings = append(response.Warnings, r.warnings...)
	if r.plan.request.Explain {
		r.explain.Stages, r.explain.Context = r.watch.Stages, r.plan.request.Context()
		r.explain.FilterNotes = r.plan.request.FilterNotes()
		response.Explain = &r.explain
	}
	return response
}
