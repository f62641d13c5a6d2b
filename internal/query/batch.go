package query

import (
	"context"
	"sync"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Limits of a batch.
const (
	MaxBatch    = 100 // queries
	batchAtOnce = 4   // of them, which are answered at the same time
)

// Asked is one query of a batch, or why it is none.
type Asked struct {
	Request
	Err error
}

// BatchResult is what one query of a batch gives.
type BatchResult struct {
	Response
	Err error
}

// Batch answers several queries, each by itself. Those that a model embeds over the network or on this
// machine are embedded together. Errors: Invalid for too many or no queries.
func (s *Service) Batch(ctx context.Context, asked []Asked) ([]BatchResult, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	if n := len(asked); n == 0 || n > MaxBatch {
		return nil, fault.Field("queries", "must have 1 to %d queries, got %d", MaxBatch, n)
	}
	s.embedTogether(ctx, r, asked)
	results := make([]BatchResult, len(asked))
	slots := make(chan struct{}, batchAtOnce)
	var running sync.WaitGroup
	for n, one := range asked {
		if one.Err != nil {
			results[n].Err = one.Err
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			results[n].Response, results[n].Err = s.Query(ctx, one.Request)
		})
	}
	running.Wait()
	return results, ctx.Err()
}

// embedTogether embeds the questions of a batch that are for the same model in one call, which puts
// them into the cache of questions. What cannot be embedded is left to its query, which says why.
func (s *Service) embedTogether(ctx context.Context, r *access.Request, asked []Asked) {
	type use struct {
		model *embed.Model
		texts []string
	}
	uses := map[string]*use{}
	for _, one := range asked {
		req, err := one.effective(r)
		if one.Err != nil || err != nil || req.QueryText == "" || len(req.QueryVector) > 0 || req.Mode == Keyword {
			continue
		}
		for _, i := range s.modelsOf(ctx, r.Tenant, req) {
			model, err := i.Model(ctx, s.models, r.Tenant)
			if err != nil {
				continue
			}
			if uses[i.EmbeddingModel] == nil {
				uses[i.EmbeddingModel] = &use{model: model}
			}
			uses[i.EmbeddingModel].texts = append(uses[i.EmbeddingModel].texts, req.QueryText)
		}
	}
	for _, u := range uses {
		_ = s.models.EmbedQueries(ctx, string(r.Tenant), u.model, u.texts)
	}
}

// modelsOf returns the indexes of a request that have embedding models.
func (s *Service) modelsOf(ctx context.Context, id tenant.ID, req Request) (found []index.Index) {
	req, err := s.withIndexes(ctx, id, req)
	if err != nil {
		return nil
	}
	names := []string{req.IndexName}
	if req.isAcross() {
		if names, err = s.namesOf(ctx, id, req); err != nil {
			return nil
		}
	}
	for _, name := range names {
		if i, err := s.indexes.Resolve(ctx, id, name); err == nil && i.EmbeddingModel != "" {
			found = append(found, i)
		}
	}
	return found
}
