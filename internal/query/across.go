package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// Limits of a question to several indexes.
const (
	// MaxIndexes bounds the indexes that one question searches.
	MaxIndexes = 32
	// indexesAtOnce bounds those that it searches at the same time.
	indexesAtOnce = 8
	// indexDeadline is how long each may take.
	indexDeadline = 10 * time.Second
	// MaxIndexWeight bounds the weight of an index.
	MaxIndexWeight = 1000
)

// IndexWeight is how much the scores of one of several indexes weigh.
type IndexWeight struct {
	IndexName string
	Weight    float64
}

// part is what one of several indexes answers.
type part struct {
	name   string
	index  index.Index
	answer answer
	mode   Mode
	err    error
	stages []Stage
}

// isAcross reports whether a request is for several indexes, of these names: it says so itself even if there is one.
func (r Request) isAcross(names []string) bool {
	return len(names) > 1 || len(r.IndexNames)+len(r.IndexWeights) > 0
}

// across answers an effective request from several indexes: each is asked by itself, within its deadline,
// and the sources of all are in one order, by their scores and the weights of the indexes. An index that
// cannot answer is named in a warning. Errors: as for Query, and that of an index if none answers.
func (s *Service) across(ctx context.Context, id tenant.ID, req Request, names []string) (Response, error) {
	p, most, err := s.ready(ctx, id, req)
	if err != nil {
		return Response{}, err
	}
	if err := p.like.checkAcross(); err != nil {
		return Response{}, err
	}
	watch := StartStopwatch(ctx, "query")
	parts := s.askEach(ctx, id, names, p, req)
	watch.Lap("indexes", len(parts))
	for _, one := range parts {
		if IsOurs(one.err) {
			return Response{}, one.err
		}
	}
	answered := slices.DeleteFunc(slices.Clone(parts), func(one part) bool { return one.err != nil })
	if len(answered) == 0 {
		return Response{}, parts[0].err
	}
	all := answer{sources: merged(answered, req.IndexWeights)}
	repeated := 0
	if p.distinct && !p.ordersAll() {
		kept, err := s.Distinct(ctx, id, all.sources)
		if err != nil {
			return Response{}, err
		}
		repeated = len(all.sources) - len(kept)
		all.sources = folded(all.sources, kept)
		watch.Lap("distinct", len(all.sources))
	}
	if p.ordersAll() {
		all.sources = ordered(all.sources, p.order)
	}
	if p.reranker != nil {
		all.sources = all.sources[:min(p.rerankFrom, len(all.sources))]
		if err := s.rerankAnswer(ctx, id, p, isUnbounded(answered), &all); err != nil {
			return Response{}, err
		}
		watch.Lap("rerank", len(all.sources))
	}
	pinnedFirst(all.sources)
	all.sources = all.sources[:min(p.topK, len(all.sources))]
	if p.ordersBest() {
		all.sources = ordered(all.sources, p.order)
	}
	next := ""
	if p.page != nil {
		next = p.page.cut(&all)
	}
	response := Response{
		Sources: all.sources, NextPageToken: next, Warnings: slices.Concat(p.warnings, warningsOf(parts), all.warnings), Reranking: all.reranking,
	}
	complete := true
	if most != nil {
		found := response.Sources
		fitted, err := s.Fit(ctx, id, most, found, func(n int) string { return found[n].BeforeText(n + 1) }, relevant)
		if err != nil {
			return Response{}, err
		}
		complete = len(fitted.Sources) == len(found)
		response.Sources, response.RelevantContext, response.Budget = fitted.Sources, fitted.Context, fitted.Report
		watch.Lap("budget", len(fitted.Sources))
	}
	indexes := make([]index.Index, len(answered))
	for n, one := range answered {
		indexes[n] = one.index
	}
	response.ID = AnswerID(ctx, indexes, p.scope.namespace, p.text, response.Sources)
	if req.Explain {
		e := explainAll(parts, answered)
		e.Repeated += repeated
		e.Complete = e.Complete && complete
		e.FilterNotes = req.asked.Notes()
		e.Stages, e.Context = slices.Concat(e.Stages, watch.Stages), req.context
		response.Explain = &e
	}
	return response, nil
}

