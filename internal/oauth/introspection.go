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
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

const (
	// introspectionTTL bounds how long a token that the issuer has revoked goes on
	// working.
	introspectionTTL = 15 * time.Second
	// maxIntrospected bounds the tokens whose answers are remembered.
	maxIntrospected = 10_000
	// maxQuestions bounds the questions under way: whoever sends tokens that he made
	// up should not bring the issuer down through us.
	maxQuestions = 32
)

// introspection asks the issuer about tokens. Safe for concurrent use.
type introspection struct {
	cfg       Config
	client    *http.Client
	known     *lru.Cache[[sha256.Size]byte, introspected]
	flight    singleflight.Group
	questions chan struct{}
}

// introspected is what the issuer said of a token.
type introspected struct {
	claims claims
	err    error
	until  time.Time
}

func newIntrospection(cfg Config) *introspection {
	known, err := lru.New[[sha256.Size]byte, introspected](maxIntrospected)
	if err != nil {
		panic(err) // only a size under 1 is an error
	}
	return &introspection{cfg: cfg, client: newClient(), known: known, questions: make(chan struct{}, maxQuestions)}
}

// claims returns what the issuer says of a token.
func (i *introspection) claims(ctx context.Context, token string) (claims, error) {
	hash := sha256.Sum256([]byte(token))
	if found, ok := i.known.Get(hash); ok && i.cfg.Now().Before(found.until) {
		return found.claims, found.err
	}
	answered := i.flight.DoChan(string(hash[:]), func() (any, error) {
		// The time is taken before, so that what is remembered is never older than it
		// says.
		until := i.cfg.Now().Add(introspectionTTL)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		c, active, err := i.ask(ctx, token)
		if err != nil {
			return claims{}, unanswered(err)
		}
		answer := introspected{claims: c, until: until}
		if !active {
			answer.err = unknown(errors.New("the issuer says that the token is not active"))
		}
		i.known.Add(hash, answer)
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

// ask makes one request of RFC 7662.
func (i *introspection) ask(ctx context.Context, token string) (_ claims, active bool, err error) {
	select {
	case i.questions <- struct{}{}:
		defer func() { <-i.questions }()
	case <-ctx.Done():
		return claims{}, false, ctx.Err()
	}
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
