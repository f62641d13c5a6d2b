package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

func TestVerifyReadsSubjectTenantScopesAndFilter(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	key := i.key(t, "one")
	for _, tc := range []struct {
		name   string
		change func(*Config)
		claims map[string]any
		want   string
	}{
		{"the usual claims", nil, nil, "user:alice of acme may [read write]"},
		{"scopes in a list", nil, map[string]any{"scope": []string{"admin", "email"}}, "user:alice of acme may [admin]"},
		{"scopes with a prefix", func(c *Config) { c.ScopeClaim, c.ScopePrefix = "scp", "api://ragd/" },
			map[string]any{"scp": "api://ragd/read write"}, "user:alice of acme may [read]"},
		{"no scopes", nil, map[string]any{"scope": nil}, "user:alice of acme may []"},
		{"several audiences", nil, map[string]any{"aud": []string{"https://other", audience}}, "user:alice of acme may [read write]"},
		{"a claim within another", func(c *Config) { c.TenantClaim = "org.tenant" },
			map[string]any{"org": map[string]any{"tenant": "globex"}}, "user:alice of globex may [read write]"},
		{"a claim with dots in its name", func(c *Config) { c.TenantClaim = "https://rag.example.com/tenant" },
			map[string]any{"https://rag.example.com/tenant": "globex"}, "user:alice of globex may [read write]"},
		{"a client without a user", nil, map[string]any{"sub": nil, "client_id": "cron"}, "client:cron of acme may [read write]"},
		{"a filter", func(c *Config) { c.FilterClaim = "see" },
			map[string]any{"see": map[string]any{"team": "red"}}, `user:alice of acme may [read write] where {"team":"red"}`},
		{"a filter in a string", func(c *Config) { c.FilterClaim = "see" },
			map[string]any{"see": `{"team": {"$in": ["red"]}}`}, `user:alice of acme may [read write] where {"team":{"$in":["red"]}}`},
		{"bounds", func(c *Config) { c.BoundsClaim = "may" },
			map[string]any{"may": map[string]any{"indexes": []string{"faq"}, "tools": []string{}}},
			`user:alice of acme may [read write] within {"servers":null,"indexes":["faq"],"tools":[],"prompts":null}`},
		{"bounds in a string", func(c *Config) { c.BoundsClaim = "may" },
			map[string]any{"may": `{"servers": null}`}, `user:alice of acme may [read write] within {"servers":[],"indexes":null,"tools":null,"prompts":null}`},
		{"bounds that allow everything", func(c *Config) { c.BoundsClaim = "may" }, map[string]any{"may": map[string]any{}}, "user:alice of acme may [read write]"},
		{"a clock difference within the leeway", nil, map[string]any{"nbf": i.now().Unix() + 20}, "user:alice of acme may [read write]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := i.verifier(t, tc.change).Verify(t.Context(), sign(t, key, jose.ES256, "one", nil, i.claims(tc.claims)), credential.Resource{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, describe(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func describe(token credential.Token) string {
	s := fmt.Sprintf("%s of %s may %v", token.Subject, token.Tenant, token.Scopes)
	if !token.MandatoryFilter.IsZero() {
		s += " where " + string(token.MandatoryFilter.JSON())
	}
	if !token.Bounds.IsZero() {
		s += " within " + token.Bounds.String()
	}
	return s
}

func TestRefusedTokensOfTheIssuerGetTheReason(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	key := i.key(t, "one")
	now := i.now().Unix()
	filtered := func(c *Config) { c.FilterClaim = "see" }
	bound := func(c *Config) { c.BoundsClaim = "may" }
	for _, tc := range []struct {
		name   string
		change func(*Config)
		claims map[string]any
		want   string
	}{
		{"expired", nil, map[string]any{"exp": now - 31}, "expired"},
		{"no expiry", nil, map[string]any{"exp": nil}, "no expiry time"},
		{"not yet valid", nil, map[string]any{"nbf": now + 60}, "not valid yet"},
		{"issued in the future", nil, map[string]any{"iat": now + 60}, "not valid yet"},
		{"another issuer", nil, map[string]any{"iss": "https://evil.example"}, "another issuer"},
		{"no issuer", nil, map[string]any{"iss": nil}, "another issuer"},
		{"another audience", nil, map[string]any{"aud": "https://rag.example.com/mcp/"}, "another service"},
		{"no audience", nil, map[string]any{"aud": nil}, "another service"},
		{"no tenant", nil, map[string]any{"tenant": nil}, "names no tenant"},
		{"a tenant that is a list", nil, map[string]any{"tenant": []string{"acme", "globex"}}, "names no tenant"},
		{"no subject", nil, map[string]any{"sub": nil}, "no subject"},
		{"a long subject", nil, map[string]any{"sub": strings.Repeat("x", 300)}, "longer than"},
		{"bound to a key", nil, map[string]any{"cnf": map[string]any{"jkt": "x"}}, "bound to a key"},
		{"no filter although one is required", filtered, nil, "not a filter"},
		{"a filter that is null", filtered, map[string]any{"see": nil}, "not a filter"},
		{"a filter that is empty text", filtered, map[string]any{"see": ""}, "not a filter"},
		{"a filter that is a list", filtered, map[string]any{"see": []any{}}, "not a filter"},
		{"a filter with an unknown operator", filtered, map[string]any{"see": map[string]any{"$where": "1"}}, "not a filter"},
		{"no bounds although they are required", bound, nil, "not an object with the lists"},
		{"bounds that are null", bound, map[string]any{"may": json.RawMessage("null")}, "not an object with the lists"},
		{"bounds that are a list", bound, map[string]any{"may": []string{"faq"}}, "not an object with the lists"},
		{"bounds of something unknown", bound, map[string]any{"may": map[string]any{"index": []string{"faq"}}}, "not an object with the lists"},
		{"bounds with text for a list", bound, map[string]any{"may": map[string]any{"indexes": "faq"}}, "not an object with the lists"},
		{"bounds with an empty name", bound, map[string]any{"may": map[string]any{"indexes": []string{""}}}, "not an object with the lists"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := i.verifier(t, tc.change).Verify(t.Context(), sign(t, key, jose.ES256, "one", nil, i.claims(tc.claims)), credential.Resource{})
			wantKind(t, err, fault.Unauthenticated)
			if !strings.Contains(fault.Public(err), tc.want) {
				t.Errorf("error %q does not say %q", fault.Public(err), tc.want)
			}
		})
	}
}

func TestATokenHasItsClaims(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	key := i.key(t, "one")
	const id = 12345678901234567
	token, err := i.verifier(t, nil).Verify(t.Context(), sign(t, key, jose.ES256, "one", nil, i.claims(map[string]any{"groups": []string{"a", "b"}, "uid": id})), credential.Resource{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{"groups": token.Claims["groups"], "uid": token.Claims["uid"], "sub": token.Claims["sub"]}
	want := map[string]any{"groups": []any{"a", "b"}, "uid": json.Number(fmt.Sprint(id)), "sub": "alice"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Only introspection can answer with so many claims: a JWT of this size is refused before.
func TestATokenWithHugeClaimsIsRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	v := i.verifier(t, func(c *Config) {
		c.IntrospectionURL, c.ClientID, c.ClientSecret = i.URL+"/introspect", "ragd", "s3cret+"
	})
	answer := i.claims(map[string]any{"active": true, "groups": strings.Repeat("x", 20<<10)})
	i.mu.Lock()
	i.active["opaque"] = answer
	i.mu.Unlock()
	_, err := v.Verify(t.Context(), "opaque", credential.Resource{})
	wantKind(t, err, fault.Unauthenticated)
	if !strings.Contains(fault.Public(err), "claims are larger than") {
		t.Errorf("error = %v", err)
	}
}

func wantKind(t *testing.T, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != want {
		t.Fatalf("error = %v, want %v", err, want)
	}
}

func TestTokensThatTheIssuerDidNotSignAreRefusedWithoutAReason(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	key := i.key(t, "one")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	weak := &rsa.PublicKey{N: rsaKey.N, E: rsaKey.E}
	weakKey, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Logf("weak keys cannot be made here: %v", err)
		weakKey = rsaKey
	} else {
		weak = &weakKey.PublicKey
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.publish(
		jose.JSONWebKey{Key: rsaKey.Public(), KeyID: "rsa", Algorithm: "RS256", Use: "sig"},
		jose.JSONWebKey{Key: stranger.Public(), KeyID: "encrypts", Use: "enc"},
		jose.JSONWebKey{Key: []byte(strings.Repeat("k", 32)), KeyID: "shared", Algorithm: "HS256"},
		map[string]any{"kty": "future", "kid": "future"},
	)
	if weakKey != rsaKey {
		i.publish(jose.JSONWebKey{Key: weak, KeyID: "weak"})
	}
	der, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	good := i.claims(nil)
	v := i.verifier(t, nil)
	if _, err := v.Verify(t.Context(), sign(t, rsaKey, jose.RS256, "rsa", nil, good), credential.Resource{}); err != nil {
		t.Fatalf("a good token: %v", err)
	}

	real := sign(t, key, jose.ES256, "one", nil, good)
	header, rest, _ := strings.Cut(real, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	encode := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	for name, token := range map[string]string{
		"nonsense":                       "hunter2",
		"a stranger's key":               sign(t, stranger, jose.ES256, "one", nil, good),
		"an unknown key":                 sign(t, stranger, jose.ES256, "two", nil, good),
		"a key within the token":         sign(t, stranger, jose.ES256, "two", map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: stranger.Public()}}, good),
		"keys at an address in it":       sign(t, stranger, jose.ES256, "two", map[jose.HeaderKey]any{"jku": "https://evil.example/keys"}, good),
		"an encryption key":              sign(t, stranger, jose.ES256, "encrypts", nil, good),
		"the public key as a secret":     sign(t, asPEM, jose.HS256, "rsa", nil, good),
		"the public key's bytes":         sign(t, der, jose.HS256, "rsa", nil, good),
		"a published secret":             sign(t, []byte(strings.Repeat("k", 32)), jose.HS256, "shared", nil, good),
		"another algorithm of the key":   sign(t, rsaKey, jose.PS256, "rsa", nil, good),
		"no signature":                   encode(map[string]any{"alg": "none", "kid": "one"}) + "." + payload + ".",
		"no signature, mixed case":       encode(map[string]any{"alg": "nOnE"}) + "." + payload + ".",
		"a cut signature":                header + "." + payload + ".",
		"other claims":                   header + "." + encode(i.claims(map[string]any{"tenant": "globex"})) + "." + signature,
		"another type":                   sign(t, key, jose.ES256, "one", map[jose.HeaderKey]any{"typ": "logout+jwt"}, good),
		"something critical and unknown": sign(t, key, jose.ES256, "one", map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}, good),
		"a huge token":                   real + strings.Repeat("A", 20<<10),
	} {
		t.Run(name, func(t *testing.T) { refuses(t, v, token) })
	}
	if weakKey != rsaKey {
		t.Run("a weak key", func(t *testing.T) {
			signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: weakKey}, nil)
			if err != nil {
				t.Skip(err)
			}
			signed, err := signer.Sign([]byte("{}"))
			if err != nil {
				t.Skip(err)
			}
			token, err := signed.CompactSerialize()
			if err != nil {
				t.Fatal(err)
			}
			refuses(t, v, token)
		})
	}
}

