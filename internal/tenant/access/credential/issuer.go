package credential

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// OwnIssuer is an authorization server whose access tokens a tenant accepts for itself. Its
// tokens are taken in requests that name the tenant, and give access to no other.
type OwnIssuer struct {
	TenantID    tenant.ID
	Name        string         // unique in the tenant
	URL         string         // of the authorization server, as in the claim iss
	Audiences   []string       // accepted besides the addresses of the tenant
	JWKSURL     string         // of its keys; empty: from its metadata
	ScopeClaim  string         // empty: scope
	ScopePrefix string         // of the scopes in its tokens
	Scopes      []access.Scope // that its tokens can give
	FilterClaim string         // with the mandatory filter; empty: none
	BoundsClaim string         // with the bounds; empty: none
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Limits of a tenant's issuers.
const (
	maxIssuers           = 10
	maxIssuerAudiences   = 10
	maxIssuerURLBytes    = 500 // it is in the subjects of callers
	maxAudienceBytes     = 2048
	maxIssuerClaimBytes  = 200 // the name of a claim, and the prefix of scopes
	maxIssuerNameChars   = 63
	defaultIssuerClaim   = "scope"
	errIssuersNeedPublic = "this server cannot accept access tokens: its operator sets public-url, the address that tokens are issued for"
)

var issuerNamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// complete checks an issuer and fills in its defaults. Errors: Invalid.
func (i *OwnIssuer) complete() error {
	if !issuerNamePattern.MatchString(i.Name) {
		return fault.Field("issuerName", "must be 1 to %d lower case letters, digits and -, the first and last no -", maxIssuerNameChars)
	}
	if err := textlimit.Check("url", i.URL, maxIssuerURLBytes); err != nil {
		return err
	}
	if len(i.Audiences) > maxIssuerAudiences {
		return fault.Field("audiences", "must be at most %d, got %d", maxIssuerAudiences, len(i.Audiences))
	}
	for _, audience := range i.Audiences {
		if audience == "" {
			return fault.Field("audiences", "contains an empty audience")
		}
		if err := textlimit.Check("audiences", audience, maxAudienceBytes); err != nil {
			return err
		}
	}
	for field, text := range map[string]string{
		"scopeClaim": i.ScopeClaim, "scopePrefix": i.ScopePrefix, "filterClaim": i.FilterClaim, "boundsClaim": i.BoundsClaim,
	} {
		if err := textlimit.Check(field, text, maxIssuerClaimBytes); err != nil {
			return err
		}
	}
	if i.Audiences == nil {
		i.Audiences = []string{}
	}
	if i.ScopeClaim == "" {
		i.ScopeClaim = defaultIssuerClaim
	}
	return i.completeScopes()
}

func (i *OwnIssuer) completeScopes() error {
	names := make([]string, len(i.Scopes))
	for n, scope := range i.Scopes {
		names[n] = string(scope)
	}
	var err error
	i.Scopes, err = access.ParseScopes(names)
	if err == nil && slices.Contains(i.Scopes, access.Operator) {
		err = fault.Field("scopes", "cannot contain operator, which needs an operator's key")
	}
	return err
}

// CreateIssuer stores an issuer of the caller's tenant. Errors: Invalid; Exists for a name or an
// address that is taken; Exhausted; Precondition on a server that takes no tokens.
func (s *Service) CreateIssuer(ctx context.Context, wanted OwnIssuer) (OwnIssuer, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return OwnIssuer{}, err
	}
	wanted.TenantID = r.Tenant
	if err := s.completeIssuer(&wanted); err != nil {
		return OwnIssuer{}, err
	}
	made, err := s.store.insertIssuer(ctx, wanted)
	s.Auth.forgetIssuers(r.Tenant)
	return made, err
}

func (s *Service) completeIssuer(i *OwnIssuer) error {
	if err := i.complete(); err != nil {
		return err
	}
	if s.Auth.tokens == nil {
		return fault.New(fault.Precondition, errIssuersNeedPublic)
	}
	return s.Auth.tokens.Check(*i)
}

// GetIssuer returns an issuer of the caller's tenant. Errors: NotFound.
func (s *Service) GetIssuer(ctx context.Context, name string) (OwnIssuer, error) {
	r, err := access.Require(ctx, access.Admin)
	if err != nil {
		return OwnIssuer{}, err
	}
	return s.issuer(ctx, r.Tenant, name)
}

