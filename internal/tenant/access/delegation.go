package access

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Delegation is what work that outlives a request keeps of it, to act with the rights of its
// caller: who called, with which rights and which request context. It has no credential and no
// values of secret context keys. It is stored as JSON.
type Delegation struct {
	Subject         string          `json:"subject"`
	Tenant          tenant.ID       `json:"tenant"`
	Home            tenant.ID       `json:"home,omitempty"` // the principal's tenant; empty for an operator
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

// Delegate returns the delegation of the request, which does not say whether the tenant declared the
// issuer of its access token.
func (r *Request) Delegate() (Delegation, error) {
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
	return d, nil
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

// Request returns a request with the rights of the delegation, of a tenant with these declared keys. For
// pages and recheck see NewRequest.
func (d Delegation) Request(keys []*ContextKey, pages pagination.Tokens, recheck func(context.Context) error) (*Request, error) {
	r := NewRequest(Principal{
		Subject: d.Subject, Tenant: d.Home, Scopes: d.Scopes, Bounds: d.KeyBounds, Issuer: d.Issuer, ScopePrefix: d.ScopePrefix, ByToken: d.ByToken,
	}, pages, recheck)
	r.Tenant, r.Server, r.Bounds, r.Depth, r.keys = d.Tenant, d.Server, d.Bounds, d.Depth, keys
	if len(d.MandatoryFilter) > 0 {
		mandatory, err := filter.Parse([]byte(d.MandatoryFilter))
		if err != nil {
			return nil, fmt.Errorf("read a stored filter: %w", err)
		}
		r.Principal.MandatoryFilter = mandatory.Trusted()
	}
	return r, d.fill(r)
}

// Expired reports whether the access token has expired that the delegation comes from.
func (d Delegation) Expired(now time.Time) (bool, error) {
	claims, err := decodeObject(d.Claims)
	if err != nil {
		return false, err
	}
	expires, ok := claims["exp"].(json.Number)
	if !ok {
		return false, nil
	}
	seconds, err := expires.Float64()
	return err != nil || !now.Before(time.Unix(int64(seconds), 0)), nil
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
