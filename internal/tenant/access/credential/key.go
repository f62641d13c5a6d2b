package credential

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// managedBy reports whether the principal may see and revoke the key: an operator every key,
// others those of their tenant that have no scope that the principal lacks, show nothing
// that its mandatory filter hides and may use nothing outside its bounds.
func (k APIKey) managedBy(p access.Principal) bool {
	if p.Has(access.Operator) {
		return true
	}
	lacks := func(s access.Scope) bool { return !p.Has(s) }
	return k.TenantID == p.Tenant && !slices.ContainsFunc(k.Scopes, lacks) && k.MandatoryFilter.Within(p.MandatoryFilter) &&
		k.Bounds.Within(p.Bounds)
}

// NewKey describes an API key to create.
type NewKey struct {
	TenantID        string
	DisplayName     string
	Scopes          []string // read and write if empty
	ExpiresAt       *time.Time
	MandatoryFilter filter.Filter
	Bounds          access.Bounds  // what the key may use
	Origins         []string       // web origins whose pages use the key; none: it is for programs
	Attributes      map[string]any // of who uses the key, at most maxAttributesBytes of JSON
}

// maxAttributesBytes bounds the attributes of a key.
const maxAttributesBytes = 4 << 10

// CreateKey creates an API key and returns it with its secret, of which only a hash is
// stored. An admin can create keys of its own tenant, without the scope operator. An
// operator can create keys of any tenant, and operator keys, which have no tenant.
func (s *Service) CreateKey(ctx context.Context, wanted NewKey) (APIKey, string, error) {
	r, err := access.RequireScope(ctx, access.Admin)
	if err != nil {
		return APIKey{}, "", err
	}
	key, err := s.checkKey(ctx, r, wanted)
	if err != nil {
		return APIKey{}, "", err
	}
	secret, err := s.storeKey(ctx, &key)
	return key, secret, err
}

func (s *Service) checkKey(ctx context.Context, r *access.Request, wanted NewKey) (APIKey, error) {
	origins, err := checkOrigins(&wanted)
	if err != nil {
		return APIKey{}, err
	}
	scopes, err := access.ParseScopes(wanted.Scopes)
	if err != nil {
		return APIKey{}, err
	}
	if err := tenant.CheckDisplayName(wanted.DisplayName); err != nil {
		return APIKey{}, err
	}
	if wanted.ExpiresAt != nil && !wanted.ExpiresAt.After(s.now()) {
		return APIKey{}, fault.Field("expireTime", "must lie in the future")
	}
	if wanted.MandatoryFilter.HasURI() {
		return APIKey{}, fault.Field("mandatoryFilter", "must not test $uri: a mandatory filter tests the uploader's metadata, such as {\"folder\": \"contracts\"}")
	}
	bounds, err := boundsOf(r, wanted)
	if err != nil {
		return APIKey{}, err
	}
	if err := checkAttributes(wanted.Attributes); err != nil {
		return APIKey{}, err
	}
	key := APIKey{
		Bounds: bounds, Origins: origins, Attributes: wanted.Attributes,
		DisplayName: wanted.DisplayName, Scopes: scopes, ExpiresAt: wanted.ExpiresAt,
		// A new key cannot read more than the key that creates it.
		MandatoryFilter: filter.And(r.Principal.MandatoryFilter, wanted.MandatoryFilter),
	}
	if (access.Principal{Scopes: scopes}).Has(access.Operator) {
		return key, checkOperatorKey(r, wanted)
	}
	if key.TenantID, err = s.ownTenant(ctx, r, wanted.TenantID); err != nil {
		return key, err
	}
	return key, s.Auth.checkMandatory(ctx, key.TenantID, wanted.MandatoryFilter)
}

// boundsOf returns the bounds of a new key, which may use nothing that the credential that
// creates it may not use. Errors: Invalid, Denied.
func boundsOf(r *access.Request, wanted NewKey) (access.Bounds, error) {
	bounds, err := wanted.Bounds.Check()
	if err != nil {
		return access.Bounds{}, err
	}
	return r.Principal.Bounds.Narrow(bounds)
}

