package oauth

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// claims are the claims of a verified token.
type claims struct {
	jwt.Claims
	all map[string]json.RawMessage // by name, including the registered claims
}

// leeway is the accepted difference between the issuer's clock and ours.
const leeway = 30 * time.Second

// maxSubjectBytes bounds the subject, which is written into logs and session ids.
const maxSubjectBytes = 255

// maxClaimsBytes bounds the claims of a caller, which are kept with its requests. A JWT has
// fewer, an answer of the introspection endpoint may have more.
const maxClaimsBytes = 16 << 10

// check returns an error if the token has another issuer or audience, is not valid now,
// or is bound to a key of the client.
func (v *Verifier) check(c claims, at credential.Resource) error {
	now := v.cfg.Now()
	switch {
	case c.Issuer != v.cfg.Issuer:
		return refused("it has another issuer")
	case !c.hasAudience(v.audiences(at)):
		return refused("it was issued for another service; the audience must be %s", strings.Join(v.audiences(at), " or "))
	case c.Expiry == nil:
		return refused("it has no expiry time")
	case !now.Before(c.Expiry.Time().Add(leeway)):
		return refused("it has expired")
	case c.NotBefore != nil && now.Add(leeway).Before(c.NotBefore.Time()),
		c.IssuedAt != nil && now.Add(leeway).Before(c.IssuedAt.Time()):
		return refused("it is not valid yet")
	case c.find("cnf") != nil:
		// The client would have to prove that it has the key, which is not supported.
		return refused("it is bound to a key of the client, and only bearer tokens are accepted")
	}
	return nil
}

func (c claims) hasAudience(wanted []string) bool {
	for _, audience := range wanted {
		if c.Audience.Contains(audience) {
			return true
		}
	}
	return false
}

// token returns the subject, tenant, scopes and mandatory filter in the claims. Errors:
// Unauthenticated for a missing or malformed claim.
func (v *Verifier) token(c claims) (credential.Token, error) {
	t := credential.Token{Scopes: v.scopes(c), Issuer: v.cfg.Issuer, ScopePrefix: v.cfg.ScopePrefix}
	switch {
	case c.Subject != "":
		t.Subject = v.subject("user", c.Subject)
	case c.text("client_id") != "":
		t.Subject = v.subject("client", c.text("client_id"))
	default:
		return t, refused("it names no subject")
	}
	if len(t.Subject) > maxSubjectBytes+len(v.cfg.Issuer) {
		return t, refused("its subject is longer than %d bytes", maxSubjectBytes)
	}
	var err error
	if t.Tenant, err = v.tenant(c); err != nil {
		return t, err
	}
	if t.MandatoryFilter, err = v.filter(c); err != nil {
		return t, err
	}
	if t.Bounds, err = v.bounds(c); err != nil {
		return t, err
	}
	t.Claims, err = c.decoded()
	return t, err
}

// decoded returns all claims, with numbers as json.Number. Errors: Unauthenticated for more
// than maxClaimsBytes.
func (c claims) decoded() (map[string]any, error) {
	size := 0
	decoded := make(map[string]any, len(c.all))
	for name, raw := range c.all {
		if size += len(name) + len(raw); size > maxClaimsBytes {
			return nil, refused("its claims are larger than %d bytes", maxClaimsBytes)
		}
		value, err := valueOf(raw)
		if err != nil {
			return nil, refused("its claim %s cannot be decoded", name)
		}
		decoded[name] = value
	}
	return decoded, nil
}

