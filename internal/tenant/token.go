package tenant

import (
	"context"
	"net/netip"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
)

// Tokens verifies credentials that are not ours: the access tokens of an
// authorization server.
type Tokens interface {
	// Verify returns what the issuer says of the caller. Errors: Unauthenticated;
	// Unavailable when the issuer cannot be asked.
	Verify(ctx context.Context, token string) (Token, error)
}

// Token holds the claims of an access token about the caller.
type Token struct {
	// Subject is who calls. It never looks like an API key's id.
	Subject string
	// Tenant is the name of the tenant, as the token has it.
	Tenant          string
	Scopes          []Scope
	MandatoryFilter filter.Filter
}

type clientKey struct{}

// WithClient returns a context that carries where a request comes from: an address
// with a port, as http.Request.RemoteAddr.
func WithClient(ctx context.Context, remote string) context.Context {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, clientKey{}, at.Addr())
}

// ClientOf returns the address that a request comes from: that of the proxy where
// one stands in front, and the zero one where none is known.
func ClientOf(ctx context.Context) netip.Addr {
	address, _ := ctx.Value(clientKey{}).(netip.Addr)
	return address
}

// existsFor is how long a tenant is taken to exist after it was seen.
const existsFor = keyCacheTTL

// fromToken returns the principal behind an access token. A tenant that does not
// exist is no reason to look elsewhere.
func (a *Authenticator) fromToken(ctx context.Context, token string) (Principal, error) {
	t, err := a.tokens.Verify(ctx, token)
	if err != nil {
		return Principal{}, err
	}
	id, err := a.existing(ctx, t.Tenant)
	switch kind := fault.KindOf(err); {
	case kind == fault.NotFound || kind == fault.Invalid:
		return Principal{}, fault.Wrap(fault.Unauthenticated, err, "the access token was refused: its tenant is not known here")
	case err != nil:
		return Principal{}, err
	}
	return Principal{Subject: t.Subject, Tenant: id, Scopes: t.Scopes, MandatoryFilter: t.MandatoryFilter, ByToken: true}, nil
}

// existing is store.existing with a memory.
func (a *Authenticator) existing(ctx context.Context, name string) (ID, error) {
	if _, ok := a.tenants.Get(name); ok {
		return ID(name), nil
	}
	asked := a.now()
	id, err := a.store.existing(ctx, name)
	if err == nil {
		a.tenants.PutLoaded(name, struct{}{}, asked)
	}
	return id, err
}
