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

// issuer is an authorization server with keys of its own.
type issuer struct {
	*httptest.Server

	mu        sync.Mutex
	published []any // keys
	answer    http.HandlerFunc
	asked     int
	active    map[string]map[string]any // tokens that introspection knows
	held      chan struct{}             // introspection of other tokens waits for it; nil for not
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
		i.asked++
		if i.answer != nil {
			i.answer(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": i.published})
	})
	mux.HandleFunc("POST /introspect", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.asked++
		if held := i.held; held != nil && i.active[r.FormValue("token")] == nil {
			i.mu.Unlock()
			<-held
			i.mu.Lock()
		}
		if name, secret, _ := r.BasicAuth(); name != "ragd" || secret != "s3cret%2B" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		said := map[string]any{"active": false}
		if known := i.active[r.FormValue("token")]; known != nil {
			said = known
		}
		_ = json.NewEncoder(w).Encode(said)
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

func (i *issuer) pass(d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.clock = i.clock.Add(d)
}

// fail has the keys answered by another handler; nil for the proper one.
func (i *issuer) fail(with http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = with
}

// hold keeps introspection from answering about tokens that it does not know.
func (i *issuer) hold(t *testing.T) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	held := make(chan struct{})
	i.held = held
	t.Cleanup(func() { close(held) })
}

// release has it answer n of them.
func (i *issuer) release(n int) {
	for range n {
		i.held <- struct{}{}
	}
}

func (i *issuer) questions() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// key makes a key pair and publishes its public half.
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

func (i *issuer) withdraw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.published = nil
}

// said returns the claims of a good token, changed; nil takes one away.
func (i *issuer) said(changes map[string]any) map[string]any {
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

// sign makes a JWT.
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
