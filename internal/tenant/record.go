package tenant

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// querier runs queries: a pool, one of its connections, or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Status of a tenant's row. If a deletion, or the migration of a schema that existed before
// its tenant, is interrupted, the row keeps the status deleting or creating until the call is
// repeated; Service.Run repeats deletions.
const (
	statusCreating  = "creating"
	statusImporting = "importing"
	statusReady     = "ready"
	statusDeleting  = "deleting"
)

type tenantRow struct {
	TenantID    ID
	DisplayName string
	Settings    map[string]any
	// VectorStoreNames are the tenant's own names of its vector store.
	VectorStoreNames []string
	Status           string
	CreatedAt        time.Time
	UpdatedAt        time.Time
	DatabaseName     string // of the database in which it lives; empty for this one
}

const tenantColumns = `tenant_id, display_name, settings, vector_store_names, status, created_at, updated_at, database_name`

// tenantByID returns the row of a tenant. Errors: NotFound.
func tenantByID(ctx context.Context, on querier, id ID) (tenantRow, error) {
	rows, _ := on.Query(ctx, `SELECT `+tenantColumns+` FROM ragd.tenants WHERE tenant_id = $1`, id)
	row, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[tenantRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return row, fault.New(fault.NotFound, "tenant %q not found", id)
	}
	return row, postgres.Fault(err)
}

func (s *store) tenant(ctx context.Context, id ID) (tenantRow, error) {
	return tenantByID(ctx, s.pool, id)
}

// existing validates the tenant name of a caller and returns its id if the tenant is ready.
// Errors: those of ready.
func (s *store) existing(ctx context.Context, name string) (ID, error) {
	row, err := s.ready(ctx, name)
	return row.TenantID, err
}

// ready validates the tenant name of a caller and returns the row of the tenant if it is
// ready. Its errors name similar tenants: they are for operators. Errors: Invalid, NotFound.
func (s *store) ready(ctx context.Context, name string) (tenantRow, error) {
	id, err := ParseID(name)
	if err != nil {
		return tenantRow{}, err
	}
	row, err := s.tenant(ctx, id)
	if fault.KindOf(err) == fault.NotFound || err == nil && row.Status != statusReady {
		return tenantRow{}, fault.New(fault.NotFound, "tenant %q not found%s", id, nearest.Hint(name, s.namesLike(ctx, name)))
	}
	return row, err
}

// namesLike returns the names of tenants that may be meant by a wrong one: those whose
// length is most alike. For operators only.
func (s *store) namesLike(ctx context.Context, name string) []string {
	rows, _ := s.pool.Query(ctx, `
		SELECT tenant_id FROM ragd.tenants WHERE status = 'ready'
		ORDER BY abs(length(tenant_id) - length($1)), tenant_id LIMIT 1000`, name)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil // the error is complete without a hint
	}
	return names
}