// refuses checks that the token is rejected with the error that gives no reason.
func refuses(t *testing.T, v *Verifier, token string) {
	t.Helper()
	_, err := v.Verify(t.Context(), token, credential.Resource{})
	wantKind(t, err, fault.Unauthenticated)
	if want := fault.Public(invalidToken(nil)); fault.Public(err) != want {
		t.Errorf("error %q, want %q", fault.Public(err), want)
	}
}

func TestATokenWithoutAKeyIDIsVerifiedWithAllKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.key(t, "one")
	second := i.key(t, "two")
	if _, err := i.verifier(t, nil).Verify(t.Context(), sign(t, second, jose.ES256, "", nil, i.claims(nil)), credential.Resource{}); err != nil {
		t.Error(err)
	}
}

func TestTheIssuerMayChangeItsKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	first := i.key(t, "one")
	v := i.verifier(t, nil)
	verify := func(key *ecdsa.PrivateKey, id string) error {
		_, err := v.Verify(t.Context(), sign(t, key, jose.ES256, id, nil, i.claims(nil)), credential.Resource{})
		return err
	}
	if err := verify(first, "one"); err != nil {
		t.Fatal(err)
	}
	i.unpublishKeys()
	second := i.key(t, "two")
	wantKind(t, verify(second, "two"), fault.Unauthenticated) // the keys were fetched less than minRefetch ago
	i.advance(minRefetch)
	if err := verify(second, "two"); err != nil {
		t.Fatalf("the new key: %v", err)
	}
	wantKind(t, verify(first, "one"), fault.Unauthenticated)

	// Made-up key ids do not cause a request each.
	before := i.requestCount()
	for n := range 100 {
		wantKind(t, verify(first, fmt.Sprint("made up ", n)), fault.Unauthenticated)
	}
	i.advance(minRefetch)
	for n := range 100 {
		wantKind(t, verify(first, fmt.Sprint("more made up ", n)), fault.Unauthenticated)
	}
	if n := i.requestCount() - before; n > 1 {
		t.Errorf("200 made-up key ids caused %d requests", n)
	}
}

