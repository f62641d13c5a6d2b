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

// wordingList is a list of what an index knows of the words of questions, in the order of the ids of its entries.
type wordingList[T any] struct {
	name  string // of its column, and in requests
	most  int    // entries of an index
	check func(entry *T, field string) error
	of    func(Index) []T
	id    func(T) string
}

// put adds entries to the list of an index, or replaces all of it. It returns their ids and how many the index has.
func (l wordingList[T]) put(ctx context.Context, s *Service, indexName string, entries []T, replace bool) (ids []string, count int, err error) {
	if len(entries) == 0 && !replace {
		return nil, 0, fault.Field(l.name, "must have an entry")
	}
	if ids, err = l.checked(entries); err != nil {
		return nil, 0, err
	}
	err = l.change(ctx, s, indexName, func(before []T) ([]T, error) {
		if replace {
			before = nil
		}
		all := wording.Put(before, entries, l.id)
		count = len(all)
		return all, wording.CheckSize(l.name, all, l.most)
	})
	return ids, count, err
}

// checked validates the entries of a request and returns their ids. Errors: Invalid.
func (l wordingList[T]) checked(entries []T) ([]string, error) {
	if len(entries) > l.most {
		return nil, fault.Field(l.name, "has %d entries, over the limit of %d", len(entries), l.most)
	}
	ids := make([]string, len(entries))
	for n := range entries {
		at := fmt.Sprintf("%s[%d]", l.name, n)
		if err := l.check(&entries[n], at); err != nil {
			return nil, err
		}
		ids[n] = l.id(entries[n])
		if slices.Contains(ids[:n], ids[n]) {
			return nil, fault.Field(at, "has the id %q of another entry of the request: give each its own", ids[n])
		}
	}
	return ids, nil
}

// delete deletes entries by their ids, or all of them, and returns how many. field is that of the ids in errors.
func (l wordingList[T]) delete(ctx context.Context, s *Service, indexName, field string, ids []string, all bool) (deleted int, err error) {
	switch {
	case all && len(ids) > 0:
		return 0, fault.Field("all", "and %s are mutually exclusive: leave one out", field)
	case !all && len(ids) == 0:
		return 0, fault.Field(field, "must have an id; all deletes all entries")
	}
	err = l.change(ctx, s, indexName, func(before []T) ([]T, error) {
		left := slices.DeleteFunc(slices.Clone(before), func(e T) bool { return all || slices.Contains(ids, l.id(e)) })
		deleted = len(before) - len(left)
		return left, nil
	})
	return deleted, err
}

// change replaces the list of an index by what is made of it, in a transaction that has locked the index. Errors: NotFound; Precondition in a
// schema that is a migration behind; those of change.
func (l wordingList[T]) change(ctx context.Context, s *Service, indexName string, change func(before []T) ([]T, error)) error {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return err
	}
	defer s.known.forget(r.Tenant, indexName)
	return s.db.Handle(r.Tenant).Tx(ctx, func(tx *data.Tx) error {
		i, err := byNameLocked(ctx, tx, indexName)
		if err != nil {
			return err
		}
		if err := requireColumn(ctx, tx, l.name, l.name); err != nil {
			return err
		}
		entries, err := change(l.of(i))
		if err != nil {
			return err
		}
		var stored any // null for none
		if len(entries) > 0 {
			stored = entries
		}
		_, err = tx.Exec(ctx, `UPDATE tenant.indexes SET `+l.name+` = $2, updated_at = now() WHERE index_id = $1`, i.ID, stored)
		return err
	})
}

// page returns a page of the list of an index. Errors: NotFound; Denied for a credential with a mandatory filter; those of pagination.List.
func (l wordingList[T]) page(ctx context.Context, s *Service, indexName string, pageSize int32, pageToken string) ([]T, string, error) {
	r, err := access.RequireWholeIndexes(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	i, err := ByName(ctx, s.db.Handle(r.Tenant), indexName)
	if err != nil {
		return nil, "", err
	}
	entries := l.of(i)
	return pagination.List(access.Pages(ctx, l.name, indexName), pageSize, pageToken, "", l.id, func(after string, most int) ([]T, error) {
		from := slices.IndexFunc(entries, func(e T) bool { return l.id(e) > after })
		if from < 0 {
			return nil, nil
		}
		return entries[from:min(len(entries), from+most)], nil
	})
}
