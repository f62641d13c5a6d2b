package placement

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Requests returns the placement of tenants for requests.
func (r *Registry) Requests() data.Placement {
	return placement{r, r.requests, func(m *member) *data.Site { return m.requests }}
}

// Work returns the placement of tenants for background work.
func (r *Registry) Work() data.Placement {
	return placement{r, r.work, func(m *member) *data.Site { return m.work }}
}

// placement implements data.Placement.
type placement struct {
	registry *Registry
	first    *data.Site
	pick     func(*member) *data.Site
}

// Of implements data.Placement.
func (p placement) Of(ctx context.Context, id tenant.ID) (*data.Site, error) {
	if !p.registry.any.Load() {
		return p.first, nil
	}
	name, err := p.registry.NameOf(ctx, id)
	if err != nil {
		return nil, err
	}
	site, err := p.site(ctx, name)
	if err == nil {
		return site, nil
	}
	now, failed := p.registry.lookUp(ctx, id) // a database that is gone or down cannot say that the tenant has left it
	if failed != nil || now == name {
		return nil, err
	}
	return p.site(ctx, now)
}

// site returns a database by its name. Errors: Unavailable.
func (p placement) site(ctx context.Context, name string) (*data.Site, error) {
	if name == "" {
		return p.first, nil
	}
	m, err := p.registry.member(ctx, name)
	if err != nil {
		return nil, data.Unreachable(name, err)
	}
	if _, err := m.open(ctx); err != nil {
		return nil, err
	}
	return p.pick(m), nil
}

// Moved implements data.Placement.
func (p placement) Moved(ctx context.Context, id tenant.ID, refused *data.Site) (bool, error) {
	r := p.registry
	if !r.any.Load() {
		if err := r.Refresh(ctx); err != nil || !r.any.Load() {
			return false, err
		}
	}
	name, err := r.lookUp(ctx, id)
	return name != refused.Name, err
}

// NameOf returns the name of the database in which a tenant lives, empty for the first one and for a
// tenant that does not exist. It may be old.
func (r *Registry) NameOf(ctx context.Context, id tenant.ID) (string, error) {
	if !r.any.Load() {
		return "", nil
	}
	r.mu.Lock()
	name, known := r.directory[id]
	r.mu.Unlock()
	if known {
		return name, nil
	}
	return r.lookUp(ctx, id)
}

// Forget drops what is in memory about where a tenant lives: it was moved.
func (r *Registry) Forget(id tenant.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.directory, id)
}

// lookUp reads where a tenant lives.
func (r *Registry) lookUp(ctx context.Context, id tenant.ID) (name string, err error) {
	err = r.config.First.QueryRow(ctx, `SELECT database_name FROM ragd.tenants WHERE tenant_id = $1`, id).Scan(&name)
	exists := !errors.Is(err, pgx.ErrNoRows)
	if err != nil && exists {
		return "", postgres.Fault(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.directory) >= directorySize {
		clear(r.directory)
	}
	if delete(r.directory, id); exists {
		r.directory[id] = name
	}
	return name, nil
}

// Serves returns an error unless a tenant lives in a database: NotFound when it does not, else that of
// the look-up. A tenant that is not known to live there is looked up again.
func (r *Registry) Serves(ctx context.Context, database string, id tenant.ID) error {
	name, err := r.NameOf(ctx, id)
	if err == nil && name != database {
		name, err = r.lookUp(ctx, id)
	}
	if err == nil && name != database {
		return fault.New(fault.NotFound, "tenant %q does not live in the database %q", id, database)
	}
	return err
}

// Own implements provision.Databases and credential.Databases.
func (r *Registry) Own(ctx context.Context, id tenant.ID) (bool, error) {
	name, err := r.NameOf(ctx, id)
	if err != nil || name == "" {
		return false, err
	}
	m, err := r.member(ctx, name)
	return err == nil && m.row.OwnerID != "", err
}

// Known returns what NameOf has in memory, empty if that is nothing.
func (r *Registry) Known(id tenant.ID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.directory[id]
}

// Tenants returns the tenants that live in a registered database, as the first database knows them, at most
// so many. In one that a tenant brought it is the owner alone, which is known without asking.
func (r *Registry) Tenants(ctx context.Context, database string, most int) ([]tenant.ID, error) {
	r.mu.Lock()
	m := r.members[database]
	r.mu.Unlock()
	switch {
	case m == nil:
		return nil, nil
	case m.row.OwnerID != "":
		return []tenant.ID{m.row.OwnerID}, nil
	}
	rows, _ := r.config.First.Query(ctx, `SELECT tenant_id FROM ragd.tenants WHERE database_name = $1 LIMIT $2`, database, most)
	found, err := pgx.CollectRows(rows, pgx.RowTo[tenant.ID])
	return found, postgres.Fault(err)
}
