package tenant

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/index/storage"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Limits of a tenant's display name and settings.
const (
	maxDisplayNameBytes = 200
	maxSettingsBytes    = 16 << 10
)

// Tenant is a customer of the service.
type Tenant struct {
	TenantID    ID
	DisplayName string
	Settings    map[string]any // free-form, for the operator; some keys are quotas, such as MaxIndexes
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Database    string // in which it lives
}

// APIKey describes an API key. It does not contain the secret.
type APIKey struct {
	APIKeyID        string
	TenantID        ID // empty for an operator key
	DisplayName     string
	Scopes          []Scope
	MandatoryFilter filter.Filter
	Bounds          Bounds
	Attributes      map[string]any // for templates and filters
	CreatedAt       time.Time
	ExpiresAt       *time.Time
	RevokedAt       *time.Time
	// FirstUsedAt and LastUsedAt are nil if the key was never used. They come a minute late.
	FirstUsedAt, LastUsedAt *time.Time
}

// Prefix returns the first characters of the secret, by which people recognise the key.
func (k APIKey) Prefix() string { return secretPrefix + k.APIKeyID }

func (k APIKey) usable(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt))
}

// Config holds the settings of a Service.
type Config struct {
	// Admin is the pool with which tenants are created and deleted, if its role is not
	// the one of the other statements. Default: the same pool.
	Admin *pgxpool.Pool
	// OperatorKey is an operator credential that is accepted besides the operator keys
	// in the database. Default: only those are accepted.
	OperatorKey string
	// Logger gets a line for each interrupted deletion. Default: none.
	Logger *slog.Logger
	// Migrations are the files that make and migrate a tenant's schema. Default: those of
	// package migrations.
	Migrations fs.FS
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Storage says whether there is space for another tenant. Default: always.
	Storage *storage.Guard
	// Tokens verifies access tokens; nil if only API keys are accepted.
	Tokens Tokens
	// Databases are those besides the first one in which tenants live. Default: none.
	Databases Databases
	// OnLeftOut, if set, is called for each of Databases that a call about all tenants leaves out,
	// because it does not answer or fails.
	OnLeftOut func(LeftOut)
	// OnDelete delete the rows of other packages about a tenant from the control schema.
	OnDelete []DeleteFunc
}

// Service manages tenants and API keys. Safe for concurrent use.
type Service struct {
	Auth      *Authenticator
	KeyUses   *KeyUses
	store     *store    // of the first database
	first     *Database // which has the control schema of the service
	others    Databases // nil if there is none
	onLeftOut func(LeftOut)
	log       *slog.Logger
	now       func() time.Time
	onDelete  []DeleteFunc
	before    func(ctx context.Context, id ID) error // a deletion
	storage   *storage.Guard
	health    struct { // the cached result of Health
		sync.Mutex
		checked time.Time
		valid   time.Duration // how long last is valid after checked
		last    Health
	}
}

// minOperatorKeyBytes is the minimum length of a configured operator key.
const minOperatorKeyBytes = 12

// New returns a Service on the control schema in the pool's database. Call MigrateControl
// before.
func New(ctx context.Context, pool *pgxpool.Pool, config Config) (*Service, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if n := len(config.OperatorKey); n > 0 && n < minOperatorKeyBytes {
		return nil, fault.Field("operator-key", "has %d bytes and could be guessed: use 32 random characters or more, at least %d", n, minOperatorKeyBytes)
	}
	first, err := newDatabase(ctx, "", pool, cmp.Or(config.Admin, pool), config.Migrations)
	if err != nil {
		return nil, err
	}
	s := first.store
	key, err := s.secret(ctx, "page tokens")
	if err != nil {
		return nil, err
	}
	service := &Service{
		Auth: newAuthenticator(s, config, pagination.NewTokens(key)), KeyUses: &KeyUses{store: s, now: config.Now, uses: map[string]keyUse{}}, store: s, first: first, others: config.Databases, onLeftOut: config.OnLeftOut, log: config.Logger,
		now: config.Now, onDelete: config.OnDelete, storage: config.Storage,
	}
	s.announce = service.announceKey
	return service, nil
}

