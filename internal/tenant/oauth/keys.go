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
	// freshKeys is how long the issuer's keys are used without asking again.
	freshKeys = time.Hour
	// maxKeyAge is how long they are used while the issuer does not answer.
	maxKeyAge = 24 * time.Hour
	// minRefetch is the least time between two requests for the keys: tokens with
	// made-up key ids must not make us ask for each.
	minRefetch = 10 * time.Second
	// maxKeys bounds what is kept of a set, and minRSABits the keys that count.
	maxKeys    = 100
	minRSABits = 2048
	// maxUnnamed is how many keys are tried on a token that names none: each costs
	// us a check that whoever made the token up had for nothing.
	maxUnnamed = 8
)

// keys are the public keys of the issuer. A key that is not known is looked for
// again, at most once in minRefetch, so that the issuer may change its keys
// without a word. Safe for concurrent use.
type keys struct {
	issuer, address string // address is "" for that of the issuer's metadata
	client          *http.Client
	now             func() time.Time

	mu       sync.Mutex
	known    []jose.JSONWebKey
	fetched  time.Time // known
	tried    time.Time
	failed   error         // why the last try failed
	fetching chan struct{} // closed when the try that is under way ends; nil for none
}

func newKeys(cfg Config) *keys {
	return &keys{issuer: cfg.Issuer, address: cfg.JWKSURL, client: newClient(), now: cfg.Now}
}

// find returns the keys with the id; for "" all, if they are few. None is no error. Errors:
// Unavailable when the issuer does not answer.
func (k *keys) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	found, fresh, _ := k.held(id)
	if len(found) > 0 {
		if !fresh {
			k.refetch(ctx) // for those who come later
		}
		return found, nil
	}
	if err := k.wait(ctx, k.refetch(ctx)); err != nil {
		return nil, err
	}
	found, _, failed := k.held(id)
	if len(found) == 0 && failed != nil {
		return nil, unanswered(failed)
	}
	return found, nil
}

// held returns the keys in memory with the id, whether they are fresh, and why
// they are not fresher. Keys that are too old are none.
func (k *keys) held(id string) (found []jose.JSONWebKey, fresh bool, failed error) {
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

// refetch has the keys fetched, whoever stops waiting for them. It returns a
// channel that is closed afterwards; nil when they were fetched a moment ago.
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
		// Keys of kinds that we do not know are for others.
		if key := new(jose.JSONWebKey); json.Unmarshal(raw, key) == nil && signs(*key) {
			usable = append(usable, *key)
		}
	}
	if len(usable) == 0 {
		return nil, fmt.Errorf("%s has no key that signs tokens", address)
	}
	return usable, nil
}

// signs reports whether a key is a public one for signatures, and strong enough.
func signs(key jose.JSONWebKey) bool {
	if !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
		return false
	}
	weak, isRSA := key.Key.(*rsa.PublicKey)
	return !isRSA || weak.N.BitLen() >= minRSABits
}

// discover returns the address of the keys from the issuer's metadata: of RFC 8414,
// else of OpenID Connect Discovery.
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
			err = fmt.Errorf("%s is of the issuer %q", address, metadata.Issuer)
		case metadata.JWKSURI == "":
			err = fmt.Errorf("%s names no jwks_uri", address)
		default:
			if err = checkURL(metadata.JWKSURI); err == nil {
				return metadata.JWKSURI, nil
			}
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}
