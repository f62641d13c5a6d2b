// Package oauth verifies the OAuth 2 access tokens that an authorization server, the
// issuer, issues for the service, and reads tenant, scopes and mandatory filter from their
// claims. It issues no tokens and sends none to other services.
//
// A token is either a JWT, whose signature is verified with the issuer's published keys
// (RFC 7519, RFC 9068), or of any form that the issuer's introspection endpoint accepts
// (RFC 7662):
//
//	verifier, err := oauth.New(oauth.Config{Issuer: "https://id.example.com", Audiences: []string{"https://rag.example.com/mcp"}})
//	token, err := verifier.Verify(ctx, bearer, credential.Resource{})
//
// Issuers chooses the issuer of a token among several.
package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// Config holds the settings of a Verifier. Issuer, and Audiences or PublicURL, are required. The
// name of a nested claim is its path with dots, such as realm.tenant.
type Config struct {
	// Audiences are the accepted audiences. A token must have one of them, or be for the MCP
	// server of the request alone. Default: PublicURL, and that with /mcp.
	Audiences []string
	// BoundsClaim is the name of the claim with the bounds: an object with the lists servers,
	// indexes, tools and prompts, of which a missing one allows all names, or a string that
	// contains such an object. If it is set, every token must have the claim; {} allows
	// everything. Default: tokens have no bounds.
	BoundsClaim string
	// ClientID and ClientSecret authenticate the service at IntrospectionURL.
	ClientID     string
	ClientSecret string
	// FilterClaim is the name of the claim with the mandatory filter: a JSON object, or
	// a string that contains one. If it is set, every token must have the claim; {}
	// hides nothing. Default: tokens have no filter.
	FilterClaim string
	// IntrospectionURL is the introspection endpoint, which verifies every token.
	// Default: tokens are JWTs.
	IntrospectionURL string
	// Issuer is the authorization server, as in the claim iss: an https URL, or http for
	// a loopback address.
	Issuer string
	// JWKSURL is the address of the issuer's keys. Default: the one in its metadata
	// (RFC 8414, or OpenID Connect Discovery).
	JWKSURL string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// PublicURL is the address of the service. A token whose audience is this address with the
	// path of an MCP server is accepted for that server alone.
	PublicURL string
	// ScopeClaim is the name of the claim with the scopes: a string of scopes separated
	// by spaces, or a list. Default: scope.
	ScopeClaim string
	// ScopePrefix is the issuer's prefix of this service's scopes, such as api://ragd/;
	// scopes without it are ignored. Default: none.
	ScopePrefix string
	// QualifySubjects puts the issuer into subjects, as "user@https://id.example.com alice" for
	// "user:alice", so that those of several issuers differ.
	QualifySubjects bool
	// Scopes are the scopes that tokens can give; others are ignored. Default: read, write
	// and admin.
	Scopes []access.Scope
	// TenantClaim is the name of the claim with the tenant's id. Default: tenant.
	TenantClaim string
	// Tenants are the tenants that tokens may name. Default: all.
	Tenants []string

	client *http.Client // asks the issuer; nil for one without limits on addresses
	owner  tenant.ID    // the only tenant of the tokens, whatever they name; empty for an operator's issuer
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.ScopeClaim = cmp.Or(c.ScopeClaim, "scope")
	c.TenantClaim = cmp.Or(c.TenantClaim, "tenant")
	if len(c.Scopes) == 0 {
		c.Scopes = []access.Scope{access.Read, access.Write, access.Admin}
	}
	if c.client == nil {
		c.client = newClient(nil)
	}
	return c
}

func (c Config) validate() error {
	if len(c.Audiences) == 0 && c.PublicURL == "" || slices.Contains(c.Audiences, "") {
		return errors.New("oauth: at least one audience is needed, so that tokens for other services are refused")
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

// checkURL returns an error unless the address is empty, an https URL, or an http URL of a
// loopback address. Keys that are fetched without TLS could be forged.
func checkURL(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("oauth: %q is not a URL such as https://id.example.com", address)
	case u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("oauth: %s must begin with https://: keys that are fetched without TLS can be forged", address)
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

// New returns a Verifier. It sends no request to the issuer until there is a token to
// verify, so the two may start in any order.
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

// maxTokenBytes bounds the tokens that are decoded or sent to the issuer: their callers are
// not authenticated yet.
const maxTokenBytes = 16 << 10

// Verify returns what a token that is valid at a resource says. Errors: Unauthenticated for an invalid token, with the
// reason only if the issuer is known to have issued it; Unavailable if the issuer cannot
// be asked.
func (v *Verifier) Verify(ctx context.Context, token string, at credential.Resource) (credential.Token, error) {
	if len(token) > maxTokenBytes {
		return credential.Token{}, invalidToken(fmt.Errorf("a token of %d bytes", len(token)))
	}
	c, err := v.claims(ctx, token)
	if err != nil {
		return credential.Token{}, err
	}
	if err := v.check(c, at); err != nil {
		return credential.Token{}, err
	}
	return v.token(c)
}

// invalidToken returns the error for a token that the issuer is not known to have issued.
// Its message gives no reason.
func invalidToken(cause error) error {
	return fault.Wrap(fault.Unauthenticated, cause, "a valid API key or access token is needed: send it as Authorization: Bearer <token>")
}

// refused returns the error for a token of the issuer that gives no access here.
func refused(format string, args ...any) error {
	return fault.New(fault.Unauthenticated, "the access token was refused: "+format, args...)
}

// issuerUnavailable returns the error for an issuer that cannot be asked.
func issuerUnavailable(cause error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Message: "access tokens cannot be verified now: the authorization server does not answer correctly",
		RetryAfter: minRefetch, Cause: cause,
	}
}

// audiences returns the audiences of which a token needs one at a resource: those of the whole
// service, or of the whole tenant, and the address of the MCP server.
func (v *Verifier) audiences(at credential.Resource) []string {
	accepted := slices.Clone(v.cfg.Audiences)
	if v.cfg.PublicURL == "" {
		return accepted
	}
	base := strings.TrimRight(v.cfg.PublicURL, "/")
	var bases []string
	if v.cfg.owner == "" {
		bases = append(bases, base)
	}
	if at.Tenant != "" {
		bases = append(bases, base+at.Base())
	}
	for _, base := range bases {
		if len(v.cfg.Audiences) == 0 || v.cfg.owner != "" {
			accepted = append(accepted, base, base+credential.MCPPath)
		}
		if at.Server != "" {
			accepted = append(accepted, base+credential.MCPPath+"/"+at.Server)
		}
	}
	return accepted
}
