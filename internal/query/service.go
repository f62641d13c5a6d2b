package query

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query/budget"
	"github.com/ragdhq/ragd/internal/query/column"
	"github.com/ragdhq/ragd/internal/query/notable"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// Service answers queries. Safe for concurrent use.
type Service struct {
	indexes      *index.Service
	models       *embed.Registry
	reranker     *rerank.Reranker
	defaultModel string
	processor    *limit.Processor
	estimates    *estimator
	lists        *lists
	tallies      *tallies
	columns      *column.Keeper
	ended        *cache.Cache[endedKey, []string]
	popular      *cache.Cache[scopeKey, popular]
	meter        *usage.Meter
	notable      *notable.Recorder
}

// New returns a Service. defaultModel is the model of Embed when none is named. Long
// computations use the processor; nil is no limit.
func New(indexes *index.Service, models *embed.Registry, reranker *rerank.Reranker, defaultModel string, processor *limit.Processor) *Service {
	return &Service{
		indexes: indexes, models: models, reranker: reranker, defaultModel: defaultModel, processor: processor, estimates: newEstimator(), lists: newLists(ListBytes),
		tallies: newTallies(), columns: column.NewKeeper(), ended: newEnded(), popular: newPopular(),
	}
}

// WithLists limits the memory of the lists of chunks by which filters that are searched often are answered, in bytes. Less than
// 0: there are none. Call it before the first search.
func (s *Service) WithLists(most int64) *Service {
	s.lists = newLists(most)
	return s
}

// WithMeter makes the Service count searches. Call it before the first.
func (s *Service) WithMeter(m *usage.Meter) *Service {
	s.meter = m
	return s
}

// WithNotable makes the Service record questions that deserve a look. Call it before the first.
func (s *Service) WithNotable(r *notable.Recorder) *Service {
	s.notable = r
	return s
}

// Note offers a question to the recorder of questions that deserve a look. It does not block.
func (s *Service) Note(ctx context.Context, id tenant.ID, i index.Index, asked notable.Asked) {
	s.notable.Note(ctx, id, i, asked)
}

// Query returns the chunks that answer the request best, none if nothing matches.
// Errors: Invalid naming the field, NotFound for an unknown
// index, Unavailable when the embedding model does not answer.
func (s *Service) Query(ctx context.Context, req Request) (Response, error) {
	id, req, err := admit(ctx, req)
	if err != nil {
		return Response{}, err
	}
	names, err := s.namesOf(ctx, id, req)
	if err != nil {
		return Response{}, err
	}
	return s.answerFrom(ctx, id, req, names)
}

// answerFrom answers an effective request from the indexes that namesOf returned.
func (s *Service) answerFrom(ctx context.Context, id tenant.ID, req Request, names []string) (response Response, err error) {
	if req.isAcross(names) {
		response, err = s.across(ctx, id, req, names)
	} else {
		req.IndexName = names[0]
		response, err = s.answer(ctx, id, req, false)
	}
	if response.Budget == nil {
		response.RelevantContext = RelevantContext(response.Sources)
	}
	if !valueOr(req.IncludeSources, true) {
		response.Sources, response.ID = nil, "" // what is not shown cannot be judged
	}
	return response, err
}

// Nearest returns the chunks nearest to the request's vector; without a vector, the
// chunks that the filter selects, by id, with score 0. It ignores the request's text,
// and leaves what it would have to read of documents zero. Errors: as for Query.
func (s *Service) Nearest(ctx context.Context, req Request) (Response, error) {
	id, req, err := admit(ctx, req)
	if err != nil {
		return Response{}, err
	}
	req.Mode, req.QueryText, req.Reranker = Vector, "", nil // a reranker needs a text
	return s.answer(ctx, id, req, true)
}

// admit returns the caller's tenant and the request with the request context
// applied.
func admit(ctx context.Context, req Request) (tenant.ID, Request, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return "", req, err
	}
	req, err = req.effective(r)
	return r.Tenant, req, err
}

