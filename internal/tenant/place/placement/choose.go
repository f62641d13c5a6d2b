package placement

import (
	"context"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Choose implements provision.Databases. The smallest database is the one with the fewest bytes among the
// first one and those of the operator that answer.
func (r *Registry) Choose(ctx context.Context, wanted string, id tenant.ID) (string, error) {
	if err := r.Refresh(ctx); err != nil {
		return "", err
	}
	if wanted == tenant.FirstDatabase {
		return "", r.ownElsewhere(id, "")
	}
	if wanted != "" {
		m, err := r.member(ctx, wanted)
		if err != nil {
			return "", err
		}
		if owner := m.row.OwnerID; owner != "" && owner != id {
			return "", fault.New(fault.Precondition, "the database %q belongs to the tenant %q: no other may live in it", wanted, owner)
		}
		return wanted, r.ownElsewhere(id, wanted)
	}
	return r.smallest(ctx, id)
}

// ownElsewhere returns an error if the tenant has brought another database than the named one.
func (r *Registry) ownElsewhere(id tenant.ID, name string) error {
	for _, m := range r.all() {
		if m.row.OwnerID == id && m.row.DatabaseName != name {
			return fault.New(fault.Precondition, "the tenant %q has a database of its own: it lives in %q", id, m.row.DatabaseName)
		}
	}
	return nil
}

// smallest returns the name of the database for a new tenant that is given none.
func (r *Registry) smallest(ctx context.Context, id tenant.ID) (string, error) {
	members := r.all()
	for _, m := range members {
		if m.row.OwnerID == id {
			return m.row.DatabaseName, nil
		}
	}
	if len(members) == 0 {
		return "", nil
	}
	least, err := postgres.Bytes(ctx, r.config.First)
	if err != nil {
		return "", err
	}
	name := ""
	for _, m := range members {
		d := m.database()
		if d == nil || m.failure() != nil || m.row.OwnerID != "" {
			continue
		}
		_, bytes, err := d.Sizes(ctx)
		if err == nil && bytes < least {
			name, least = m.row.DatabaseName, bytes
		}
	}
	return name, ctx.Err()
}
