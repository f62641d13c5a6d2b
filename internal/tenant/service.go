package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/pagination"
	"github.com/ragdhq/ragd/internal/postgres"
	"github.com/ragdhq/ragd/internal/textlimit"
	"github.com/ragdhq/ragd/migrations"
)

// Limits of what an operator may store.
const (
	maxDisplayNameBytes = 200
	maxSettingsBytes    = 16 << 10
)

// Tenant is a customer of the service.
type Tenant struct {
	TenantID    ID
	DisplayName string
	Settings    map[string]any // free-form, for the operator
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// APIKey describes a credential. It does not have the secret.
type APIKey struct {
	APIKeyID        string
	TenantID        ID // empty for an operator key
	DisplayName     string
	Scopes          []Scope
	MandatoryFilter filter.Filter
	CreatedAt       time.Time
	ExpiresAt       *time.Time
	RevokedAt       *time.Time
}

// Prefix returns the first characters of the secret, to tell keys apart.
func (k APIKey) Prefix() string { return secretPrefix + k.APIKeyID }

func (k APIKey) usable(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt))
}

// Config are the settings of a Service.
type Config struct {
	// OperatorKey is accepted as an operator credential, besides the operator
	// keys in the database. Empty: only those.
	OperatorKey string
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Tokens verifies access tokens; nil when only API keys are taken.
	Tokens Tokens
	// OnDelete remove what other packages keep of a tenant in the control schema.
	OnDelete []DeleteFunc
}

// DeleteFunc removes what belongs to a tenant, in the transaction that deletes it. It
// runs with the rights of the service, after the tenant's schema was dropped.
type DeleteFunc func(ctx context.Context, tx pgx.Tx, id ID) error

// Service manages tenants and API keys. Safe for concurrent use.
type Service struct {
	Auth     *Authenticator
	store    *store
	migrator *postgres.Migrator // of the tenants' schemas
	now      func() time.Time
	onDelete []DeleteFunc
}

// minOperatorKeyBytes is the least that a configured operator key must have. A
// good one has 32 random bytes or more.
const minOperatorKeyBytes = 12

// New returns a Service over the control schema in the pool's database, which
// MigrateControl has made.
func New(ctx context.Context, pool *pgxpool.Pool, config Config) (*Service, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if n := len(config.OperatorKey); n > 0 && n < minOperatorKeyBytes {
		return nil, fault.Field("operator-key", "has %d characters and could be guessed: take 32 random ones or more, at least %d", n, minOperatorKeyBytes)
	}
	s := &store{pool: pool}
	migrator, err := postgres.NewMigrator(ctx, pool, migrations.Tenant())
	if err != nil {
		return nil, err
	}
	return &Service{Auth: newAuthenticator(s, config), store: s, migrator: migrator, now: config.Now, onDelete: config.OnDelete}, nil
}

// Create makes a tenant with its role and schema. A creation that was cut off
// half way is finished by the next one. Errors: Exists, Invalid.
func (s *Service) Create(ctx context.Context, name, displayName string, settings map[string]any) (Tenant, error) {
	if _, err := requireScope(ctx, Operator); err != nil {
		return Tenant{}, err
	}
	id, err := ParseID(name)
	if err != nil {
		return Tenant{}, err
	}
	if err := checkTenant(displayName, settings); err != nil {
		return Tenant{}, err
	}
	if settings == nil {
		settings = map[string]any{}
	}
	var row tenantRow
	err = s.store.locked(ctx, id, func(conn *pgxpool.Conn) error {
		row, err = s.provision(ctx, conn, id, displayName, settings)
		return err
	})
	return row.tenant(), err
}

