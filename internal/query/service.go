package query

import (
	"context"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Service answers queries. Safe for concurrent use.
type Service struct {
	indexes      *index.Service
	models       *embed.Registry
	reranker     *rerank.Reranker
	defaultModel string
	estimates    *estimator
}

// New returns a Service. defaultModel is what Embed uses when no model is named.
func New(indexes *index.Service, models *embed.Registry, reranker *rerank.Reranker, defaultModel string) *Service {
	return &Service{
		indexes: indexes, models: models, reranker: reranker, defaultModel: defaultModel, estimates: newEstimator(),
	}
}

// Query returns the chunks that answer the request best. An empty answer means
// that nothing matched. Errors: Invalid naming the field, NotFound for an unknown
// index, Unavailable when the embedding model does not answer.
func (s *Service) Query(ctx context.Context, req Request) (Response, error) {
	id, req, err := admit(ctx, req)
	if err != nil {
		return Response{}, err
	}
	response, err := s.answer(ctx, id, req, false)
	response.RelevantContext = RelevantContext(response.Sources)
	if !valueOr(req.IncludeSources, true) {
		response.Sources = nil
	}
	return response, err
}

// Nearest returns the chunks nearest to the request's vector, and without a
// vector those that the filter selects, in the order of their ids, with score 0.
// Texts are neither needed nor embedded. Errors: as for Query.
func (s *Service) Nearest(ctx context.Context, req Request) (Response, error) {
	id, req, err := admit(ctx, req)
	if err != nil {
		return Response{}, err
	}
	req.Mode, req.QueryText, req.Reranker = Vector, "", nil // there is no question to judge by
	return s.answer(ctx, id, req, true)
}

// admit returns the caller's tenant and the request with the request context
// applied.
func admit(ctx context.Context, req Request) (tenant.ID, Request, error) {
	r, err := tenant.Require(ctx, tenant.Read)
	if err != nil {
		return "", req, err
	}
	req, err = req.effective(r)
	return r.Tenant, req, err
}

// answer answers an effective request. plain is for callers who know of no documents.
func (s *Service) answer(ctx context.Context, id tenant.ID, req Request, plain bool) (Response, error) {
	p, err := req.prepare()
	if err != nil {
		return Response{}, err
	}
	if err := s.CheckReranker(req.Reranker); err != nil {
		return Response{}, err
	}
	p.plain = plain
	watch := StartStopwatch(ctx, "query")
	var found answer
	err = s.indexes.Use(ctx, id, req.IndexName, func(i index.Index, tables *tenant.Handle) error {
		found, err = s.retrieve(ctx, id, i, tables, p, watch)
		return err
	})
	if err != nil {
		return Response{}, err
	}
	response := Response{Sources: found.sources, Warnings: append(p.warnings, found.warnings...)}
	if req.Explain {
		found.explain.Stages = watch.Stages
		response.Explain = &found.explain
	}
	return response, nil
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
