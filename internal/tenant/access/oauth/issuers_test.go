package oauth

import (
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/go-jose/go-jose/v4"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

const public = "https://rag.example.com"

// loopback returns a guard that allows the issuers of tests.
func loopback(t *testing.T) *outbound.Guard {
	t.Helper()
	guard, err := outbound.New([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

func newIssuers(t *testing.T, cfg IssuersConfig) *Issuers {
	t.Helper()
	cfg.PublicURL = public
	if cfg.Guard == nil {
		cfg.Guard = loopback(t)
	}
	s, err := NewIssuers(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A token is verified with the keys of its own issuer, which is known before any key is fetched.
func TestEachIssuerHasItsOwnKeysAndTenants(t *testing.T) {
	t.Parallel()
	one, two, slow := newIssuer(t), newIssuer(t), newIssuer(t)
	oneKey, twoKey := one.key(t, "same"), two.key(t, "same")
	slow.answerKeysWith(func(http.ResponseWriter, *http.Request) { t.Error("the third issuer was asked") })
	s := newIssuers(t, IssuersConfig{Operator: []Config{
		{Issuer: one.URL, Tenants: []string{"acme"}},
		{Issuer: two.URL, Tenants: []string{"globex"}, TenantClaim: "org", ScopePrefix: "ragd:"},
		{Issuer: slow.URL},
	}})
	token := func(i *issuer, key *ecdsa.PrivateKey, changes map[string]any) string {
		return sign(t, key, jose.ES256, "same", nil, i.claims(changes))
	}
	for what, c := range map[string]struct {
		token string
		want  string
	}{
		"the first":  {token(one, oneKey, nil), "user:alice of acme may [read write]"},
		"the second": {token(two, twoKey, map[string]any{"org": "globex", "scope": "ragd:read write"}), "user:alice of globex may [read]"},
	} {
		got, err := s.Verify(t.Context(), c.token, credential.Resource{})
		if err != nil || describe(got) != c.want {
			t.Errorf("%s: %s, %v", what, describe(got), err)
		}
	}
	for what, c := range map[string]struct {
		token  string
		reason string // empty: none is given
	}{
		"a tenant of the other issuer":     {token(one, oneKey, map[string]any{"tenant": "globex"}), "not accepted for the tenant"},
		"the claim of the other issuer":    {token(two, twoKey, map[string]any{"tenant": "globex"}), "names no tenant"},
		"the key of the other issuer":      {token(one, twoKey, nil), ""},
		"the issuer with a slash":          {token(one, oneKey, map[string]any{"iss": one.URL + "/"}), ""},
		"the issuer in capitals":           {token(one, oneKey, map[string]any{"iss": strings.ToUpper(one.URL)}), ""},
		"an issuer in another claim":       {token(one, oneKey, map[string]any{"iss": nil, "ISS": one.URL}), ""},
		"a list of issuers":                {token(one, oneKey, map[string]any{"iss": []string{one.URL}}), ""},
		"no issuer":                        {token(one, oneKey, map[string]any{"iss": nil}), ""},
		"the address of keys in the token": {sign(t, twoKey, jose.ES256, "same", map[jose.HeaderKey]any{"jku": two.URL + "/keys"}, one.claims(nil)), ""},
		"a key id that is an address":      {sign(t, twoKey, jose.ES256, two.URL+"/keys", nil, one.claims(nil)), ""},
		"the key itself in the token":      {sign(t, twoKey, jose.ES256, "same", map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: twoKey.Public()}}, one.claims(nil)), ""},
		"HMAC with an empty key id":        {sign(t, []byte(strings.Repeat("k", 32)), jose.HS256, "", nil, one.claims(nil)), ""},
		"no JWT":                           {"opaque", ""},
	} {
		_, err := s.Verify(t.Context(), c.token, credential.Resource{})
		wantKind(t, err, fault.Unauthenticated)
		if message := fault.Public(err); !strings.Contains(message, c.reason) || c.reason == "" && !strings.Contains(message, "is needed") {
			t.Errorf("%s: %s", what, message)
		}
	}
}

func TestIssuersAreChecked(t *testing.T) {
	t.Parallel()
	introspected := func(url string) Config {
		return Config{Issuer: url, IntrospectionURL: url + "/introspect", ClientID: "c", ClientSecret: "s"}
	}
	for what, configs := range map[string][]Config{
		"one issuer twice":             {{Issuer: "https://a.example"}, {Issuer: "https://a.example"}},
		"two that introspect":          {introspected("https://a.example"), introspected("https://b.example")},
		"an issuer without encryption": {{Issuer: "http://a.example"}},
	} {
		if _, err := NewIssuers(IssuersConfig{Operator: configs, PublicURL: public}); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

// The audience of a token says where it can be used: everywhere, at the addresses of one tenant, or
// at one server.
func TestTokensOfOneServerAreValidThereAlone(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	key := i.key(t, "one")
	s := newIssuers(t, IssuersConfig{Operator: []Config{{Issuer: i.URL}}})
	for audience, valid := range map[string][]credential.Resource{
		public:          {{}, {Server: "front"}, {Tenant: "acme"}, {Tenant: "acme", Server: "front"}},
		public + "/mcp": {{}, {Server: "front"}, {Tenant: "acme"}, {Tenant: "acme", Server: "front"}},

		public + "/mcp/front":        {{Server: "front"}, {Tenant: "acme", Server: "front"}},
		public + "/t/acme/mcp":       {{Tenant: "acme"}, {Tenant: "acme", Server: "front"}},
		public + "/t/acme/mcp/front": {{Tenant: "acme", Server: "front"}},
		public + "/mcp/":             {},
		public + "/t/globex/mcp":     {},
		public + "/mcp/../mcp/front": {},
	} {
		token := sign(t, key, jose.ES256, "one", nil, i.claims(map[string]any{"aud": audience}))
		for _, at := range []credential.Resource{
			{}, {Server: "front"}, {Server: "back"}, {Tenant: "acme"}, {Tenant: "acme", Server: "front"}, {Tenant: "acme", Server: "back"},
		} {
			want := at.Server == "back" && (audience == public || audience == public+"/mcp" || audience == public+"/t/acme/mcp" && at.Tenant == "acme")
			for _, v := range valid {
				want = want || v.Path() == at.Path()
			}
			if _, err := s.Verify(t.Context(), token, at); (err == nil) != want {
				t.Errorf("a token for %s at %s: %v", audience, at.Path(), err)
			}
		}
	}
}

// own returns an issuer of a tenant.
func own(i *issuer, id tenant.ID) credential.OwnIssuer {
	return credential.OwnIssuer{TenantID: id, Name: "own", URL: i.URL, Scopes: []access.Scope{access.Read, access.Write}, UpdatedAt: time.Unix(1, 0)}
}

func TestATenantsIssuerSpeaksForNobodyElse(t *testing.T) {
	t.Parallel()
	acmes := newIssuer(t)
	key := acmes.key(t, "one")
	s := newIssuers(t, IssuersConfig{})
	at := credential.Resource{Tenant: "acme", Issuers: []credential.OwnIssuer{own(acmes, "acme")}}
	claims := func(changes map[string]any) string {
		all := map[string]any{"aud": public + "/t/acme/mcp", "tenant": nil}
		for name, value := range changes {
			all[name] = value
		}
		return sign(t, key, jose.ES256, "one", nil, acmes.claims(all))
	}
	for what, token := range map[string]string{
		"its own tenant": claims(nil), "a tenant that it names": claims(map[string]any{"tenant": "globex"}),
		"a scope that it may not give": claims(map[string]any{"scope": "read write admin operator"}),
	} {
		got, err := s.Verify(t.Context(), token, at)
		if err != nil || describe(got) != "user@"+acmes.URL+" alice of acme may [read write]" || got.Issuer != acmes.URL {
			t.Errorf("%s: %s, %v", what, describe(got), err)
		}
	}
	_, err := s.Verify(t.Context(), claims(map[string]any{"aud": public + "/mcp"}), at)
	wantKind(t, err, fault.Unauthenticated) // a token for the whole service
	for what, at := range map[string]credential.Resource{
		"no tenant is named": {}, "another tenant is named": {Tenant: "globex"},
		"the same issuer of another tenant": {Tenant: "globex", Issuers: []credential.OwnIssuer{own(acmes, "globex")}},
	} {
		if got, err := s.Verify(t.Context(), claims(nil), at); fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("%s: %s, %v", what, describe(got), err)
		}
	}
	if err := newIssuers(t, IssuersConfig{Operator: []Config{{Issuer: acmes.URL}}}).Check(own(acmes, "acme")); fault.KindOf(err) != fault.Exists {
		t.Errorf("the operator's issuer is registered by a tenant: %v", err)
	}
}

// What an issuer of a tenant answers leads to no address inside the operator's network.
func TestATenantsIssuerReachesNoInternalAddress(t *testing.T) {
	t.Parallel()
	internal := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("internal address asked for %s", r.URL) }))
	t.Cleanup(internal.Close)
	address := strings.Replace(internal.URL, "127.0.0.1", "127.0.0.2", 1) // not allowed by the guard
	outside := internal.URL
	key := newIssuer(t).key(t, "one")
	for what, answer := range map[string]http.HandlerFunc{
		"keys elsewhere": func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": "http://" + r.Host, "jwks_uri": address + "/keys"})
		},
		"a redirect inside": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address, http.StatusFound) },
		"a redirect outside": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, outside, http.StatusTemporaryRedirect)
		},
	} {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		i := own(&issuer{Server: server}, "acme")
		s := newIssuers(t, IssuersConfig{})
		token := sign(t, key, jose.ES256, "one", nil, map[string]any{"iss": server.URL, "aud": public + "/t/acme/mcp", "sub": "x", "exp": time.Now().Unix() + 60})
		_, err := s.Verify(t.Context(), token, credential.Resource{Tenant: "acme", Issuers: []credential.OwnIssuer{i}})
		wantKind(t, err, fault.Unavailable)
		if message := fault.Public(err); strings.Contains(message, "127.0.0") {
			t.Errorf("%s: the error shows an address: %s", what, message)
		}
	}
	guarded := newIssuers(t, IssuersConfig{Guard: new(outbound.Guard)})
	for _, url := range []string{"https://127.0.0.1/x", "https://[::1]", "https://169.254.169.254", "http://id.example.com", "https://a:b@id.example.com", "ftp://id.example.com", ""} {
		if err := guarded.Check(credential.OwnIssuer{URL: url}); err == nil {
			t.Errorf("%s is accepted", url)
		}
		if url != "" && guarded.Check(credential.OwnIssuer{URL: "https://id.example.com", JWKSURL: url}) == nil {
			t.Errorf("%s is accepted for keys", url)
		}
	}
}

