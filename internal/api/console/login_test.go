package console_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/ragdhq/ragd/internal/api/console"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/access/oauth"
)

const publicURL = "https://rag.example.com"

// authorizationServer is an OAuth 2 server with a public client: codes with PKCE, and refresh
// tokens that work once.
type authorizationServer struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu        sync.Mutex
	codes     map[string]url.Values // the request that each code was issued for
	refresh   map[string]bool
	refreshed int
	life      time.Duration // of access tokens
	// beforeToken, if set, is called before a token is issued.
	beforeToken func(*http.Request)
	refuseWith  int // the status of every answer for a token, if not 0
}

func newAuthorizationServer(t *testing.T) *authorizationServer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	a := &authorizationServer{key: key, codes: map[string]url.Values{}, refresh: map[string]bool{}, life: time.Hour}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": a.URL, "jwks_uri": a.URL + "/keys", "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

// authorize sends the browser back with a code, as if somebody had logged in.
func (a *authorizationServer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != "console" || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("resource") != publicURL {
		http.Error(w, "bad request "+r.URL.String(), http.StatusBadRequest)
		return
	}
	code := rand.Text()
	a.mu.Lock()
	a.codes[code] = q
	a.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (a *authorizationServer) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	before := a.beforeToken
	a.mu.Unlock()
	if before != nil {
		_ = r.FormValue("grant_type") // reads the body, after which the server notices that the client has left
		before(r)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuseWith != 0 {
		http.Error(w, "{}", a.refuseWith)
		return
	}
	switch r.FormValue("grant_type") {
	case "authorization_code":
		asked, known := a.codes[r.FormValue("code")]
		delete(a.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if !known || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("redirect_uri") != r.FormValue("redirect_uri") {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
	case "refresh_token":
		if !a.refresh[r.FormValue("refresh_token")] {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		delete(a.refresh, r.FormValue("refresh_token"))
		a.refreshed++
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: a.key}, (&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", "k"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	access, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": a.URL, "aud": publicURL, "sub": "ada", "client_id": "console", "tenant": "harbour", "scope": "read write", "jti": rand.Text(),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}).Serialize()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	next := rand.Text()
	a.refresh[next] = true
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(a.life.Seconds()), "refresh_token": next})
}

// loginService starts a service whose people sign in at an authorization server.
func loginService(t *testing.T, at *authorizationServer) *servicetest.Service {
	t.Helper()
	guard, err := outbound.New([]string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := oauth.NewIssuers(oauth.IssuersConfig{Operator: []oauth.Config{{Issuer: at.URL, PublicURL: publicURL}}, PublicURL: publicURL, Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	config := service.Config{NoWorkers: true, Tokens: tokens, ConsoleLogin: &console.Login{Issuer: at.URL, ClientID: "console", Scopes: []string{"read", "write"}}}
	config.MCP.PublicURL = publicURL
	s := servicetest.New(t, config)
	s.Tenant(t, "harbour")
	return s
}

// follow requests an address without following redirects, with and for the cookies of a jar.
func follow(t *testing.T, s *servicetest.Service, address string, jar map[string]*http.Cookie) answer {
	t.Helper()
	address = strings.Replace(address, publicURL, s.URL, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-Proto", "https")
	if strings.HasPrefix(address, s.URL) {
		for _, c := range jar {
			req.AddCookie(c)
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		jar[c.Name] = c
		if c.MaxAge < 0 {
			delete(jar, c.Name)
		}
	}
	return answer{res.StatusCode, res.Header}
}

// logIn goes through the whole flow and returns the cookies and the last answer.
func logIn(t *testing.T, s *servicetest.Service, back string) (map[string]*http.Cookie, answer) {
	t.Helper()
	jar := map[string]*http.Cookie{}
	res := follow(t, s, s.URL+"/console/oauth/start?issuer=x&return="+url.QueryEscape(back), jar)
	for range 2 {
		if res.status != http.StatusFound {
			t.Fatalf("status %d on the way", res.status)
		}
		res = follow(t, s, res.header.Get("Location"), jar)
	}
	return jar, res
}

func TestSignInAtAnAuthorizationServer(t *testing.T) {
	t.Parallel()
	at := newAuthorizationServer(t)
	s := loginService(t, at)
	jar, res := logIn(t, s, "/indexes/docs?tab=x")
	if res.status != http.StatusSeeOther || res.header.Get("Location") != "/indexes/docs?tab=x" {
		t.Fatalf("the last answer is %d to %q", res.status, res.header.Get("Location"))
	}
	c := jar["__Host-ragd_session"]
	if c == nil || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || jar["__Host-ragd_login"] != nil {
		t.Fatalf("cookies %v", jar)
	}
	b := &browser{s: s, cookie: c}
	if answer := b.want(t, http.StatusOK, "POST", whoAmI, "{}", "X-Forwarded-Proto", "https"); !strings.Contains(answer, `"user:ada"`) || !strings.Contains(answer, "harbour") {
		t.Errorf("WhoAmI: %s", answer)
	}
	if answer := b.want(t, http.StatusOK, "GET", "/console/session", ""); !strings.Contains(answer, at.URL) {
		t.Errorf("the issuer is not named: %s", answer)
	}
	for _, back := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "/\nevil", "evil"} {
		if _, res := logIn(t, s, back); res.header.Get("Location") != "/" {
			t.Errorf("return=%q leads to %q", back, res.header.Get("Location"))
		}
	}
}

// refused reports whether an answer leads to the sign-in page, with a reason.
func refused(res answer) bool {
	return res.status == http.StatusSeeOther && strings.HasPrefix(res.header.Get("Location"), "/sign-in#error=")
}

func TestALogInBelongsToItsBrowser(t *testing.T) {
	t.Parallel()
	at := newAuthorizationServer(t)
	s := loginService(t, at)
	attacker, victim := map[string]*http.Cookie{}, map[string]*http.Cookie{}
	begun := follow(t, s, s.URL+"/console/oauth/start", attacker)
	back := follow(t, s, begun.header.Get("Location"), attacker).header.Get("Location")
	if res := follow(t, s, back, victim); !refused(res) {
		t.Errorf("a browser without the attempt is signed in: status %d", res.status)
	}
	follow(t, s, s.URL+"/console/oauth/start", victim)
	if res := follow(t, s, back, victim); !refused(res) {
		t.Errorf("a browser with another attempt is signed in: status %d", res.status)
	}
	if res := follow(t, s, back, attacker); refused(res) || res.status != http.StatusSeeOther {
		t.Errorf("the browser of the attempt is not signed in: status %d", res.status)
	}
	if res := follow(t, s, back, attacker); !refused(res) {
		t.Errorf("a code works twice: status %d", res.status)
	}
}

func TestAccessTokensAreRenewedOnce(t *testing.T) {
	t.Parallel()
	at := newAuthorizationServer(t)
	at.life = 30 * time.Second // less than the time before the end at which tokens are renewed
	s := loginService(t, at)
	jar, _ := logIn(t, s, "/")
	at.mu.Lock()
	at.life = time.Hour
	at.mu.Unlock()
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			b := &browser{s: s, cookie: jar["__Host-ragd_session"]}
			if res, answer := b.send(t, "POST", whoAmI, "{}", "X-Forwarded-Proto", "https"); res.status != http.StatusOK {
				t.Errorf("status %d: %s", res.status, answer)
			}
		})
	}
	calls.Wait()
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.refreshed != 1 {
		t.Errorf("renewed %d times", at.refreshed)
	}
}

func TestASessionEndsWithItsRefreshToken(t *testing.T) {
	t.Parallel()
	at := newAuthorizationServer(t)
	at.life = 30 * time.Second
	s := loginService(t, at)
	jar, _ := logIn(t, s, "/")
	at.mu.Lock()
	clear(at.refresh)
	at.mu.Unlock()
	b := &browser{s: s, cookie: jar["__Host-ragd_session"]}
	b.want(t, http.StatusUnauthorized, "POST", whoAmI, "{}", "X-Forwarded-Proto", "https")
}
