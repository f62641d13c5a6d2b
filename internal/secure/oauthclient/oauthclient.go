// Package oauthclient gets tokens for servers that tenants choose, as an OAuth client: it finds the
// authorization server that a protected resource names (RFC 9728, RFC 8414), registers (RFC 7591), and
// asks for tokens of that resource (RFC 8707), by authorization code with PKCE, client credentials and
// refresh. It stores nothing.
package oauthclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
)

// Limits of what servers answer.
const (
	maxDocumentBytes = 256 << 10
	maxTokenBytes    = 16 << 10
	maxClientBytes   = 2 << 10 // of an id or a secret of a client
	maxAddressBytes  = 2 << 10
	maxScopes        = 50
	maxScopeBytes    = 200
	maxSaidBytes     = 200 // of what an error shows
	requestTimeout   = 10 * time.Second
	connections      = 8 // to one host
)

// Client talks to authorization servers. Safe for concurrent use.
type Client struct{ http *http.Client }

// New returns a Client that connects where the guard allows, and follows no redirect.
func New(guard *outbound.Guard) *Client {
	return &Client{guard.Client(connections, requestTimeout)}
}

// Server is the authorization server of a resource.
type Server struct {
	Resource     string   `json:"resource"` // as the resource calls itself
	Issuer       string   `json:"issuer"`
	AuthorizeURL string   `json:"authorizeUrl,omitempty"`
	TokenURL     string   `json:"tokenUrl"`
	RegisterURL  string   `json:"registerUrl,omitempty"`
	Methods      []string `json:"methods,omitempty"` // of clients at TokenURL
	Scopes       []string `json:"scopes,omitempty"`  // that the resource asks for
	PKCE         bool     `json:"pkce,omitempty"`
	// NamesItself says that its answers to a user's browser name the issuer (RFC 9207).
	NamesItself bool `json:"namesItself,omitempty"`
	// Documents says that a client's id may be the address of a document about it.
	Documents bool `json:"documents,omitempty"`
}

// Registration is a client at an authorization server.
type Registration struct {
	ClientID string `json:"clientId"`
	Secret   string `json:"secret,omitempty"`
	Method   string `json:"method"` // none, client_secret_basic or client_secret_post
}

// Token is an access token.
type Token struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Expiry  time.Time `json:"expiry,omitzero"` // zero if it is not known
}

// ErrRefused says that the authorization server no longer accepts what it gave out, so that a user has to
// sign in again.
var ErrRefused = errors.New("the authorization server refuses the grant")

// Register introduces a client that is sent back to an address. Errors: Precondition if the server
// registers none; Unavailable.
func (c *Client) Register(ctx context.Context, s Server, name, redirect string, scopes []string) (Registration, error) {
	if s.RegisterURL == "" {
		return Registration{}, fault.New(fault.Precondition, "the authorization server %s registers no clients by itself: register one there and give oauth.clientId", hostOf(s.Issuer))
	}
	method := s.method(false)
	body, err := json.Marshal(map[string]any{
		"client_name": name, "redirect_uris": []string{redirect}, "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": method, "scope": strings.Join(scopes, " "),
	})
	if err != nil {
		return Registration{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.RegisterURL, bytes.NewReader(body))
	if err != nil {
		return Registration{}, unusable("registration_endpoint")
	}
	req.Header.Set("Content-Type", "application/json")
	var answer struct {
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
		Method   string `json:"token_endpoint_auth_method"`
	}
	if err := c.object(req, &answer); err != nil {
		return Registration{}, err
	}
	r := Registration{ClientID: answer.ClientID, Secret: answer.Secret, Method: answer.Method}
	if r.Method == "" {
		if r.Method = method; r.Secret != "" && method == methodNone {
			r.Method = methodBasic
		}
	}
	if r.ClientID == "" || len(r.ClientID) > maxClientBytes || len(r.Secret) > maxClientBytes || !slices.Contains(methods, r.Method) {
		return Registration{}, fault.New(fault.Precondition, "the authorization server %s registers the client in a way that cannot be used", hostOf(s.Issuer))
	}
	return r, nil
}

// The ways in which a client authenticates.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
)

var methods = []string{methodNone, methodBasic, methodPost}

// method returns how a client authenticates, with a secret or without one if that is possible.
func (s Server) method(secret bool) string {
	known := s.Methods
	if len(known) == 0 {
		known = []string{methodBasic}
	}
	order := []string{methodNone, methodPost, methodBasic} // some servers want the id in the body in any case
	if secret {
		order = order[1:]
	}
	for _, m := range order {
		if slices.Contains(known, m) {
			return m
		}
	}
	return methodBasic
}

// Known returns a client that was registered by people.
func (s Server) Known(clientID, secret string) Registration {
	r := Registration{ClientID: clientID, Secret: secret, Method: methodNone}
	if secret != "" {
		r.Method = s.method(true)
	}
	return r
}