func valueOf(raw json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// bounds returns the bounds; those that allow everything if Config.BoundsClaim is not set. A
// token without the claim is refused, as missing bounds would allow everything.
func (v *Verifier) bounds(c claims) (access.Bounds, error) {
	if v.cfg.BoundsClaim == "" {
		return access.Bounds{}, nil
	}
	wrong := refused("its claim %s is not an object with the lists servers, indexes, tools and prompts", v.cfg.BoundsClaim)
	raw := c.object(v.cfg.BoundsClaim)
	if raw == nil {
		return access.Bounds{}, wrong
	}
	var lists map[string][]string
	var bounds access.Bounds
	if err := json.Unmarshal(raw, &lists); err != nil {
		return bounds, wrong
	}
	for name, target := range map[string]*[]string{
		"servers": &bounds.Servers, "indexes": &bounds.Indexes, "tools": &bounds.Tools, "prompts": &bounds.Prompts,
	} {
		if names, ok := lists[name]; ok {
			*target = append([]string{}, names...) // null allows none
			delete(lists, name)
		}
	}
	checked, err := bounds.Check()
	if err != nil || len(lists) > 0 {
		return access.Bounds{}, wrong
	}
	return checked, nil
}

// subject returns the subject of a principal. An address has no space, so that those of two
// issuers are never equal.
func (v *Verifier) subject(kind, name string) string {
	if v.cfg.QualifySubjects {
		return kind + "@" + v.cfg.Issuer + " " + name
	}
	return kind + ":" + name
}

// tenant returns the name of the tenant of a token: its own for the issuer of a tenant, whatever
// the token says, else the one in the claim. Errors: Unauthenticated.
func (v *Verifier) tenant(c claims) (string, error) {
	if v.cfg.owner != "" {
		return string(v.cfg.owner), nil
	}
	name := c.text(v.cfg.TenantClaim)
	switch {
	case name == "":
		return "", refused("its claim %s names no tenant", v.cfg.TenantClaim)
	case len(v.cfg.Tenants) > 0 && !slices.Contains(v.cfg.Tenants, name):
		return "", refused("its issuer is not accepted for the tenant in its claim %s", v.cfg.TenantClaim)
	}
	return name, nil
}

// scopes returns the scopes read, write and admin that the token has, and ignores those of
// other services. No token gives the scope operator, which needs an operator key.
func (v *Verifier) scopes(c claims) []access.Scope {
	raw := c.find(v.cfg.ScopeClaim)
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil {
		var line string
		if err := json.Unmarshal(raw, &line); err != nil {
			return nil
		}
		names = strings.Fields(line)
	}
	var scopes []access.Scope
	for _, name := range names {
		name, ours := strings.CutPrefix(name, v.cfg.ScopePrefix)
		if scope := access.Scope(name); ours && scope != access.Operator && slices.Contains(v.cfg.Scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// filter returns the mandatory filter; an empty one if Config.FilterClaim is not set. A
// token without the claim is refused, as a missing filter would show every document.
func (v *Verifier) filter(c claims) (filter.Filter, error) {
	if v.cfg.FilterClaim == "" {
		return filter.Filter{}, nil
	}
	raw := c.object(v.cfg.FilterClaim)
	if raw == nil {
		return filter.Filter{}, refused("its claim %s is not a filter", v.cfg.FilterClaim)
	}
	parsed, err := filter.Parse(raw)
	if err != nil {
		return filter.Filter{}, refused("its claim %s is not a filter", v.cfg.FilterClaim)
	}
	if parsed.HasURI() {
		return filter.Filter{}, refused("its claim %s tests $uri, which a mandatory filter cannot", v.cfg.FilterClaim)
	}
	return parsed, nil
}

// object returns the JSON of a claim that is an object, or a string that contains one; nil for
// others.
func (c claims) object(name string) []byte {
	raw := []byte(c.find(name))
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		raw = []byte(text)
	}
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	return raw
}

// find returns a claim by its name or, for a nested claim, by its path with dots; nil if
// there is none.
func (c claims) find(name string) json.RawMessage {
	within := c.all
	for {
		if found, ok := within[name]; ok {
			return found
		}
		outer, rest, nested := strings.Cut(name, ".")
		if !nested {
			return nil
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(within[outer], &object); err != nil {
			return nil
		}
		within, name = object, rest
	}
}

// text returns a claim that is a string; "" if it is missing or no string.
func (c claims) text(name string) string {
	var s string
	if err := json.Unmarshal(c.find(name), &s); err != nil {
		return ""
	}
	return s
}
