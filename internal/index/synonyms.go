package index

import (
	"context"
	"fmt"
	"slices"

	"github.com/ragdhq/ragd/internal/index/wording"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Synonyms returns the synonyms of the index; nil for none.
func (i Index) Synonyms() *wording.Synonyms { return i.synonyms }

// PutSynonyms adds entries to the synonyms of an index, or replaces all of them. It returns the ids of the entries and how many the index has.
// Errors: Invalid naming the entry; NotFound; Exhausted; Precondition in a schema that is a migration behind.
func (s *Service) PutSynonyms(ctx context.Context, name string, entries []wording.Synonym, replace bool) (ids []string, count int, err error) {
	if len(entries) == 0 && !replace {
		return nil, 0, fault.Field("synonyms", "must have an entry")
	}
	ids, err = checkEntries("synonyms", entries, wording.MaxSynonyms, (*wording.Synonym).Check, synonymID)
	if err != nil {
		return nil, 0, err
	}
	err = s.changeWording(ctx, name, "synonyms", func(tx *data.Tx, i Index) error {
		all := wording.Put(i.synonyms.Entries(), entries, synonymID)
		if replace {
			all = wording.Put(nil, entries, synonymID)
		}
		count = len(all)
		if err := wording.CheckSize("synonyms", all, wording.MaxSynonyms); err != nil {
			return err
		}
		return storeWording(ctx, tx, i.ID, "synonyms", all)
	})
	return ids, count, err
}

// ListSynonyms returns synonyms of an index, in the order of their ids. Errors: NotFound; those of pagination.List.
func (s *Service) ListSynonyms(ctx context.Context, name string, pageSize int32, pageToken string) ([]wording.Synonym, string, error) {
	i, err := s.wordingOf(ctx, name)
	if err != nil {
		return nil, "", err
	}
	return pageOf(ctx, "synonyms", name, i.synonyms.Entries(), synonymID, pageSize, pageToken)
}

// DeleteSynonyms deletes synonyms of an index by their ids, or all of them, and returns how many. Errors: Invalid; NotFound.
func (s *Service) DeleteSynonyms(ctx context.Context, name string, ids []string, all bool) (deleted int, err error) {
	if err := checkDeleted("synonymIds", ids, all); err != nil {
		return 0, err
	}
	err = s.changeWording(ctx, name, "synonyms", func(tx *data.Tx, i Index) error {
		left := without(i.synonyms.Entries(), ids, all, synonymID)
		deleted = len(i.synonyms.Entries()) - len(left)
		return storeWording(ctx, tx, i.ID, "synonyms", left)
	})
	return deleted, err
}

func synonymID(e wording.Synonym) string { return e.ID }

// checkEntries validates the entries of a request and returns their ids. Errors: Invalid.
func checkEntries[T any](field string, entries []T, most int, check func(*T, string) error, id func(T) string) ([]string, error) {
	if len(entries) > most {
		return nil, fault.Field(field, "has %d entries, over the limit of %d", len(entries), most)
	}
	ids := make([]string, len(entries))
	for n := range entries {
		at := fmt.Sprintf("%s[%d]", field, n)
		if err := check(&entries[n], at); err != nil {
			return nil, err
		}
		ids[n] = id(entries[n])
		if slices.Contains(ids[:n], ids[n]) {
			return nil, fault.Field(at, "has the id %q of another entry of the request: give each its own", ids[n])
		}
	}
	return ids, nil
}

func checkDeleted(field string, ids []string, all bool) error {
	switch {
	case all && len(ids) > 0:
		return fault.Field("all", "and %s are mutually exclusive: leave one out", field)
	case !all && len(ids) == 0:
		return fault.Field(field, "must have an id; all deletes all entries")
	}
	return nil
}

// without returns entries without those of some ids, or none at all.
func without[T any](entries []T, ids []string, all bool, id func(T) string) []T {
	if all {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e T) bool { return slices.Contains(ids, id(e)) })
}

// changeWording changes what an index knows of the words of questions, in a transaction that has locked it. Errors: NotFound; Precondition in
// a schema that is a migration behind; those of change.
func (s *Service) changeWording(ctx context.Context, name, column string, change func(tx *data.Tx, i Index) error) error {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return err
	}
	defer s.known.forget(r.Tenant, name)
	return s.db.Handle(r.Tenant).Tx(ctx, func(tx *data.Tx) error {
		i, err := byNameLocked(ctx, tx, name)
		if err != nil {
			return err
		}
		if err := requireColumn(ctx, tx, column, column); err != nil {
			return err
		}
		return change(tx, i)
	})
}

// wordingOf returns an index for a caller who may see what it knows of the words of questions. Errors: NotFound; Denied for a credential
// with a mandatory filter.
func (s *Service) wordingOf(ctx context.Context, name string) (Index, error) {
	r, err := access.RequireWholeIndexes(ctx, access.Read)
	if err != nil {
		return Index{}, err
	}
	return ByName(ctx, s.db.Handle(r.Tenant), name)
}

// storeWording stores entries of an index, null for none. column is one of this package's.
func storeWording[T any](ctx context.Context, tx *data.Tx, indexID int64, column string, entries []T) error {
	var stored any
	if len(entries) > 0 {
		stored = entries
	}
	_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET `+column+` = $2, updated_at = now() WHERE index_id = $1`, indexID, stored)
	return err
}

// pageOf returns a page of entries that are in the order of their ids.
func pageOf[T any](ctx context.Context, list, indexName string, entries []T, id func(T) string, pageSize int32, pageToken string) ([]T, string, error) {
	return pagination.List(access.Pages(ctx, list, indexName), pageSize, pageToken, "", id, func(after string, most int) ([]T, error) {
		from := slices.IndexFunc(entries, func(e T) bool { return id(e) > after })
		if from < 0 {
			return nil, nil
		}
		return entries[from:min(len(entries), from+most)], nil
	})
}