func (s *Service) issuer(ctx context.Context, id tenant.ID, name string) (OwnIssuer, error) {
	all, err := s.store.issuers(ctx, id)
	if err != nil {
		return OwnIssuer{}, err
	}
	names := make([]string, len(all))
	for i, issuer := range all {
		if names[i] = issuer.Name; issuer.Name == name {
			return issuer, nil
		}
	}
	return OwnIssuer{}, fault.New(fault.NotFound, "issuer %q not found%s", textlimit.Shorten(name, maxIssuerNameChars), nearest.Hint(name, names))
}

// ListIssuers returns a page of the issuers of the caller's tenant in the order of their names.
func (s *Service) ListIssuers(ctx context.Context, pageSize int32, pageToken string) ([]OwnIssuer, string, error) {
	r, err := access.Require(ctx, access.Admin)
	if err != nil {
		return nil, "", err
	}
	name := func(i OwnIssuer) string { return i.Name }
	return pagination.List(access.Pages(ctx, "issuers"), pageSize, pageToken, "", name, func(after string, most int) ([]OwnIssuer, error) {
		all, err := s.store.issuers(ctx, r.Tenant)
		all = slices.DeleteFunc(all, func(i OwnIssuer) bool { return i.Name <= after })
		return all[:min(len(all), most)], err
	})
}

// IssuerChange holds the fields that UpdateIssuer changes. Nil leaves a field unchanged.
type IssuerChange struct {
	Audiences   []string
	JWKSURL     *string
	ScopeClaim  *string
	ScopePrefix *string
	Scopes      []access.Scope
	FilterClaim *string
	BoundsClaim *string
}

// UpdateIssuer changes an issuer of the caller's tenant. Errors: NotFound, Invalid.
func (s *Service) UpdateIssuer(ctx context.Context, name string, c IssuerChange) (OwnIssuer, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return OwnIssuer{}, err
	}
	changed, err := s.issuer(ctx, r.Tenant, name)
	if err != nil {
		return OwnIssuer{}, err
	}
	if c.Audiences != nil {
		changed.Audiences = c.Audiences
	}
	if c.Scopes != nil {
		changed.Scopes = c.Scopes
	}
	for into, value := range map[*string]*string{
		&changed.JWKSURL: c.JWKSURL, &changed.ScopeClaim: c.ScopeClaim, &changed.ScopePrefix: c.ScopePrefix,
		&changed.FilterClaim: c.FilterClaim, &changed.BoundsClaim: c.BoundsClaim,
	} {
		if value != nil {
			*into = *value
		}
	}
	if err := s.completeIssuer(&changed); err != nil {
		return OwnIssuer{}, err
	}
	changed, err = s.store.updateIssuer(ctx, changed)
	s.Auth.forgetIssuers(r.Tenant)
	return changed, err
}

// DeleteIssuer removes an issuer of the caller's tenant. Its tokens are refused at once on this
// instance, within keyCacheTTL on others. Errors: NotFound.
func (s *Service) DeleteIssuer(ctx context.Context, name string) error {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return err
	}
	if _, err := s.issuer(ctx, r.Tenant, name); err != nil {
		return err
	}
	_, err = s.store.pool.Exec(ctx, `DELETE FROM ragd.issuers WHERE tenant_id = $1 AND issuer_name = $2`, r.Tenant, name)
	s.Auth.forgetIssuers(r.Tenant)
	return postgres.Fault(err)
}

// ownIssuers returns the issuers of the tenant that a request names, from a cache. A name that
// no tenant has is no error: there are none.
func (a *Authenticator) ownIssuers(ctx context.Context, named string) ([]OwnIssuer, error) {
	id, err := tenant.ParseID(named)
	if err != nil || a.tokens == nil {
		return nil, nil //nolint:nilerr // a name that is no tenant's is looked up later
	}
	if found, ok := a.issuers.Get(id); ok {
		return found, nil
	}
	asked, forgotten := a.now(), a.forgotten.Load()
	found, err := a.store.issuers(ctx, id)
	if err == nil {
		a.issuers.PutLoaded(id, found, asked)
		if a.forgotten.Load() != forgotten { // they may have changed after the read
			a.issuers.Remove(id)
		}
	}
	return found, err
}

func (a *Authenticator) forgetIssuers(id tenant.ID) {
	a.forgotten.Add(1)
	a.issuers.Remove(id)
}

