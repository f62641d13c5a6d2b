package query

import (
	"context"

	"golang.org/x/sync/errgroup"

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

// BatchResult is the answer to one query of a batch, or its error.
type BatchResult struct {
	Response
	Err error
}

// admitted is a query of a batch with the names of its indexes.
type admitted struct {
	request Request
	names   []string
	err     error
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
	queries := make([]admitted, len(asked))
	for n, one := range asked {
		q := admitted{err: one.Err}
		if q.err == nil {
			q.request, q.err = one.effective(r)
		}
		if q.err == nil {
			q.names, q.err = s.namesOf(ctx, r.Tenant, q.request)
		}
		queries[n] = q
	}
	s.embedTogether(ctx, r.Tenant, queries)
	results := make([]BatchResult, len(asked))
	var running errgroup.Group
	running.SetLimit(batchAtOnce)
	for n, q := range queries {
		running.Go(func() error {
			if results[n].Err = q.err; q.err == nil {
				results[n].Response, results[n].Err = s.answerFrom(ctx, r.Tenant, q.request, q.names)
			}
			return nil
		})
	}
	_ = running.Wait() // each result has its own error
	return results, ctx.Err()
}

// embedTogether embeds the questions of a batch that are for the same model in one call, which puts
// them into the cache of questions. What cannot be embedded is left to its query, which says why.
func (s *Service) embedTogether(ctx context.Context, id tenant.ID, queries []admitted) {
	type use struct {
		name      string
		dimension int
	}
	models, texts := map[use]*embed.Model{}, map[use][]string{}
	for _, q := range queries {
		text := q.request.QueryText
		if q.request.Syntax == Web {
			text, _, _ = parseWeb(text) // its query says what is wrong
		}
		if text == "" || len(q.request.QueryVector) > 0 || q.request.Like != nil || q.request.Mode == Keyword {
			continue
		}
		for _, name := range q.names {
			i, err := s.indexes.Resolve(ctx, id, name)
			if err != nil || i.EmbeddingModel == "" {
				continue
			}
			of := use{i.EmbeddingModel, i.Dimension}
			if models[of] == nil {
				if models[of], err = i.Model(ctx, s.models, id); err != nil {
					delete(models, of)
					continue
				}
			}
			texts[of] = append(texts[of], text)
		}
	}
	for of, model := range models {
		_ = s.models.EmbedQueries(ctx, string(id), model, texts[of])
	}
}
