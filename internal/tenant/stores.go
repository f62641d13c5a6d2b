package tenant

import (
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// SetStores replaces the names that the caller's tenant gives its vector store. Errors: Invalid.
func (s *Service) SetStores(ctx context.Context, names []string) error {
	r, err := RequireUnfiltered(ctx, Admin)
	if err != nil {
		return err
	}
	const field = "vectorStoreNames"
	if len(names) > MaxStores {
		return fault.Field(field, "must be at most %d, got %d", MaxStores, len(names))
	}
	for i, name := range names {
		if err := CheckStore(field, name); err != nil {
			return err
		}
		if slices.Contains(names[:i], name) {
			return fault.Field(field, "has %s twice", name)
		}
	}
	if err := s.store.setStores(ctx, r.Tenant, names); err != nil {
		return err
	}
	s.changed()
	return nil
}

// Stores returns the names that the caller's tenant gives its vector store.
func (s *Service) Stores(ctx context.Context) ([]string, error) {
	r, err := Require(ctx, Read)
	if err != nil {
		return nil, err
	}
	row, err := Find(ctx, s.store.pool, r.Tenant)
	return row.VectorStoreNames, err
}