// namesOf returns the names of the indexes that a request is for, in their order: all that the caller may see if it names
// none. An empty name stands for the only index where the caller sees none. Errors: Invalid naming the field,
// NotFound for a name without an index that the caller may see.
func (s *Service) namesOf(ctx context.Context, id tenant.ID, req Request) ([]string, error) {
	asked := req.IndexNames
	switch {
	case req.IndexName != "" && len(asked) > 0:
		return nil, fault.Field("indexNames", "and indexName are mutually exclusive: leave one out")
	case req.IndexName != "" && len(req.IndexWeights) > 0:
		return nil, fault.Field("indexWeights", "is for several indexes: give indexNames instead of indexName, or leave it out")
	case req.IndexName != "":
		return []string{req.IndexName}, nil
	case len(asked) == 0:
		asked = []string{"*"}
	}
	names, err := s.indexes.Named(ctx, id, asked, MaxIndexes)
	switch {
	case fault.KindOf(err) == fault.NotFound && len(req.IndexNames) == 0: // the question to one index says why
		return []string{""}, nil
	case err != nil || !req.isAcross(names):
		return names, err
	case req.GroupBy != nil:
		return nil, fault.Field("groupBy", "is for one index: name it with indexName")
	case req.Fusion.Method == RRF:
		return nil, fault.Field("hybrid.fusion", "rrf gives scores of one index, which cannot be compared with those of others: leave it out, or name one index")
	}
	weighed := map[string]bool{}
	for _, w := range req.IndexWeights {
		switch {
		case !slices.Contains(names, w.IndexName):
			return nil, fault.Field("indexWeights", "%q is none of the indexes that are searched: %s", w.IndexName, strings.Join(names, ", "))
		case weighed[w.IndexName]:
			return nil, fault.Field("indexWeights", "%q has two weights: give one", w.IndexName)
		case !(w.Weight > 0 && w.Weight <= MaxIndexWeight):
			return nil, fault.Field("indexWeights", "the weight of %q must be above 0 and at most %d, got %g", w.IndexName, MaxIndexWeight, w.Weight)
		}
		weighed[w.IndexName] = true
	}
	return names, nil
}

// IndexNames returns the names of the indexes that a question to these names or patterns searches, in their order: all that the caller may
// see for none, and the one that the request context names, if it does. An empty name stands for the only index where the caller sees
// none. Errors: as for Query.
func (s *Service) IndexNames(ctx context.Context, asked []string) ([]string, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	if name := r.Overrides.IndexName; name != nil {
		return []string{*name}, nil
	}
	return s.namesOf(ctx, r.Tenant, Request{IndexNames: asked})
}

// IsOurs reports whether an error is a fault of the service, which fails a question to several indexes.
func IsOurs(err error) bool {
	known := new(fault.Error)
	return err != nil && !errors.As(err, &known)
}

// Indexes returns the names of the indexes that an effective request is for, and whether it is answered as one to several. Errors: as for Query.
func (s *Service) Indexes(ctx context.Context, id tenant.ID, req Request) (names []string, several bool, err error) {
	names, err = s.namesOf(ctx, id, req)
	return names, req.isAcross(names), err
}