// Tokens of an issuer that does not answer wait, a bounded number of them; those of other tenants
// do not.
func TestASlowIssuerDelaysItsOwnTenantAlone(t *testing.T) {
	t.Parallel()
	slow, quick := newIssuer(t), newIssuer(t)
	slowKey, quickKey := slow.key(t, "one"), quick.key(t, "one")
	asked, blocked := make(chan struct{}, 1), make(chan struct{})
	slow.answerKeysWith(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-blocked
	})
	s := newIssuers(t, IssuersConfig{})
	verify := func(i *issuer, key *ecdsa.PrivateKey, id tenant.ID) error {
		token := sign(t, key, jose.ES256, "one", nil, i.claims(map[string]any{"aud": public + "/t/" + string(id) + "/mcp"}))
		_, err := s.Verify(t.Context(), token, credential.Resource{Tenant: string(id), Issuers: []credential.OwnIssuer{own(i, id)}})
		return err
	}
	results := make(chan error, maxVerifying+1)
	for range maxVerifying + 1 {
		go func() { results <- verify(slow, slowKey, "acme") }()
	}
	<-asked
	wantKind(t, <-results, fault.Unavailable) // one more than may wait
	if err := verify(quick, quickKey, "globex"); err != nil {
		t.Errorf("another tenant's token: %v", err)
	}
	close(blocked)
	for range maxVerifying {
		<-results
	}
}

