package memory

import (
	"cmp"
	"context"

	"github.com/ragdhq/ragd/internal/index/vector"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Limits of lists.
const (
	maxPageSize     = 1000
	defaultPageSize = 100
	maxShown        = 100 // memories that Forget returns
)

// Listing says which memories to list. Subject and AllSubjects are for admins.
type Listing struct {
	PageSize    int // defaultPageSize if 0
	PageToken   string
	Subject     string // "" for the caller's
	AllSubjects bool
}

// List returns a page of memories, also of those that are no longer valid, the newest first, and the token of the
// next page. Errors: Invalid, naming the field; Denied.
func (s *Service) List(ctx context.Context, l Listing) ([]Memory, string, error) {
	if l.PageSize < 0 || l.PageSize > maxPageSize {
		return nil, "", fault.Field("pageSize", "must be between 1 and %d, got %d", maxPageSize, l.PageSize)
	}
	if l.AllSubjects && l.Subject != "" {
		return nil, "", fault.Field("allSubjects", "excludes subject: leave one of them out")
	}
	within, err := l.within(ctx)
	if err != nil {
		return nil, "", err
	}
	return s.list(within, map[string]any{}, cmp.Or(l.PageSize, defaultPageSize), l.PageToken)
}

func (l Listing) within(ctx context.Context) (context.Context, error) {
	if !l.AllSubjects {
		return of(ctx, l.Subject)
	}
	r, err := ofAll(ctx)
	if err != nil {
		return nil, err
	}
	return whole(ctx, r, filter.Filter{}), nil
}

// list returns a page of the memories that a condition selects, the newest first.
func (s *Service) list(ctx context.Context, condition map[string]any, size int, token string) ([]Memory, string, error) {
	f, err := alive(condition)
	if err != nil {
		return nil, "", err
	}
	return s.find(ctx, query.Request{
		Question: query.Question{IndexName: access.MemoryIndex, Filter: f, Distinct: new(false)},
		OrderBy:  []filter.Order{{Field: "createdAt", Descending: true}}, PageSize: &size, PageToken: token,
	})
}

// Which says which memories to forget: exactly one of ID, Question and All is given.
type Which struct {
	ID       string
	Question string // what a recall of it finds, of all times
	All      bool
	DryRun   bool
	Subject  string // "" for the caller's; for admins
}

// Forget erases memories with all their versions, and returns how many, and the first maxShown of them. Errors:
// Invalid, naming the field; Denied.
func (s *Service) Forget(ctx context.Context, w Which) (count int, first []Memory, err error) {
	given := 0
	for _, is := range []bool{w.ID != "", w.Question != "", w.All} {
		if is {
			given++
		}
	}
	if given != 1 {
		return 0, nil, fault.Field("memoryId", "or queryText or all must be given, and only one of them")
	}
	within, err := of(ctx, w.Subject)
	if err != nil {
		return 0, nil, err
	}
	condition, err := s.condition(within, w)
	if err != nil || condition == nil {
		return 0, nil, err
	}
	if first, _, err = s.list(within, condition, maxShown, ""); err != nil {
		return 0, nil, err
	}
	count, err = s.erase(within, condition, w.DryRun)
	return count, first, err
}

// condition returns what selects the memories, nil if there are none.
func (s *Service) condition(ctx context.Context, w Which) (map[string]any, error) {
	if w.All {
		return map[string]any{"memoryId": map[string]any{"$exists": true}}, nil
	}
	var found []Memory
	var err error
	if w.ID != "" {
		found, _, err = s.list(ctx, map[string]any{"memoryId": map[string]any{"$eq": w.ID}}, 1, "")
	} else {
		found, err = s.search(ctx, w.Question, DefaultTopK, map[string]any{})
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	lineages := make([]any, len(found))
	for n, m := range found {
		lineages[n] = m.lineage
	}
	return map[string]any{"lineage": map[string]any{"$in": lineages}}, nil
}

// erase deletes, or counts in a dry run, the memories that a condition selects.
func (s *Service) erase(ctx context.Context, condition map[string]any, dryRun bool) (int, error) {
	f, err := filter.Parse(condition)
	if err != nil {
		return 0, err
	}
	var n int64
	if dryRun {
		var counts query.Counts
		counts, err = s.queries.Count(ctx, query.CountRequest{IndexName: access.MemoryIndex, Filter: f})
		n = counts.Chunks
	} else {
		n, err = s.vectors.Delete(ctx, access.MemoryIndex, vector.Selection{Filter: f, FilterGiven: true})
	}
	if fault.KindOf(err) == fault.NotFound {
		return 0, nil
	}
	return int(n), err
}
