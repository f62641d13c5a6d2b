package query

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// ExplainSearch returns PostgreSQL's plan of the statement that a query comes
// down to, as it ran.
func (s *Service) ExplainSearch(ctx context.Context, id tenant.ID, q Question) (string, error) {
	p, err := Request{Question: q}.prepare()
	if err != nil {
		return "", err
	}
	var plan string
	err = s.indexes.Use(ctx, id, q.IndexName, func(i index.Index, tables *data.Handle) error {
		plan, err = s.explainPlan(ctx, id, i, tables, p)
		return err
	})
	return plan, err
}

// Estimate returns the estimated numbers of chunks in the scope of a question and in the
// index.
func (s *Service) Estimate(ctx context.Context, id tenant.ID, q Question) (matching, total float64, err error) {
	p, err := Request{Question: q}.prepare()
	if err != nil {
		return 0, 0, err
	}
	err = s.indexes.Use(ctx, id, q.IndexName, func(i index.Index, tables *data.Handle) error {
		e, err := s.estimates.of(ctx, id, tables, i, p.scope)
		matching, total = e.matching, e.total
		return err
	})
	return matching, total, err
}

// Lists returns the number of lists that were made.
func (s *Service) Lists() int64 { return s.lists.made.Load() }

// Coded returns the number of lists that were made with codes.
func (s *Service) Coded() int64 { return s.lists.coded.Load() }

func (s *Service) explainPlan(ctx context.Context, id tenant.ID, i index.Index, h *data.Handle, p prepared) (string, error) {
	find := search{index: i, request: p, plan: exact}
	if p.mode != Vector {
		asked, err := lookUp(ctx, h, i, p)
		if err != nil {
			return "", err
		}
		find.calibration, find.keywords = asked.calibration, asked.pruned(0, p.keywordCandidates())
	}
	if p.mode != Keyword {
		var err error
		if find.estimate, err = s.estimates.of(ctx, id, h, i, p.scope); err != nil {
			return "", err
		}
		find.choose()
	}
	args := filter.NewArgs()
	statement := find.sql(args)
	b := h.Batch()
	for _, setting := range find.settings(len(args.Values())) {
		b.Set(setting.name, setting.value)
	}
	var lines []string
	b.Query(func(rows pgx.Rows) (err error) {
		lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}, "EXPLAIN (ANALYZE, COSTS OFF) "+statement, args.Values()...)
	err := b.Run(ctx)
	return strings.Join(lines, "\n"), err
}

// BothWays answers a hybrid question by scoring few chunks by keywords and by scoring the whole number. It
// returns how many chunks each scored, and whether the few are known to suffice.
func (s *Service) BothWays(ctx context.Context, id tenant.ID, r Request) (few, whole []Source, scored, of int64, suffices bool, err error) {
	p, err := r.prepare()
	if err != nil {
		return nil, nil, 0, 0, false, err
	}
	err = s.indexes.Use(ctx, id, r.IndexName, func(i index.Index, h *data.Handle) error {
		if err := p.settle(i); err != nil {
			return err
		}
		asked, err := lookUp(ctx, h, i, p)
		if err != nil {
			return err
		}
		all := search{index: i, request: p, plan: exact, calibration: asked.calibration, keywords: asked.pruned(0, p.keywordCandidates())}
		if whole, err = all.run(ctx, h); err != nil || all.keywords == nil {
			return err
		}
		first := all.few(asked)
		if first == nil {
			few, scored, of = whole, all.keywords.matching, all.keywords.matching
			return nil
		}
		few, err = first.run(ctx, h)
		scored, of, suffices = first.keywords.matching, all.keywords.matching, first.beatsRest(few)
		return err
	})
	return few, whole, scored, of, suffices, err
}

// Update is the flag -update, for the tests outside the package.
var Update = update
