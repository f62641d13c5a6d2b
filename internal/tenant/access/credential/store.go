package credential

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// store reads and writes API keys and issuers in the control schema.
type store struct {
	pool      *pgxpool.Pool
	databases Databases // nil if there is only the first one
	contact   string    // quota.Limits.Contact
	log       *slog.Logger
}

const apiKeyColumns = `api_key_id, coalesce(tenant_id, '') AS tenant_id, display_name, scopes, mandatory_filter, bounds, origins, attributes, created_at, expires_at, revoked_at, first_used_at, last_used_at`

type apiKeyRow struct {
	APIKeyID        string
	TenantID        tenant.ID
	DisplayName     string
	Scopes          []access.Scope
	MandatoryFilter []byte
	Bounds          *access.Bounds
	Origins         access.Origins
	Attributes      map[string]any
	CreatedAt       time.Time
	ExpiresAt       *time.Time
	RevokedAt       *time.Time
	FirstUsedAt     *time.Time
	LastUsedAt      *time.Time
}

// apiKey converts a row. A mandatory filter that cannot be parsed is an error, with a key that has an
// UnusableReason: without the filter it would show too much.
func (r apiKeyRow) apiKey() (APIKey, error) {
	unusable := ""
	parsed, err := filter.Parse(r.MandatoryFilter)
	if err != nil {
		err = fault.Wrap(fault.Internal, err, "mandatory filter of API key %s", r.APIKeyID)
		unusable = "this version of the service does not read its mandatory filter: revoke the key and make another"
	}
	var bounds access.Bounds
	if r.Bounds != nil {
		bounds = *r.Bounds
	}
	return APIKey{
		Bounds: bounds, Origins: r.Origins, Attributes: r.Attributes, UnusableReason: unusable,
		APIKeyID: r.APIKeyID, TenantID: r.TenantID, DisplayName: r.DisplayName, Scopes: r.Scopes,
		MandatoryFilter: parsed, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, RevokedAt: r.RevokedAt, FirstUsedAt: r.FirstUsedAt, LastUsedAt: r.LastUsedAt,
	}, err
}

// apiKeyWithHash returns a key and the hash of its secret, or pgx.ErrNoRows, also for a key
// of a tenant that is neither ready nor asleep.
func (s *store) apiKeyWithHash(ctx context.Context, id string) (key APIKey, hash []byte, settings tenantSettings, err error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT `+apiKeyColumns+`, secret_hash, settings, plan, vector_store_names, coalesce(status <> 'ready', false) AS asleep
		FROM ragd.api_keys AS k LEFT JOIN (
			SELECT tenant_id AS kept, settings, `+tenant.PlanColumn+`, vector_store_names, status FROM ragd.tenants WHERE status IN ('ready', 'asleep', 'waking')) AS t ON t.kept = k.tenant_id
		WHERE api_key_id = $1 AND (k.tenant_id IS NULL OR t.kept IS NOT NULL)`, id)
	type rowWithHash struct {
		apiKeyRow
		SecretHash       []byte
		Settings         map[string]any
		Plan             *quota.Plan
		VectorStoreNames []string
		Asleep           bool
	}
	row, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[rowWithHash])
	if err != nil {
		return APIKey{}, nil, tenantSettings{}, postgres.Fault(err)
	}
	key, err = row.apiKey()
	return key, row.SecretHash, tenantSettings{quota.Of(row.Settings, row.Plan, s.contact), row.VectorStoreNames, row.Asleep}, err
}

// hasOrigin reports whether a key that is usable at a time has an origin.
func (s *store) hasOrigin(ctx context.Context, origin string, now time.Time) (has bool, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM ragd.api_keys
			WHERE origins @> ARRAY[$1::text] AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2))`, origin, now).Scan(&has)
	return has, postgres.Fault(err)
}

// usableKeys returns the tenants of those keys that are usable at a time, by their ids; that of an operator's key is empty.
func (s *store) usableKeys(ctx context.Context, ids []string, now time.Time) (map[string]tenant.ID, error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT api_key_id, coalesce(tenant_id, '') AS tenant_id FROM ragd.api_keys
		WHERE api_key_id = ANY($1) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`, ids, now)
	usable := map[string]tenant.ID{}
	var id string
	var home tenant.ID
	_, err := pgx.ForEachRow(rows, []any{&id, &home}, func() error { usable[id] = home; return nil })
	return usable, postgres.Fault(err)
}

func (s *store) insertAPIKey(ctx context.Context, key APIKey, secretHash []byte) error {
	var bounds *access.Bounds
	if !key.Bounds.IsZero() {
		bounds = &key.Bounds
	}
	var tenantID *tenant.ID
	if key.TenantID != "" {
		tenantID = &key.TenantID
	}
	var attributes any // nil is NULL; a nil map would be JSON null
	if key.Attributes != nil {
		attributes = key.Attributes
	}
	return s.changeKey(ctx, key, "key.created", func(tx pgx.Tx) (bool, error) {
		_, err := tx.Exec(ctx, `
			INSERT INTO ragd.api_keys (api_key_id, tenant_id, display_name, scopes, mandatory_filter, created_at, expires_at, secret_hash, bounds, attributes, origins)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			key.APIKeyID, tenantID, key.DisplayName, key.Scopes, key.MandatoryFilter.JSON(), key.CreatedAt, key.ExpiresAt, secretHash,
			bounds, attributes, []string(key.Origins))
		return true, err
	})
}

// apiKeyPosition is the sort key of a list of keys: newest first.
type apiKeyPosition struct {
	CreatedAt time.Time `json:"t"`
	APIKeyID  string    `json:"id"`
}

func (s *store) apiKeys(ctx context.Context, id tenant.ID, after *apiKeyPosition, limit int) ([]APIKey, error) {
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
		keys[i], _ = row.apiKey() // one that cannot be used says so
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
		row, err := tenant.Find(ctx, tx, key.TenantID)
		if err != nil {
			return err
		}
		if row.DatabaseName != "" {
			return s.announce(ctx, row.DatabaseName, key, event)
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
	if _, err := tx.Exec(ctx, `SET LOCAL ROLE `+key.TenantID.Quoted()); err != nil {
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

// secret returns a key that all instances share.
func (s *store) secret(ctx context.Context, name string) ([]byte, error) {
	var value []byte
	err := s.pool.QueryRow(ctx, `SELECT value FROM ragd.secrets WHERE name = $1`, name).Scan(&value)
	if err != nil {
		return nil, fmt.Errorf("read the secret %q: %w", name, postgres.Fault(err))
	}
	return value, nil
}

// announce writes the event of a key of a tenant in another database than the first. The event is lost
// while that does not answer.
func (s *store) announce(ctx context.Context, database string, key APIKey, event string) error {
	pool, err := s.requests(ctx, database)
	if err == nil {
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return recordKey(ctx, tx, key, event) })
	}
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "the event of a key is lost, because the database of its tenant fails", "tenant", key.TenantID, "database", database, "err", err)
	}
	return ctx.Err()
}

// requests returns the pool of a registered database. Errors: NotFound, Unavailable.
func (s *store) requests(ctx context.Context, database string) (*pgxpool.Pool, error) {
	if s.databases == nil {
		return nil, fault.New(fault.NotFound, "database %q not found", database)
	}
	return s.databases.Pool(ctx, database)
}
