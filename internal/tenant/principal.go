package tenant

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
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

var scopeOrder = []Scope{Read, Write, Admin, Operator}

// parseScopes validates the scopes of a key to be made. No scopes means read
// and write.
func parseScopes(names []string) ([]Scope, error) {
	if len(names) == 0 {
		return []Scope{Read, Write}, nil
	}
	scopes := make([]Scope, 0, len(names))
	for _, name := range names {
		scope := Scope(name)
		if !slices.Contains(scopeOrder, scope) {
			return nil, fault.Field("scopes", "unknown scope %q; known are read, write, admin and operator", name)
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}

// scopesUpTo lists what to ask an issuer for, so that all that needs the scope can
// be done.
func scopesUpTo(need Scope) string {
	var names []string
	for _, scope := range scopeOrder[:slices.Index(scopeOrder, need)+1] {
		names = append(names, string(scope))
	}
	return strings.Join(names, " ")
}

// Principal is who calls.
type Principal struct {
	// Subject identifies the credential: an API key's id, "operator", or for an
	// access token "user:" or "client:" and who it was issued to.
	Subject string
	// Tenant is the credential's tenant; empty for an operator.
	Tenant ID
	Scopes []Scope
	// MandatoryFilter is and-ed into every read.
	MandatoryFilter filter.Filter
	// ByToken says that the credential is an access token, for which the client may
	// ask its issuer for more scopes.
	ByToken bool
}

// Has reports whether the principal may do what needs the scope.
func (p Principal) Has(need Scope) bool {
	least := slices.Index(scopeOrder, need)
	return slices.ContainsFunc(p.Scopes, func(s Scope) bool {
		return slices.Index(scopeOrder, s) >= least
	})
}
