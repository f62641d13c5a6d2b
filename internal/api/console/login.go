package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Login configures signing in at an authorization server: the authorization code flow with PKCE
// (RFC 6749, RFC 7636).
type Login struct {
	// Issuer is the address of the authorization server. Its metadata (RFC 8414, OpenID Connect
	// Discovery) name its endpoints.
	Issuer string
	// ClientID and ClientSecret identify the console there. A public client has no secret.
	ClientID, ClientSecret string
	// Scopes are asked for.
	Scopes []string
}

const (
	// LoginLife is how long a visitor may take at the authorization server.
	LoginLife = 10 * time.Minute
	// providerTimeout bounds a request to the authorization server.
	providerTimeout = 10 * time.Second
	// maxMetadata bounds the metadata of the authorization server, in bytes.
	maxMetadata = 1 << 20
	// early is how long before the end of an access token a new one is fetched.
	early = time.Minute

	// failedFor is how long the authorization server is not asked for its metadata again after it
	// did not give them.
	failedFor = 5 * time.Second
	// maxRenewing is how many access tokens are renewed at once. Each takes a connection to the
	// database until the authorization server has answered.
	maxRenewing = 4
	// maxReturn bounds the path to return to after a log-in, in bytes.
	maxReturn = 2048

	loginCookie = "ragd_login"
	loginPath   = "/console/oauth/"
)

// attempt is what is known of a visitor who is at the authorization server.
type attempt struct {
	State    string `json:"state"`
	Verifier string `json:"verifier"`
	Return   string `json:"return"`
}

// startLogin sends the browser to the authorization server.
func (h *Handler) startLogin(w http.ResponseWriter, r *http.Request) {
	config, err := h.provider(r.Context(), r)
	if err == nil {
		_, err = h.logins.take(r) // each stores a row
	}
	if err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	a := attempt{State: rand.Text(), Verifier: oauth2.GenerateVerifier(), Return: localPath(r.URL.Query().Get("return"))}
	secret, _, err := h.store.create(r.Context(), login, signIn{Attempt: &a}, LoginLife)
	if err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	http.SetCookie(w, h.loginCookie(r, secret, LoginLife))
	http.Redirect(w, r, config.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), h.resource(r)), http.StatusFound) //nolint:gosec // G710: the address is the issuer's, from its metadata; the request gives parameters alone
}

// finishLogin takes the browser back, with a code for an access token, and signs it in.
func (h *Handler) finishLogin(w http.ResponseWriter, r *http.Request) {
	given := r.CookiesNamed(h.loginCookie(r, "", 0).Name)
	if len(given) != 1 {
		h.refuseLogin(w, r, errLogin)
		return
	}
	http.SetCookie(w, h.loginCookie(r, "", -time.Second))
	var begun *attempt
	err := h.try(r, func() (err error) {
		if begun, err = h.begun(r, given[0].Value); err != nil {
			return err
		}
		c, err := h.exchange(r, begun)
		if err != nil {
			return err
		}
		return h.begin(w, r, c)
	})
	if err != nil {
		h.refuseLogin(w, r, err)
		return
	}
	http.Redirect(w, r, begun.Return, http.StatusSeeOther)
}

// begun returns the attempt that the authorization server answers. Errors: Unauthenticated if the
// answer is to no attempt of this browser, from another issuer or a refusal.
func (h *Handler) begun(r *http.Request, secret string) (*attempt, error) {
	found, err := h.store.take(r.Context(), login, secret)
	query := r.URL.Query()
	switch {
	case errors.Is(err, errUnknown) || err == nil && found.Attempt == nil:
		return nil, errLogin
	case err != nil:
		return nil, err
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(found.Attempt.State)) != 1:
		return nil, errLogin
	case query.Has("iss") && h.config.Login != nil && query.Get("iss") != h.config.Login.Issuer: // RFC 9207
		return nil, errLogin
	case query.Get("error") != "":
		return nil, fault.New(fault.Unauthenticated, "the authorization server refused: %q", cmp.Or(query.Get("error_description"), query.Get("error")))
	}
	return found.Attempt, nil
}