// Issuers returns the authorization servers whose tokens are accepted in requests that name this
// tenant, "" for none. What it returns does not tell whether a tenant without issuers exists.
func (a *Authenticator) Issuers(ctx context.Context, named string) ([]Issuer, error) {
	if a.tokens == nil {
		return nil, nil
	}
	own, err := a.ownIssuers(ctx, named)
	if err != nil {
		return nil, err
	}
	all := a.tokens.Issuers(named)
	for _, i := range own {
		all = append(all, Issuer{URL: i.URL, ScopePrefix: i.ScopePrefix})
	}
	return all, nil
}

const issuerColumns = `tenant_id, issuer_name, url, audiences, jwks_url, scope_claim, scope_prefix, scopes, filter_claim, bounds_claim, created_at, updated_at`

type issuerRow struct {
	TenantID    tenant.ID
	IssuerName  string
	URL         string `db:"url"`
	Audiences   []string
	JWKSURL     string `db:"jwks_url"`
	ScopeClaim  string
	ScopePrefix string
	Scopes      []access.Scope
	FilterClaim string
	BoundsClaim string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

func (r issuerRow) issuer() OwnIssuer {
	return OwnIssuer{
		TenantID: r.TenantID, Name: r.IssuerName, URL: r.URL, Audiences: r.Audiences, JWKSURL: r.JWKSURL, ScopeClaim: r.ScopeClaim,
		ScopePrefix: r.ScopePrefix, Scopes: r.Scopes, FilterClaim: r.FilterClaim, BoundsClaim: r.BoundsClaim,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// issuers returns the issuers of a tenant in the order of their names.
func (s *store) issuers(ctx context.Context, id tenant.ID) ([]OwnIssuer, error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT `+issuerColumns+` FROM ragd.issuers AS i
		WHERE tenant_id = $1 AND EXISTS (SELECT FROM ragd.tenants AS t WHERE t.tenant_id = i.tenant_id AND t.status IN ('ready', 'asleep', 'waking'))
		ORDER BY issuer_name`, id)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[issuerRow])
	issuers := make([]OwnIssuer, len(found))
	for i, row := range found {
		issuers[i] = row.issuer()
	}
	return issuers, postgres.Fault(err)
}

// insertIssuer stores a new issuer. A lock on the tenant's row makes the limit hold for
// concurrent calls.
func (s *store) insertIssuer(ctx context.Context, i OwnIssuer) (made OwnIssuer, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var have int
		err := tx.QueryRow(ctx, `
			SELECT (SELECT count(*) FROM ragd.issuers AS i WHERE i.tenant_id = t.tenant_id)
			FROM ragd.tenants AS t WHERE tenant_id = $1 FOR NO KEY UPDATE`, i.TenantID).Scan(&have)
		if err != nil {
			return err
		}
		if have >= maxIssuers {
			return fault.New(fault.Exhausted, "a tenant may have %d issuers: delete one that is no longer needed", maxIssuers)
		}
		rows, _ := tx.Query(ctx, `
			INSERT INTO ragd.issuers (tenant_id, issuer_name, url, audiences, jwks_url, scope_claim, scope_prefix, scopes, filter_claim, bounds_claim)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING `+issuerColumns,
			i.TenantID, i.Name, i.URL, i.Audiences, i.JWKSURL, i.ScopeClaim, i.ScopePrefix, i.Scopes, i.FilterClaim, i.BoundsClaim)
		row, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[issuerRow])
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Exists, "the tenant has an issuer with the name %q or with this address", i.Name)
		}
		made = row.issuer()
		return err
	})
	return made, postgres.Fault(err)
}

func (s *store) updateIssuer(ctx context.Context, i OwnIssuer) (OwnIssuer, error) {
	rows, _ := s.pool.Query(ctx, `
		UPDATE ragd.issuers SET audiences = $3, jwks_url = $4, scope_claim = $5, scope_prefix = $6, scopes = $7, filter_claim = $8,
			bounds_claim = $9, updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE tenant_id = $1 AND issuer_name = $2 RETURNING `+issuerColumns,
		i.TenantID, i.Name, i.Audiences, i.JWKSURL, i.ScopeClaim, i.ScopePrefix, i.Scopes, i.FilterClaim, i.BoundsClaim)
	row, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[issuerRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return OwnIssuer{}, fault.New(fault.NotFound, "issuer %q was deleted", i.Name)
	}
	return row.issuer(), postgres.Fault(err)
}
