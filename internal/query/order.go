package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// maxOrderFields bounds the fields that sources are ordered by.
const maxOrderFields = 5

// checkOrder checks Request.OrderBy. Errors: Invalid.
func (p prepared) checkOrder(r Request) error {
	if len(r.OrderBy) == 0 {
		return nil
	}
	if len(r.OrderBy) > maxOrderFields {
		return fault.Field("orderBy", "must be at most %d, got %d", maxOrderFields, len(r.OrderBy))
	}
	for n, o := range r.OrderBy {
		if err := filter.CheckField("orderBy["+strconv.Itoa(n)+"].field", o.Field); err != nil {
			return err
		}
		if _, ok := filter.ParsePoint(o.Origin); o.Origin != nil && !ok {
			return fault.Field("orderBy["+strconv.Itoa(n)+"].origin", `must be a point such as {"lat": 52.52, "lon": 13.4}, from which distances are measured`)
		}
	}
	if err := exclusive("orderBy", other{"reranker", r.Reranker != nil}, other{"boost", r.Boost != nil}, other{"boosts", len(r.Boosts) > 0}, other{"diversity", r.Diversity > 0},
		other{"expand", r.Expand != ""}, other{"neighbours", r.Neighbours > 0}); err != nil {
		return err
	}
	if p.ordersAll() && (r.MinScore != nil || r.MinSimilarity != nil || r.MaxPerDocument > 0) {
		return fault.Field("orderBy", "takes all chunks that match, whatever their scores: leave out minScore, minSimilarity and maxPerDocument, or ask with searchMode hybrid or vector")
	}
	return nil
}

// ordersAll reports whether all chunks of the scope, or all that keyword search matches, are put in the order of fields, and not the best.
func (p prepared) ordersAll() bool {
	return len(p.order) > 0 && (p.mode == Keyword || strings.TrimSpace(p.text) == "" && len(p.vector) == 0 && p.sparse == nil && p.like == nil)
}

// ordersBest reports whether the best sources are put in the order of fields once they are found.
func (p prepared) ordersBest() bool { return len(p.order) > 0 && !p.ordersAll() }

// ordered returns the sources in the order of fields; those with equal values keep theirs.
func ordered(sources []Source, order []filter.Order) []Source {
	type row struct {
		source   Source
		metadata map[string]any
	}
	rows := make([]row, len(sources))
	for n, source := range sources {
		metadata, _ := source.fields() // PostgreSQL wrote it
		rows[n] = row{source, metadata}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		for _, o := range order {
			if c := o.Compare(a.metadata, b.metadata); c != 0 {
				return c
			}
		}
		return 0
	})
	out := make([]Source, len(rows))
	for n, r := range rows {
		out[n] = r.source
	}
	return out
}

// inOrder defines found for all chunks that match, in the order of fields, ties by chunk_id.
func (s search) inOrder(q *statement, where string) {
	if s.keywords != nil {
		where = "c.terms @@ " + q.args.Add(s.keywords.match) + "::text::tsquery AND " + where
	}
	terms := make([]string, len(s.request.order))
	for n, o := range s.request.order {
		terms[n] = o.SQL("c.metadata", q.args)
	}
	q.define("listed",
		"SELECT c.ctid AS tid",
		"FROM tenant.chunk AS c",
		"WHERE "+where,
		"ORDER BY "+strings.Join(append(terms, "c.chunk_id"), ",\n\t\t"),
		limitTo(s.request.topK))
	q.define("found", "SELECT tid, (row_number() OVER ())::float8 AS rank_value FROM listed")
}
