package oauth

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/tenant"
)

// claims are what the issuer says of a token.
type claims struct {
	jwt.Claims
	all map[string]json.RawMessage
}

// leeway is how far the issuer's clock may be from ours.
const leeway = 30 * time.Second

// maxSubjectBytes bounds what goes into logs and session ids.
const maxSubjectBytes = 255

// check refuses what was not issued for us, or not for now.
func (v *Verifier) check(c claims) error {
	now := v.cfg.Now()
	switch {
	case c.Issuer != v.cfg.Issuer:
		return refused("it is of another issuer")
	case !c.hasAudience(v.cfg.Audiences):
		return refused("it was issued for another service; the audience must be %s", strings.Join(v.cfg.Audiences, " or "))
	case c.Expiry == nil:
		return refused("it never expires")
	case !now.Before(c.Expiry.Time().Add(leeway)):
		return refused("it has expired")
	case c.NotBefore != nil && now.Add(leeway).Before(c.NotBefore.Time()),
		c.IssuedAt != nil && now.Add(leeway).Before(c.IssuedAt.Time()):
		return refused("it is not good yet")
	case c.find("cnf") != nil:
		// Whoever holds such a token must prove a key of his, which we cannot ask for.
		return refused("it is bound to a key of the client's, and only bearer tokens are taken")
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

// token reads from the claims who the caller is and what it may do.
func (v *Verifier) token(c claims) (tenant.Token, error) {
	t := tenant.Token{Scopes: v.scopes(c)}
	switch {
	case c.Subject != "":
		t.Subject = "user:" + c.Subject
	case c.text("client_id") != "":
		t.Subject = "client:" + c.text("client_id")
	default:
		return t, refused("it names no subject")
	}
	if len(t.Subject) > maxSubjectBytes {
		return t, refused("its subject is longer than %d bytes", maxSubjectBytes)
	}
	if t.Tenant = c.text(v.cfg.TenantClaim); t.Tenant == "" {
		return t, refused("its claim %s names no tenant", v.cfg.TenantClaim)
	}
	var err error
	t.MandatoryFilter, err = v.filter(c)
	return t, err
}

// scopes returns those of our scopes that the token carries; the rest are of
// other services. None gives the scope operator: whoever runs the service has a
// key.
func (v *Verifier) scopes(c claims) []tenant.Scope {
	raw := c.find(v.cfg.ScopeClaim)
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil {
		var line string
		if err := json.Unmarshal(raw, &line); err != nil {
			return nil
		}
		names = strings.Fields(line)
	}
	var scopes []tenant.Scope
	for _, name := range names {
		name, ours := strings.CutPrefix(name, v.cfg.ScopePrefix)
		switch scope := tenant.Scope(name); scope {
		case tenant.Read, tenant.Write, tenant.Admin:
			if ours {
				scopes = append(scopes, scope)
			}
		}
	}
	return scopes
}

// filter returns the mandatory filter. A token without the claim is refused where
// one is expected: that it hides nothing would be a guess.
func (v *Verifier) filter(c claims) (filter.Filter, error) {
	if v.cfg.FilterClaim == "" {
		return filter.Filter{}, nil
	}
	raw := c.find(v.cfg.FilterClaim)
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		raw = json.RawMessage(text)
	}
	if len(raw) == 0 || raw[0] != '{' {
		return filter.Filter{}, refused("its claim %s is not a filter", v.cfg.FilterClaim)
	}
	parsed, err := filter.Parse([]byte(raw))
	if err != nil {
		return filter.Filter{}, refused("its claim %s is not a filter", v.cfg.FilterClaim)
	}
	return parsed, nil
}

// find returns a claim by its name, or by the names on the way to it with dots
// between; nil for none.
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

// text returns a claim that is a string, "" for any other.
func (c claims) text(name string) string {
	var s string
	if err := json.Unmarshal(c.find(name), &s); err != nil {
		return ""
	}
	return s
}
