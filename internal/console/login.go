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
	"time"

	"golang.org/x/oauth2"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/httpserver"
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
	if err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	a := attempt{State: rand.Text(), Verifier: oauth2.GenerateVerifier(), Return: localPath(r.URL.Query().Get("return"))}
	secret, _, err := h.store.create(r.Context(), login, credential{Attempt: &a}, LoginLife)
	if err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	http.SetCookie(w, h.loginCookie(r, secret, LoginLife))
	http.Redirect(w, r, config.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), h.resource(r)), http.StatusFound) //nolint:gosec // G710: the address is the issuer's, from its metadata; the request gives parameters alone
}

// finishLogin takes the browser back, with a code for an access token, and signs it in.
func (h *Handler) finishLogin(w http.ResponseWriter, r *http.Request) {
	given, err := r.Cookie(loginCookie)
	if err != nil {
		h.refuseLogin(w, r, errLogin)
		return
	}
	http.SetCookie(w, h.loginCookie(r, "", -time.Second))
	found, err := h.store.take(r.Context(), login, given.Value)
	query := r.URL.Query()
	switch {
	case errors.Is(err, errUnknown) || err == nil && found.Attempt == nil:
		err = errLogin
	case err != nil:
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(found.Attempt.State)) != 1:
		err = errLogin
	case query.Get("error") != "":
		err = fault.New(fault.Unauthenticated, "the authorization server refused: %q", cmp.Or(query.Get("error_description"), query.Get("error")))
	}
	if err != nil {
		h.refuseLogin(w, r, err)
		return
	}
	config, err := h.provider(r.Context(), r)
	if err != nil {
		h.refuseLogin(w, r, err)
		return
	}
	ctx, cancel := h.providerContext(r.Context())
	defer cancel()
	token, err := config.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(found.Attempt.Verifier), h.resource(r))
	if err != nil {
		h.refuseLogin(w, r, fault.Wrap(fault.Unauthenticated, err, "the authorization server gave no access token: sign in again"))
		return
	}
	c := credential{Secret: token.AccessToken, Refresh: token.RefreshToken, Expires: token.Expiry}
	if err := h.begin(w, r, c); err != nil {
		h.refuseLogin(w, r, err)
		return
	}
	http.Redirect(w, r, found.Attempt.Return, http.StatusSeeOther)
}

// refuseLogin shows a visitor on the sign-in page why a log-in has failed.
func (h *Handler) refuseLogin(w http.ResponseWriter, r *http.Request, err error) {
	httpserver.Fail(r.Context(), err)
	http.Redirect(w, r, "/sign-in#"+url.Values{"error": {fault.Public(err)}}.Encode(), http.StatusSeeOther)
}

var errLogin = fault.New(fault.Unauthenticated, "this log-in was not begun in this browser, or more than %.0f minutes ago: sign in again", LoginLife.Minutes())

// renew returns the credential of a session with a fresh access token, if the old one ends. Of
// several calls one asks the authorization server; the others wait for it.
func (h *Handler) renew(ctx context.Context, secret string, c credential) (credential, error) {
	if c.Refresh == "" || c.Expires.IsZero() || time.Until(c.Expires) > early {
		return c, nil
	}
	return h.store.change(ctx, secret, func(c credential) (credential, error) {
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
		if errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError {
			return c, errUnknown // signed out at the authorization server
		}
		if err != nil {
			return c, fault.Wrap(fault.Unavailable, err, "the authorization server does not answer")
		}
		return credential{Secret: token.AccessToken, Refresh: cmp.Or(token.RefreshToken, c.Refresh), Expires: token.Expiry}, nil
	})
}

// provider returns the configuration of the client, with the endpoints of the authorization
// server. r, if not nil, is the request of the browser that is sent there. Errors: NotFound
// without Login; Unavailable.
func (h *Handler) provider(ctx context.Context, r *http.Request) (*oauth2.Config, error) {
	l := h.config.Login
	if l == nil {
		return nil, fault.New(fault.NotFound, "this service has no log-in at an authorization server: its operator sets console-client-id")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.endpoint == nil {
		found, err := h.discover(ctx, l.Issuer)
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "the authorization server does not answer")
		}
		h.endpoint = found
	}
	config := &oauth2.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret, Scopes: l.Scopes, Endpoint: *h.endpoint}
	if r != nil {
		config.RedirectURL = h.address(r) + loginPath + "callback"
	}
	return config, nil
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
	return &oauth2.Endpoint{AuthURL: said.Authorization, TokenURL: said.Token}, nil
}

func (h *Handler) providerContext(ctx context.Context) (context.Context, context.CancelFunc) {
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
	return &http.Cookie{ //nolint:gosec // G124: Secure is set where the service is reached by HTTPS
		Name: loginCookie, Value: secret, Path: loginPath, MaxAge: int(life.Seconds()),
		HttpOnly: true, Secure: h.secure(r), SameSite: http.SameSiteLaxMode,
	}
}

// localPath returns a path of this service, "/" for anything else.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}