// askEach asks several indexes side by side, and once more if words of the question are in none of them, which may be misspelt.
// Their parts are in the order of the names.
func (s *Service) askEach(ctx context.Context, id tenant.ID, names []string, p prepared, req Request) []part {
	if p.reranker != nil { // all are reranked together
		p.topK = max(p.topK, p.rerankFrom)
		p.reranker, p.rerankFrom = nil, 0
	}
	if len(names) > 1 {
		p.unknown = newUnknownWords()
	}
	parts := Each(names, func(name string) part { return s.ask(ctx, id, name, p, req) })
	if p.unknown == nil || !p.unknown.settle() {
		return parts
	}
	return Each(names, func(name string) part {
		asked := parts[slices.Index(names, name)]
		if asked.err != nil {
			return asked
		}
		if again := s.ask(ctx, id, name, p, req); again.err == nil {
			return again
		}
		return asked
	})
}

// Each returns what ask returns for each of several indexes, in their order. It asks some of them at the same time.
func Each[T any](names []string, ask func(name string) T) []T {
	parts := make([]T, len(names))
	var running errgroup.Group
	running.SetLimit(indexesAtOnce)
	for n, name := range names {
		running.Go(func() error {
			parts[n] = ask(name)
			return nil
		})
	}
	_ = running.Wait() // each part has its own error
	return parts
}

// WithinIndex calls ask with a context that ends when one of several indexes has had its time. Errors: that of ask; Unavailable
// when the time was over.
func WithinIndex(ctx context.Context, ask func(context.Context) error) error {
	within, cancel := context.WithTimeoutCause(ctx, indexDeadline, fault.New(fault.Unavailable, "no answer within %s", indexDeadline))
	defer cancel()
	err := ask(within)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return context.Cause(within)
	}
	return err
}

// ask asks one of several indexes.
func (s *Service) ask(ctx context.Context, id tenant.ID, name string, p prepared, req Request) part {
	asked := part{name: name}
	watch := StartStopwatch(Apart(ctx), "query")
	asked.err = WithinIndex(ctx, func(ctx context.Context) error { return s.askOne(ctx, id, p, req, &asked, watch) })
	for n := range asked.answer.sources {
		NameIndex(&asked.answer.sources[n], name)
	}
	asked.stages = watch.Stages
	return asked
}

// Apart returns a context whose stages are not added to those of the request: those of several indexes would mix.
func Apart(ctx context.Context) context.Context { return context.WithValue(ctx, stagesKey{}, nil) }

// NameIndex sets the index of a source and of its other places.
func NameIndex(source *Source, name string) {
	source.IndexName = name
	for n := range source.AlsoIn {
		source.AlsoIn[n].IndexName = name
	}
}

// askOne asks the index of a part within its time.
func (s *Service) askOne(ctx context.Context, id tenant.ID, p prepared, req Request, asked *part, watch *Stopwatch) error {
	return s.indexes.Use(ctx, id, asked.name, func(i index.Index, tables *data.Handle) (err error) {
		ctx := usage.InIndex(ctx, i.Name)
		given := len(p.warnings) // which the answer has itself
		p, applied, err := req.profiledPart(i, p)
		if err != nil {
			return err
		}
		if !p.unknown.settled() {
			s.meter.Add(ctx, string(id), usage.Query, usage.Counts{Calls: 1})
		}
		if asked.answer, err = s.retrieve(ctx, id, i, tables.Reading(req.Freshness), p, watch); err != nil {
			return err
		}
		asked.answer.explain.Profiles = applied
		asked.answer.warnings = append(p.warnings[given:], asked.answer.warnings...)
		asked.mode, asked.index = asked.answer.explain.Mode, i
		if req.Highlight {
			s.Highlight(i, p.text, asked.answer.sources)
		}
		return nil
	})
}

// Shares returns the weights of indexes relative to the largest, which is 1.
func Shares(names []string, weights []IndexWeight) map[string]float64 {
	shares := map[string]float64{}
	for _, name := range names {
		shares[name] = 1
	}
	for _, w := range weights {
		shares[w.IndexName] = w.Weight
	}
	most := slices.Max(slices.Collect(maps.Values(shares)))
	for name := range shares {
		shares[name] /= most
	}
	return shares
}

