package query

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Service answers queries. Safe for concurrent use.
type Service struct {
	db           *tenant.DB
	indexes      *index.Service
	models       *embed.Registry
	reranker     *rerank.Reranker
	defaultModel string
}

// New returns a Service. defaultModel is what Embed uses when no model is named.
func New(db *tenant.DB, indexes *index.Service, models *embed.Registry, reranker *rerank.Reranker, defaultModel string) *Service {
	return &Service{db: db, indexes: indexes, models: models, reranker: reranker, defaultModel: defaultModel}
}

// Query returns the chunks that answer the request best. An empty answer means
// that nothing matched. Errors: Invalid naming the field, NotFound for an unknown
// index, Unavailable when the embedding model does not answer.
func (s *Service) Query(ctx context.Context, req Request) (Response, error) {
	r, err := tenant.Require(ctx, tenant.Read)
	if err != nil {
		return Response{}, err
	}
	req.override(r)
	p, err := req.plan()
	if err != nil {
		return Response{}, err
	}
	watch := startStopwatch()
	sources, err := s.retrieve(ctx, r.Tenant, req.IndexName, &p, watch)
	if err != nil {
		return Response{}, err
	}
	response := Response{RelevantContext: RelevantContext(sources)}
	if p.includeSources {
		response.Sources = sources
	}
	if p.mode == Keyword && len(sources) == 0 {
		response.Warnings = append(response.Warnings, "no chunk has a word of the question; words too common to be searched for are left out")
	}
	watch.lap("assemble", len(sources))
	if req.Explain {
		response.Explain = &Explain{Mode: p.mode, Stages: watch.stages}
	}
	return response, nil
}

// retrieve searches the named index. If the index turns out to have been
// replaced since it was last looked up, it looks again, once.
func (s *Service) retrieve(ctx context.Context, id tenant.ID, indexName string, p *plan, watch *stopwatch) ([]Source, error) {
	asked := *p
	sources, found, err := s.retrieveOnce(ctx, id, indexName, p, watch)
	var gone *tenant.GoneError
	if !errors.As(err, &gone) {
		return sources, err
	}
	s.indexes.Forget(id, found.Name)
	*p = asked
	sources, _, err = s.retrieveOnce(ctx, id, indexName, p, watch)
	return sources, err
}

func (s *Service) retrieveOnce(ctx context.Context, id tenant.ID, indexName string, p *plan, watch *stopwatch) ([]Source, index.Index, error) {
	found, err := s.indexes.Resolve(ctx, id, indexName)
	if err != nil {
		return nil, found, err
	}
	if err := p.settle(found); err != nil {
		return nil, found, err
	}
	if p.mode != Keyword && len(p.vector) == 0 {
		model, err := found.Model(s.models)
		if err != nil {
			return nil, found, err
		}
		if p.vector, err = s.models.EmbedQuery(ctx, string(id), model, p.text); err != nil {
			return nil, found, err
		}
	}
	watch.lap("embed", 0)
	sources, err := search(ctx, s.db.Handle(id).OfIndex(found.ID), found, *p)
	watch.lap("search", len(sources))
	return sources, found, err
}

// RelevantContext writes the sources as numbered passages for a prompt.
func RelevantContext(sources []Source) string {
	var b strings.Builder
	for i, source := range sources {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("[" + strconv.Itoa(i+1) + "]")
		if source.Title != "" {
			b.WriteString(" " + source.Title)
		}
		b.WriteString("\n" + source.Text)
	}
	return b.String()
}
