package access

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Scope is a right that a credential carries. Each includes those before it:
// read < write < admin < operator.
type Scope string

// The scopes.
const (
	Read     Scope = "read"     // query and list
	Write    Scope = "write"    // change documents and indexes
	Admin    Scope = "admin"    // manage the tenant's API keys
	Operator Scope = "operator" // manage tenants; no tenant of its own
)

// Valid reports whether there is such a scope.
func (s Scope) Valid() bool { return slices.Contains(scopeOrder, s) }

var scopeOrder = []Scope{Read, Write, Admin, Operator}

// ParseScopes validates the scopes of a credential. The default is read and write.
func ParseScopes(names []string) ([]Scope, error) {
	if len(names) == 0 {
		return []Scope{Read, Write}, nil
	}
	scopes := make([]Scope, 0, len(names))
	for _, name := range names {
		scope := Scope(name)
		if !scope.Valid() {
			return nil, fault.Field("scopes", "unknown scope %q; known are read, write, admin and operator", name)
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}

// ScopesUpTo returns the scope and all lower ones with the prefix of an issuer, separated by
// spaces: the scopes that a client must request from the issuer.
func ScopesUpTo(need Scope, prefix string) string {
	var names []string
	for _, scope := range scopeOrder[:slices.Index(scopeOrder, need)+1] {
		names = append(names, prefix+string(scope))
	}
	return strings.Join(names, " ")
}

// Principal is the authenticated caller of a request.
type Principal struct {
	// Subject identifies the credential: the id of an API key, "operator" for the
	// configured key, or for an access token "user:" or "client:" and its subject. Further
	// issuers, and those of tenants, are in it, as "user@https://id.example.com alice".
	Subject string
	// Tenant is the credential's tenant; empty for an operator.
	Tenant tenant.ID
	Scopes []Scope
	// MandatoryFilter is combined with the filter of every read by AND. It is a trusted
	// filter, see filter.Filter.Trusted.
	MandatoryFilter filter.Filter
	// Bounds are what the credential may use. Request.Bounds has what the request may use.
	Bounds Bounds
	// Origins are the web origins whose pages may use the credential; none if it is for programs.
	Origins Origins
	// Attributes are the attributes of an API key; nil for other credentials. Do not change them.
	Attributes map[string]any
	// Claims are all claims of an access token, with numbers as json.Number; nil for other
	// credentials. Do not change them.
	Claims map[string]any
	// Issuer is the address of the authorization server of an access token; empty for other
	// credentials.
	Issuer string
	// ScopePrefix is what the scopes of an access token's issuer begin with.
	ScopePrefix string
	// ByToken is true if the credential is an access token. Its client may request more
	// scopes from the issuer.
	ByToken bool
}

// CheckWrite returns Denied, naming the field, unless the mandatory filter lets the
// principal read what has this metadata: nobody writes what they could not read.
func (p Principal) CheckWrite(field string, metadata map[string]any) error {
	if p.MandatoryFilter.Match(metadata) {
		return nil
	}
	err := fault.Field(field, "does not match this credential's mandatory filter, which bounds what it writes too")
	err.Kind = fault.Denied
	return err
}

// OfPages reports whether the credential stands in web pages, where anybody can read it.
func (p Principal) OfPages() bool { return len(p.Origins) > 0 }

// OnlyTools reports whether the credential may only list and call tools. One with origins calls no tools but
// agents, through the calls of pages.
func (p Principal) OnlyTools() bool { return p.Bounds.OnlyTools() && !p.OfPages() }

// AllScopes returns the scopes that the principal has, including those that others include, in
// the order read, write, admin, operator.
func (p Principal) AllScopes() []Scope {
	var all []Scope
	for _, scope := range scopeOrder {
		if p.Has(scope) {
			all = append(all, scope)
		}
	}
	return all
}

// Has reports whether the principal has the scope or a higher one.
func (p Principal) Has(need Scope) bool {
	least := slices.Index(scopeOrder, need)
	return slices.ContainsFunc(p.Scopes, func(s Scope) bool {
		return slices.Index(scopeOrder, s) >= least
	})
}
