package oauth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// freshKeys is how long the issuer's keys are used without fetching them again.
	freshKeys = time.Hour
	// maxKeyAge is how long they are used while fetching fails.
	maxKeyAge = 24 * time.Hour
	// minRefetch is the minimum time between two fetches, so that tokens with made-up
	// key ids do not cause a request each.
	minRefetch = 10 * time.Second
	// maxKeys is the most keys that a key set may have.
	maxKeys = 100
	// minRSABits is the minimum size of an RSA key. Smaller keys are ignored.
	minRSABits = 2048
	// maxUnnamed is the most keys with which a token without a key id is verified. It
	// bounds the cost of a made-up token.
	maxUnnamed = 8
)

// keys caches the public keys of the issuer. It fetches them again when a token names an
// unknown key, at most once in minRefetch, so the issuer may change its keys at any time.
// Safe for concurrent use.
type keys struct {
	issuer, address string // an empty address means the one in the issuer's metadata
	client          *http.Client
	now             func() time.Time

	mu       sync.Mutex
	known    []jose.JSONWebKey
	fetched  time.Time     // when known was fetched
	tried    time.Time     // when the last fetch began
	failed   error         // the error of the last fetch
	fetching chan struct{} // closed when the current fetch ends; nil without one
}

func newKeys(cfg Config) *keys {
	return &keys{issuer: cfg.Issuer, address: cfg.JWKSURL, client: cfg.client, now: cfg.Now}
}

// find returns the keys with the id; for an empty id all keys, if there are at most
// maxUnnamed. The result may be empty. Errors: Unavailable if the keys cannot be fetched.
func (k *keys) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	found, fresh, _ := k.cached(id)
	if len(found) > 0 {
		if !fresh {
			k.refetch(ctx) // in the background, for later calls
		}
		return found, nil
	}
	if err := k.wait(ctx, k.refetch(ctx)); err != nil {
		return nil, err
	}
	found, _, failed := k.cached(id)
	if len(found) == 0 && failed != nil {
		return nil, issuerUnavailable(failed)
	}
	return found, nil
}

// cached returns the cached keys with the id, unless they are older than maxKeyAge, whether
// they are fresh, and the error of the last fetch.
func (k *keys) cached(id string) (found []jose.JSONWebKey, fresh bool, failed error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	age := k.now().Sub(k.fetched)
	if age >= maxKeyAge {
		return nil, false, k.failed
	}
	for _, key := range k.known {
		if key.KeyID == id || id == "" && len(k.known) <= maxUnnamed {
			found = append(found, key)
		}
	}
	return found, age < freshKeys, k.failed
}

// refetch starts fetching the keys in the background, unless a fetch is running or began
// less than minRefetch ago. It returns a channel that is closed when the running fetch
// ends; nil if none is running. The end of ctx does not stop the fetch.
func (k *keys) refetch(ctx context.Context) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if k.fetching == nil && (k.tried.IsZero() || now.Sub(k.tried) >= minRefetch) {
		k.tried = now
		k.fetching = make(chan struct{})
		go k.fetch(context.WithoutCancel(ctx))
	}
	return k.fetching
}

func (k *keys) wait(ctx context.Context, done <-chan struct{}) error {
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *keys) fetch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	found, err := k.download(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = err
	if err == nil {
		k.known, k.fetched = found, k.now()
	}
	close(k.fetching)
	k.fetching = nil
}

func (k *keys) download(ctx context.Context) ([]jose.JSONWebKey, error) {
	address := k.address
	if address == "" {
		var err error
		if address, err = k.discover(ctx); err != nil {
			return nil, err
		}
	}
	var set struct{ Keys []json.RawMessage }
	if err := getJSON(ctx, k.client, address, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%s has %d keys, more than %d", address, len(set.Keys), maxKeys)
	}
	var usable []jose.JSONWebKey
	for _, raw := range set.Keys {
		// Keys of unknown types are ignored (RFC 7517, section 5).
		if key := new(jose.JSONWebKey); json.Unmarshal(raw, key) == nil && isSigningKey(*key) {
			usable = append(usable, *key)
		}
	}
	if len(usable) == 0 {
		return nil, fmt.Errorf("%s has no usable signing key", address)
	}
	return usable, nil
}

// isSigningKey reports whether a key is a public key for signatures and strong enough.
func isSigningKey(key jose.JSONWebKey) bool {
	if !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
		return false
	}
	rsaKey, isRSA := key.Key.(*rsa.PublicKey)
	return !isRSA || rsaKey.N.BitLen() >= minRSABits
}

// discover returns the address of the keys from the issuer's metadata (RFC 8414, else
// OpenID Connect Discovery).
func (k *keys) discover(ctx context.Context) (string, error) {
	issuer, err := url.Parse(k.issuer)
	if err != nil {
		return "", err
	}
	root, path := issuer.Scheme+"://"+issuer.Host, strings.TrimRight(issuer.Path, "/")
	var failed error
	for _, address := range []string{
		root + "/.well-known/oauth-authorization-server" + path,
		root + path + "/.well-known/openid-configuration",
	} {
		var metadata struct {
			Issuer  string `json:"issuer"`
			JWKSURI string `json:"jwks_uri"`
		}
		err := getJSON(ctx, k.client, address, &metadata)
		switch {
		case err != nil:
		case metadata.Issuer != k.issuer:
			err = fmt.Errorf("%s is the metadata of another issuer, %q", address, metadata.Issuer)
		case metadata.JWKSURI == "":
			err = fmt.Errorf("%s has no jwks_uri", address)
		default:
			if err = checkURL(metadata.JWKSURI); err == nil {
				return metadata.JWKSURI, nil
			}
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}
