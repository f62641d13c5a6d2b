// Package oauth makes the service a protected resource of OAuth 2: it verifies the
// access tokens that an authorization server issues for it, and reads from their
// claims whose data the caller may touch, and which of it. It issues no tokens and
// passes none on.
//
// A token is either a JWT, whose signature is checked against the keys that the
// issuer publishes (RFC 7519, RFC 9068), or anything that the issuer's
// introspection endpoint knows (RFC 7662):
//
//	verifier, err := oauth.New(oauth.Config{Issuer: "https://id.example.com", Audiences: []string{"https://rag.example.com/mcp"}})
//	token, err := verifier.Verify(ctx, bearer)
package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Config says whose tokens are accepted and what they must say. Issuer and
// Audiences are required; zero means the default for everything else.
type Config struct {
	// Audiences are the names under which tokens may be issued for us; a token must
	// have one of them.
	Audiences []string
	// ClientID and ClientSecret are how we show ourselves to IntrospectionURL.
	ClientID     string
	ClientSecret string
	// FilterClaim names the claim with the mandatory filter: an object, or a string
	// with one. Once named, every token must have it; {} hides nothing. Default:
	// tokens carry no filter.
	FilterClaim string
	// IntrospectionURL is asked about every token. Default: tokens are JWTs.
	IntrospectionURL string
	// Issuer is the authorization server, as it stands in tokens: an https URL, or
	// http on this machine.
	Issuer string
	// JWKSURL is where the issuer publishes its keys. Default: as its metadata says
	// (RFC 8414, or OpenID Connect Discovery).
	JWKSURL string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// ScopeClaim names the claim with the scopes: a string of them with spaces
	// between, or a list. Default: scope.
	ScopeClaim string
	// ScopePrefix is what the issuer puts before our scopes, such as
	// api://ragd/; scopes without it are of others. Default: none.
	ScopePrefix string
	// TenantClaim names the claim with the tenant's id. Default: tenant.
	//
	// Claims within claims are named with dots, as in realm.tenant.
	TenantClaim string
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.ScopeClaim = cmp.Or(c.ScopeClaim, "scope")
	c.TenantClaim = cmp.Or(c.TenantClaim, "tenant")
	return c
}

func (c Config) validate() error {
	if len(c.Audiences) == 0 || slices.Contains(c.Audiences, "") {
		return errors.New("oauth: at least one audience is needed: tokens that were issued for others must be refused")
	}
	if c.Issuer == "" {
		return errors.New("oauth: an issuer is needed")
	}
	if c.IntrospectionURL != "" && (c.ClientID == "" || c.ClientSecret == "") {
		return errors.New("oauth: introspection needs a client id and a client secret")
	}
	for _, address := range []string{c.Issuer, c.JWKSURL, c.IntrospectionURL} {
		if err := checkURL(address); err != nil {
			return err
		}
	}
	return nil
}

// checkURL refuses addresses at which anyone on the way could say what our keys
// are. "" is none.
func checkURL(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("oauth: %q is not an address such as https://id.example.com", address)
	case u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("oauth: %s must begin with https://: keys that come over an open line prove nothing", address)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Verifier verifies access tokens. Safe for concurrent use.
type Verifier struct {
	cfg    Config
	claims func(ctx context.Context, token string) (claims, error)
}

// New returns a Verifier. It asks the issuer for nothing before there is a token
// to verify, so that neither has to be up first.
func New(cfg Config) (*Verifier, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	v := &Verifier{cfg: cfg}
	if cfg.IntrospectionURL != "" {
		v.claims = newIntrospection(cfg).claims
	} else {
		v.claims = newSigned(cfg).claims
	}
	return v, nil
}

// maxTokenBytes bounds what we decode or send on for a caller whom nobody knows.
const maxTokenBytes = 16 << 10

// Verify implements tenant.Tokens. Errors: Unauthenticated for a token that is not
// good, which says why once its origin is proven; Unavailable when the issuer
// cannot be asked.
func (v *Verifier) Verify(ctx context.Context, token string) (tenant.Token, error) {
	if len(token) > maxTokenBytes {
		return tenant.Token{}, unknown(fmt.Errorf("a token of %d bytes", len(token)))
	}
	c, err := v.claims(ctx, token)
	if err != nil {
		return tenant.Token{}, err
	}
	if err := v.check(c); err != nil {
		return tenant.Token{}, err
	}
	return v.token(c)
}

// unknown is the error for a token of which we do not know that the issuer made
// it. It tells the caller nothing.
func unknown(cause error) error {
	return fault.Wrap(fault.Unauthenticated, cause, "a valid API key or access token is needed: send it as Authorization: Bearer <token>")
}

// refused is the error for a token of the issuer's that is not good here.
func refused(format string, args ...any) error {
	return fault.New(fault.Unauthenticated, "the access token was refused: "+format, args...)
}

// unanswered is the error for an issuer that cannot be asked.
func unanswered(cause error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Message: "access tokens cannot be verified now: the authorization server does not answer as it should",
		RetryAfter: minRefetch, Cause: cause,
	}
}