func TestATenantManagesItsIssuers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	theirs := newIssuer(t)
	key := theirs.key(t, "one")
	var admins []servicetest.Client
	for _, name := range []string{"acme", "globex"} {
		c := w.Tenant(t, name)
		c.Index(t, name+"s")
		admins = append(admins, w.Client(w.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: name, Scopes: []string{"admin"}})))
	}
	acme, globex := admins[0], admins[1]
	if _, err := acme.CreateIssuer(ctx, &ragdv1.CreateIssuerRequest{IssuerName: "own", Url: theirs.URL}); err != nil {
		t.Fatal(err)
	}
	token := func(name string) string {
		return sign(t, key, jose.ES256, "one", nil, theirs.claims(map[string]any{"aud": "https://rag.example.com/t/" + name + "/mcp", "tenant": "globex"}))
	}
	list, err := w.Client(token("acme"), "Ragd-Tenant", "acme").ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
	if err != nil || len(list.IndexNames) != 1 || list.IndexNames[0] != "acmes" {
		t.Errorf("acme's token: %v, %v", list, err)
	}
	for what, c := range map[string]servicetest.Client{
		"without the tenant's name": w.Client(token("acme")), "for another tenant": w.Client(token("globex"), "Ragd-Tenant", "globex"),
		"for a tenant that does not exist": w.Client(token("nobody"), "Ragd-Tenant", "nobody"),
	} {
		if _, err := c.ListIndexes(ctx, &ragdv1.ListIndexesRequest{}); connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("%s: %v", what, err)
		}
	}
	var metadata struct {
		Resource             string   `json:"resource"`
		AuthorizationServers []string `json:"authorization_servers"`
	}
	for path, want := range map[string]int{"/t/acme/mcp": 2, "/t/globex/mcp": 1, "/t/nobody/mcp": 1, "/mcp": 1} {
		res, err := http.Get(w.URL + "/.well-known/oauth-protected-resource" + path)
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(res.Body).Decode(&metadata)
		_ = res.Body.Close()
		if err != nil || len(metadata.AuthorizationServers) != want || metadata.Resource != "https://rag.example.com"+path {
			t.Errorf("%s: %+v, %v", path, metadata, err)
		}
	}

	// The other tenant sees and changes nothing of it, and may have an issuer of the same name.
	_, err = globex.GetIssuer(ctx, &ragdv1.GetIssuerRequest{IssuerName: "own"})
	servicetest.WantCode(t, "GetIssuer", err, connect.CodeNotFound)
	_, err = globex.UpdateIssuer(ctx, &ragdv1.UpdateIssuerRequest{IssuerName: "own", Scopes: []string{"admin"}})
	servicetest.WantCode(t, "UpdateIssuer", err, connect.CodeNotFound)
	_, err = globex.DeleteIssuer(ctx, &ragdv1.DeleteIssuerRequest{IssuerName: "own"})
	servicetest.WantCode(t, "DeleteIssuer", err, connect.CodeNotFound)
	if all, err := globex.ListIssuers(ctx, &ragdv1.ListIssuersRequest{}); err != nil || len(all.Issuers) != 0 {
		t.Errorf("ListIssuers = %v, %v", all, err)
	}
	if _, err := globex.CreateIssuer(ctx, &ragdv1.CreateIssuerRequest{IssuerName: "own", Url: "https://id.globex.example", Audiences: []string{"api://x"}, JwksUrl: "https://id.globex.example/keys"}); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		req  *ragdv1.CreateIssuerRequest
		code connect.Code
	}{
		"a name in use":             {&ragdv1.CreateIssuerRequest{IssuerName: "own", Url: "https://id.example.com"}, connect.CodeAlreadyExists},
		"an address in use":         {&ragdv1.CreateIssuerRequest{IssuerName: "other", Url: theirs.URL}, connect.CodeAlreadyExists},
		"the operator's":            {&ragdv1.CreateIssuerRequest{IssuerName: "other", Url: w.issuer.URL}, connect.CodeAlreadyExists},
		"an internal address":       {&ragdv1.CreateIssuerRequest{IssuerName: "other", Url: "https://10.0.0.1"}, connect.CodeFailedPrecondition},
		"an address without TLS":    {&ragdv1.CreateIssuerRequest{IssuerName: "other", Url: "http://id.example.com"}, connect.CodeInvalidArgument},
		"a malformed name":          {&ragdv1.CreateIssuerRequest{IssuerName: "Other", Url: "https://id.example.com"}, connect.CodeInvalidArgument},
		"the scope operator":        {&ragdv1.CreateIssuerRequest{IssuerName: "other", Url: "https://id.example.com", Scopes: []string{"operator"}}, connect.CodeInvalidArgument},
		"an audience that is empty": {&ragdv1.CreateIssuerRequest{IssuerName: "other", Url: "https://id.example.com", Audiences: []string{""}}, connect.CodeInvalidArgument},
	} {
		_, err := acme.CreateIssuer(ctx, c.req)
		servicetest.WantCode(t, what, err, c.code)
	}
	_, err = w.Client(w.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme"})).ListIssuers(ctx, &ragdv1.ListIssuersRequest{})
	servicetest.WantCode(t, "without the scope admin", err, connect.CodePermissionDenied)

	changed, err := acme.UpdateIssuer(ctx, &ragdv1.UpdateIssuerRequest{IssuerName: "own", Scopes: []string{"write"}, Audiences: &ragdv1.Audiences{Audiences: []string{"api://acme"}}})
	if err != nil || len(changed.Audiences) != 1 || changed.Url != theirs.URL {
		t.Errorf("UpdateIssuer = %v, %v", changed, err)
	}
	_, err = acme.DeleteIssuer(ctx, &ragdv1.DeleteIssuerRequest{IssuerName: "own"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Client(token("acme"), "Ragd-Tenant", "acme").ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "after the deletion of the issuer", err, connect.CodeUnauthenticated)
}

// A token for one server is refused at every other address, and the answer says where a token for
// that address can be got.
func TestATokenForAServerCannotBeReplayedElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acme := w.Tenant(t, "acme")
	for _, name := range []string{"front", "back"} {
		if _, err := acme.CreateServer(t.Context(), &ragdv1.CreateServerRequest{ServerName: name}); err != nil {
			t.Fatal(err)
		}
	}
	token := w.token(map[string]any{"aud": public + "/mcp/front"})
	for path, want := range map[string]int{
		"/mcp/front": http.StatusOK, "/t/acme/mcp/front": http.StatusOK,
		"/mcp/back": http.StatusUnauthorized, "/mcp": http.StatusUnauthorized, "/t/acme/mcp": http.StatusUnauthorized, "/mcp/none": http.StatusUnauthorized,
		"/t/globex/mcp/front": http.StatusForbidden,
	} {
		status, challenge, body := w.postTo(t, path, token, "list_indexes", "{}")
		if status != want {
			t.Errorf("%s: %d, want %d: %s", path, status, want, body)
		}
		if metadata := `resource_metadata="` + public + "/.well-known/oauth-protected-resource" + path + `"`; status == http.StatusUnauthorized && !strings.Contains(challenge, metadata) {
			t.Errorf("%s: the challenge is %s", path, challenge)
		}
	}
	_, err := w.Client(token).ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "over RPC", err, connect.CodeUnauthenticated)
	_, err = w.Client(token, "Ragd-Server", "front").ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "over RPC with a header", err, connect.CodeUnauthenticated)
}