// ready validates an effective request. limit is that of its tokens, nil for none. Errors: those of prepare, CheckReranker and budget.New.
func (s *Service) ready(ctx context.Context, id tenant.ID, req Request) (p prepared, limit *budget.Budget, err error) {
	if p, err = req.prepare(); err != nil {
		return p, nil, err
	}
	p.curates = true
	if p.page, err = req.openPage(ctx); err != nil {
		return p, nil, err
	}
	if p.page != nil {
		if len(p.order) > 0 && !p.ordersAll() {
			return p, nil, fault.Field("orderBy", "has pages only where all that match is put in order: leave out the question, or ask with searchMode keyword")
		}
		p.topK = p.page.fetch()
	}
	if err := s.CheckReranker(ctx, id, req.Reranker); err != nil {
		return p, nil, err
	}
	limit, err = budget.New(req.MaxTokens, req.EncodingName)
	return p, limit, err
}

// answer answers an effective request from one index. plain: sources need no documents.
func (s *Service) answer(ctx context.Context, id tenant.ID, req Request, plain bool) (Response, error) {
	asked, limit, err := s.ready(ctx, id, req)
	if err != nil {
		return Response{}, err
	}
	asked.plain = plain
	p, most := asked, limit
	var applied []AppliedProfile
	watch := StartStopwatch(ctx, "query")
	var found answer
	var fitted Fitted
	var named, next string
	err = s.indexes.Use(ctx, id, req.IndexName, func(i index.Index, tables *data.Handle) (err error) {
		ctx := usage.InIndex(ctx, i.Name)
		if p, most, applied = asked, limit, nil; !plain {
			ranked, with, err := req.profiled(i, false)
			if applied = with; err == nil && len(with) > 0 {
				p, most, err = s.ready(ctx, id, ranked)
			}
			if err != nil {
				warning, err := SkippedProfile(with, err)
				if err != nil {
					return err
				}
				p, most, applied = asked, limit, nil
				p.warnings = append(slices.Clip(p.warnings), warning)
			}
		}
		if !plain && !p.prefix { // a question that is still being typed is none
			began := time.Now()
			defer func() {
				s.Note(ctx, id, i, notable.Asked{Question: p.text, Namespace: p.scope.namespace, Sources: len(found.sources), Best: found.best, Took: time.Since(began), Err: err})
			}()
		}
		s.meter.Add(ctx, string(id), usage.Query, usage.Counts{Calls: 1})
		tables = tables.Reading(req.Freshness)
		if found, err = s.retrieve(ctx, id, i, tables, p, watch); err != nil {
			return err
		}
		if p.page != nil {
			next = p.page.cut(&found)
		}
		if most != nil {
			if fitted, err = s.Fit(ctx, id, most, found.sources, func(n int) string { return found.sources[n].BeforeText(n + 1) }, relevant); err != nil {
				return err
			}
			found.explain.Complete = found.explain.Complete && len(fitted.Sources) == len(found.sources)
			found.sources = fitted.Sources
			watch.Lap("budget", len(found.sources))
		}
		if !plain {
			named = AnswerID(ctx, []index.Index{i}, p.scope.namespace, p.text, found.sources)
		}
		if !req.Highlight {
			return nil
		}
		s.Highlight(i, p.text, found.sources)
		watch.Lap("highlight", len(found.sources))
		return nil
	})
	if err != nil {
		return Response{}, err
	}
	response := Response{Sources: found.sources, Warnings: append(p.warnings, found.warnings...), Reranking: found.reranking, RelevantContext: fitted.Context, Budget: fitted.Report, ID: named, Groups: found.groups, GroupCount: found.groupCount, NextPageToken: next, DidYouMean: meant(req.QueryText, found.explain.Corrections)}
	if req.Explain {
		found.explain.Stages, found.explain.Context = watch.Stages, req.context
		found.explain.FilterNotes, found.explain.Profiles = req.asked.Notes(), applied
		response.Explain = &found.explain
	}
	return response, nil
}

func relevant(sources []Source, _ []int) string { return RelevantContext(sources) }

// RelevantContext returns the sources as numbered passages for a prompt.
func RelevantContext(sources []Source) string {
	var b strings.Builder
	for i, source := range sources {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(source.BeforeText(i + 1))
		b.WriteString(source.Text)
	}
	return b.String()
}
