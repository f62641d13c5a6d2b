package tenant

import (
	"context"
	"net/netip"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
)

// Tokens verifies the access tokens of an authorization server, the issuer.
type Tokens interface {
	// Verify returns the claims of a valid token. Errors: Unauthenticated; Unavailable
	// if the issuer cannot be asked.
	Verify(ctx context.Context, token string) (Token, error)
}

// Token holds the claims of an access token about the caller.
type Token struct {
	// Subject identifies the caller. It never has the form of an API key's id.
	Subject string
	// Tenant is the name of the tenant, as the token has it.
	Tenant          string
	Scopes          []Scope
	MandatoryFilter filter.Filter
	Bounds          Bounds
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

// fromToken returns the caller with an access token. Errors: those of Tokens.Verify, and
// Unauthenticated if the token's tenant does not exist.
func (a *Authenticator) fromToken(ctx context.Context, token string) (caller, error) {
	t, err := a.tokens.Verify(ctx, token)
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
	return caller{Principal{
		Subject: t.Subject, Tenant: row.TenantID, Scopes: t.Scopes, MandatoryFilter: t.MandatoryFilter.Trusted(), ByToken: true,
		Bounds: t.Bounds, Claims: t.Claims,
	}, quotasOf(row.Settings)}, nil
}

// ready is store.ready with a cache of the tenants that exist.
func (a *Authenticator) ready(ctx context.Context, name string) (tenantRow, error) {
	if row, ok := a.tenants.Get(name); ok {
		return row, nil
	}
	asked, forgotten := a.now(), a.forgotten.Load()
	row, err := a.store.ready(ctx, name)
	if err == nil {
		a.tenants.PutLoaded(name, row, asked)
		if a.forgotten.Load() != forgotten { // it may have changed after the read
			a.tenants.Remove(name)
		}
	}
	return row, err
}
