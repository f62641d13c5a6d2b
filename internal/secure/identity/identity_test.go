package identity_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
)

const service = "https://ragd.example.com"

func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return schematest.Pool(t)
}

func masterKey(t *testing.T, digit string) *seal.Keys {
	t.Helper()
	keys, err := seal.Parse(strings.Repeat(digit, 2*seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func token(t *testing.T, i *identity.Issuer) (*jwt.JSONWebToken, string) {
	t.Helper()
	text, err := i.Token(t.Context(), identity.Claims{
		Audience: "https://api.example.com", Subject: "user:7", Tenant: "acme", Tool: "order", Server: "shop",
		Method: "POST", URL: "https://api.example.com/orders", Context: map[string]any{"country": "DE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		t.Fatal(err)
	}
	return parsed, parsed.Headers[0].KeyID
}

func published(t *testing.T, i *identity.Issuer) jose.JSONWebKeySet {
	t.Helper()
	answer := httptest.NewRecorder()
	i.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, identity.Path, http.NoBody))
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(answer.Body.Bytes(), &set); err != nil {
		t.Fatal(err)
	}
	for _, k := range set.Keys {
		if !k.IsPublic() {
			t.Fatalf("a private key is published: %s", k.KeyID)
		}
	}
	return set
}

// An endpoint checks a token with what another instance publishes.
func TestATokenSaysOnWhoseBehalfTheServiceCalls(t *testing.T) {
	t.Parallel()
	pool := database(t)
	signer, other := identity.NewIssuer(pool, masterKey(t, "1"), service), identity.NewIssuer(pool, masterKey(t, "1"), service)
	if set := published(t, other); len(set.Keys) != 0 {
		t.Errorf("keys without use: %v", set)
	}
	signed, id := token(t, signer)
	set := published(t, other)
	var registered jwt.Claims
	var claims identity.Claims
	if err := signed.Claims(set.Key(id)[0], &registered, &claims); err != nil {
		t.Fatal(err)
	}
	if err := registered.Validate(jwt.Expected{Issuer: service, AnyAudience: jwt.Audience{"https://api.example.com"}, Subject: "user:7", Time: time.Now()}); err != nil {
		t.Error(err)
	}
	if life := registered.Expiry.Time().Sub(registered.IssuedAt.Time()); life > time.Minute || registered.ID == "" {
		t.Errorf("valid for %v, id %q", life, registered.ID)
	}
	if claims.Tenant != "acme" || claims.Tool != "order" || claims.Server != "shop" || claims.Context["country"] != "DE" || claims.Method != "POST" || claims.URL != "https://api.example.com/orders" {
		t.Errorf("%+v", claims)
	}
}

func TestInstancesThatStartTogetherShareOneKey(t *testing.T) {
	t.Parallel()
	pool := database(t)
	var wait sync.WaitGroup
	ids := make([]string, 8)
	for n := range ids {
		wait.Go(func() { _, ids[n] = token(t, identity.NewIssuer(pool, masterKey(t, "1"), service)) })
	}
	wait.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("keys %q", ids)
		}
	}
	var private []byte
	if err := pool.QueryRow(t.Context(), `SELECT private_key FROM ragd.signing_keys`).Scan(&private); err != nil {
		t.Fatal("more than one key, or none: ", err)
	}
	if _, err := masterKey(t, "1").Open(private, "signing key", ids[0]); err != nil {
		t.Errorf("the private key is not sealed: %v", err)
	}
}

// A key signs for a month. The next one is published for an hour before it signs, and the old
// one for a day after it has signed.
func TestKeysAreReplacedWithOverlap(t *testing.T) {
	t.Parallel()
	pool := database(t)
	fresh := func() *identity.Issuer { return identity.NewIssuer(pool, masterKey(t, "1"), service) }
	pass := func(d time.Duration) {
		if _, err := pool.Exec(t.Context(), `UPDATE ragd.signing_keys SET created_at = created_at - make_interval(secs => $1)`, d.Seconds()); err != nil {
			t.Fatal(err)
		}
	}
	_, first := token(t, fresh())
	pass(identity.Period - time.Minute)
	if _, id := token(t, fresh()); id != first {
		t.Error("the key was replaced early")
	}
	pass(2 * time.Minute)
	if _, id := token(t, fresh()); id != first {
		t.Error("the new key signs before receivers know it")
	}
	if set := published(t, fresh()); len(set.Keys) != 2 {
		t.Fatalf("%d keys are published", len(set.Keys))
	}
	pass(identity.Lead)
	_, second := token(t, fresh())
	if second == first {
		t.Error("the new key does not sign")
	}
	if set := published(t, fresh()); len(set.Key(first)) != 1 || len(set.Key(second)) != 1 {
		t.Error("the old key is gone while its tokens are valid")
	}
	pass(identity.Period)
	token(t, fresh())
	if set := published(t, fresh()); len(set.Key(first)) != 0 || len(set.Key(second)) != 1 {
		t.Error("the old key is still published")
	}
}

func TestWithoutItsMasterKeyTheServiceMakesANewKey(t *testing.T) {
	t.Parallel()
	pool := database(t)
	_, first := token(t, identity.NewIssuer(pool, masterKey(t, "1"), service))
	_, second := token(t, identity.NewIssuer(pool, masterKey(t, "2"), service))
	if first == second {
		t.Error("another master key opens the key")
	}
	if _, id := token(t, identity.NewIssuer(pool, masterKey(t, "1"), service)); id != first {
		t.Error("an instance with the old master key no longer signs with its key")
	}
	none := identity.NewIssuer(pool, nil, service)
	if _, err := none.Token(t.Context(), identity.Claims{}); fault.KindOf(err) != fault.Precondition || !strings.Contains(fault.Public(err), "RAGD_MASTER_KEY") {
		t.Errorf("without any: %v", err)
	}
}