// merged returns the sources of all parts, best first, ties by index and id. A score above 0 is multiplied
// with the share of its index.
func merged(parts []part, weights []IndexWeight) []Source {
	names := make([]string, len(parts))
	for n, one := range parts {
		names[n] = one.name
	}
	shares := Shares(names, weights)
	var all []Source
	for _, one := range parts {
		for _, source := range one.answer.sources {
			if source.Score > 0 {
				source.Score *= shares[one.name]
			}
			all = append(all, source)
		}
	}
	slices.SortStableFunc(all, func(a, b Source) int { return cmp.Compare(b.Score, a.Score) })
	pinnedFirst(all)
	return all
}

// pinnedFirst puts pinned sources before others, in the order of their pins.
func pinnedFirst(sources []Source) {
	place := func(s Source) int { return cmp.Or(s.Pin, math.MaxInt) }
	slices.SortStableFunc(sources, func(a, b Source) int { return cmp.Compare(place(a), place(b)) })
}

// warningsOf returns the warnings of all parts.
func warningsOf(parts []part) []string {
	notices := make([]PartNotices, len(parts))
	for n, one := range parts {
		notices[n] = PartNotices{IndexName: one.name, EmbeddingModel: one.index.EmbeddingModel, Mode: one.mode, Warnings: one.answer.warnings, Err: one.err}
	}
	return WarningsOf(notices)
}

// PartNotices is what one of several indexes has to say besides its sources.
type PartNotices struct {
	IndexName, EmbeddingModel string
	Mode                      Mode
	Warnings                  []string
	Err                       error // why it did not answer
}

// WarningsOf returns the warnings of all parts, each with the name of its index.
func WarningsOf(parts []PartNotices) []string {
	var warnings []string
	models := map[string]bool{}
	modes := map[Mode]bool{}
	for _, one := range parts {
		if one.Err != nil {
			warnings = append(warnings, fmt.Sprintf("index %q did not answer: %s", one.IndexName, fault.Public(one.Err)))
			continue
		}
		modes[one.Mode], models[one.EmbeddingModel] = true, true
		for _, warning := range one.Warnings {
			warnings = append(warnings, fmt.Sprintf("index %q: %s", one.IndexName, warning))
		}
	}
	if modes[Vector] && (len(models) > 1 || len(modes) > 1) {
		warnings = append(warnings, "the scores of searchMode vector are similarities, which say different things in indexes with different embedding models: prefer hybrid, whose scores can be compared")
	}
	return warnings
}

// isUnbounded reports whether scores of the parts may be outside of [0,1].
func isUnbounded(parts []part) bool {
	return slices.ContainsFunc(parts, func(one part) bool {
		return slices.ContainsFunc(one.answer.sources, func(source Source) bool { return source.Score < 0 || source.Score > 1 })
	})
}

// explainAll returns what the parts have in common; their stages have the names of their indexes.
func explainAll(parts, answered []part) Explain {
	first := answered[0].answer.explain
	e := Explain{Mode: first.Mode, Plan: first.Plan, Conditions: first.Conditions, Complete: len(parts) == len(answered), Exact: true}
	for _, one := range answered {
		part := one.answer.explain
		e.Complete, e.Exact = e.Complete && part.Complete, e.Exact && part.Exact
		e.Candidates += part.Candidates
		e.Curations = append(e.Curations, part.Curations...)
		e.Synonyms = append(e.Synonyms, part.Synonyms...)
		e.Repeated += part.Repeated
		e.Profiles = append(e.Profiles, part.Profiles...)
		if part.Plan != e.Plan {
			e.Plan = ""
		}
		if part.Mode != e.Mode {
			e.Mode = ""
		}
		if part.Calibration != "" {
			e.Calibration = strings.TrimPrefix(e.Calibration+", "+one.name+" "+part.Calibration, ", ")
		}
		for _, stage := range one.stages {
			stage.Name = one.name + ": " + stage.Name
			e.Stages = append(e.Stages, stage)
		}
	}
	return e
}
