package query

import (
	"context"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/index/wording"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// curated is what curations of an index say of a question.
type curated struct {
	held  []*wording.Curation
	pins  []wording.Curated // in order, each once, and not hidden
	hides []wording.Curated
}

// curatedBy returns what the curations of an index say of a request.
func curatedBy(i index.Index, p prepared) (c curated) {
	if !p.curates || p.plain || p.text == "" {
		return c
	}
	languages := i.AskedLanguages(i.Languages)
	if len(languages) == 0 { // of a language that only PostgreSQL knows
		languages = []string{analyzer.Simple}
	}
	c.held = i.Curations().Of(p.text, p.scope.namespace, languages)
	for _, one := range c.held {
		c.hides = append(c.hides, one.Hides...)
	}
	for _, one := range c.held {
		for _, pin := range one.Pins {
			if !slices.Contains(c.pins, pin) && !slices.Contains(c.hides, pin) && len(c.pins) < wording.MaxPins {
				c.pins = append(c.pins, pin)
			}
		}
	}
	return c
}

// split returns the ids, document ids and uris of items.
func split(items []wording.Curated) (ids, documents, uris []string) {
	for _, item := range items {
		switch {
		case item.ID != "":
			ids = append(ids, item.ID)
		case item.DocumentID != "":
			documents = append(documents, item.DocumentID)
		default:
			uris = append(uris, item.URI)
		}
	}
	return ids, documents, uris
}

// sql returns the condition that a chunk c is not hidden, with AND before it, or nothing.
func (c curated) sql(i index.Index, namespace string, args *filter.Args) string {
	ids, documents, uris := split(c.hides)
	where := excluded{chunks: ids, documents: documents}.sql(args)
	if len(uris) > 0 {
		where += " AND (c.document_id IS NULL OR c.document_id <> ALL(ARRAY(SELECT h.document_id FROM tenant.documents AS h WHERE h.index_id = " +
			args.Add(i.ID) + " AND h.namespace = " + args.Add(namespace) + " AND h.uri = ANY(" + args.Add(uris) + "::text[]))))"
	}
	return where
}

// pin puts the pinned sources of a question before the others of an answer, in the order of the pins.
func (c curated) pin(ctx context.Context, h *data.Handle, i index.Index, p prepared, a *answer) error {
	if len(c.pins) > 0 && p.group == nil && len(p.order) == 0 {
		pinned, err := c.find(ctx, h, i, p, a)
		if err != nil {
			return err
		}
		isPinned := func(s Source) bool { return slices.ContainsFunc(pinned, func(q Source) bool { return q.ID == s.ID }) }
		rest := slices.DeleteFunc(slices.Clone(a.sources), isPinned)
		a.sources = append(pinned, rest...)
		a.sources = a.sources[:min(len(a.sources), max(p.topK, 1))]
	}
	for _, one := range c.held {
		shown := p.access.IsZero() || slices.ContainsFunc(a.sources, func(s Source) bool {
			return s.Pin > 0 && slices.ContainsFunc(one.Pins, s.is)
		})
		if shown {
			a.explain.Curations = append(a.explain.Curations, one.ID)
		}
	}
	return nil
}

// is reports whether a pin or hide names the source or its document.
func (s Source) is(item wording.Curated) bool {
	switch {
	case item.ID != "":
		return s.ID == item.ID
	case item.DocumentID != "":
		return strings.EqualFold(s.DocumentID, item.DocumentID)
	}
	return s.URI == item.URI && s.DocumentID != ""
}

// find returns the pinned sources that the request may see, in the order of the pins, with the scores that the search gives them.
func (c curated) find(ctx context.Context, h *data.Handle, i index.Index, p prepared, a *answer) ([]Source, error) {
	s := a.scorer.search
	if s.index.ID == 0 { // a keyword search for a question without terms
		s = search{index: i, request: p}
	}
	s.pins, s.plan, s.list, s.spread, s.rest, s.estimate = c.pins, exact, nil, false, nil, estimate{}
	s.request.minSimilarity, s.request.vector = nil, p.vector
	found, err := s.run(ctx, h)
	if err != nil {
		return nil, err
	}
	weighFields(found)
	var pinned []Source
	for _, pin := range c.pins {
		at := slices.IndexFunc(found, func(s Source) bool { return s.is(pin) })
		if at < 0 {
			continue
		}
		source := found[at]
		found = slices.Delete(found, at, at+1)
		if p.mode == Keyword && source.KeywordScore == nil {
			source.Score = 0
		}
		if known := slices.IndexFunc(a.sources, func(s Source) bool { return s.ID == source.ID }); known >= 0 {
			source = a.sources[known] // with what was done to it since
		}
		source.Pin = len(pinned) + 1
		pinned = append(pinned, source)
	}
	return pinned, nil
}

// findPinned defines found: the chunks that are pinned, of a document the one that answers best.
func (s search) findPinned(q *statement, where string) {
	distance, keyword, order := "NULL::float8", "0::float8", "c.ordinal"
	if s.request.compares() {
		distance = s.distance(q)
		order = distance
	}
	if s.keywords != nil {
		weight := s.weight(q)
		keyword = s.keywordScore(weight)
		if s.request.mode == Keyword {
			order = weight
		}
	}
	ids, documents, uris := make([]string, len(s.pins)), make([]string, len(s.pins)), make([]string, len(s.pins))
	for n, pin := range s.pins {
		ids[n], documents[n], uris[n] = pin.ID, pin.DocumentID, pin.URI
	}
	of := "CASE WHEN p.document <> '' THEN p.document::uuid WHEN p.uri <> '' THEN (SELECT d.document_id FROM tenant.documents AS d WHERE d.index_id = " +
		q.args.Add(s.index.ID) + " AND d.namespace = " + q.args.Add(s.request.scope.namespace) + " AND d.uri = p.uri) END"
	q.define("candidate",
		"SELECT DISTINCT b.tid",
		"FROM unnest("+q.args.Add(ids)+"::text[], "+q.args.Add(documents)+"::text[], "+q.args.Add(uris)+"::text[]) AS p (id, document, uri)",
		"CROSS JOIN LATERAL (",
		"	(SELECT c.ctid AS tid FROM tenant.chunk AS c WHERE p.id <> '' AND c.chunk_id = p.id AND "+where+")",
		"	UNION ALL",
		"	(SELECT c.ctid FROM tenant.chunk AS c WHERE c.document_id = "+of+" AND "+where,
		"	ORDER BY "+order+", c.ordinal, c.chunk_id LIMIT 1)",
		") AS b")
	s.score(q, distance, keyword)
	switch s.request.mode {
	case Vector:
		q.define("found", "SELECT tid, distance AS rank_value", "FROM scored")
	case Keyword:
		q.define("found", "SELECT tid, keyword, adjacent, distance, keyword + adjacent AS rank_value", "FROM scored")
	default:
		q.define("found", "SELECT tid, keyword, adjacent, distance,", "	"+s.fused(q)+" AS rank_value", "FROM scored")
	}
}
