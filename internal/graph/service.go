package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/lru"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/tenant"
)

// cacheBytes is what the edges of all tenants may take in memory.
const cacheBytes = 64 << 20

// Service answers graph queries. Safe for concurrent use.
type Service struct {
	indexes *index.Service
	queries *query.Service
	edges   *lru.Cache[edgeKey, []placedEdge]
	bounds  bounds
}

// New returns a Service that finds its seeds by queries.
func New(indexes *index.Service, queries *query.Service) *Service {
	return &Service{
		indexes: indexes, queries: queries,
		edges: lru.New[edgeKey, []placedEdge](cacheBytes), bounds: defaultBounds,
	}
}

// Query returns the chunks where walks from the question's seeds spend most of
// their time, then those that a search finds. Seeds are the best chunks found
// and the chunks that the question names. Errors: as query.Service.Query.
func (s *Service) Query(ctx context.Context, req Request) (Response, error) {
	r, err := tenant.Require(ctx, tenant.Read)
	if err != nil {
		return Response{}, err
	}
	if req, err = req.effective(r); err != nil {
		return Response{}, err
	}
	if err := s.queries.CheckReranker(req.Reranker); err != nil {
		return Response{}, err
	}
	var response Response
	err = s.indexes.Use(ctx, r.Tenant, req.IndexName, func(i index.Index, tables *tenant.Handle) error {
		response, err = s.answer(ctx, r.Tenant, i, tables, req)
		return err
	})
	return response, err
}

// answer answers a request from one index, whose tables are given.
func (s *Service) answer(ctx context.Context, id tenant.ID, i index.Index, tables *tenant.Handle, req Request) (Response, error) {
	p, err := req.plan(i)
	if err != nil {
		return Response{}, err
	}
	p.tenant, p.tables, p.walk.Done = id, tables, ctx.Done()
	run := &run{service: s, plan: p, watch: query.StartStopwatch(ctx, "graph")}
	if req.Options.Candidates > 0 {
		err = run.candidates(ctx)
	} else {
		err = run.stored(ctx)
	}
	return run.response(), err
}

// run is one query under way.
type run struct {
	service *Service
	plan    walkPlan
	watch   *query.Stopwatch

	found    query.Found // the first stage
	sources  []Source
	explain  Explain
	warnings []string // of what came after
}

// search is the first stage.
func (r *run) search(ctx context.Context, mode query.Mode, topK int, withVectors bool) (err error) {
	q := r.plan.request.Question
	q.Mode, q.TopK, q.IncludeVectors = mode, &topK, &withVectors
	r.found, err = r.service.queries.Candidates(ctx, r.plan.tenant, r.plan.index, r.plan.tables, q)
	r.explain.Mode = r.found.Mode
	return err
}