// provision makes the tenant's row, role and schema, and returns the row. A new schema is
// made at the newest version in one transaction; one that exists, left by a creation that
// did not end, is migrated.
func (s *Service) provision(ctx context.Context, conn *pgxpool.Conn, id ID, displayName string, settings map[string]any) (tenantRow, error) {
	row, err := insertTenant(ctx, conn, id, displayName, settings)
	if err != nil {
		return tenantRow{}, err
	}
	if row.Status != statusCreating {
		return tenantRow{}, fault.New(fault.Exists, "tenant %q exists already", id)
	}
	row, made, err := createSchema(ctx, conn, id, s.migrator.CreateSQL(id.Schema(), id.Schema()))
	if err != nil {
		return tenantRow{}, fmt.Errorf("make the schema of tenant %s: %w", id, err)
	}
	if made {
		return row, nil
	}
	if _, err := s.migrator.Up(ctx, id.Schema()); err != nil {
		return tenantRow{}, fmt.Errorf("migrate the new tenant %s: %w", id, err)
	}
	row, err = setReady(ctx, conn, id)
	return row, postgres.Fault(err)
}

// Get returns a tenant. Errors: NotFound.
func (s *Service) Get(ctx context.Context, name string) (Tenant, error) {
	if _, err := requireScope(ctx, Operator); err != nil {
		return Tenant{}, err
	}
	id, err := s.store.existing(ctx, name)
	if err != nil {
		return Tenant{}, err
	}
	return s.tenant(ctx, id)
}

func (s *Service) tenant(ctx context.Context, id ID) (Tenant, error) {
	row, err := s.store.tenant(ctx, id)
	return row.tenant(), err
}

func (r tenantRow) tenant() Tenant {
	return Tenant{TenantID: r.TenantID, DisplayName: r.DisplayName, Settings: r.Settings, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
}

// List returns a page of the tenants in the order of their ids, and the token
// of the next page.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Tenant, string, error) {
	if _, err := requireScope(ctx, Operator); err != nil {
		return nil, "", err
	}
	name := func(r tenantRow) string { return string(r.TenantID) }
	rows, next, err := pagination.List(pageSize, pageToken, "", name, func(after string, most int) ([]tenantRow, error) {
		return s.store.tenants(ctx, after, most)
	})
	if err != nil {
		return nil, "", err
	}
	tenants := make([]Tenant, len(rows))
	for i, row := range rows {
		tenants[i] = row.tenant()
	}
	return tenants, next, nil
}

// Update changes what is not nil.
func (s *Service) Update(ctx context.Context, name string, displayName *string, settings map[string]any) (Tenant, error) {
	if _, err := requireScope(ctx, Operator); err != nil {
		return Tenant{}, err
	}
	id, err := s.store.existing(ctx, name)
	if err != nil {
		return Tenant{}, err
	}
	var newName string
	if displayName != nil {
		newName = *displayName
	}
	if err := checkTenant(newName, settings); err != nil {
		return Tenant{}, err
	}
	if err := s.store.updateTenant(ctx, id, displayName, settings); err != nil {
		return Tenant{}, err
	}
	return s.tenant(ctx, id)
}

// Delete removes a tenant with everything it owns: schema, role, keys, queued work. A
// deletion that was cut off half way is finished by the next one.
func (s *Service) Delete(ctx context.Context, name string) error {
	if _, err := requireScope(ctx, Operator); err != nil {
		return err
	}
	id, err := ParseID(name)
	if err != nil {
		return err
	}
	defer s.Auth.forget()
	return s.store.locked(ctx, id, func(*pgxpool.Conn) error {
		if _, err := s.store.tenant(ctx, id); err != nil {
			return err
		}
		if err := s.store.setTenantStatus(ctx, id, statusDeleting); err != nil {
			return err
		}
		return s.store.dropTenant(ctx, id, s.onDelete)
	})
}

func checkTenant(displayName string, settings map[string]any) error {
	if err := checkDisplayName(displayName); err != nil {
		return err
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		return fault.Field("settings", "cannot be written as JSON")
	}
	if len(raw) > maxSettingsBytes {
		return fault.Field("settings", "must be at most %d bytes of JSON, got %d", maxSettingsBytes, len(raw))
	}
	return nil
}

func checkDisplayName(name string) error {
	return textlimit.Check("displayName", name, maxDisplayNameBytes)
}