// checkOrigins returns the origins of a new key. A key with origins can be read by anybody, so it may only read,
// in indexes that it names, and ask agents that it names. It fills in what follows from that. Errors: Invalid.
func checkOrigins(wanted *NewKey) (access.Origins, error) {
	if len(wanted.Origins) == 0 {
		return nil, nil
	}
	origins, err := access.ParseOrigins(wanted.Origins)
	if err != nil {
		return nil, err
	}
	if len(wanted.Scopes) == 0 {
		wanted.Scopes = []string{string(access.Read)}
	}
	if wanted.Bounds.Tools == nil {
		wanted.Bounds.Tools = []string{}
	}
	isNoAgent := func(tool string) bool { return !strings.HasPrefix(tool, agentTool) }
	switch {
	case slices.ContainsFunc(wanted.Scopes, func(s string) bool { return s != string(access.Read) }):
		return nil, fault.Field("scopes", "must be read alone for a key with origins, which stands in pages that anybody can read")
	case len(wanted.Bounds.Indexes) == 0:
		return nil, fault.Field("indexes", "must name the indexes that pages may search, at least one: a key with origins stands in pages that anybody can read")
	case slices.ContainsFunc(wanted.Bounds.Tools, isNoAgent):
		return nil, fault.Field("tools", "may only name agents, as %sNAME, for a key with origins: its pages search and ask, and call no other tools", agentTool)
	case wanted.Bounds.Servers != nil || wanted.Bounds.Prompts != nil:
		return nil, fault.Field("origins", "have no place with servers or prompts: pages do not reach MCP")
	}
	return origins, nil
}

// agentTool is what the names of tools that ask an agent begin with.
const agentTool = "ask_"

func checkAttributes(attributes map[string]any) error {
	raw, err := metadata.Marshal("attributes", attributes)
	if err != nil {
		return err
	}
	if len(raw) > maxAttributesBytes {
		return fault.Field("attributes", "must be at most %d bytes of JSON, got %d", maxAttributesBytes, len(raw))
	}
	return nil
}

func checkOperatorKey(r *access.Request, wanted NewKey) error {
	switch {
	case !r.Principal.Has(access.Operator):
		return fault.New(fault.Denied, "only an operator can make an operator key")
	case wanted.TenantID != "":
		return fault.Field("tenantId", "must be empty for a key with the scope operator, which is for all tenants")
	case !wanted.MandatoryFilter.IsZero():
		return fault.Field("mandatoryFilter", "must be empty for a key with the scope operator")
	case !wanted.Bounds.IsZero():
		return fault.Field("scopes", "must not contain operator for a key that is bound to servers, indexes, tools or prompts")
	}
	return nil
}

// ownTenant returns the tenant whose keys a call manages: any existing tenant for an
// operator, the caller's own for an admin. An admin that names another tenant gets
// NotFound, whether or not that tenant exists.
func (s *Service) ownTenant(ctx context.Context, r *access.Request, name string) (tenant.ID, error) {
	if r.Principal.Has(access.Operator) {
		row, err := tenant.FindKept(ctx, s.store.pool, name)
		return row.TenantID, err
	}
	if name != "" && name != string(r.Tenant) {
		return "", fault.New(fault.NotFound, "tenant %q not found", name)
	}
	return r.Tenant, nil
}

func (s *Service) storeKey(ctx context.Context, key *APIKey) (string, error) {
	key.APIKeyID = newAPIKeyID()
	key.CreatedAt = s.now().UTC().Truncate(time.Microsecond)
	secret := newSecret(key.APIKeyID)
	hash := hashSecret(secret)
	return secret, s.store.insertAPIKey(ctx, *key, hash[:])
}

// ListKeys returns a page of a tenant's keys, newest first, including revoked ones, and the
// token of the next page. An admin sees only keys without rights that it lacks. For an
// operator with an empty tenantID it lists operator keys.
func (s *Service) ListKeys(ctx context.Context, tenantID string, pageSize int32, pageToken string) ([]APIKey, string, error) {
	r, err := access.RequireScope(ctx, access.Admin)
	if err != nil {
		return nil, "", err
	}
	var id tenant.ID
	if tenantID != "" || !r.Principal.Has(access.Operator) {
		if id, err = s.ownTenant(ctx, r, tenantID); err != nil {
			return nil, "", err
		}
	}
	position := func(k APIKey) *apiKeyPosition { return &apiKeyPosition{k.CreatedAt, k.APIKeyID} }
	return pagination.List(access.Pages(ctx, "keys", string(id)), pageSize, pageToken, nil, position, func(after *apiKeyPosition, most int) ([]APIKey, error) {
		return s.managed(ctx, r.Principal, id, after, most)
	})
}

