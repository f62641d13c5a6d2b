package provision

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// Tenant is a customer of the service.
type Tenant struct {
	TenantID    tenant.ID
	DisplayName string
	Settings    map[string]any // free-form, for the operator; some keys are quotas, such as quota.MaxIndexes
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Database    string // in which it lives
	State       State
	// AsleepSince and ArchivedBytes are of a tenant that is asleep or waking.
	AsleepSince   *time.Time
	ArchivedBytes int64
	// DeletedAt and EraseAt are of a deleted tenant, which can be restored until then.
	DeletedAt, EraseAt *time.Time
	Plan               *quota.Plan // nil for none
}

// Creation is a tenant that is to be created.
type Creation struct {
	TenantID, DisplayName string
	Settings              map[string]any // as in Tenant
	Database              string         // in which it lives; any if it is empty
	PlanName              string         // empty for none
}

// Change changes a tenant; nil leaves a field unchanged.
type Change struct {
	DisplayName *string
	Settings    map[string]any
	PlanName    *string // empty for no plan
}

// State says whether a tenant is in use.
type State string

// The states of a tenant.
const (
	Active  State = "active"
	Asleep  State = "asleep"  // its data is in an archive outside the database, and its first call wakes it
	Waking  State = "waking"  // its data is being loaded from the archive
	Deleted State = "deleted" // it can be restored, and is not used
)

// states are the states of tenants by the status of their rows.
var states = map[string]State{tenant.StatusReady: Active, tenant.StatusAsleep: Asleep, tenant.StatusWaking: Waking, tenant.StatusDeleted: Deleted}

// statusOf returns the statuses of rows of tenants in a state; of all states but Deleted if it is empty. Errors: Invalid.
func statusOf(state State) (all []string, err error) {
	for status, s := range states {
		if s == state || state == "" && s != Deleted {
			all = append(all, status)
		}
	}
	if len(all) == 0 {
		return nil, fault.Field("state", "must be %s, %s, %s or %s, or empty for all but those that are deleted, got %q", Active, Asleep, Waking, Deleted, textlimit.Shorten(string(state), 40))
	}
	return all, nil
}

// Create creates a tenant with its role and schema. An interrupted creation leaves nothing,
// unless there was a schema before: then another call completes it. With several databases it lives in the
// one that it brought, else in the smallest. Errors: Exists, Invalid, Exhausted without space on the
// disk, Precondition while a tenant of this name is being deleted.
func (s *Service) Create(ctx context.Context, name, displayName string, settings map[string]any) (Tenant, error) {
	return s.CreateNew(ctx, Creation{TenantID: name, DisplayName: displayName, Settings: settings})
}

// CreateNew is Create in a given database and with a plan. Errors: also NotFound for a plan that does not exist and for a
// database that is not registered, Unavailable for one that does not answer.
func (s *Service) CreateNew(ctx context.Context, n Creation) (Tenant, error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return Tenant{}, err
	}
	id, err := tenant.ParseID(n.TenantID)
	if err != nil {
		return Tenant{}, err
	}
	if err := checkTenant(n.DisplayName, n.Settings); err != nil {
		return Tenant{}, err
	}
	if err := s.storage.Disk(); err != nil {
		return Tenant{}, err
	}
	if n.Settings == nil {
		n.Settings = map[string]any{}
	}
	row, err := tenant.Find(ctx, s.store.pool, id)
	if err == nil && row.Status == tenant.StatusDeleting { // do not wait for the lock of the deletion
		return Tenant{}, occupied(row)
	}
	d, err := s.choose(ctx, n.Database, id)
	if err != nil {
		return Tenant{}, err
	}
	err = s.store.locked(ctx, id, func(conn *pgxpool.Conn) error {
		wanted := Tenant{TenantID: id, DisplayName: n.DisplayName, Settings: n.Settings}
		if n.PlanName != "" {
			wanted.Plan = &quota.Plan{Name: n.PlanName}
		}
		if d.Name == "" {
			row, err = d.provision(ctx, conn, wanted)
		} else {
			row, err = s.provisionIn(ctx, conn, d, wanted)
		}
		return err
	})
	return tenantOf(row), err
}

// occupied returns the error for a tenant that cannot be created because of the row of its id. Errors: Exists; Precondition
// while that is being deleted or can be restored.
func occupied(r tenant.Record) error {
	switch r.Status {
	case tenant.StatusDeleting:
		return fault.New(fault.Precondition, "tenant %q is being deleted: delete it again to wait for the end of that, then create it", r.TenantID)
	case tenant.StatusDeleted:
		return fault.New(fault.Precondition, "tenant %q was deleted, and can be restored until %s: restore it, with `ragd tenant restore %[1]s`, or erase it before, with `ragd tenant delete %[1]s --erase`",
			r.TenantID, r.EraseAt.UTC().Format(time.RFC3339))
	}
	return fault.New(fault.Exists, "tenant %q exists already", r.TenantID)
}

// Get returns a tenant, also one that is asleep. Errors: NotFound.
func (s *Service) Get(ctx context.Context, name string) (Tenant, error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return Tenant{}, err
	}
	row, err := tenant.FindKept(ctx, s.store.pool, name)
	if err != nil {
		return Tenant{}, err
	}
	return tenantOf(row), nil
}

// GetActive returns a tenant that is active. Errors: NotFound; Precondition for one that is asleep.
func (s *Service) GetActive(ctx context.Context, name string) (Tenant, error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return Tenant{}, err
	}
	row, err := tenant.FindReady(ctx, s.store.pool, name)
	return tenantOf(row), err
}

func (s *Service) tenant(ctx context.Context, id tenant.ID) (Tenant, error) {
	row, err := tenant.Find(ctx, s.store.pool, id)
	return tenantOf(row), err
}

