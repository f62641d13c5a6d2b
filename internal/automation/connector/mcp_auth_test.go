package connector_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// authorizer is an authorization server of a test, which signs every user in.
type authorizer struct {
	*httptest.Server

	mu       sync.Mutex
	change   func(document map[string]any) // of the document about itself; nil for none
	life     int                           // of tokens in seconds
	revoked  bool                          // refresh tokens are refused
	tokens   map[string]bool               // that are valid
	codes    map[string]url.Values         // parameters of the sign-in, by code
	refresh  map[string]bool
	asked    []url.Values // at the token endpoint
	clients  int
	resource string
}

func newAuthorizer(t *testing.T) *authorizer {
	t.Helper()
	a := &authorizer{life: 3600, tokens: map[string]bool{}, codes: map[string]url.Values{}, refresh: map[string]bool{}}
	mux := http.NewServeMux()
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	answer := func(w http.ResponseWriter, status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		document := map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"},
			"authorization_response_iss_parameter_supported": true,
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.change != nil {
			a.change(document)
		}
		answer(w, 200, document)
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.clients++
		answer(w, 201, map[string]any{"client_id": fmt.Sprintf("client-%d", a.clients), "token_endpoint_auth_method": "none"})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		code := rand.Text()
		a.codes[code] = r.URL.Query()
		back := url.Values{"code": {code}, "state": {r.URL.Query().Get("state")}, "iss": {a.URL}}
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = append(a.asked, r.PostForm)
		refuse := func() { answer(w, 400, map[string]any{"error": "invalid_grant"}) }
		switch r.PostForm.Get("grant_type") {
		case "authorization_code":
			began, ok := a.codes[r.PostForm.Get("code")]
			delete(a.codes, r.PostForm.Get("code"))
			sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
			if !ok || began.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || began.Get("client_id") != r.PostForm.Get("client_id") || began.Get("redirect_uri") != r.PostForm.Get("redirect_uri") {
				refuse()
				return
			}
		case "refresh_token":
			if !a.refresh[r.PostForm.Get("refresh_token")] || a.revoked {
				refuse()
				return
			}
			delete(a.refresh, r.PostForm.Get("refresh_token")) // good for one use
		case "client_credentials":
			if r.PostForm.Get("client_secret") != "of-acme" {
				answer(w, 401, map[string]any{"error": "invalid_client"})
				return
			}
		}
		access, next := rand.Text(), rand.Text()
		a.tokens[access], a.refresh[next] = true, true
		answer(w, 200, map[string]any{"access_token": access, "token_type": "bearer", "expires_in": a.life, "refresh_token": next})
	})
	return a
}

// protect makes a server want tokens of the authorizer.
func (a *authorizer) protect(m *mcpServer) {
	a.resource = m.endpoint("")
	m.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/.well-known/oauth-protected-resource/mcp" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"resource": a.resource, "authorization_servers": []string{a.URL}, "scopes_supported": []string{"read"}})
			return true
		}
		a.mu.Lock()
		valid := a.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		a.mu.Unlock()
		if !valid {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="`+m.URL+`/.well-known/oauth-protected-resource/mcp", scope="read more"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
		return !valid
	}
}

// browse opens an address as a browser does and returns the last page.
func browse(t *testing.T, address string) (status int, body string, at *url.URL) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answerOf(t, req)
}

func answerOf(t *testing.T, req *http.Request) (status int, body string, at *url.URL) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw), res.Request.URL
}

var hiddenField = regexp.MustCompile(`name="(\w+)" value="([^"]*)"`)

// agree presses the button of a callback page.
func agree(t *testing.T, page string, at *url.URL, change ...string) (status int, body string) {
	t.Helper()
	form := url.Values{}
	for _, field := range hiddenField.FindAllStringSubmatch(page, -1) {
		form.Set(field[1], field[2])
	}
	for i := 0; i+1 < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	to := *at
	to.RawQuery = ""
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to.String(), strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, body, _ = answerOf(t, req)
	return status, body
}

