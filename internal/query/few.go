package query

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

// rest bounds the scores of the chunks that a hybrid search did not compare.
type rest struct {
	Evidence float64 // what the vector leg adds at most to the value of one
	Keyword  float64 // BM25 of one that matches, at most; 0 if all that match were compared
}

// few returns the search with a keyword leg that scores fewer chunks, which often suffice: as many as a
// keyword search does for as many sources. It is nil if it scores all of them anyway, or sources of
// few documents are wanted.
func (s search) few(asked queryTerms) *search {
	if s.request.mode != Hybrid || s.request.maxPerDocument > 0 || s.keywords == nil {
		return nil
	}
	all := s.keywords.match
	s.keywords = asked.pruned(0, int64(keywordFactor*max(minKeywordWanted, s.request.fetch())))
	if s.keywords.match == all {
		return nil
	}
	s.rest = &rest{}
	return &s
}

// first runs the search, and completes the answer if no other chunk can be among its sources.
func (s *search) first(ctx context.Context, h *data.Handle, a *answer, watch *Stopwatch) (err error) {
	if a.sources, err = s.run(ctx, h); err != nil {
		return err
	}
	watch.Lap("search", len(a.sources))
	if s.complete = s.beatsRest(a.sources); s.complete {
		s.rest = nil
		a.explain, a.scorer = s.explain(a.sources), Scorer{*s}
	}
	return nil
}

// beatsRest reports whether no chunk that the search left out can be among its sources, of which the last one
// is the least: it has the candidates of all chunks that match, or a chunk that is further than those near
// the question, and matches less than its candidates do, scores less than the last source.
func (s search) beatsRest(sources []Source) bool {
	switch {
	case len(sources) < s.request.fetch():
		return false
	case s.rest.Keyword*rounding > s.keywords.leftOut:
		return true
	case s.request.fusion.Method == RRF:
		return false
	}
	e := s.evidence()
	keyword := max(s.rest.Keyword, s.keywords.leftOut)/rounding + s.keywords.pairs.most()
	return sources[len(sources)-1].Score > e.fusedScore(s.rest.Evidence+e.fusedKeyword(keyword))
}
