package credential

import (
	"context"
	"net/netip"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Tokens verifies the access tokens of authorization servers, the issuers.
type Tokens interface {
	// Verify returns the claims of a token that is valid for a resource. Errors:
	// Unauthenticated; Unavailable if the issuer cannot be asked.
	Verify(ctx context.Context, token string, at Resource) (Token, error)
	// Issuers returns the operator's issuers whose tokens may be for the tenant with this
	// name, for any tenant if it is empty.
	Issuers(tenant string) []Issuer
	// Check returns an error unless the service can accept tokens of a tenant's issuer.
	// Errors: Invalid, Precondition, Exists for one of the operator's.
	Check(OwnIssuer) error
}

// Resource is what a request with an access token is about.
type Resource struct {
	Tenant  string      // that the request names; empty for none
	Server  string      // the MCP server that the request is for; empty for none
	Issuers []OwnIssuer // of the tenant that the request names
}

// MCPPath is the path of the MCP endpoint.
const MCPPath = "/mcp"

// Path returns the path of the resource below the address of the service: /mcp, or
// /mcp/{server}, after /t/{tenant} if the tenant is named.
func (r Resource) Path() string {
	path := r.Base() + MCPPath
	if r.Server != "" {
		path += "/" + r.Server
	}
	return path
}

// Base returns the path below which the endpoints of the named tenant are, "" if none is named.
func (r Resource) Base() string {
	if r.Tenant == "" {
		return ""
	}
	return "/t/" + r.Tenant
}

// Issuer is an authorization server, for clients that need a token.
type Issuer struct {
	URL         string
	ScopePrefix string // of the scopes of this service
}

// Token holds the claims of an access token about the caller.
type Token struct {
	// Subject identifies the caller. It never has the form of an API key's id.
	Subject string
	// Tenant is the name of the tenant, as the token has it.
	Tenant string
	// Issuer is the address of the authorization server.
	Issuer string
	// ScopePrefix is what its scopes of this service begin with.
	ScopePrefix     string
	Scopes          []access.Scope
	MandatoryFilter filter.Filter
	Bounds          access.Bounds
	// Claims are all claims, with numbers as json.Number.
	Claims map[string]any
}

type clientKey struct{}

// WithClient returns a context with the address that a request comes from. remote is an
// address with a port, as in http.Request.RemoteAddr.
func WithClient(ctx context.Context, remote string) context.Context {
	client, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, clientKey{}, client.Addr())
}

// ClientOf returns the address that a request comes from. Behind a proxy that is the
// proxy's address. It is the zero Addr if the address is not known.
func ClientOf(ctx context.Context) netip.Addr {
	address, _ := ctx.Value(clientKey{}).(netip.Addr)
	return address
}

// existsFor is how long a tenant is cached.
const existsFor = keyCacheTTL

type serverKey struct{}

// WithServer returns a context for a request to the tenant's MCP server of this name.
func WithServer(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, serverKey{}, name)
}

// serverOf returns the name that WithServer put into the context, or "".
func serverOf(ctx context.Context) string {
	name, _ := ctx.Value(serverKey{}).(string)
	return name
}

// fromToken returns the caller with an access token in a request that names a tenant, or none.
// Errors: those of Tokens.Verify, and Unauthenticated if the token's tenant does not exist.
func (a *Authenticator) fromToken(ctx context.Context, token, named string) (caller, error) {
	own, err := a.ownIssuers(ctx, named)
	if err != nil {
		return caller{}, err
	}
	t, err := a.tokens.Verify(ctx, token, Resource{Tenant: named, Server: serverOf(ctx), Issuers: own})
	if err != nil {
		return caller{}, err
	}
	row, err := a.ready(ctx, t.Tenant)
	switch kind := fault.KindOf(err); {
	case kind == fault.NotFound || kind == fault.Invalid:
		return caller{}, fault.Wrap(fault.Unauthenticated, err, "the access token was refused: its tenant is not known here")
	case err != nil:
		return caller{}, err
	}
	return caller{access.Principal{
		Subject: t.Subject, Tenant: row.TenantID, Scopes: t.Scopes, MandatoryFilter: t.MandatoryFilter.Trusted(), ByToken: true,
		Bounds: t.Bounds, Claims: t.Claims, Issuer: t.Issuer, ScopePrefix: t.ScopePrefix,
	}, a.settingsOf(row)}, nil
}

// ready is find with a cache of the tenants that are active.
func (a *Authenticator) ready(ctx context.Context, name string) (tenant.Record, error) {
	if row, ok := a.tenants.Get(name); ok {
		return row, nil
	}
	asked, forgotten := a.now(), a.forgotten.Load()
	row, err := a.find(ctx, name)
	if err == nil {
		a.tenants.PutLoaded(name, row, asked)
		if a.forgotten.Load() != forgotten { // it may have changed after the read
			a.tenants.Remove(name)
		}
	}
	return row, err
}

// find is tenant.FindReady, and wakes a tenant that is asleep. Errors: also Unavailable until that is awake.
func (a *Authenticator) find(ctx context.Context, name string) (tenant.Record, error) {
	row, err := tenant.FindKept(ctx, a.store.pool, name)
	if err == nil && row.Asleep() {
		err = a.wake(ctx, row.TenantID)
	}
	return row, err
}
