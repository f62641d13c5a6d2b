package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of field weights.
const (
	// MaxFieldWeight bounds each weight.
	MaxFieldWeight = 10
	// minReweighed is how many candidates a search with field weights weighs anew, at least.
	minReweighed = 200
)

// FieldWeights say how much a term counts by the field of a chunk in which it is: as if the field had it so many times as often. Nil is
// 1, as without weights.
type FieldWeights struct {
	Title    *float64 `json:"title,omitempty"`    // of the document
	Headings *float64 `json:"headings,omitempty"` // above the chunk
	Text     *float64 `json:"text,omitempty"`     // of the chunk
}

// check returns the weights, or nil if they change nothing. Errors: Invalid.
func (w *FieldWeights) check() (*index.FieldWeights, error) {
	if w == nil {
		return nil, nil //nolint:nilnil // no weights
	}
	of := index.FieldWeights{Title: valueOr(w.Title, 1), Headings: valueOr(w.Headings, 1), Text: valueOr(w.Text, 1)}
	for _, one := range []struct {
		field string
		value float64
	}{{"title", of.Title}, {"headings", of.Headings}, {"text", of.Text}} {
		if !(one.value >= 0 && one.value <= MaxFieldWeight) {
			return nil, fault.Field("fieldWeights."+one.field, "must be between 0 and %d, got %g", MaxFieldWeight, one.value)
		}
	}
	switch of {
	case index.FieldWeights{}:
		return nil, fault.Field("fieldWeights", "must not all be 0: a term would count nowhere; for a search without keywords set searchMode vector")
	case index.FieldWeights{Title: 1, Headings: 1, Text: 1}:
		return nil, nil //nolint:nilnil // they change nothing
	}
	return &of, nil
}

// reweighs reports whether the statement returns the terms of chunks, to weigh them by field.
func (s search) reweighs() bool {
	return s.request.fields != nil && s.scores() && s.keywords != nil && !s.index.Parsed()
}

// Reweighed is what field weights make of the scores of a source.
type Reweighed struct {
	Score        float64
	KeywordScore float64
	Factor       float64 // with which BM25 was multiplied
}

// reweigh computes the scores of sources with field weights, given the terms of their chunks. Their Score is the value by which the
// statement ranked.
func (s search) reweigh(sources []Source, terms [][]byte) error {
	asked := make(map[string]float64, len(s.keywords.terms))
	for _, t := range s.keywords.terms {
		if !t.phrase() {
			term := analyzer.Unquote(t.Quoted)
			asked[term] = max(asked[term], t.weight())
		}
	}
	e, by := s.evidence(), s.index.Reweigher(*s.request.fields, asked)
	for n := range sources {
		source := &sources[n]
		if source.KeywordScore == nil {
			continue
		}
		factor, err := by.Factor(source.Title, terms[n])
		if err != nil {
			return err
		}
		before := source.BM25 + source.Adjacent
		after := source.BM25*factor + source.Adjacent
		r := Reweighed{KeywordScore: e.keywordScore(after), Factor: factor}
		if r.Score = r.KeywordScore; s.request.mode == Hybrid {
			r.Score = e.fusedScore(source.Score + e.fusedKeyword(after) - e.fusedKeyword(before))
		}
		source.Reweighed = &r
	}
	return nil
}

// weighFields sets the scores of sources to what field weights make of them.
func weighFields(sources []Source) {
	for n := range sources {
		if r := sources[n].Reweighed; r != nil {
			sources[n].Score, sources[n].KeywordScore, sources[n].KeywordFactor = r.Score, &r.KeywordScore, &r.Factor
		}
	}
}

// weighed searches as search does, and orders the best candidates by scores with the request's field weights, if it has any.
func (s *Service) weighed(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, p prepared, watch *Stopwatch) (a answer, err error) {
	if p.fields == nil || p.mode == Vector || p.lists() {
		return s.search(ctx, id, h, i, p, watch)
	}
	deep := p
	deep.further += max(0, min(max(minReweighed, p.plenty()), maxCandidates)-p.fetch())
	if a, err = s.search(ctx, id, h, i, deep, watch); err != nil {
		return a, err
	}
	if i.Parsed() {
		a.warnings = append(a.warnings, "fieldWeights have no effect: the terms of index "+i.Name+" are those of PostgreSQL's parser, see textLanguage")
	}
	a.explain.Exact = a.explain.Exact && len(a.sources) < deep.fetch()
	weighFields(a.sources)
	slices.SortFunc(a.sources, func(x, y Source) int { return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.ID, y.ID)) })
	watch.Lap("fields", len(a.sources))
	a.sources = a.sources[:min(p.fetch(), len(a.sources))]
	return a, nil
}
