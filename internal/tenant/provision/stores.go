package provision

import (
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// SetStores replaces the names that the caller's tenant gives its vector store. Errors: Invalid.
func (s *Service) SetStores(ctx context.Context, names []string) error {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return err
	}
	const field = "vectorStoreNames"
	if len(names) > tenant.MaxStores {
		return fault.Field(field, "must be at most %d, got %d", tenant.MaxStores, len(names))
	}
	for i, name := range names {
		if err := tenant.CheckStore(field, name); err != nil {
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
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	row, err := tenant.Find(ctx, s.store.pool, r.Tenant)
	return row.VectorStoreNames, err
}
