package query

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/facet"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// CountRequest asks how many chunks there are.
type CountRequest struct {
	IndexName   string // the tenant's only index if empty
	Namespace   string // index.DefaultNamespace if empty
	Filter      filter.Filter
	QueryText   string    // chunks that match its terms; with Nearest, the question
	Nearest     *int      // the first chunks of a search; nil: all that match
	QueryVector []float32 // of the search
	Mode        Mode      // of the search
	Facets      []facet.Facet
	Freshness   data.Freshness
}

// Counts are exact counts of chunks. Documents does not count ready-made vectors.
type Counts struct {
	Chunks, Documents int64
	Facets            []facet.Counts // in the order of the request
	Warnings          []string
}

// Count counts the chunks that a request selects, by the values of fields too. Errors: Invalid naming the field, NotFound for an
// unknown index, Exhausted for a count that takes too long or of too many values; with Nearest, as for Query.
func (s *Service) Count(ctx context.Context, req CountRequest) (c Counts, err error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return c, err
	}
	plans, err := facet.Check(req.Facets, time.Now())
	if err != nil {
		return c, err
	}
	whole, err := req.prepare(r, "")
	if err != nil {
		return c, err
	}
	prepared := make([]countable, len(plans))
	for n, p := range plans {
		prepared[n] = whole
		if p.WithoutOwnFilter {
			if prepared[n], err = req.prepare(r, p.Field); err != nil {
				return c, err
			}
		}
	}
	name := *cmp.Or(r.Overrides.IndexName, &req.IndexName)
	err = s.indexes.Use(ctx, r.Tenant, name, func(i index.Index, tables *data.Handle) error {
		ctx := usage.InIndex(ctx, i.Name)
		s.meter.Add(ctx, string(r.Tenant), usage.Query, usage.Counts{Calls: 1})
		c, err = s.count(ctx, r.Tenant, i, tables.Reading(whole.freshness), plans, prepared, whole)
		return err
	})
	return c, err
}

// countable is a valid request of chunks to count.
type countable struct {
	prepared
	nearest   bool
	freshness data.Freshness
}

// prepare validates the request, without the conditions of its filter on a field; empty: with all. Errors: Invalid.
func (r CountRequest) prepare(c *access.Request, without string) (countable, error) {
	q := Question{
		QueryText: r.QueryText, QueryVector: r.QueryVector, IndexName: r.IndexName, Namespace: r.Namespace, Filter: r.Filter,
		Mode: r.Mode, Freshness: r.Freshness, Distinct: new(false),
	}
	if without != "" {
		q.Filter = q.Filter.Without(without)
	}
	q, err := q.Effective(c)
	if err != nil {
		return countable{}, err
	}
	q.Reranker, q.TopK, q.MinScore, q.MinSimilarity = nil, r.Nearest, nil, nil
	hasText := strings.TrimSpace(r.QueryText) != ""
	switch {
	case r.Nearest != nil && (*r.Nearest < 1 || *r.Nearest > MaxTopK):
		return countable{}, fault.Field("nearest", "must be between 1 and %d, got %d", MaxTopK, *r.Nearest)
	case r.Nearest != nil && !hasText && len(r.QueryVector) == 0:
		return countable{}, fault.Field("nearest", "needs a question: give queryText or queryVector, or leave it out to count all")
	case r.Nearest == nil && len(r.QueryVector) > 0:
		return countable{}, fault.Field("queryVector", "is near to every chunk: give nearest, the number of chunks to count by")
	case r.Nearest == nil && r.Mode != "" && r.Mode != Keyword:
		return countable{}, fault.Field("searchMode", "%s finds every chunk: give nearest, the number of chunks to count by", r.Mode)
	case r.Nearest == nil && !hasText && (r.QueryText != "" || r.Mode == Keyword):
		return countable{}, fault.Field("queryText", "must not be blank")
	case r.Nearest == nil && hasText:
		q.Mode = Keyword
	}
	p, err := Request{Question: q}.prepare()
	return countable{p, r.Nearest != nil, q.Freshness}, err
}

// count counts in one index. parts are the chunks to count by each plan.
func (s *Service) count(ctx context.Context, id tenant.ID, i index.Index, h *data.Handle, plans []facet.Plan, parts []countable, whole countable) (Counts, error) {
	until := time.Now().Add(countTimeout)
	scopes, numbers := []countable{whole}, map[string][]int{whole.scope.String(): nil} // of the plans
	for n := range plans {
		key := parts[n].scope.String()
		if _, ok := numbers[key]; !ok {
			scopes = append(scopes, parts[n])
		}
		numbers[key] = append(numbers[key], n)
	}
	var all Counts
	facets := make([]facet.Counts, len(plans))
	for n, part := range scopes {
		of := numbers[part.scope.String()]
		chosen := make([]facet.Plan, len(of))
		for m, number := range of {
			chosen[m] = plans[number]
		}
		c, err := s.tally(ctx, id, i, h, part, chosen, until)
		if err != nil {
			return c, err
		}
		if n == 0 {
			all = c
		}
		for m, number := range of {
			facets[number] = c.Facets[m]
		}
	}
	all.Facets = facets
	return all, nil
}

// tally counts the chunks of a request by plans.
func (s *Service) tally(ctx context.Context, id tenant.ID, i index.Index, h *data.Handle, p countable, plans []facet.Plan, until time.Time) (c Counts, err error) {
	warnings := p.warnings
	switch {
	case p.nearest:
		found, err := s.retrieve(ctx, id, i, h, p.prepared, StartStopwatch(ctx, "query"))
		if err != nil {
			return c, err
		}
		t, err := tallyOf(found.sources, fieldsOf(plans))
		if err != nil {
			return c, err
		}
		warnings = append(warnings, found.warnings...)
		c, err = t.counts(plans)
		c.Warnings = warnings
		return c, err
	case p.mode != Keyword:
		c, err = s.tallyScope(ctx, id, i, h, p, plans, until)
		c.Warnings = warnings
		return c, err
	}
	asked, err := lookUp(ctx, h, i, p.prepared)
	if err != nil {
		return c, err
	}
	t := &tally{groups: map[string][]facet.Group{}}
	if len(asked.terms) == 0 {
		warnings = append(warnings, noTermWarning)
	} else {
		warnings = append(warnings, asked.correctionWarnings()...)
		if err := t.read(ctx, i, h, p.scope, matching{terms: asked.keywords().match}, fieldsOf(plans), until, nil); err != nil {
			return c, err
		}
	}
	c, err = t.counts(plans)
	c.Warnings = warnings
	return c, err
}

// tallyOf counts sources by fields.
func tallyOf(sources []Source, fields []string) (*tally, error) {
	t := &tally{chunks: int64(len(sources)), groups: map[string][]facet.Group{}}
	for _, field := range fields {
		t.groups[field] = nil
	}
	documents := map[string]bool{}
	for _, source := range sources {
		if source.DocumentID != "" {
			documents[source.DocumentID] = true
		}
		metadata, err := source.fields()
		if err != nil {
			return nil, err
		}
		for field := range t.groups {
			raw := []byte(nil)
			if value, ok := filter.FieldOf(metadata, field); ok {
				if raw, err = json.Marshal(value); err != nil {
					return nil, err
				}
			}
			t.groups[field] = append(t.groups[field], facet.Group{Value: string(raw), Chunks: 1})
		}
	}
	t.documents = int64(len(documents))
	return t, nil
}
