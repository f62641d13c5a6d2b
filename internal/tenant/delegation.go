package tenant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Delegation is what work that outlives a request keeps of it, to act with the rights of its
// caller: who called, with which rights and which request context. It has no credential and no
// values of secret context keys. It is stored as JSON.
type Delegation struct {
	Subject         string          `json:"subject"`
	Tenant          ID              `json:"tenant"`
	Home            ID              `json:"home,omitempty"` // the principal's tenant; empty for an operator
	Scopes          []Scope         `json:"scopes"`
	MandatoryFilter json.RawMessage `json:"mandatoryFilter,omitempty"`
	KeyBounds       Bounds          `json:"keyBounds"`
	Bounds          Bounds          `json:"bounds"`
	Attributes      json.RawMessage `json:"attributes,omitempty"`
	Claims          json.RawMessage `json:"claims,omitempty"`
	Issuer          string          `json:"issuer,omitempty"`
	OwnIssuer       bool            `json:"ownIssuer,omitempty"` // whether the tenant declared the issuer
	ByToken         bool            `json:"byToken,omitempty"`
	ScopePrefix     string          `json:"scopePrefix,omitempty"`
	Server          string          `json:"server,omitempty"`
	Depth           int             `json:"depth,omitempty"`
	Overrides       json.RawMessage `json:"overrides,omitempty"`
	Fixed           json.RawMessage `json:"fixed,omitempty"`
	Filled          json.RawMessage `json:"filled,omitempty"`
}

// Delegate returns the delegation of a request.
func (a *Authenticator) Delegate(ctx context.Context, r *Request) (Delegation, error) {
	d := Delegation{
		Subject: r.Principal.Subject, Tenant: r.Tenant, Home: r.Principal.Tenant, Scopes: r.Principal.Scopes,
		KeyBounds: r.Principal.Bounds, Bounds: r.Bounds, Issuer: r.Principal.Issuer, ByToken: r.Principal.ByToken,
		ScopePrefix: r.Principal.ScopePrefix, Server: r.Server, Depth: r.Depth,
	}
	if !r.Principal.MandatoryFilter.IsZero() {
		d.MandatoryFilter = r.Principal.MandatoryFilter.JSON()
	}
	filled := map[string]any{}
	for name, value := range r.filled {
		if k := r.key(name); k != nil && !k.Secret {
			filled[name] = value
		}
	}
	for into, value := range map[*json.RawMessage]map[string]any{
		&d.Attributes: r.Principal.Attributes, &d.Claims: r.Principal.Claims, &d.Filled: filled,
		&d.Overrides: r.object(r.Overrides), &d.Fixed: r.object(r.Fixed),
	} {
		if len(value) == 0 {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return d, fmt.Errorf("write a delegation: %w", err)
		}
		*into = raw
	}
	if !d.ByToken {
		return d, nil
	}
	own, err := a.ownIssuers(ctx, string(d.Tenant))
	d.OwnIssuer = hasIssuer(own, d.Issuer)
	return d, err
}

func hasIssuer(issuers []OwnIssuer, address string) bool {
	return slices.ContainsFunc(issuers, func(i OwnIssuer) bool { return i.URL == address })
}

// object returns overrides as an object that ParseOverrides reads, without values of secret keys.
func (r *Request) object(o Overrides) map[string]any {
	object := map[string]any{}
	for name := range o.targets() {
		if value, ok := o.value(name); ok {
			object[name] = value
		}
	}
	for name, value := range o.Values {
		if k := r.key(name); k != nil && !k.Secret {
			object[name] = value
		}
	}
	return object
}