func TestCachedKeysAreUsedWhileTheIssuerIsUnavailable(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	key := i.key(t, "one")
	v := i.verifier(t, nil)
	verify := func() error {
		_, err := v.Verify(t.Context(), sign(t, key, jose.ES256, "one", nil, i.claims(nil)), credential.Resource{})
		return err
	}
	i.answerKeysWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	wantKind(t, verify(), fault.Unavailable)
	i.answerKeysWith(nil)
	wantKind(t, verify(), fault.Unavailable) // the keys are not fetched again before minRefetch
	i.advance(minRefetch)
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	i.answerKeysWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	i.advance(maxKeyAge - time.Minute)
	if err := verify(); err != nil {
		t.Errorf("with keys just below maxKeyAge: %v", err)
	}
	i.advance(time.Minute)
	wantKind(t, verify(), fault.Unavailable)
}

func TestInvalidKeySetsAreRefused(t *testing.T) {
	t.Parallel()
	many := make([]any, maxKeys+1)
	for n := range many {
		many[n] = map[string]any{"kty": "EC", "kid": fmt.Sprint(n)}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"keys":[], "x":"`)
			for range 40 {
				fmt.Fprint(w, strings.Repeat("x", 64<<10))
			}
			fmt.Fprint(w, `"}`)
		},
		"many keys": func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"keys": many})
		},
		"no keys": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[]}`) },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<html>`) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			key := i.key(t, "one")
			i.answerKeysWith(answer)
			_, err := i.verifier(t, nil).Verify(t.Context(), sign(t, key, jose.ES256, "one", nil, i.claims(nil)), credential.Resource{})
			wantKind(t, err, fault.Unavailable)
		})
	}
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	v := i.verifier(t, func(c *Config) {
		c.IntrospectionURL, c.ClientID, c.ClientSecret = i.URL+"/introspect", "ragd", "s3cret+"
	})
	activate := func(token string, changes map[string]any) {
		claims := i.claims(changes)
		claims["active"] = true
		i.mu.Lock()
		defer i.mu.Unlock()
		i.active[token] = claims
	}
	activate("good", nil)
	activate("without optional claims", map[string]any{"iss": nil, "exp": nil, "iat": nil, "nbf": nil})
	activate("of another audience", map[string]any{"aud": "https://other"})
	activate("of no audience", map[string]any{"aud": nil})
	activate("expired", map[string]any{"exp": i.now().Unix() - 60})
	for token, good := range map[string]bool{
		"good": true, "without optional claims": true,
		"of another audience": false, "of no audience": false, "expired": false, "unknown": false,
	} {
		got, err := v.Verify(t.Context(), token, credential.Resource{})
		if !good {
			wantKind(t, err, fault.Unauthenticated)
		} else if want := "user:alice of acme may [read write]"; err != nil || describe(got) != want {
			t.Errorf("%s: %s, %v", token, describe(got), err)
		}
	}

	before := i.requestCount()
	for range 10 {
		if _, err := v.Verify(t.Context(), "good", credential.Resource{}); err != nil {
			t.Fatal(err)
		}
		_, err := v.Verify(t.Context(), "unknown", credential.Resource{})
		wantKind(t, err, fault.Unauthenticated)
	}
	if n := i.requestCount() - before; n != 0 {
		t.Errorf("%d requests about tokens whose answers are cached", n)
	}
	i.mu.Lock()
	i.active["good"] = nil // revoked
	i.mu.Unlock()
	i.advance(introspectionTTL)
	_, err := v.Verify(t.Context(), "good", credential.Resource{})
	wantKind(t, err, fault.Unauthenticated)

	i.Close()
	_, err = v.Verify(t.Context(), "new", credential.Resource{})
	wantKind(t, err, fault.Unavailable)
}

func TestInvalidConfigIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no audience":                    {Issuer: "https://id.example.com"},
		"an empty audience":              {Issuer: "https://id.example.com", Audiences: []string{""}},
		"no issuer":                      {Audiences: []string{audience}},
		"an issuer over http":            {Issuer: "http://id.example.com", Audiences: []string{audience}},
		"keys over http":                 {Issuer: "https://id.example.com", JWKSURL: "http://id.example.com/keys", Audiences: []string{audience}},
		"an issuer that is no URL":       {Issuer: "id.example.com", Audiences: []string{audience}},
		"introspection without a client": {Issuer: "https://id.example.com", IntrospectionURL: "https://id.example.com/i", Audiences: []string{audience}},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