// tenantOf returns the tenant of a record.
func tenantOf(r tenant.Record) Tenant {
	t := Tenant{
		TenantID: r.TenantID, DisplayName: r.DisplayName, Settings: r.Settings, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Database: cmp.Or(r.DatabaseName, tenant.FirstDatabase), State: states[r.Status], AsleepSince: r.AsleepSince,
		DeletedAt: r.DeletedAt, EraseAt: r.EraseAt, Plan: r.Plan,
	}
	if r.ArchivedBytes != nil {
		t.ArchivedBytes = *r.ArchivedBytes
	}
	return t
}

// List returns a page of the tenants in a state, of all states but Deleted if it is empty, ordered by id, and the token of the
// next page. Errors: Invalid for a state that there is not.
func (s *Service) List(ctx context.Context, state State, pageSize int32, pageToken string) ([]Tenant, string, error) {
	return s.ListOfPlan(ctx, "", state, pageSize, pageToken)
}

// ListOfPlan is List of the tenants that have a plan; of all if its name is empty.
func (s *Service) ListOfPlan(ctx context.Context, plan string, state State, pageSize int32, pageToken string) ([]Tenant, string, error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return nil, "", err
	}
	statuses, err := statusOf(state)
	if err != nil {
		return nil, "", err
	}
	name := func(r tenant.Record) string { return string(r.TenantID) }
	rows, next, err := pagination.List(access.Pages(ctx, "tenants", string(state), plan), pageSize, pageToken, "", name, func(after string, most int) ([]tenant.Record, error) {
		return s.store.tenants(ctx, plan, statuses, after, most)
	})
	if err != nil {
		return nil, "", err
	}
	tenants := make([]Tenant, len(rows))
	for i, row := range rows {
		tenants[i] = tenantOf(row)
	}
	return tenants, next, nil
}

// Update changes a tenant. Errors: NotFound, also for a plan; Invalid.
func (s *Service) Update(ctx context.Context, name string, change Change) (Tenant, error) {
	if _, err := access.RequireScope(ctx, access.Operator); err != nil {
		return Tenant{}, err
	}
	row, err := tenant.FindKept(ctx, s.store.pool, name)
	if err != nil {
		return Tenant{}, err
	}
	var newName string
	if change.DisplayName != nil {
		newName = *change.DisplayName
	}
	if err := checkTenant(newName, change.Settings); err != nil {
		return Tenant{}, err
	}
	if err := s.updateTenant(ctx, row.TenantID, change); err != nil {
		return Tenant{}, err
	}
	s.changed() // the settings or the plan
	return s.tenant(ctx, row.TenantID)
}

func checkTenant(displayName string, settings map[string]any) error {
	if err := tenant.CheckDisplayName(displayName); err != nil {
		return err
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		return fault.Field("settings", "cannot be written as JSON")
	}
	if len(raw) > tenant.MaxSettingsBytes {
		return fault.Field("settings", "must be at most %d bytes of JSON, got %d", tenant.MaxSettingsBytes, len(raw))
	}
	if err := tenant.CheckSleepAfter(settings); err != nil {
		return err
	}
	return quota.Check(settings)
}

// tenants returns up to limit tenants with a plan, any if it is empty, and of these statuses with ids greater than after,
// ordered by id.
func (s *store) tenants(ctx context.Context, plan string, statuses []string, after string, limit int) ([]tenant.Record, error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT `+tenant.RecordColumns+` FROM ragd.tenants
		WHERE tenant_id > $1 AND status = ANY ($3)
			AND ($4 = '' OR EXISTS (SELECT FROM ragd.tenant_plans AS has WHERE has.tenant_id = tenants.tenant_id AND has.plan_name = $4))
		ORDER BY tenant_id LIMIT $2`, after, limit, statuses, plan)
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[tenant.Record])
	return out, postgres.Fault(err)
}

// updateTenant changes all of a tenant but its plan.
func updateTenant(ctx context.Context, on execer, id tenant.ID, change Change) error {
	_, err := on.Exec(ctx, `
		UPDATE ragd.tenants SET
			display_name = coalesce($2, display_name),
			settings = coalesce($3::jsonb, settings),
			updated_at = now()
		WHERE tenant_id = $1`, id, change.DisplayName, nullIfNil(change.Settings))
	return postgres.Fault(err)
}

// setPlan gives a tenant of the first database a plan; an empty name takes it away. Errors: NotFound for the plan.
func setPlan(ctx context.Context, on execer, id tenant.ID, name string) error {
	sql, args := `DELETE FROM ragd.tenant_plans WHERE tenant_id = $1`, []any{id}
	if name != "" {
		sql, args = `
			INSERT INTO ragd.tenant_plans (tenant_id, plan_name) VALUES ($1, $2)
			ON CONFLICT (tenant_id) DO UPDATE SET plan_name = excluded.plan_name`, append(args, name)
	}
	_, err := on.Exec(ctx, sql, args...)
	if postgres.Code(err) == postgres.CodeForeignKeyViolation {
		return fault.New(fault.NotFound, "planName: plan %q not found: `ragd plan list` names the plans", textlimit.Shorten(name, 40))
	}
	return err
}

// execer runs statements: a pool, one of its connections, or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// setStores replaces the tenant's own names of its vector store.
func (s *store) setStores(ctx context.Context, id tenant.ID, names []string) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE ragd.tenants SET vector_store_names = coalesce($2::text[], '{}'), updated_at = now() WHERE tenant_id = $1`, id, names)
	return postgres.Fault(err)
}

// nullIfNil returns an untyped nil for a nil map: SQL NULL, where the map would be JSON
// null.
func nullIfNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}
