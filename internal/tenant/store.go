package tenant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// querier runs queries: a pool, one of its connections, or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// store reads and writes tenants and API keys in the control schema.
type store struct {
	pool  *pgxpool.Pool
	admin *pgxpool.Pool // creates and drops schemas and roles
	roles roles
	// announce writes the event of a key whose tenant lives in another database.
	announce func(ctx context.Context, row tenantRow, key APIKey, event string) error
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

// secret returns a key that all instances share.
func (s *store) secret(ctx context.Context, name string) ([]byte, error) {
	var value []byte
	err := s.pool.QueryRow(ctx, `SELECT value FROM ragd.secrets WHERE name = $1`, name).Scan(&value)
	if err != nil {
		return nil, fmt.Errorf("read the secret %q: %w", name, postgres.Fault(err))
	}
	return value, nil
}

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

func (s *store) tenant(ctx context.Context, id ID) (tenantRow, error) {
	return tenantByID(ctx, s.pool, id)
}

// tenantByID returns the row of a tenant. Errors: NotFound.
func tenantByID(ctx context.Context, on querier, id ID) (tenantRow, error) {
	rows, _ := on.Query(ctx, `SELECT `+tenantColumns+` FROM ragd.tenants WHERE tenant_id = $1`, id)
	row, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[tenantRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return row, fault.New(fault.NotFound, "tenant %q not found", id)
	}
	return row, postgres.Fault(err)
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

// tenants returns up to limit tenants with ids greater than after, ordered by id.
func (s *store) tenants(ctx context.Context, after string, limit int) ([]tenantRow, error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT `+tenantColumns+` FROM ragd.tenants
		WHERE tenant_id > $1 AND status = 'ready'
		ORDER BY tenant_id LIMIT $2`, after, limit)
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[tenantRow])
	return out, postgres.Fault(err)
}

func (s *store) updateTenant(ctx context.Context, id ID, displayName *string, settings map[string]any) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE ragd.tenants SET
			display_name = coalesce($2, display_name),
			settings = coalesce($3::jsonb, settings),
			updated_at = now()
		WHERE tenant_id = $1`, id, displayName, nullIfNil(settings))
	return postgres.Fault(err)
}

// setStores replaces the tenant's own names of its vector store.
func (s *store) setStores(ctx context.Context, id ID, names []string) error {
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

// locked runs do under an advisory lock, so that no other call on any instance creates or
// deletes the same tenant meanwhile. conn is the connection that has the lock; its role
// may create and drop schemas and roles. do should use no other: calls that wait for a
// second connection could occupy the whole pool.
func (s *store) locked(ctx context.Context, id ID, do func(conn *pgxpool.Conn) error) error {
	return s.withLock(ctx, id, `SELECT pg_advisory_lock(hashtextextended($1, 0)) IS NOT NULL`, do)
}

// unlessLocked is locked, but does nothing if another call has the lock.
func (s *store) unlessLocked(ctx context.Context, id ID, do func(conn *pgxpool.Conn) error) error {
	return s.withLock(ctx, id, `SELECT pg_try_advisory_lock(hashtextextended($1, 0))`, do)
}

// withLock runs do if the query returns true, which means that the connection has the lock.
func (s *store) withLock(ctx context.Context, id ID, query string, do func(conn *pgxpool.Conn) error) error {
	conn, err := s.admin.Acquire(ctx)
	if err != nil {
		return postgres.Fault(err)
	}
	defer conn.Release()
	postgres.Use(conn.Conn(), id.Schema(), "")
	var locked bool
	if err := conn.QueryRow(ctx, query, id.Schema()).Scan(&locked); err != nil || !locked {
		return postgres.Fault(err)
	}
	defer func() {
		_, err := conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(hashtextextended($1, 0))`, id.Schema())
		if err != nil {
			_ = conn.Conn().Close(context.WithoutCancel(ctx)) // ends the session and its lock
		}
	}()
	return do(conn)
}

const apiKeyColumns = `api_key_id, coalesce(tenant_id, '') AS tenant_id, display_name, scopes, mandatory_filter, bounds, attributes, created_at, expires_at, revoked_at, first_used_at, last_used_at`

type apiKeyRow struct {
	APIKeyID        string
	TenantID        ID
	DisplayName     string
	Scopes          []Scope
	MandatoryFilter []byte
	Bounds          *Bounds
	Attributes      map[string]any
	CreatedAt       time.Time
	ExpiresAt       *time.Time
	RevokedAt       *time.Time
	FirstUsedAt     *time.Time
	LastUsedAt      *time.Time
}

// apiKey converts a row. A mandatory filter that cannot be parsed is an error: without it
// the key would show too much.
func (r apiKeyRow) apiKey() (APIKey, error) {
	parsed, err := filter.Parse(r.MandatoryFilter)
	if err != nil {
		return APIKey{}, fault.Wrap(fault.Internal, err, "mandatory filter of API key %s", r.APIKeyID)
	}
	var bounds Bounds
	if r.Bounds != nil {
		bounds = *r.Bounds
	}
	return APIKey{
		Bounds: bounds, Attributes: r.Attributes,
		APIKeyID: r.APIKeyID, TenantID: r.TenantID, DisplayName: r.DisplayName, Scopes: r.Scopes,
		MandatoryFilter: parsed, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, RevokedAt: r.RevokedAt, FirstUsedAt: r.FirstUsedAt, LastUsedAt: r.LastUsedAt,
	}, nil
}

// apiKeyWithHash returns a key and the hash of its secret, or pgx.ErrNoRows, also for a key
// of a tenant that is not ready.
func (s *store) apiKeyWithHash(ctx context.Context, id string) (key APIKey, hash []byte, settings tenantSettings, err error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT `+apiKeyColumns+`, secret_hash, settings, vector_store_names
		FROM ragd.api_keys AS k LEFT JOIN (SELECT tenant_id AS ready, settings, vector_store_names FROM ragd.tenants WHERE status = 'ready') AS t ON t.ready = k.tenant_id
		WHERE api_key_id = $1 AND (k.tenant_id IS NULL OR t.ready IS NOT NULL)`, id)
	type rowWithHash struct {
		apiKeyRow
		SecretHash       []byte
		Settings         map[string]any
		VectorStoreNames []string
	}
	row, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[rowWithHash])
	if err != nil {
		return APIKey{}, nil, tenantSettings{}, postgres.Fault(err)
	}
	key, err = row.apiKey()
	return key, row.SecretHash, tenantSettings{quotasOf(row.Settings), row.VectorStoreNames}, err
}

func (s *store) insertAPIKey(ctx context.Context, key APIKey, secretHash []byte) error {
	var bounds *Bounds
	if !key.Bounds.IsZero() {
		bounds = &key.Bounds
	}
	var tenantID *ID
	if key.TenantID != "" {
		tenantID = &key.TenantID
	}
	return s.changeKey(ctx, key, "key.created", func(tx pgx.Tx) (bool, error) {
		_, err := tx.Exec(ctx, `
			INSERT INTO ragd.api_keys (api_key_id, tenant_id, display_name, scopes, mandatory_filter, created_at, expires_at, secret_hash, bounds, attributes)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			key.APIKeyID, tenantID, key.DisplayName, key.Scopes, key.MandatoryFilter.JSON(), key.CreatedAt, key.ExpiresAt, secretHash,
			bounds, nullIfNil(key.Attributes))
		return true, err
	})
}

// apiKeyPosition is the sort key of a list of keys: newest first.
type apiKeyPosition struct {
	CreatedAt time.Time `json:"t"`
	APIKeyID  string    `json:"id"`
}

func (s *store) apiKeys(ctx context.Context, id ID, after *apiKeyPosition, limit int) ([]APIKey, error) {
	args := pgx.NamedArgs{"tenant": id, "limit": limit, "after_time": nil, "after_id": ""}
	if after != nil {
		args["after_time"], args["after_id"] = after.CreatedAt, after.APIKeyID
	}
	rows, _ := s.pool.Query(ctx, `
		SELECT `+apiKeyColumns+` FROM ragd.api_keys
		WHERE coalesce(tenant_id, '') = @tenant
			AND (@after_time::timestamptz IS NULL OR (created_at, api_key_id) < (@after_time, @after_id))
		ORDER BY created_at DESC, api_key_id DESC LIMIT @limit`, args)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[apiKeyRow])
	if err != nil {
		return nil, postgres.Fault(err)
	}
	keys := make([]APIKey, len(found))
	for i, row := range found {
		if keys[i], err = row.apiKey(); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func (s *store) revokeAPIKey(ctx context.Context, key APIKey) error {
	return s.changeKey(ctx, key, "key.revoked", func(tx pgx.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, `UPDATE ragd.api_keys SET revoked_at = now() WHERE api_key_id = $1 AND revoked_at IS NULL`, key.APIKeyID)
		return tag.RowsAffected() > 0, err
	})
}

// addKeyUses notes when keys were first and last used.
func (s *store) addKeyUses(ctx context.Context, uses map[string]keyUse) error {
	var ids []string
	var first, last []time.Time
	for _, id := range slices.Sorted(maps.Keys(uses)) { // in one order, so that instances never wait in a circle
		ids, first, last = append(ids, id), append(first, uses[id].first), append(last, uses[id].last)
	}
	_, err := s.pool.Exec(ctx, `
		UPDATE ragd.api_keys AS k SET first_used_at = least(k.first_used_at, used.first), last_used_at = greatest(k.last_used_at, used.last)
		FROM (
			SELECT locked.api_key_id, given.first, given.last
			FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) AS given (api_key_id, first, last)
			JOIN ragd.api_keys AS locked USING (api_key_id) ORDER BY locked.api_key_id FOR UPDATE OF locked
		) AS used WHERE used.api_key_id = k.api_key_id`, ids, first, last)
	return postgres.Fault(err)
}

// changeKey runs change in a transaction. If that reports a change, and the key's tenant wants
// events of keys, the transaction writes one; or in another database, a transaction that is committed just
// before it. A key is changed also while that database does not answer.
func (s *store) changeKey(ctx context.Context, key APIKey, event string, change func(pgx.Tx) (bool, error)) error {
	return postgres.Fault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		changed, err := change(tx)
		if err != nil || !changed || key.TenantID == "" {
			return err
		}
		row, err := tenantByID(ctx, tx, key.TenantID)
		if err != nil {
			return err
		}
		if row.DatabaseName != "" {
			return s.announce(ctx, row, key, event)
		}
		return recordKey(ctx, tx, key, event)
	}))
}

// recordKey writes an event of a key, if the key's tenant wants it. The transaction is one with the rights
// of the service in the database of the tenant.
func recordKey(ctx context.Context, tx pgx.Tx, key APIKey, event string) error {
	var listed bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM ragd.event_tenants WHERE tenant_id = $1)`, key.TenantID).Scan(&listed); err != nil || !listed {
		return err
	}
	if _, err := tx.Exec(ctx, `SET LOCAL ROLE `+key.TenantID.quoted()); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
			INSERT INTO ragd_shared.events (type, data) SELECT $1, $2 WHERE ragd_shared.event_wanted('key')`, event, map[string]any{
		"apiKeyId": key.APIKeyID, "displayName": key.DisplayName, "scopes": key.Scopes, "expireTime": key.ExpiresAt,
	})
	return err
}

// hasOperatorKey reports whether there is an operator key that was not revoked.
func (s *store) hasOperatorKey(ctx context.Context) (bool, error) {
	var has bool
	err := s.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM ragd.api_keys WHERE tenant_id IS NULL AND revoked_at IS NULL)`).Scan(&has)
	return has, postgres.Fault(err)
}
