// Package identity signs short-lived tokens in which the service says on whose behalf it
// calls an endpoint, and publishes the keys that verify them.
//
// Tokens are JSON Web Tokens with an Ed25519 signature (RFC 7519, RFC 8037). All instances on
// a database sign with the same key, which the first one that needs it makes:
//
//	made --Lead--> signs --Period--> next key is made --Lead--> next signs --Overlap--> deleted
//
// A key is published from when it is made until it is deleted. Receivers that fetch the keys
// again within Lead therefore know a key before it signs.
package identity

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/seal"
)

// Path is where the keys are published.
const Path = "/.well-known/jwks.json"

// Times of a token and of a key.
const (
	TokenLife = time.Minute
	Period    = 30 * 24 * time.Hour
	Lead      = time.Hour
	Overlap   = 24 * time.Hour

	// published is how long receivers may keep the keys. It must be shorter than Lead.
	published = 5 * time.Minute
	// fresh is how long the keys in memory are used before they are read again.
	fresh = 5 * time.Second
)

// control starts transactions on the control schema.
type control interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Issuer signs tokens. Safe for concurrent use.
type Issuer struct {
	control control
	keys    *seal.Keys
	name    string

	mu     sync.Mutex
	loaded []key // oldest first
	until  time.Time
}

// NewIssuer returns an Issuer that signs in the name of an address, that of the service.
// Without master keys it signs nothing.
func NewIssuer(database control, keys *seal.Keys, address string) *Issuer {
	return &Issuer{control: database, keys: keys, name: address}
}

// Check returns Precondition if the issuer cannot sign tokens.
func (i *Issuer) Check() error {
	if i.keys == nil {
		return fault.New(fault.Precondition, "this server cannot sign tokens: its operator sets RAGD_MASTER_KEY, with which the signing keys are encrypted")
	}
	return nil
}

// Claims are what a token says.
type Claims struct {
	// Audience is the origin of the endpoint, such as https://api.example.com.
	Audience string `json:"-"`
	// Subject identifies the caller within the tenant.
	Subject string `json:"-"`

	Tenant string `json:"tenant"`
	Tool   string `json:"tool"`
	// Server is the MCP server that the call came through; empty for none.
	Server string `json:"server,omitempty"`
	// Method and URL are those of the request, the URL without its query.
	Method string `json:"htm"`
	URL    string `json:"htu"`
	// Context has values of the request context.
	Context map[string]any `json:"context,omitempty"`
}

// Token returns a signed token, valid for TokenLife. Errors: Precondition without master keys.
func (i *Issuer) Token(ctx context.Context, claims Claims) (string, error) {
	if err := i.Check(); err != nil {
		return "", err
	}
	signing, err := i.signingKey(ctx)
	if err != nil {
		return "", fmt.Errorf("load the signing key: %w", err)
	}
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", signing.id)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: signing.private}, options)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	now := time.Now()
	token, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: i.name, Audience: jwt.Audience{claims.Audience}, Subject: claims.Subject, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now.Add(-notBefore)), Expiry: jwt.NewNumericDate(now.Add(TokenLife)),
	}).Claims(claims).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return token, nil
}

// notBefore is how much the clock of a receiver may be behind.
const notBefore = 10 * time.Second

// signingKey returns the newest key that has been published for Lead, else the oldest that
// can be decrypted.
func (i *Issuer) signingKey(ctx context.Context) (key, error) {
	keys, err := i.all(ctx, true)
	if err != nil {
		return key{}, err
	}
	usable := slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return k.private == nil })
	if len(usable) == 0 {
		return key{}, fmt.Errorf("no key of %d can be decrypted", len(keys))
	}
	signing := usable[0]
	for _, k := range usable {
		if k.age >= Lead {
			signing = k
		}
	}
	return signing, nil
}

// all returns the keys. With renew it makes a new one when none can be used or the newest is
// older than Period.
func (i *Issuer) all(ctx context.Context, renew bool) ([]key, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if time.Now().Before(i.until) && len(i.loaded) > 0 {
		return i.loaded, nil
	}
	loaded, err := load(ctx, i.control, i.keys, renew)
	if err == nil {
		i.loaded, i.until = loaded, time.Now().Add(fresh)
	}
	return loaded, err
}

// ServeHTTP answers with the public keys as a JSON Web Key Set (RFC 7517).
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	keys, err := i.all(r.Context(), false)
	if err != nil {
		http.Error(w, "the keys cannot be read", http.StatusServiceUnavailable)
		return
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, k := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.public, KeyID: k.id, Algorithm: string(jose.EdDSA), Use: "sig"})
	}
	w.Header().Set("Content-Type", "application/jwk-set+json")
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(published.Seconds())))
	w.Header().Set("Access-Control-Allow-Origin", "*")
	if len(keys) == 0 { // until the first is made
		w.Header().Set("Cache-Control", "no-store")
	}
	_ = json.NewEncoder(w).Encode(set)
}