// exchange gets an access token for the code in a request. Errors: Unauthenticated, Unavailable.
func (h *Handler) exchange(r *http.Request, begun *attempt) (c signIn, err error) {
	config, err := h.provider(r.Context(), r)
	if err != nil {
		return c, err
	}
	ctx, cancel := h.providerContext(r.Context())
	defer cancel()
	token, err := config.Exchange(ctx, r.URL.Query().Get("code"), oauth2.VerifierOption(begun.Verifier), h.resource(r))
	if err != nil {
		return c, fault.Wrap(fault.Unauthenticated, err, "the authorization server gave no access token: sign in again")
	}
	return signIn{Secret: token.AccessToken, Refresh: token.RefreshToken, Expires: token.Expiry}, nil
}

// refuseLogin shows a visitor on the sign-in page why a log-in has failed.
func (h *Handler) refuseLogin(w http.ResponseWriter, r *http.Request, err error) {
	httpserver.Fail(r.Context(), err)
	http.Redirect(w, r, "/sign-in#"+url.Values{"error": {fault.Public(err)}}.Encode(), http.StatusSeeOther)
}

var errLogin = fault.New(fault.Unauthenticated, "this log-in was not begun in this browser, or more than %.0f minutes ago: sign in again", LoginLife.Minutes())

// renew returns the credential of a session with a fresh access token, if the old one ends. Of
// several calls one asks the authorization server; the others wait for it.
func (h *Handler) renew(ctx context.Context, secret string, c signIn) (signIn, error) {
	if c.Refresh == "" || c.Expires.IsZero() || time.Until(c.Expires) > early {
		return c, nil
	}
	waiting := context.WithoutCancel(ctx) // others may wait too
	done := h.renewals.DoChan(secret, func() (any, error) {
		ctx, cancel := context.WithTimeout(waiting, 2*providerTimeout)
		defer cancel()
		select {
		case h.renewing <- struct{}{}:
			defer func() { <-h.renewing }()
			return h.store.change(ctx, secret, func(c signIn) (signIn, error) { return h.refresh(ctx, c) })
		case <-ctx.Done():
			return signIn{}, errSilent
		}
	})
	select {
	case result := <-done:
		c, _ = result.Val.(signIn)
		return c, result.Err
	case <-ctx.Done():
		return c, ctx.Err()
	}
}

// refresh returns a credential with a fresh access token, if the old one ends. Errors: errUnknown
// if the authorization server gives none.
func (h *Handler) refresh(ctx context.Context, c signIn) (signIn, error) {
	if time.Until(c.Expires) > early {
		return c, nil // renewed meanwhile
	}
	config, err := h.provider(ctx, nil)
	if err != nil {
		return c, err
	}
	ctx, cancel := h.providerContext(ctx)
	defer cancel()
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: c.Refresh}).Token()
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && (refused.Response.StatusCode == http.StatusBadRequest || refused.Response.StatusCode == http.StatusUnauthorized) { // RFC 6749, 5.2
		return c, errUnknown // signed out at the authorization server
	}
	if err != nil {
		return c, fault.Wrap(fault.Unavailable, err, "the authorization server does not answer")
	}
	return signIn{Secret: token.AccessToken, Refresh: cmp.Or(token.RefreshToken, c.Refresh), Expires: token.Expiry}, nil
}

var errSilent = fault.New(fault.Unavailable, "the authorization server does not answer")

// provider returns the configuration of the client, with the endpoints of the authorization
// server. r, if not nil, is the request of the browser that is sent there. Errors: NotFound
// without Login; Unavailable.
func (h *Handler) provider(ctx context.Context, r *http.Request) (*oauth2.Config, error) {
	l := h.config.Login
	if l == nil {
		return nil, fault.New(fault.NotFound, "this service has no log-in at an authorization server: its operator sets console-client-id")
	}
	endpoint, err := h.provided.get(ctx, func(ctx context.Context) (*oauth2.Endpoint, error) { return h.discover(ctx, l.Issuer) })
	if err != nil {
		return nil, err
	}
	config := &oauth2.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret, Scopes: l.Scopes, Endpoint: *endpoint}
	if r != nil {
		config.RedirectURL = h.address(r) + loginPath + "callback"
	}
	return config, nil
}

