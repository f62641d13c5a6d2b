package oauth

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

const (
	// maxOwnVerifiers is how many issuers of tenants have their keys cached.
	maxOwnVerifiers = 1000
	// maxVerifying bounds the tokens of a tenant's issuers that are verified at once, so
	// that an issuer that does not answer makes few requests wait.
	maxVerifying = 64
	// maxOwnConnections bounds the connections to one host of tenants' issuers.
	maxOwnConnections = 64
)

// Issuers verifies the tokens of several issuers: those of the operator, and those of the tenant
// that a request names. The issuer of a token is known before any of its keys is fetched. It
// implements credential.Tokens. Safe for concurrent use.
type Issuers struct {
	publicURL string
	operator  []*Verifier
	byURL     map[string]*Verifier // of operator
	opaque    *Verifier            // verifies tokens that are no JWTs; nil if none does

	guard     *outbound.Guard
	client    *http.Client // for tenants' issuers
	own       *cache.Cache[ownKey, *Verifier]
	verifying *limit.Limiter[tenant.ID]
	now       func() time.Time
}

// ownKey identifies a state of a tenant's issuer.
type ownKey struct {
	tenant  tenant.ID
	name    string
	updated int64
}

// IssuersConfig holds the settings of Issuers.
type IssuersConfig struct {
	// Operator are the operator's issuers. A token that names no issuer, which is no JWT, is
	// verified by the one with an IntrospectionURL, of which there may be one.
	Operator []Config
	// PublicURL is the address of the service, for which tokens are issued. Required.
	PublicURL string
	// Guard checks connections to issuers of tenants. Default: public addresses alone.
	Guard *outbound.Guard
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// NewIssuers returns Issuers. It sends no request until there is a token to verify.
func NewIssuers(cfg IssuersConfig) (*Issuers, error) {
	if cfg.Guard == nil {
		var err error
		if cfg.Guard, err = outbound.New(nil); err != nil {
			return nil, err
		}
	}
	s := &Issuers{
		publicURL: cfg.PublicURL, byURL: map[string]*Verifier{}, guard: cfg.Guard, now: cfg.Now,
		client:    newClient(cfg.Guard.Transport(maxOwnConnections)),
		own:       cache.New(cache.Config[ownKey, *Verifier]{Entries: maxOwnVerifiers, Now: cfg.Now}),
		verifying: limit.New[tenant.ID](0, maxVerifying),
	}
	for _, c := range cfg.Operator {
		c.PublicURL, c.Now = cmp.Or(c.PublicURL, cfg.PublicURL), firstClock(c.Now, cfg.Now)
		v, err := New(c)
		if err != nil {
			return nil, err
		}
		if s.byURL[c.Issuer] != nil {
			return nil, fmt.Errorf("oauth: the issuer %s is given twice", c.Issuer)
		}
		if c.IntrospectionURL != "" {
			if s.opaque != nil {
				return nil, fmt.Errorf("oauth: %s and %s both have an introspection endpoint, but an opaque token does not say which issuer it is from: only one may", s.opaque.cfg.Issuer, c.Issuer)
			}
			s.opaque = v
		}
		s.operator, s.byURL[c.Issuer] = append(s.operator, v), v
	}
	return s, nil
}

func firstClock(clocks ...func() time.Time) func() time.Time {
	for _, now := range clocks {
		if now != nil {
			return now
		}
	}
	return time.Now
}

// Verify implements credential.Tokens. Errors: those of Verifier.Verify; Unauthenticated for an
// unknown issuer; Unavailable when too many tokens of the tenant's issuers are being verified.
func (s *Issuers) Verify(ctx context.Context, token string, at credential.Resource) (credential.Token, error) {
	if len(token) > maxTokenBytes {
		return credential.Token{}, invalidToken(fmt.Errorf("a token of %d bytes", len(token)))
	}
	issuer, isJWT := issuerOf(token)
	if v := s.byURL[issuer]; isJWT && v != nil {
		return v.Verify(ctx, token, at)
	}
	if !isJWT && s.opaque != nil {
		return s.opaque.Verify(ctx, token, at)
	}
	i := slices.IndexFunc(at.Issuers, func(own credential.OwnIssuer) bool { return own.URL == issuer })
	if !isJWT || i < 0 {
		return credential.Token{}, invalidToken(fmt.Errorf("a token of an unknown issuer"))
	}
	own := at.Issuers[i]
	v, err := s.verifierOf(own)
	if err != nil {
		return credential.Token{}, err
	}
	if !s.verifying.TryAcquire(own.TenantID, 1) {
		return credential.Token{}, issuerUnavailable(fmt.Errorf("%d tokens of the tenant %s are being verified", maxVerifying, own.TenantID))
	}
	defer s.verifying.Release(own.TenantID, 1)
	return v.Verify(ctx, token, at)
}

// issuerOf returns the claim iss of a JWT whose signature is not verified yet. It returns false
// for a token that is no JWT.
func issuerOf(token string) (string, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false
	}
	var all map[string]json.RawMessage // the names of claims are case-sensitive
	if err := json.Unmarshal(payload, &all); err != nil {
		return "", false
	}
	var issuer string
	if err := json.Unmarshal(all["iss"], &issuer); err != nil {
		return "", true
	}
	return issuer, true
}

// verifierOf returns the verifier of a tenant's issuer.
func (s *Issuers) verifierOf(own credential.OwnIssuer) (*Verifier, error) {
	key := ownKey{own.TenantID, own.Name, own.UpdatedAt.UnixMicro()}
	if v, ok := s.own.Get(key); ok {
		return v, nil
	}
	v, err := New(s.configOf(own))
	if err != nil {
		return nil, err
	}
	return s.own.PutIfAbsent(key, v), nil
}

func (s *Issuers) configOf(own credential.OwnIssuer) Config {
	return Config{
		Issuer: own.URL, Audiences: own.Audiences, JWKSURL: own.JWKSURL, ScopeClaim: own.ScopeClaim, ScopePrefix: own.ScopePrefix,
		Scopes: own.Scopes, FilterClaim: own.FilterClaim, BoundsClaim: own.BoundsClaim, PublicURL: s.publicURL, Now: s.now,
		QualifySubjects: true, client: s.client, owner: own.TenantID,
	}
}

// Issuers implements credential.Tokens.
func (s *Issuers) Issuers(name string) []credential.Issuer {
	var issuers []credential.Issuer
	for _, v := range s.operator {
		if name == "" || len(v.cfg.Tenants) == 0 || slices.Contains(v.cfg.Tenants, name) {
			issuers = append(issuers, credential.Issuer{URL: v.cfg.Issuer, ScopePrefix: v.cfg.ScopePrefix})
		}
	}
	return issuers
}

// Check implements credential.Tokens. It sends no request.
func (s *Issuers) Check(own credential.OwnIssuer) error {
	for field, address := range map[string]string{"url": own.URL, "jwksUrl": own.JWKSURL} {
		if field == "jwksUrl" && address == "" {
			continue
		}
		if err := s.guard.CheckURL(field, address); err != nil {
			return err
		}
		if err := checkURL(address); err != nil {
			return fault.Field(field, "must begin with https://: keys that are fetched without TLS can be forged")
		}
	}
	if s.byURL[own.URL] != nil {
		return fault.New(fault.Exists, "the operator of this server accepts tokens of this issuer already, which name their tenant")
	}
	return nil
}