// Create creates a tenant with its role and schema. An interrupted creation leaves nothing,
// unless there was a schema before: then another call completes it. With several databases it lives in the
// one that it brought, else in the smallest. Errors: Exists, Invalid, Exhausted without space on the
// disk, Precondition while a tenant of this name is being deleted.
func (s *Service) Create(ctx context.Context, name, displayName string, settings map[string]any) (Tenant, error) {
	return s.CreateIn(ctx, "", name, displayName, settings)
}

// CreateIn is Create in the database of a name; any if that is empty. Errors: also NotFound for a
// database that is not registered, Unavailable for one that does not answer.
func (s *Service) CreateIn(ctx context.Context, database, name, displayName string, settings map[string]any) (Tenant, error) {
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
	if err := s.storage.Disk(); err != nil {
		return Tenant{}, err
	}
	if settings == nil {
		settings = map[string]any{}
	}
	row, err := s.store.tenant(ctx, id)
	if err == nil && row.Status == statusDeleting { // do not wait for the lock of the deletion
		return Tenant{}, beingDeleted(id)
	}
	d, err := s.choose(ctx, database, id)
	if err != nil {
		return Tenant{}, err
	}
	err = s.store.locked(ctx, id, func(conn *pgxpool.Conn) error {
		wanted := Tenant{TenantID: id, DisplayName: displayName, Settings: settings}
		if d.Name == "" {
			row, err = d.provision(ctx, conn, wanted)
		} else {
			row, err = s.provisionIn(ctx, conn, d, wanted)
		}
		return err
	})
	return row.tenant(), err
}

func beingDeleted(id ID) error {
	return fault.New(fault.Precondition, "tenant %q is being deleted: delete it again to wait for the end of that, then create it", id)
}

// provision creates a tenant and returns its row. A new schema is created at the newest
// version, in the transaction that creates the tenant. A schema that exists, because it was
// restored without the tenant's row, is migrated.
func (d *Database) provision(ctx context.Context, conn *pgxpool.Conn, wanted Tenant) (tenantRow, error) {
	id := wanted.TenantID
	row, err := create(ctx, conn, d.store.roles, wanted, d.migrator)
	if err != nil {
		return tenantRow{}, fmt.Errorf("create the tenant %s: %w", id, err)
	}
	if row.Status == statusReady {
		return row, nil
	}
	if _, err := d.migrator.Up(ctx, id.Schema()); err != nil {
		return tenantRow{}, fmt.Errorf("migrate the new tenant %s: %w", id, err)
	}
	row, err = setReady(ctx, conn, id, d.migrator.Newest())
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
	return Tenant{TenantID: r.TenantID, DisplayName: r.DisplayName, Settings: r.Settings, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Database: cmp.Or(r.DatabaseName, FirstDatabase)}
}

// List returns a page of the tenants, ordered by id, and the token of the next page.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Tenant, string, error) {
	if _, err := requireScope(ctx, Operator); err != nil {
		return nil, "", err
	}
	name := func(r tenantRow) string { return string(r.TenantID) }
	rows, next, err := pagination.List(Pages(ctx, "tenants"), pageSize, pageToken, "", name, func(after string, most int) ([]tenantRow, error) {
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

// Update changes a tenant's display name and settings; nil leaves them unchanged. Errors:
// NotFound, Invalid.
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
	if err := s.updateTenant(ctx, id, displayName, settings); err != nil {
		return Tenant{}, err
	}
	s.Auth.forget() // the settings
	return s.tenant(ctx, id)
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
	return checkKnown(settings)
}

func checkDisplayName(name string) error {
	return textlimit.Check("displayName", name, maxDisplayNameBytes)
}
