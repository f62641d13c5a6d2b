package query

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// MaxPaged is how many sources the pages of a query have together.
const MaxPaged = 10_000

// page is one page of a query.
type page struct {
	tokens pagination.Tokens
	after  pagePosition
	size   int
}

// pagePosition is where a page begins.
type pagePosition struct {
	Sources int    `json:"n"` // before it
	Last    string `json:"i"` // id of the last of them
}

// openPage returns the page that a request is for; nil for a request without pages. Errors: Invalid.
func (r Request) openPage(ctx context.Context) (*page, error) {
	if r.PageSize == nil {
		if r.PageToken != "" {
			return nil, fault.Field("pageSize", "is needed with pageToken: repeat the request that the token is from")
		}
		return nil, nil //nolint:nilnil // no pages
	}
	if *r.PageSize < 1 || *r.PageSize > MaxTopK {
		return nil, fault.Field("pageSize", "must be between 1 and %d, got %d", MaxTopK, *r.PageSize)
	}
	if err := exclusive("pageSize", other{"topK", r.TopK != nil}, other{"reranker", r.Reranker != nil}, other{"boost", r.Boost != nil}, other{"boosts", len(r.Boosts) > 0},
		other{"fieldWeights", r.FieldWeights != nil},
		other{"diversity", r.Diversity > 0}, other{"expand", r.Expand != ""}, other{"neighbours", r.Neighbours > 0}, other{"groupBy", r.GroupBy != nil},
		other{"maxTokens", r.MaxTokens != nil}, other{"includeVectors", valueOr(r.IncludeVectors, false)}); err != nil {
		return nil, err
	}
	p := &page{tokens: r.pages(ctx), size: *r.PageSize}
	if r.PageToken != "" {
		if err := p.tokens.Decode(r.PageToken, &p.after); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// pages returns the tokens of the pages of a request, which hold for the same request of the same caller only.
func (r Request) pages(ctx context.Context) pagination.Tokens {
	filters := r.Filter.String()
	r.PageToken, r.Freshness.WriteToken, r.Freshness.MaxStaleness = "", "", nil
	raw, err := json.Marshal(r)
	if err != nil { // numbers that JSON does not have
		raw = fmt.Appendf(nil, "%+v", r)
	}
	return access.Pages(ctx, "query", filters, string(raw))
}

// fetch returns how many sources the search has to find: with one more, to know whether there is a next page, and after the first
// page as many as a page has, for those that were written before it meanwhile.
func (p page) fetch() int {
	wanted := p.size
	if p.after.Sources > 0 {
		wanted += p.after.Sources + p.size
	}
	return min(wanted, MaxPaged) + 1
}

// cut returns the sources of the page, and the token of the next one, "" if there is none. A chunk that was written or deleted since the
// page before moves the others; the page begins after the last source of that one.
func (p page) cut(a *answer) (next string) {
	begin := min(p.after.Sources, len(a.sources))
	if at := slices.IndexFunc(a.sources, func(s Source) bool { return s.ID == p.after.Last }); at >= 0 {
		begin = at + 1
	}
	end := min(begin+p.size, len(a.sources), max(begin, MaxPaged))
	more := end < len(a.sources)
	a.sources = a.sources[begin:end]
	switch {
	case !more || len(a.sources) == 0:
		return ""
	case end >= MaxPaged:
		a.warnings = append(a.warnings, fmt.Sprintf("pages end after %d sources: filter for fewer, such as by a range of a field, to see others", MaxPaged))
		return ""
	}
	return p.tokens.Encode(pagePosition{end, a.sources[len(a.sources)-1].ID})
}
