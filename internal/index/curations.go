package index

import (
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/index/wording"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Curations returns the curations of the index; nil for none.
func (i Index) Curations() *wording.Curations { return i.curations }

// PutCurations adds entries to the curations of an index, or replaces all of them. It returns the ids of the entries and how many the index
// has. Errors: Invalid naming the entry; NotFound; Exhausted; Precondition in a schema that is a migration behind.
func (s *Service) PutCurations(ctx context.Context, name string, entries []wording.Curation, replace bool) (ids []string, count int, err error) {
	for n := range entries {
		if entries[n].Namespace, err = Namespace(entries[n].Namespace); err != nil {
			return nil, 0, fault.Under(fmt.Sprintf("curations[%d]", n), err)
		}
	}
	return curationList.put(ctx, s, name, entries, replace)
}

// ListCurations returns curations of an index, in the order of their ids. Errors: NotFound; those of pagination.List.
func (s *Service) ListCurations(ctx context.Context, name string, pageSize int32, pageToken string) ([]wording.Curation, string, error) {
	return curationList.page(ctx, s, name, pageSize, pageToken)
}

// DeleteCurations deletes curations of an index by their ids, or all of them, and returns how many. Errors: Invalid; NotFound.
func (s *Service) DeleteCurations(ctx context.Context, name string, ids []string, all bool) (deleted int, err error) {
	return curationList.delete(ctx, s, name, "curationIds", ids, all)
}

var curationList = wordingList[wording.Curation]{
	name: "curations", most: wording.MaxCurations, check: (*wording.Curation).Check,
	of: func(i Index) []wording.Curation { return i.curations.Entries() }, id: func(e wording.Curation) string { return e.ID },
}