// Act returns a request with the rights of a delegation. Its Recheck checks the credential again,
// as Act does. Errors: Unauthenticated when the API key was revoked or has expired, when the access
// token would have expired or its issuer was removed; NotFound when the tenant is gone; Denied for rights that
// are not the tenant's own, of a tenant whose database is its own: it could have written them.
func (a *Authenticator) Act(ctx context.Context, d Delegation) (*Request, error) {
	settings, err := a.stillValid(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := a.trusts(ctx, d); err != nil {
		return nil, err
	}
	r := &Request{
		Principal: Principal{
			Subject: d.Subject, Tenant: d.Home, Scopes: d.Scopes, Bounds: d.KeyBounds, Issuer: d.Issuer, ScopePrefix: d.ScopePrefix, ByToken: d.ByToken,
		},
		Tenant: d.Tenant, Quotas: settings.quotas, Stores: settings.stores, Server: d.Server, Bounds: d.Bounds, Depth: d.Depth, pages: a.pages,
	}
	r.recheck = func(ctx context.Context) error {
		_, err := a.stillValid(ctx, d)
		return err
	}
	if len(d.MandatoryFilter) > 0 {
		mandatory, err := filter.Parse([]byte(d.MandatoryFilter))
		if err != nil {
			return nil, fmt.Errorf("read a stored filter: %w", err)
		}
		r.Principal.MandatoryFilter = mandatory.Trusted()
	}
	if a.declared != nil {
		if r.keys, err = a.declared(ctx, d.Tenant); err != nil {
			return nil, err
		}
	}
	return r, d.fill(r)
}

// trusts returns an error for a delegation with rights beyond the tenant's that comes from a database of the
// tenant's own.
func (a *Authenticator) trusts(ctx context.Context, d Delegation) error {
	if a.databases == nil || d.Home == d.Tenant && !slices.Contains(d.Scopes, Operator) {
		return nil
	}
	own, err := a.databases.Own(ctx, d.Tenant)
	if err == nil && own {
		return fault.New(fault.Denied, "the tenant %q has a database of its own: what outlives a request needs a key of the tenant there", d.Tenant)
	}
	return err
}

// fill adds the stored objects to a request.
func (d Delegation) fill(r *Request) error {
	for raw, into := range map[*json.RawMessage]*map[string]any{&d.Attributes: &r.Principal.Attributes, &d.Claims: &r.Principal.Claims, &d.Filled: &r.filled} {
		value, err := decodeObject(*raw)
		if err != nil {
			return err
		}
		*into = value
	}
	for raw, into := range map[*json.RawMessage]*Overrides{&d.Overrides: &r.Overrides, &d.Fixed: &r.Fixed} {
		if len(*raw) == 0 {
			continue
		}
		given, err := ParseOverrides(*raw)
		if err != nil {
			return fmt.Errorf("read a stored request context: %w", err)
		}
		*into = given
	}
	return nil
}

// stillValid returns the settings of the tenant if the credential of a delegation is still valid.
func (a *Authenticator) stillValid(ctx context.Context, d Delegation) (tenantSettings, error) {
	row, err := a.ready(ctx, string(d.Tenant))
	if err != nil {
		return tenantSettings{}, err
	}
	settings := row.known()
	switch {
	case d.ByToken:
		err = a.tokenStillValid(ctx, d)
	case d.Subject == "operator":
		if a.operatorHash == nil {
			err = fault.New(fault.Unauthenticated, "the operator key that started this is no longer configured")
		}
	default:
		err = a.keyStillValid(ctx, d)
	}
	return settings, err
}

func (a *Authenticator) keyStillValid(ctx context.Context, d Delegation) error {
	key, _, _, err := a.store.apiKeyWithHash(ctx, d.Subject)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (!key.usable(a.now()) || key.TenantID != d.Home) {
		return fault.New(fault.Unauthenticated, "the API key that started this has expired or was revoked")
	}
	return err
}

func (a *Authenticator) tokenStillValid(ctx context.Context, d Delegation) error {
	claims, err := decodeObject(d.Claims)
	if err != nil {
		return err
	}
	if expires, ok := claims["exp"].(json.Number); ok {
		seconds, err := expires.Float64()
		if err != nil || !a.now().Before(time.Unix(int64(seconds), 0)) {
			return fault.New(fault.Unauthenticated, "the access token that started this has expired: use an API key for what takes longer")
		}
	}
	if !d.OwnIssuer {
		return nil
	}
	own, err := a.ownIssuers(ctx, string(d.Tenant))
	if err == nil && !hasIssuer(own, d.Issuer) {
		return fault.New(fault.Unauthenticated, "the issuer of the access token that started this was removed")
	}
	return err
}

// decodeObject returns an object with numbers as json.Number, nil for no JSON.
func decodeObject(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read a stored object: %w", err)
	}
	object, _ := value.(map[string]any)
	return object, nil
}
