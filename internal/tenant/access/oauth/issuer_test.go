package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const audience = "https://rag.example.com/mcp"

// issuer is an authorization server with its own keys and clock.
type issuer struct {
	*httptest.Server

	mu        sync.Mutex
	published []any                     // the keys
	answer    http.HandlerFunc          // if set, answers requests for the keys
	requests  int                       // for keys and introspection
	active    map[string]map[string]any // the claims of active tokens
	blocked   chan struct{}             // if set, introspection of other tokens receives from it first
	clock     time.Time
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{clock: time.Now(), active: map[string]map[string]any{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.requests++
		if i.answer != nil {
			i.answer(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": i.published})
	})
	mux.HandleFunc("POST /introspect", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.requests++
		if blocked := i.blocked; blocked != nil && i.active[r.FormValue("token")] == nil {
			i.mu.Unlock()
			<-blocked
			i.mu.Lock()
		}
		if name, secret, _ := r.BasicAuth(); name != "ragd" || secret != "s3cret%2B" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer := map[string]any{"active": false}
		if claims := i.active[r.FormValue("token")]; claims != nil {
			answer = claims
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) verifier(t *testing.T, change func(*Config)) *Verifier {
	t.Helper()
	cfg := Config{Issuer: i.URL, Audiences: []string{audience}, Now: i.now}
	if change != nil {
		change(&cfg)
	}
	v, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (i *issuer) now() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.clock
}

// advance moves the clock forward.
func (i *issuer) advance(d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.clock = i.clock.Add(d)
}

// answerKeysWith sets the handler of requests for the keys; nil for the default one.
func (i *issuer) answerKeysWith(handler http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = handler
}

// block makes introspection of inactive tokens wait until unblock or the end of the test.
func (i *issuer) block(t *testing.T) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	blocked := make(chan struct{})
	i.blocked = blocked
	t.Cleanup(func() { close(blocked) })
}

// unblock lets n blocked requests continue.
func (i *issuer) unblock(n int) {
	for range n {
		i.blocked <- struct{}{}
	}
}

// requestCount returns the number of requests for keys and introspection so far.
func (i *issuer) requestCount() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests
}

// key creates a key pair and publishes the public key.
func (i *issuer) key(t *testing.T, id string) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.publish(jose.JSONWebKey{Key: key.Public(), KeyID: id, Use: "sig"})
	return key
}

func (i *issuer) publish(keys ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.published = append(i.published, keys...)
}

func (i *issuer) unpublishKeys() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.published = nil
}

// claims returns the claims of a valid token, with changes; a nil value removes a claim.
func (i *issuer) claims(changes map[string]any) map[string]any {
	now := i.now().Unix()
	all := map[string]any{
		"iss": i.URL, "aud": audience, "sub": "alice", "tenant": "acme", "scope": "openid read write operator",
		"exp": now + 300, "iat": now, "nbf": now,
	}
	for name, value := range changes {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return all
}

// sign returns a signed JWT.
func sign(t *testing.T, key crypto.PrivateKey, algorithm jose.SignatureAlgorithm, id string, header map[jose.HeaderKey]any, claims any) string {
	t.Helper()
	options := &jose.SignerOptions{ExtraHeaders: map[jose.HeaderKey]any{"typ": "at+jwt"}}
	if id != "" {
		options.ExtraHeaders["kid"] = id
	}
	for name, value := range header {
		options.ExtraHeaders[name] = value
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
