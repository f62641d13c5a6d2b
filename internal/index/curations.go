package index

import (
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/index/wording"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Curations returns the curations of the index; nil for none.
func (i Index) Curations() *wording.Curations { return i.curations }

// PutCurations adds entries to the curations of an index, or replaces all of them. It returns the ids of the entries and how many the index
// has. Errors: Invalid naming the entry; NotFound; Exhausted; Precondition in a schema that is a migration behind.
func (s *Service) PutCurations(ctx context.Context, name string, entries []wording.Curation, replace bool) (ids []string, count int, err error) {
	if len(entries) == 0 && !replace {
		return nil, 0, fault.Field("curations", "must have an entry")
	}
	for n := range entries {
		if entries[n].Namespace, err = Namespace(entries[n].Namespace); err != nil {
			return nil, 0, fault.Under(fmt.Sprintf("curations[%d]", n), err)
		}
	}
	ids, err = checkEntries("curations", entries, wording.MaxCurations, (*wording.Curation).Check, curationID)
	if err != nil {
		return nil, 0, err
	}
	err = s.changeWording(ctx, name, "curations", func(tx *data.Tx, i Index) error {
		all := wording.Put(i.curations.Entries(), entries, curationID)
		if replace {
			all = wording.Put(nil, entries, curationID)
		}
		count = len(all)
		if err := wording.CheckSize("curations", all, wording.MaxCurations); err != nil {
			return err
		}
		return storeWording(ctx, tx, i.ID, "curations", all)
	})
	return ids, count, err
}

// ListCurations returns curations of an index, in the order of their ids. Errors: NotFound; those of pagination.List.
func (s *Service) ListCurations(ctx context.Context, name string, pageSize int32, pageToken string) ([]wording.Curation, string, error) {
	i, err := s.wordingOf(ctx, name)
	if err != nil {
		return nil, "", err
	}
	return pageOf(ctx, "curations", name, i.curations.Entries(), curationID, pageSize, pageToken)
}

// DeleteCurations deletes curations of an index by their ids, or all of them, and returns how many. Errors: Invalid; NotFound.
func (s *Service) DeleteCurations(ctx context.Context, name string, ids []string, all bool) (deleted int, err error) {
	if err := checkDeleted("curationIds", ids, all); err != nil {
		return 0, err
	}
	err = s.changeWording(ctx, name, "curations", func(tx *data.Tx, i Index) error {
		left := without(i.curations.Entries(), ids, all, curationID)
		deleted = len(i.curations.Entries()) - len(left)
		return storeWording(ctx, tx, i.ID, "curations", left)
	})
	return deleted, err
}

func curationID(e wording.Curation) string { return e.ID }