// AuthorizationURL returns the address at which a user signs in. It has the challenge for a verifier.
func AuthorizationURL(s Server, clientID, redirect, state, verifier string, scopes []string) string {
	config := oauth2.Config{ClientID: clientID, RedirectURL: redirect, Scopes: scopes, Endpoint: oauth2.Endpoint{AuthURL: s.AuthorizeURL}}
	return config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", s.Resource))
}

// Code exchanges an authorization code for a token. Errors: ErrRefused; Precondition; Unavailable.
func (c *Client) Code(ctx context.Context, s Server, r Registration, code, redirect, verifier string) (Token, error) {
	return c.token(ctx, s, r, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}})
}

// Refresh gets another token. Errors: as Code.
func (c *Client) Refresh(ctx context.Context, s Server, r Registration, refresh string) (Token, error) {
	return c.token(ctx, s, r, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
}

// Credentials gets a token with the secret of the client. Errors: as Code.
func (c *Client) Credentials(ctx context.Context, s Server, r Registration, scopes []string) (Token, error) {
	values := url.Values{"grant_type": {"client_credentials"}}
	if len(scopes) > 0 {
		values.Set("scope", strings.Join(scopes, " "))
	}
	return c.token(ctx, s, r, values)
}

// token asks for a token.
func (c *Client) token(ctx context.Context, s Server, r Registration, values url.Values) (Token, error) {
	values.Set("resource", s.Resource)
	config := clientcredentials.Config{ClientID: r.ClientID, ClientSecret: r.Secret, TokenURL: s.TokenURL, EndpointParams: values, AuthStyle: oauth2.AuthStyleInParams}
	if r.Method == methodBasic {
		config.AuthStyle = oauth2.AuthStyleInHeader
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	got, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, c.http))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500:
		said := textlimit.OneLine(strings.TrimSpace(refused.ErrorCode+" "+refused.ErrorDescription), maxSaidBytes)
		if said == "" {
			said = fmt.Sprintf("answered %d", refused.Response.StatusCode)
		}
		known := fault.New(fault.Precondition, "the authorization server %s gives no token: %s", hostOf(s.Issuer), said)
		if refused.ErrorCode == "invalid_grant" || refused.ErrorCode == "invalid_client" || refused.ErrorCode == "unauthorized_client" {
			known.Cause = ErrRefused
		}
		return Token{}, known
	case err != nil:
		return Token{}, c.failure(ctx, s.TokenURL, err)
	}
	t := Token{Access: got.AccessToken, Refresh: got.RefreshToken, Expiry: got.Expiry}
	usable := httpguts.ValidHeaderFieldValue(t.Access) && t.Access == strings.TrimSpace(t.Access)
	if !usable || len(t.Access) > maxTokenBytes || len(t.Refresh) > maxTokenBytes || !strings.EqualFold(got.Type(), "Bearer") {
		return Token{}, fault.New(fault.Precondition, "the authorization server %s gives a token that cannot be used: it must be a bearer token of at most %d bytes", hostOf(s.Issuer), maxTokenBytes)
	}
	return t, nil
}

// object reads a JSON object. Errors: Precondition for another answer; Unavailable.
func (c *Client) object(req *http.Request, into any) error {
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return c.failure(req.Context(), req.URL.String(), err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocumentBytes+1))
	if err != nil {
		return c.failure(req.Context(), req.URL.String(), err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return &statusError{req.URL.Host, res.StatusCode}
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if len(body) > maxDocumentBytes || media != "" && media != "application/json" && !strings.HasSuffix(media, "+json") || json.Unmarshal(body, into) != nil {
		return fault.New(fault.Precondition, "%s answers with no JSON document of at most %d bytes", req.URL.Host, maxDocumentBytes)
	}
	return nil
}

// statusError is an answer with a status that is no success.
type statusError struct {
	host   string
	status int
}

func (e *statusError) Error() string { return e.Unwrap().Error() }

// Unwrap makes it a public error.
func (e *statusError) Unwrap() error {
	return fault.New(fault.Precondition, "%s answered %d", e.host, e.status)
}

// failure returns why a request got no answer, without what is known of the operator's network.
func (c *Client) failure(ctx context.Context, address string, err error) error {
	var refused *fault.Error
	switch {
	case errors.As(err, &refused):
		return fault.New(refused.Kind, "%s: %s", hostOf(address), refused.Message)
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	}
	return fault.Wrap(fault.Unavailable, err, "%s does not answer", hostOf(address))
}

func unusable(what string) error {
	return fault.New(fault.Precondition, "the authorization server has an address that cannot be used: %s", what)
}

// hostOf returns the host of an address for an error.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	return textlimit.OneLine(parsed.Host, maxSaidBytes)
}
