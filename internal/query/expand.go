package query

import (
	"context"
	"math"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Expand says how much of its document a source shows.
type Expand string

// The values of Expand. Empty: the chunk, with Request.Neighbours.
const (
	ExpandNeighbours Expand = "neighbours" // the chunks before and after it
	ExpandSection    Expand = "section"    // the section around it, see chooseWindows
	ExpandDocument   Expand = "document"   // the document, as far as the limits allow
)

// Limits of an expansion to a section or a document.
const (
	// MaxExpandedBytes bounds the text of one source.
	MaxExpandedBytes = 16 << 10
	// MaxExpanded is how many sources are expanded, the best.
	MaxExpanded = 100
	// maxOutline is how many chunks before and after a source are looked at.
	maxOutline = 128
	// shortSection is the size in bytes up to which a section is shown for one hit.
	shortSection = 4 << 10
	// bytesPerToken is about half of the bytes that a token has in English: one source then takes about
	// half of a budget at most.
	bytesPerToken = 2
)

// Expansion is how the sources of an answer are expanded.
type Expansion struct {
	kind       Expand
	neighbours int
	maxBytes   int // of the text of a section or a document
}

// Expansion returns the expansion that a question asks for, with so many neighbours; those of
// ExpandNeighbours are 1 if neighbours is 0. Errors: Invalid.
func (q Question) Expansion(neighbours int) (Expansion, error) {
	e := Expansion{q.Expand, neighbours, MaxExpandedBytes}
	if q.MaxTokens != nil {
		e.maxBytes = min(e.maxBytes, bytesPerToken**q.MaxTokens)
	}
	switch {
	case neighbours < 0 || neighbours > MaxNeighbours:
		return e, fault.Field("neighbours", "must be between 0 and %d, got %d", MaxNeighbours, neighbours)
	case e.kind == ExpandNeighbours:
		e.neighbours = max(1, neighbours)
	case e.kind == "" && neighbours > 0:
		e.kind = ExpandNeighbours
	case e.kind != "" && e.kind != ExpandSection && e.kind != ExpandDocument:
		return e, fault.Field("expand", "unknown value %q; known are section, neighbours and document", e.kind)
	case e.kind != "" && neighbours > 0:
		return e, fault.Field("neighbours", "cannot be combined with expand %s: leave one of them out", e.kind)
	}
	return e, nil
}

// Stage returns the name of the expansion as a stage of a search; empty if there is none.
func (e Expansion) Stage() string {
	if e.kind == "" || e.kind == ExpandNeighbours {
		return string(e.kind)
	}
	return "expand"
}

// Expand returns the sources with more of their documents around them, see Expand. It shows chunks of the
// namespace alone that visible admits. Sources whose chunks are then one text become one source, with the
// rank of the best of them.
func (e Expansion) Expand(ctx context.Context, h *data.Handle, i index.Index, namespace string, visible filter.Filter, sources []Source) ([]Source, error) {
	return e.expand(ctx, h, i, scope{namespace: namespace, filter: visible}, sources)
}

func (e Expansion) expand(ctx context.Context, h *data.Handle, i index.Index, seen scope, sources []Source) ([]Source, error) {
	windows, err := e.windows(ctx, h, i, seen, sources)
	if err != nil || len(windows) == 0 {
		return sources, err
	}
	documents, from, to := windowColumns(windows)
	args := filter.NewArgs(documents, from, to)
	pieces, err := data.Select[piece](ctx, h, `
		SELECT w.number::int AS window, c.chunk_id, c.document_id::text, c.ordinal, c.text, c.start_byte, c.end_byte
		FROM unnest($1::text[], $2::int[], $3::int[]) WITH ORDINALITY AS w (document, low, high, number)
		JOIN tenant.chunk AS c ON c.document_id = w.document::uuid AND c.ordinal BETWEEN w.low AND w.high
		WHERE `+seen.sql(i, args), args.Values()...)
	if err != nil {
		return nil, err
	}
	return widen(sources, pieces), nil
}

// windows returns the chunks to show. No two windows overlap.
func (e Expansion) windows(ctx context.Context, h *data.Handle, i index.Index, seen scope, sources []Source) ([]window, error) {
	var hits []chunkAt
	for _, s := range sources {
		if s.DocumentID != "" {
			hits = append(hits, chunkAt{s.DocumentID, s.Ordinal})
		}
	}
	if e.kind == ExpandNeighbours {
		return around(hits, e.neighbours), nil
	}
	hits = hits[:min(MaxExpanded, len(hits))]
	if len(hits) == 0 {
		return nil, nil
	}
	outlined := around(hits, maxOutline)
	documents, from, to := windowColumns(outlined)
	section := "''"
	if e.kind == ExpandSection {
		section = "coalesce(c.metadata->'headings', c.metadata->'position'->'section', '[]')::text"
	}
	args := filter.NewArgs(documents, from, to)
	outline, err := data.Select[outlinedChunk](ctx, h, `
		SELECT c.document_id::text, c.ordinal, octet_length(c.text) AS bytes, `+section+` AS section
		FROM unnest($1::text[], $2::int[], $3::int[]) AS w (document, low, high)
		JOIN tenant.chunk AS c ON c.document_id = w.document::uuid AND c.ordinal BETWEEN w.low AND w.high
		WHERE `+seen.sql(i, args)+`
		ORDER BY c.document_id, c.ordinal`, args.Values()...)
	if err != nil {
		return nil, err
	}
	short := math.MaxInt // a document is shown whatever its size
	if e.kind == ExpandSection {
		short = shortSection
	}
	return chooseWindows(outline, hits, short, e.maxBytes), nil
}
