package index

import (
	"context"

	"github.com/ragdhq/ragd/internal/index/wording"
)

// Synonyms returns the synonyms of the index; nil for none.
func (i Index) Synonyms() *wording.Synonyms { return i.synonyms }

// PutSynonyms adds entries to the synonyms of an index, or replaces all of them. It returns the ids of the entries and how many the index has.
// Errors: Invalid naming the entry; NotFound; Exhausted; Precondition in a schema that is a migration behind.
func (s *Service) PutSynonyms(ctx context.Context, name string, entries []wording.Synonym, replace bool) (ids []string, count int, err error) {
	return synonymList.put(ctx, s, name, entries, replace)
}

// ListSynonyms returns synonyms of an index, in the order of their ids. Errors: NotFound; those of pagination.List.
func (s *Service) ListSynonyms(ctx context.Context, name string, pageSize int32, pageToken string) ([]wording.Synonym, string, error) {
	return synonymList.page(ctx, s, name, pageSize, pageToken)
}

// DeleteSynonyms deletes synonyms of an index by their ids, or all of them, and returns how many. Errors: Invalid; NotFound.
func (s *Service) DeleteSynonyms(ctx context.Context, name string, ids []string, all bool) (deleted int, err error) {
	return synonymList.delete(ctx, s, name, "synonymIds", ids, all)
}

var synonymList = wordingList[wording.Synonym]{
	name: "synonyms", most: wording.MaxSynonyms, check: (*wording.Synonym).Check,
	of: func(i Index) []wording.Synonym { return i.synonyms.Entries() }, id: func(e wording.Synonym) string { return e.ID },
}