// stored walks the stored graph.
func (r *run) stored(ctx context.Context) error {
	p, h := r.plan, r.plan.tables
	var named []seed
	var counts index.GraphCounts
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return r.search(groupCtx, p.request.Mode, max(p.fetch, seedCount), p.withVectors)
	})
	group.Go(func() (err error) {
		if counts, err = index.GraphCountsOf(groupCtx, h, p.index.ID); err != nil {
			return fmt.Errorf("read the version of the graph: %w", err)
		}
		named, err = namedSeeds(groupCtx, h, p)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	seeds := append(named, foundSeeds(r.found.Sources)...)
	r.watch.Lap("seeds", len(seeds))
	around, err := r.service.surround(ctx, p, counts.Version, seeds)
	if err != nil {
		return err
	}
	if around.cut != "" {
		r.warnings = append(r.warnings, around.cut)
	}
	r.watch.Lap("load", len(around.places))
	shares := around.walk(seeds, p.walk)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.watch.Lap("walk", len(around.places))
	return r.assemble(ctx, h, around, seeds, shares)
}

// namedSeeds are the chunks that the question names.
func namedSeeds(ctx context.Context, h *tenant.Handle, p walkPlan) ([]seed, error) {
	space := spaceOf(p.request.Namespace)
	rows, err := namedBy(ctx, h, distinct(space.keys(Phrases(p.request.QueryText))), p.request.Filter)
	if err != nil {
		return nil, fmt.Errorf("find what the question names: %w", err)
	}
	byKey := map[Key][]namedRow{}
	for _, row := range rows {
		byKey[row.Key] = append(byKey[row.Key], row)
	}
	var seeds []seed
	for _, key := range Named(p.request.QueryText, func(key Key) bool { return len(byKey[space.key(key)]) > 0 }) {
		for _, row := range byKey[space.key(key)] {
			seeds = append(seeds, seed{Place{row.DocumentID, row.Ordinal}, namedSeedWeight(row.Chunks), "named by the question"})
		}
	}
	return seeds, nil
}

// foundSeeds are the best chunks found.
func foundSeeds(sources []query.Source) []seed {
	var seeds []seed
	for rank, source := range sources[:min(seedCount, len(sources))] {
		if source.DocumentID == "" { // a ready-made vector is in no graph
			continue
		}
		seeds = append(seeds, seed{placeOf(source), foundSeedWeight(rank), fmt.Sprintf("found at rank %d", rank+1)})
	}
	return seeds
}

func placeOf(source query.Source) Place { return Place{source.DocumentID, source.Ordinal} }

// assemble ranks what the walk reached, fills up with what was found and reads
// the texts.
func (r *run) assemble(ctx context.Context, h *tenant.Handle, around *surroundings, seeds []seed, shares []float64) error {
	ranked := make([]Scored, 0, len(shares))
	for node, share := range shares {
		if share > 0 {
			ranked = append(ranked, Scored{int32(node), share})
		}
	}
	sortScored(ranked)
	found := map[Place]query.Source{}
	for _, source := range r.found.Sources {
		found[placeOf(source)] = source
	}
	var places, missing []Place
	for _, s := range ranked[:min(r.plan.fetch, len(ranked))] {
		place := around.places[s.Node]
		places = append(places, place)
		if _, ok := found[place]; !ok {
			missing = append(missing, place)
		}
	}
	more, err := sourcesAt(ctx, h, r.plan.index, missing, r.plan.request.Filter, r.plan.withVectors)
	if err != nil {
		return fmt.Errorf("read the sources: %w", err)
	}
	for i, place := range places {
		source, ok := found[place]
		if !ok {
			source, ok = more[place]
		}
		if ok { // not deleted since the walk
			source.Score = ranked[i].Score
			r.sources = append(r.sources, Source{Source: source})
		}
	}
	r.fill(around, shares)
	if err := r.rerank(ctx); err != nil {
		return err
	}
	if r.plan.request.Explain {
		err = r.explainWalk(ctx, h, around, seeds, ranked)
	}
	r.watch.Lap("assemble", len(r.sources))
	return err
}

// fill adds what the first stage found and the walk did not lead to.
func (r *run) fill(around *surroundings, shares []float64) {
	for _, source := range r.found.Sources {
		if len(r.sources) >= r.plan.fetch {
			return
		}
		place := placeOf(source)
		if node, ok := around.node[place]; ok && shares[node] > 0 {
			continue // among the sources already
		}
		source.Score = 0
		r.sources = append(r.sources, Source{Source: source})
	}
}

// rerank orders the sources anew, if that is asked for, and keeps the best. A
// walk's scores say an order more than a worth, and are mapped to 0..1.
func (r *run) rerank(ctx context.Context) error {
	p := r.plan
	if p.request.Reranker == nil {
		return nil
	}
	found := make([]query.Source, len(r.sources))
	for i, source := range r.sources {
		found[i] = source.Source
	}
	sources, report, err := r.service.queries.RerankFound(ctx, p.tenant, p.request.QueryText, found, *p.request.Reranker, p.topK, true)
	if err != nil {
		return err
	}
	r.sources = r.sources[:0]
	for _, source := range sources {
		r.sources = append(r.sources, Source{Source: source})
	}
	r.explain.Reranking, r.warnings = &report, append(r.warnings, report.Warnings...)
	r.watch.Lap("rerank", len(r.sources))
	return nil
}

// maxExplained bounds the nodes that an explanation shows.
const maxExplained = 100

// explainWalk says how the sources were reached, and what the walk saw.
func (r *run) explainWalk(ctx context.Context, h *tenant.Handle, around *surroundings, seeds []seed, ranked []Scored) error {
	ranked = ranked[:min(maxExplained, len(ranked))]
	places := make([]Place, len(ranked))
	for i, s := range ranked {
		places[i] = around.places[s.Node]
	}
	known, err := sourcesAt(ctx, h, r.plan.index, places, r.plan.request.Filter, false)
	if err != nil {
		return fmt.Errorf("read what the walk saw: %w", err)
	}
	title := func(place Place) string {
		source := known[place]
		return cmp.Or(source.Title, source.URI, "a chunk")
	}
	way := newPaths(around, seeds, r.plan.walk.Restart)
	sources := map[Place]bool{}
	for i, source := range r.sources {
		place := placeOf(source.Source)
		sources[place] = true
		if node, ok := around.node[place]; ok {
			r.sources[i].Path = way.to(node, title)
		} else {
			r.sources[i].Path = "found by the search"
		}
	}
	weights := map[Place]float64{}
	for _, seed := range seeds {
		weights[seed.Place] += seed.weight
	}
	shown := map[int32]int{}
	for i, s := range ranked {
		shown[s.Node] = i
		r.explain.Nodes = append(r.explain.Nodes, Node{
			Place: places[i], Title: title(places[i]), Score: s.Score, Seed: weights[places[i]], Source: sources[places[i]],
		})
	}
	shares := around.shares()
	for i, edge := range around.edges {
		from, ok := shown[around.node[edge.from]]
		to, ok2 := shown[around.node[edge.to]]
		if ok && ok2 {
			r.explain.Edges = append(r.explain.Edges, Edge{From: from, To: to, Type: edge.kind, Share: shares[i], Words: edge.words})
		}
	}
	return nil
}

// candidates walks a similarity graph over the chunks that a search by embedding
// finds.
func (r *run) candidates(ctx context.Context) error {
	p := r.plan
	question, err := r.question(ctx)
	if err != nil {
		return err
	}
	r.plan.request.QueryVector = question
	if err := r.search(ctx, query.Vector, p.request.Options.Candidates, true); err != nil {
		return err
	}
	r.watch.Lap("search", len(r.found.Sources))
	vectors := make([][]float64, len(r.found.Sources))
	for i, source := range r.found.Sources {
		vectors[i] = widened(source.Vector)
	}
	ranked, err := NewCandidates(vectors, p.threshold).Rank(widened(question), p.seeds, p.walk)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	for _, s := range ranked[:min(p.fetch, len(ranked))] {
		source := r.found.Sources[s.Node]
		source.Score = s.Score
		if !p.withVectors {
			source.Vector = nil
		}
		r.sources = append(r.sources, Source{Source: source})
	}
	r.watch.Lap("walk", len(ranked))
	return r.rerank(ctx)
}

// question returns the question's embedding.
func (r *run) question(ctx context.Context) ([]float32, error) {
	p := r.plan
	if len(p.request.QueryVector) > 0 {
		return p.request.QueryVector, nil
	}
	if p.index.EmbeddingModel == "" {
		return nil, fault.Field("queryVector", "is needed: index %q has no embedding model that could embed queryText", p.index.Name)
	}
	return r.service.queries.EmbedQuestion(ctx, p.tenant, p.index, p.request.QueryText)
}

func widened(vector []float32) []float64 {
	out := make([]float64, len(vector))
	for i, value := range vector {
		out[i] = float64(value)
	}
	return out
}

// response puts the answer together.
func (r *run) response() Response {
	sources := make([]query.Source, len(r.sources))
	for i, source := range r.sources {
		sources[i] = source.Source
	}
	response := Response{RelevantContext: query.RelevantContext(sources), Warnings: slices.Clone(r.found.Warnings)}
	if r.plan.withSources {
		response.Sources = r.sources
	}
	response.Warnings = append(response.Warnings, r.warnings...)
	if r.plan.request.Explain {
		r.explain.Stages = r.watch.Stages
		response.Explain = &r.explain
	}
	return response
}
