package tenant

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// Querier runs queries: a pool, one of its connections, or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Status of a tenant. If a deletion, or the migration of a schema that existed before
// its tenant, is interrupted, the record keeps the status deleting or creating until the call is
// repeated; the service repeats deletions.
const (
	StatusCreating  = "creating"
	StatusImporting = "importing"
	StatusReady     = "ready"
	StatusAsleep    = "asleep"  // an archive has its data, see package sleep
	StatusWaking    = "waking"  // its data is being loaded from the archive
	StatusDeleted   = "deleted" // it can be restored
	StatusDeleting  = "deleting"
)

// HasSchema is true for a row t of ragd.tenants whose tenant has a schema in the database in which it lives: one that is ready, or will be when it is
// restored.
const HasSchema = `(t.status = 'ready' OR t.status = 'deleted' AND t.kept_status = 'ready')`

// Record is the row of a tenant in the control schema.
type Record struct {
	TenantID    ID
	DisplayName string
	Settings    map[string]any
	// VectorStoreNames are the tenant's own names of its vector store.
	VectorStoreNames []string
	Status           string
	CreatedAt        time.Time
	UpdatedAt        time.Time
	DatabaseName     string // of the database in which it lives; empty for this one
	AsleepSince      *time.Time
	ArchivedBytes    *int64 // of the archive of a tenant that is asleep or waking
	// DeletedAt and EraseAt are of a deleted tenant, which can be restored until then.
	DeletedAt *time.Time
	EraseAt   *time.Time
	// Plan is the tenant's plan, nil for none. Only the first database of a service has it.
	Plan *quota.Plan
}

// Asleep reports whether the tenant's data is in an archive, and not in use.
func (r Record) Asleep() bool { return r.Status == StatusAsleep || r.Status == StatusWaking }

// RecordColumns are the columns of a Record in statements on ragd.tenants, which they do not rename.
const RecordColumns = `tenant_id, display_name, settings, vector_store_names, status, created_at, updated_at, database_name, asleep_since, archived_bytes,
	deleted_at, erase_at, ` + PlanColumn

// PlanColumn is the column plan, a quota.Plan in JSON, in statements on ragd.tenants, which they do not rename. It is null
// for a tenant without a plan.
const PlanColumn = `(
		SELECT json_build_object('name', p.plan_name, 'settings', p.settings, 'without', p.without, 'models', p.models)
		FROM ragd.tenant_plans AS has JOIN ragd.plans AS p USING (plan_name) WHERE has.tenant_id = tenants.tenant_id) AS plan`

// Find returns the record of a tenant, whatever its status. Errors: NotFound.
func Find(ctx context.Context, on Querier, id ID) (Record, error) {
	rows, _ := on.Query(ctx, `SELECT `+RecordColumns+` FROM ragd.tenants WHERE tenant_id = $1`, id)
	row, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[Record])
	if errors.Is(err, pgx.ErrNoRows) {
		return row, fault.New(fault.NotFound, "tenant %q not found", id)
	}
	return row, postgres.Fault(err)
}

// FindKept validates the tenant name of a caller and returns the record of the tenant if it is
// ready, asleep or waking. Its errors name similar tenants: they are for operators. Errors: Invalid, NotFound.
func FindKept(ctx context.Context, on Querier, name string) (Record, error) {
	id, err := ParseID(name)
	if err != nil {
		return Record{}, err
	}
	row, err := Find(ctx, on, id)
	if err == nil && row.Status == StatusDeleted {
		return Record{}, fault.New(fault.NotFound, "tenant %q was deleted: it can be restored until %s, with `ragd tenant restore %[1]s`", id, row.EraseAt.UTC().Format(time.RFC3339))
	}
	if fault.KindOf(err) == fault.NotFound || err == nil && row.Status != StatusReady && !row.Asleep() {
		return Record{}, fault.New(fault.NotFound, "tenant %q not found%s", id, nearest.Hint(name, namesLike(ctx, on, name)))
	}
	return row, err
}

// FindReady is FindKept for tenants that are ready. Errors: also Precondition for one that is asleep.
func FindReady(ctx context.Context, on Querier, name string) (Record, error) {
	row, err := FindKept(ctx, on, name)
	if err == nil && row.Asleep() {
		return Record{}, fault.New(fault.Precondition, "tenant %q is asleep: wake it first, with `ragd tenant wake %[1]s`", row.TenantID)
	}
	return row, err
}

// namesLike returns the names of tenants that may be meant by a wrong one: those whose
// length is most alike. For operators only.
func namesLike(ctx context.Context, on Querier, name string) []string {
	rows, _ := on.Query(ctx, `
		SELECT tenant_id FROM ragd.tenants WHERE status = 'ready'
		ORDER BY abs(length(tenant_id) - length($1)), tenant_id LIMIT 1000`, name)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil // the error is complete without a hint
	}
	return names
}
