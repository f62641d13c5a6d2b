package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/sync/singleflight"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

const (
	// introspectionTTL is how long an answer is cached. A token that the issuer revokes
	// is accepted for up to this time.
	introspectionTTL = 15 * time.Second
	// maxIntrospected is the most answers that each of the two caches has.
	maxIntrospected = 10_000
)

// introspection verifies tokens at the issuer's introspection endpoint (RFC 7662) and
// caches the answers. Safe for concurrent use.
type introspection struct {
	cfg    Config
	client *http.Client
	// Answers by the hash of the token. Active and inactive tokens have separate caches,
	// so that made-up tokens do not evict active ones.
	active, inactive *cache.Cache[[sha256.Size]byte, introspected]
	flight           singleflight.Group
	slots            *slots
}

// introspected is the issuer's answer about a token.
type introspected struct {
	claims claims
	err    error
	until  time.Time // when the answer expires
}

func newIntrospection(cfg Config) *introspection {
	return &introspection{cfg: cfg, client: cfg.client, active: newAnswers(), inactive: newAnswers(), slots: newSlots()}
}

// newAnswers returns a cache without a TTL. An expired answer still tells whether the token
// was active, and so how soon the issuer is asked about it again.
func newAnswers() *cache.Cache[[sha256.Size]byte, introspected] {
	return cache.New(cache.Config[[sha256.Size]byte, introspected]{Entries: maxIntrospected})
}

// claims returns the claims of an active token. Errors: Unauthenticated for a token that is
// not active, Unavailable if the issuer cannot be asked, the context's error.
func (i *introspection) claims(ctx context.Context, token string) (claims, error) {
	hash := sha256.Sum256([]byte(token))
	found, wasActive := i.active.Get(hash)
	if !wasActive {
		found, _ = i.inactive.Get(hash)
	}
	if i.cfg.Now().Before(found.until) {
		return found.claims, found.err
	}
	answered := i.flight.DoChan(string(hash[:]), func() (any, error) {
		answer, err := i.introspect(context.WithoutCancel(ctx), token, wasActive)
		if err != nil {
			return claims{}, issuerUnavailable(err)
		}
		if answer.err != nil {
			i.active.Remove(hash)
			i.inactive.Put(hash, answer)
		} else {
			i.active.Put(hash, answer)
		}
		return answer.claims, answer.err
	})
	select {
	case result := <-answered:
		c, _ := result.Val.(claims)
		return c, result.Err
	case <-ctx.Done():
		return claims{}, ctx.Err()
	}
}

// introspect waits for a slot and then asks the issuer about the token.
func (i *introspection) introspect(ctx context.Context, token string, wasActive bool) (introspected, error) {
	waiting, stop := context.WithTimeout(ctx, fetchTimeout)
	defer stop()
	release, err := i.slots.acquire(waiting, credential.ClientOf(ctx), wasActive)
	if err != nil {
		return introspected{}, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	// The time before the request, so that the answer is never cached for longer than
	// introspectionTTL.
	until := i.cfg.Now().Add(introspectionTTL)
	c, active, err := i.send(ctx, token)
	if err == nil && !active {
		return introspected{err: invalidToken(errors.New("the issuer says that the token is not active")), until: until}, nil
	}
	return introspected{claims: c, until: until}, err
}

// send sends one introspection request (RFC 7662, section 2.1).
func (i *introspection) send(ctx context.Context, token string) (_ claims, active bool, err error) {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, i.cfg.IntrospectionURL, strings.NewReader(form.Encode()))
	if err != nil {
		return claims{}, false, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	// RFC 6749, section 2.3.1, requires form encoding before Basic authentication.
	request.SetBasicAuth(url.QueryEscape(i.cfg.ClientID), url.QueryEscape(i.cfg.ClientSecret))
	var c claims
	if err := doJSON(i.client, request, &c.all); err != nil {
		return claims{}, false, err
	}
	if json.Unmarshal(c.all["active"], &active) != nil || !active {
		return claims{}, false, nil
	}
	err = c.readRegistered()
	if c.Issuer == "" { // optional in an answer
		c.Issuer = i.cfg.Issuer
	}
	if c.Expiry == nil { // optional too; an expired token is not active
		c.Expiry = jwt.NewNumericDate(i.cfg.Now().Add(introspectionTTL))
	}
	return c, true, err
}

// readRegistered decodes the registered claims (RFC 7519, section 4.1).
func (c *claims) readRegistered() error {
	raw, err := json.Marshal(c.all)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, &c.Claims)
}
