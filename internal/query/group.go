package query

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/facet"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// DefaultGroupSize is how many sources a group has at most unless GroupBy.Size says so.
const DefaultGroupSize = 3

// GroupBy makes groups of sources by the value of a metadata field, of a list by the first.
type GroupBy struct {
	Field string
	Size  *int // sources of a group; DefaultGroupSize if nil
}

// Group is a group of sources.
type Group struct {
	Value  any    // a string, json.Number or bool; nil for chunks without such a value
	Chunks *int64 // that match; nil where this cannot be counted
}

// groupBy is a GroupBy that was checked.
type groupBy struct {
	field string
	size  int
	deep  bool // fetch as many candidates as possible
}

// checkGroup returns the checked GroupBy of a request; nil for none. Errors: Invalid.
func (p prepared) checkGroup(r Request) (*groupBy, error) {
	if r.GroupBy == nil {
		return nil, nil //nolint:nilnil // no groups
	}
	g := &groupBy{field: r.GroupBy.Field, size: valueOr(r.GroupBy.Size, DefaultGroupSize)}
	if err := filter.CheckField("groupBy.field", g.field); err != nil {
		return nil, err
	}
	if g.size < 1 || g.size*p.topK > MaxTopK {
		return nil, fault.Field("groupBy.size", "must be between 1 and %d for %d groups (topK), got %d", MaxTopK/p.topK, p.topK, g.size)
	}
	return g, exclusive("groupBy", other{"orderBy", len(r.OrderBy) > 0}, other{"diversity", r.Diversity > 0})
}

// fetch returns how many candidates are fetched for so many groups.
func (g groupBy) fetch(groups int) int {
	if g.deep {
		return maxCandidates
	}
	return min(max(minCandidates, candidateFactor*groups*g.size), maxCandidates)
}

// tooFewGroups reports whether a search that fetches more may find further groups that are wanted.
func (p prepared) tooFewGroups(a answer) bool {
	return p.group != nil && p.reranker == nil && len(a.groups) < p.topK && a.found >= p.fetch() && p.fetch() < maxCandidates
}

// groupOf returns the value of the field of a source, and a key for it.
func (g groupBy) groupOf(source Source) (key string, value any) {
	metadata, _ := source.fields() // PostgreSQL wrote it
	found, ok := filter.FieldOf(metadata, g.field)
	if !ok {
		return "", nil
	}
	raw, err := json.Marshal(found)
	if err != nil {
		return "", nil
	}
	return facet.First(string(raw))
}

// grouped returns the sources of the first most groups, group by group in the order of their best sources.
func (g groupBy) grouped(sources []Source, most int) (out []Source, groups []Group, keys []string) {
	numbers := map[string]int{}
	var members [][]Source
	for _, source := range sources {
		key, value := g.groupOf(source)
		n, ok := numbers[key]
		if !ok {
			if len(groups) == most {
				continue
			}
			n = len(groups)
			numbers[key], groups, keys, members = n, append(groups, Group{Value: value}), append(keys, key), append(members, nil)
		}
		if len(members[n]) < g.size {
			source.Group = &n
			members[n] = append(members[n], source)
		}
	}
	for _, of := range members {
		out = append(out, of...)
	}
	return out, groups, keys
}

// countGroups adds to an answer how many chunks of each group keyword search matches, and how many groups there are. It adds nothing
// where a search has no exact set of chunks that match.
func (g groupBy) countGroups(ctx context.Context, h *data.Handle, i index.Index, p prepared, a *answer, keys []string) error {
	if p.mode != Keyword || len(a.groups) == 0 {
		return nil
	}
	asked, err := lookUp(ctx, h, i, p)
	if err != nil || len(asked.terms) == 0 {
		return err
	}
	t := &tally{groups: map[string][]facet.Group{}}
	err = t.read(ctx, i, h, p.scope, matching{asked.keywords().match, p.conditions}, []string{g.field}, time.Now().Add(countTimeout), nil)
	if fault.KindOf(err) == fault.Exhausted {
		a.warnings = append(a.warnings, "groups are not counted: "+fault.Public(err))
		return nil
	}
	if err != nil || t.chunks == 0 { // the phrases of the question were loosened
		return err
	}
	counts := map[string]int64{}
	for _, part := range t.groups[g.field] {
		key, _ := facet.First(part.Value)
		counts[key] += part.Chunks
	}
	for n, key := range keys {
		a.groups[n].Chunks = new(counts[key])
	}
	a.groupCount = new(int64(len(counts)))
	return nil
}
