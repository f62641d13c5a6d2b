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

	"github.com/ragdhq/ragd/internal/cache"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// introspectionTTL bounds how long a token that the issuer has revoked goes on
	// working.
	introspectionTTL = 15 * time.Second
	// maxIntrospected bounds the tokens whose answers are remembered, the good and
	// the others each.
	maxIntrospected = 10_000
)

// introspection asks the issuer about tokens. Safe for concurrent use.
type introspection struct {
	cfg    Config
	client *http.Client
	// good are the tokens that the issuer knows, and others those it does not: apart,
	// so that tokens that were made up push out none that is good.
	good, others *cache.Cache[[sha256.Size]byte, introspected]
	flight       singleflight.Group
	places       *places
}

// introspected is the issuer's answer about a token.
type introspected struct {
	claims claims
	err    error
	until  time.Time
}

func newIntrospection(cfg Config) *introspection {
	return &introspection{cfg: cfg, client: newClient(), good: newAnswers(), others: newAnswers(), places: newPlaces()}
}

// newAnswers returns a cache without a TTL: that a token was good counts when the
// issuer is asked about it again.
func newAnswers() *cache.Cache[[sha256.Size]byte, introspected] {
	return cache.New(cache.Config[[sha256.Size]byte, introspected]{Entries: maxIntrospected})
}

// claims returns what the issuer says of a token.
func (i *introspection) claims(ctx context.Context, token string) (claims, error) {
	hash := sha256.Sum256([]byte(token))
	found, wasGood := i.good.Get(hash)
	if !wasGood {
		found, _ = i.others.Get(hash)
	}
	if i.cfg.Now().Before(found.until) {
		return found.claims, found.err
	}
	answered := i.flight.DoChan(string(hash[:]), func() (any, error) {
		answer, err := i.question(context.WithoutCancel(ctx), token, wasGood)
		if err != nil {
			return claims{}, unanswered(err)
		}
		if answer.err != nil {
			i.good.Remove(hash)
			i.others.Put(hash, answer)
		} else {
			i.good.Put(hash, answer)
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

// question asks the issuer once there is a place for it.
func (i *introspection) question(ctx context.Context, token string, wasGood bool) (introspected, error) {
	waiting, stop := context.WithTimeout(ctx, fetchTimeout)
	defer stop()
	leave, err := i.places.enter(waiting, tenant.ClientOf(ctx), wasGood)
	if err != nil {
		return introspected{}, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	// The time is taken before, so that what is remembered is never older than it
	// says.
	until := i.cfg.Now().Add(introspectionTTL)
	c, active, err := i.ask(ctx, token)
	if err == nil && !active {
		return introspected{err: unknown(errors.New("the issuer says that the token is not active")), until: until}, nil
	}
	return introspected{claims: c, until: until}, err
}

// ask makes one request of RFC 7662.
func (i *introspection) ask(ctx context.Context, token string) (_ claims, active bool, err error) {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, i.cfg.IntrospectionURL, strings.NewReader(form.Encode()))
	if err != nil {
		return claims{}, false, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	// RFC 6749, section 2.3.1, has them encoded first.
	request.SetBasicAuth(url.QueryEscape(i.cfg.ClientID), url.QueryEscape(i.cfg.ClientSecret))
	var c claims
	if err := doJSON(i.client, request, &c.all); err != nil {
		return claims{}, false, err
	}
	if json.Unmarshal(c.all["active"], &active) != nil || !active {
		return claims{}, false, nil
	}
	err = c.readRegistered()
	if c.Issuer == "" { // whom we asked
		c.Issuer = i.cfg.Issuer
	}
	if c.Expiry == nil { // may be left out; the issuer would say when it has
		c.Expiry = jwt.NewNumericDate(i.cfg.Now().Add(introspectionTTL))
	}
	return c, true, err
}

// readRegistered fills in the claims that every token has.
func (c *claims) readRegistered() error {
	raw, err := json.Marshal(c.all)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, &c.Claims)
}