// managed returns up to limit keys of a tenant after a position that the principal manages.
func (s *Service) managed(ctx context.Context, p access.Principal, id tenant.ID, after *apiKeyPosition, limit int) ([]APIKey, error) {
	var managed []APIKey
	for {
		keys, err := s.store.apiKeys(ctx, id, after, limit)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if k.managedBy(p) {
				managed = append(managed, k)
			}
			after = &apiKeyPosition{k.CreatedAt, k.APIKeyID}
		}
		if len(managed) >= limit || len(keys) < limit {
			return managed[:min(len(managed), limit)], nil
		}
	}
}

// RevokeKey revokes a key: at once on this instance, within keyCacheTTL on others. It takes
// the id of the key or its whole secret, which is never repeated. Errors: NotFound, also for a
// key with rights that the caller lacks.
func (s *Service) RevokeKey(ctx context.Context, apiKeyID string) error {
	r, err := access.RequireScope(ctx, access.Admin)
	if err != nil {
		return err
	}
	if id, ok := APIKeyIDOf(apiKeyID); ok {
		apiKeyID = id
	}
	if len(apiKeyID) != apiKeyIDChars {
		return fault.New(fault.NotFound, "this is not the id of an API key, which has %d characters: list the keys to see them", apiKeyIDChars)
	}
	key, _, _, err := s.store.apiKeyWithHash(ctx, apiKeyID)
	if key.UnusableReason != "" {
		err = nil // it is revoked all the same
	}
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !key.managedBy(r.Principal) {
		return fault.New(fault.NotFound, "there is no API key with the id %s, or this credential may not see it", apiKeyID)
	}
	if err != nil {
		return err
	}
	if err := s.store.revokeAPIKey(ctx, key); err != nil {
		return err
	}
	s.Auth.Forget()
	return nil
}

// EnsureOperatorKey creates an operator key and returns its secret, if the database has
// none and none is configured. Otherwise it returns "".
func (s *Service) EnsureOperatorKey(ctx context.Context) (string, error) {
	if s.Auth.operatorHash != nil {
		return "", nil
	}
	has, err := s.store.hasOperatorKey(ctx)
	if err != nil || has {
		return "", err
	}
	return s.storeKey(ctx, &APIKey{DisplayName: "first operator key", Scopes: []access.Scope{access.Operator}})
}

// HasKey reports whether the database has the API key with this secret, even if it was
// revoked or has expired.
func (s *Service) HasKey(ctx context.Context, secret string) (bool, error) {
	id, ok := APIKeyIDOf(secret)
	if !ok {
		return false, nil
	}
	_, stored, _, err := s.store.apiKeyWithHash(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	hash := hashSecret(secret)
	return err == nil && subtle.ConstantTimeCompare(hash[:], stored) == 1, err
}

// APIKey describes an API key. It does not contain the secret.
type APIKey struct {
	APIKeyID        string
	TenantID        tenant.ID // empty for an operator key
	DisplayName     string
	Scopes          []access.Scope
	MandatoryFilter filter.Filter
	Bounds          access.Bounds
	Origins         access.Origins // none: for programs
	Attributes      map[string]any // for templates and filters
	// UnusableReason is why the key is refused although it is neither revoked nor expired. Its MandatoryFilter was not read then.
	UnusableReason string
	CreatedAt      time.Time
	ExpiresAt      *time.Time
	RevokedAt      *time.Time
	// FirstUsedAt and LastUsedAt are nil if the key was never used. They come a minute late.
	FirstUsedAt, LastUsedAt *time.Time
}

// Prefix returns the first characters of the secret, by which people recognise the key.
func (k APIKey) Prefix() string { return secretPrefix + k.APIKeyID }

func (k APIKey) usable(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt))
}