// provided holds the endpoints of the authorization server, once they are known. Safe for
// concurrent use.
type provided struct {
	asking singleflight.Group

	mu       sync.Mutex
	endpoint *oauth2.Endpoint
	failed   error
	until    time.Time // failed is returned
}

// get returns the endpoints, from discover if they are not known. Those who ask meanwhile wait for
// the same answer, and one that has failed counts for a moment. Errors: Unavailable; that of ctx.
func (p *provided) get(ctx context.Context, discover func(context.Context) (*oauth2.Endpoint, error)) (*oauth2.Endpoint, error) {
	p.mu.Lock()
	endpoint, failed, until := p.endpoint, p.failed, p.until
	p.mu.Unlock()
	if endpoint != nil {
		return endpoint, nil
	}
	if time.Now().Before(until) {
		return nil, failed
	}
	waiting := context.WithoutCancel(ctx)
	done := p.asking.DoChan("", func() (any, error) {
		found, err := discover(waiting)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil {
			p.failed, p.until = fault.Wrap(fault.Unavailable, err, "the authorization server does not answer"), time.Now().Add(failedFor)
			return nil, p.failed
		}
		p.endpoint = found
		return found, nil
	})
	select {
	case result := <-done:
		found, _ := result.Val.(*oauth2.Endpoint)
		return found, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// discover reads the endpoints of an authorization server from its metadata.
func (h *Handler) discover(ctx context.Context, issuer string) (*oauth2.Endpoint, error) {
	ctx, cancel := h.providerContext(ctx)
	defer cancel()
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	base, path := u.Scheme+"://"+u.Host, strings.TrimRight(u.Path, "/")
	var failed error
	for _, address := range []string{base + path + "/.well-known/openid-configuration", base + "/.well-known/oauth-authorization-server" + path} {
		found, err := metadata(ctx, address, issuer)
		if err == nil {
			return found, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func metadata(ctx context.Context, address, issuer string) (*oauth2.Endpoint, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s returned status %s", address, response.Status)
	}
	var said struct {
		Issuer        string `json:"issuer"`
		Authorization string `json:"authorization_endpoint"`
		Token         string `json:"token_endpoint"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxMetadata)).Decode(&said); err != nil {
		return nil, fmt.Errorf("decode %s: %w", address, err)
	}
	if said.Issuer != issuer || said.Authorization == "" || said.Token == "" {
		return nil, fmt.Errorf("%s names the issuer %q and lacks an endpoint, or is about another issuer", address, said.Issuer)
	}
	for _, endpoint := range []string{said.Authorization, said.Token} {
		if !leads(endpoint, issuer) {
			return nil, fmt.Errorf("%s names the endpoint %q, which is no address that begins with https://", address, endpoint)
		}
	}
	return &oauth2.Endpoint{AuthURL: said.Authorization, TokenURL: said.Token}, nil
}

// leads reports whether an endpoint is an address that browsers and the service may be sent to: with
// https, unless the issuer itself has none.
func leads(endpoint, issuer string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(issuer, "http://"))
}

// direct sends requests that are not passed on to where an answer redirects them: they have secrets.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// providerContext returns the context of a request for a token.
func (h *Handler) providerContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, direct)
	return context.WithTimeout(ctx, providerTimeout)
}

// resource names the service as the audience of the token (RFC 8707).
func (h *Handler) resource(r *http.Request) oauth2.AuthCodeOption {
	return oauth2.SetAuthURLParam("resource", h.address(r))
}

// address returns the address of the service as the browser knows it.
func (h *Handler) address(r *http.Request) string {
	if h.config.PublicURL != "" {
		return strings.TrimRight(h.config.PublicURL, "/")
	}
	scheme := "http"
	if h.secure(r) {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// loginCookie is the cookie of an attempt. Lax, because the authorization server sends the
// browser back.
func (h *Handler) loginCookie(r *http.Request, secret string, life time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name: loginCookie, Value: secret, Path: loginPath, MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if h.secure(r) {
		// The prefix keeps hosts below the same domain from setting the cookie. It demands the path.
		c.Name, c.Path, c.Secure = hostPrefix+loginCookie, "/", true
	}
	return c
}

// localPath returns a path of this service, "/" for anything else.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || len(path) > maxReturn || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}
