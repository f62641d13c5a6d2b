package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// maxSearchedStores is how many vector stores a response may search.
const maxSearchedStores = 32

// fileSearch is the tool file_search of a response: the vector stores that may be searched for it, and how.
type fileSearch struct {
	VectorStoreIDs []string        `json:"vector_store_ids"`
	Filters        *condition      `json:"filters"`
	MaxNumResults  *int32          `json:"max_num_results"`
	RankingOptions *rankingOptions `json:"ranking_options"`

	at string // the field of the request
}

// narrowed returns a context in which the caller may search these stores alone: with the right of the caller,
// and within its filter. Errors: NotFound for a store that the caller does not see; Invalid.
func (h *Handler) narrowed(ctx context.Context, s *fileSearch) (context.Context, error) {
	if s == nil {
		return ctx, nil
	}
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	if n := len(s.VectorStoreIDs); n == 0 || n > maxSearchedStores {
		return nil, fault.Field(s.at+".vector_store_ids", "must be 1 to %d, got %d", maxSearchedStores, n)
	}
	names := make([]string, len(s.VectorStoreIDs))
	for i, id := range s.VectorStoreIDs {
		names[i], _ = strings.CutPrefix(id, storePrefix)
		if _, err := h.config.API.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: names[i]}); err != nil || names[i] == id {
			if kind := fault.KindOf(err); err != nil && kind != fault.NotFound && kind != fault.Invalid {
				return nil, err
			}
			return nil, notFound(fmt.Sprintf("%s.vector_store_ids[%d]", s.at, i), "vector store", id)
		}
	}
	asked, err := (&searchRequest{Query: questions{""}, Filters: s.Filters, MaxNumResults: s.MaxNumResults, RankingOptions: s.RankingOptions}).query("")
	if err != nil {
		return nil, fault.Under(s.at, err)
	}
	changed := *caller
	changed.Bounds = changed.Bounds.Intersect(access.Bounds{Indexes: names})
	if s.Filters != nil {
		where, err := filter.Parse(asked.GetFilter().AsInterface())
		if err != nil {
			return nil, fault.Under(s.at, fault.Rename("filter", "filters", err))
		}
		changed.Overrides.Filter = filter.And(changed.Overrides.Filter, where)
	}
	if s.MaxNumResults != nil {
		n := int(*s.MaxNumResults)
		changed.Overrides.TopK = &n
	}
	if asked.MinScore != nil {
		changed.Overrides.MinScore = asked.MinScore
	}
	return access.NewContext(ctx, &changed), nil
}

// fileSearchOf decodes a tool of the type file_search. Errors: Invalid.
func fileSearchOf(at string, raw json.RawMessage) (*fileSearch, error) {
	s := &fileSearch{at: at}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fault.Under(at, malformed(err))
	}
	if s.RankingOptions != nil && s.RankingOptions.HybridSearch != nil {
		return nil, fault.Field(at+".ranking_options.hybrid_search", "is not known here: search the vector store itself, or leave it out")
	}
	return s, nil
}