func authorize(t *testing.T, c servicetest.Client) string {
	t.Helper()
	res, err := c.AuthorizeConnector(t.Context(), &ragdv1.AuthorizeConnectorRequest{ConnectorName: "site"})
	if err != nil {
		t.Fatal(err)
	}
	return res.AuthorizationUrl
}

func TestAUserSignsInAtAnMCPServer(t *testing.T) {
	t.Parallel()
	up := newMCPServer(t, "stateless", map[string]string{"doc://a": "The text of a"})
	as := newAuthorizer(t)
	as.protect(up)
	s := newSealingService(t)
	acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
	got := create(t, acme, mcpRequest(&ragdv1.McpSource{Url: up.endpoint(""), WithoutSubscription: true}))
	if got.Status != "failed" || got.Authorization != "needed" || !strings.Contains(got.Error, "AuthorizeConnector") {
		t.Fatalf("first run: %v", got)
	}
	if _, err := bolt.AuthorizeConnector(t.Context(), &ragdv1.AuthorizeConnectorRequest{ConnectorName: "site"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("another tenant: %v", err)
	}

	address := authorize(t, acme)
	asked, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := asked.Query()
	if !strings.HasPrefix(address, as.URL+"/authorize?") || q.Get("resource") != up.endpoint("") || q.Get("scope") != "read more" || q.Get("code_challenge_method") != "S256" || q.Get("client_id") != "client-1" {
		t.Fatalf("address: %s", address)
	}
	if strings.Contains(q.Get("state"), "acme") {
		t.Error("the state shows the tenant")
	}
	status, page, at := browse(t, address)
	if status != 200 || !strings.Contains(page, "<strong>acme</strong>") || at.Path != "/connectors/callback" {
		t.Fatalf("page: %d %s", status, page)
	}
	if len(as.asked) != 0 {
		t.Error("the code was used before the user agreed")
	}
	// Changed answers are refused, and use nothing up but the sign-in itself.
	if status, page := agree(t, page, at, "state", q.Get("state")[1:]); status != 400 || !strings.Contains(page, "expired") {
		t.Errorf("another state: %d %s", status, page)
	}
	before := got
	if status, page := agree(t, page, at); status != 200 || !strings.Contains(page, "is connected") {
		t.Fatalf("agreed: %d %s", status, page)
	}
	if got = ended(t, acme, before); got.Status != "succeeded" || got.Counts.Added != 1 || got.Authorization != "granted" {
		t.Fatalf("run: %v", got)
	}
	// Once is enough.
	if status, page := agree(t, page, at); status != 400 || !strings.Contains(page, "expired") {
		t.Errorf("again: %d %s", status, page)
	}
	if got := as.asked[0]; got.Get("resource") != up.endpoint("") || got.Get("code_verifier") == "" {
		t.Errorf("asked: %v", got)
	}
	sealedOnly(t, s, as)

	// The token ends: another one comes for the refresh token, which is good for one use.
	as.mu.Lock()
	clear(as.tokens)
	as.life = 1
	as.mu.Unlock()
	for range 2 {
		if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Unchanged != 1 {
			t.Fatalf("run with another token: %v", got)
		}
	}
	if last := as.asked[len(as.asked)-1]; last.Get("grant_type") != "refresh_token" || last.Get("resource") != up.endpoint("") {
		t.Errorf("asked: %v", last)
	}
	// The user takes the right back.
	as.mu.Lock()
	clear(as.tokens)
	as.revoked = true
	as.mu.Unlock()
	if got = resync(t, acme); got.Status != "failed" || got.Authorization != "needed" {
		t.Errorf("run without right: %v", got)
	}
	equal(t, "documents stay", versions(t, acme), []string{"doc://a v1"})
}

// sealedOnly checks that the database has no token that can be read.
func sealedOnly(t *testing.T, s *servicetest.Service, as *authorizer) {
	t.Helper()
	var text string
	if err := s.Pool.QueryRow(t.Context(), `SELECT string_agg(encode(coalesce(token, ''), 'escape') || encode(coalesce(pending, ''), 'escape'), '') FROM ragd_shared.connector_tokens`).Scan(&text); err != nil || text == "" {
		t.Fatal(err)
	}
	as.mu.Lock()
	defer as.mu.Unlock()
	for token := range as.tokens {
		if strings.Contains(text, token) {
			t.Error("a token is stored in the clear")
		}
	}
}

// A token goes to the server that it was issued for and to no other.
func TestATokenIsSentToItsServerAlone(t *testing.T) {
	t.Parallel()
	up, other := newMCPServer(t, "stateless", map[string]string{"doc://a": "The text of a"}), newMCPServer(t, "stateless", map[string]string{"doc://b": "The text of b"})
	as := newAuthorizer(t)
	as.protect(up)
	s := newSealingService(t)
	acme := newTenant(t, s, "acme")
	first := create(t, acme, mcpRequest(&ragdv1.McpSource{Url: up.endpoint(""), WithoutSubscription: true}))
	_, page, at := browse(t, authorize(t, acme))
	if status, page := agree(t, page, at); status != 200 {
		t.Fatal(page)
	}
	if got := ended(t, acme, first); got.Status != "succeeded" {
		t.Fatal(got)
	}
	// A sign-in that begins for one server cannot end for another.
	_, page, at = browse(t, authorize(t, acme))
	before, err := acme.UpdateConnector(t.Context(), &ragdv1.UpdateConnectorRequest{ConnectorName: "site", Source: &ragdv1.UpdateConnectorRequest_Mcp{Mcp: &ragdv1.McpSource{Url: other.endpoint(""), WithoutSubscription: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if status, page := agree(t, page, at); status != 400 || !strings.Contains(page, "changed") {
		t.Errorf("%d %s", status, page)
	}
	ended(t, acme, before)
	other.mu.Lock()
	defer other.mu.Unlock()
	for _, h := range other.headers {
		if h.Get("Authorization") != "" {
			t.Error("another server gets the token")
		}
	}
	if len(other.headers) == 0 {
		t.Error("the other server was not asked")
	}
}

func TestAConnectorSignsInWithTheCredentialsOfAClient(t *testing.T) {
	t.Parallel()
	up := newMCPServer(t, "stateless", map[string]string{"doc://a": "The text of a"})
	as := newAuthorizer(t)
	as.protect(up)
	s := newSealingService(t)
	acme := newTenant(t, s, "acme")
	secret := &ragdv1.SetSecretRequest{SecretName: "wiki", Value: "of-acme", Hosts: &ragdv1.SecretHosts{Hosts: []string{strings.TrimPrefix(as.URL, "http://")}}}
	if _, err := acme.SetSecret(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	source := &ragdv1.McpSource{Url: up.endpoint(""), WithoutSubscription: true, Oauth: &ragdv1.McpOAuth{
		Grant: "client_credentials", ClientId: "ragd-acme", ClientSecret: "wiki", Issuer: as.URL, Scopes: []string{"read"},
	}}
	if got := create(t, acme, mcpRequest(source)); got.Status != "succeeded" || got.Authorization != "granted" {
		t.Fatalf("run: %v", got)
	}
	if got := as.asked[0]; got.Get("grant_type") != "client_credentials" || got.Get("scope") != "read" || got.Get("resource") != up.endpoint("") {
		t.Errorf("asked: %v", got)
	}
	if _, err := acme.AuthorizeConnector(t.Context(), &ragdv1.AuthorizeConnectorRequest{ConnectorName: "site"}); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("authorize: %v", err)
	}
	// A server that names another authorization server does not get the secret there.
	thief := newAuthorizer(t)
	as.mu.Lock()
	clear(as.tokens)
	as.change = func(d map[string]any) { d["token_endpoint"] = thief.URL + "/token" }
	as.mu.Unlock()
	if got := resync(t, acme); got.Status != "failed" || !strings.Contains(got.Error, "may not be sent") {
		t.Errorf("run: %v", got)
	}
	if len(thief.asked) != 0 {
		t.Error("the secret was sent to another host")
	}
}

// What a server says about its authorization is not believed if it is about others.
func TestHostileAuthorizationsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(d map[string]any)
		resource string
		reason   string
	}{
		"another issuer":    {change: func(d map[string]any) { d["issuer"] = "http://127.0.0.1:1" }, reason: "another issuer"},
		"no PKCE":           {change: func(d map[string]any) { delete(d, "code_challenge_methods_supported") }, reason: "PKCE"},
		"a script":          {change: func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" }, reason: "cannot be used"},
		"a private address": {change: func(d map[string]any) { d["registration_endpoint"] = "http://10.0.0.1/register" }, reason: "inside the network"},
		"no registration":   {change: func(d map[string]any) { delete(d, "registration_endpoint") }, reason: "registers no clients"},
		"another resource":  {resource: "https://bank.example.com/mcp", reason: "another resource"},
		"a resource below":  {resource: "/mcp/other", reason: "another resource"},
		"a redirect of others": {change: func(d map[string]any) {
			d["registration_endpoint"] = strings.Replace(d["token_endpoint"].(string), "/token", "/authorize", 1)
		}, reason: "answered 302"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newMCPServer(t, "stateless", nil)
			as := newAuthorizer(t)
			as.protect(up)
			as.change = c.change
			if c.resource != "" {
				as.resource = c.resource
				if strings.HasPrefix(c.resource, "/") {
					as.resource = up.URL + c.resource
				}
			}
			acme := newTenant(t, newSealingService(t), "acme")
			create(t, acme, mcpRequest(&ragdv1.McpSource{Url: up.endpoint("")}))
			_, err := acme.AuthorizeConnector(t.Context(), &ragdv1.AuthorizeConnectorRequest{ConnectorName: "site"})
			if err == nil || !strings.Contains(err.Error(), c.reason) || connect.CodeOf(err) != connect.CodeFailedPrecondition {
				t.Errorf("%v", err)
			}
		})
	}
}

// An answer that comes from another authorization server is refused before the code is sent anywhere.
func TestASignInEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	up := newMCPServer(t, "stateless", nil)
	as := newAuthorizer(t)
	as.protect(up)
	acme := newTenant(t, newSealingService(t), "acme")
	create(t, acme, mcpRequest(&ragdv1.McpSource{Url: up.endpoint("")}))
	for _, issuer := range []string{"https://evil.example.com", ""} {
		_, page, at := browse(t, authorize(t, acme))
		if status, page := agree(t, page, at, "iss", issuer); status != 400 || !strings.Contains(page, "not that of the authorization server") {
			t.Errorf("%q: %d %s", issuer, status, page)
		}
	}
	// The newest sign-in counts.
	old := authorize(t, acme)
	authorize(t, acme)
	_, page, at := browse(t, old)
	if status, page := agree(t, page, at); status != 400 || !strings.Contains(page, "expired") {
		t.Errorf("an older sign-in: %d %s", status, page)
	}
	if slices.ContainsFunc(as.asked, func(v url.Values) bool { return v.Get("code") != "" }) {
		t.Error("a code was sent")
	}
	// Scripts in what a stranger sends are text.
	bad := *at
	bad.RawQuery = url.Values{"state": {"x"}, "error": {"<script>alert(1)</script>"}}.Encode()
	if status, page, _ := browse(t, bad.String()); status != 400 || strings.Contains(page, "<script>") {
		t.Errorf("%d %s", status, page)
	}
}
