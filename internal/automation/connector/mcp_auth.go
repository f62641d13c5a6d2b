package connector

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/oauth2"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/oauthclient"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/secure/secret"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of authorizations.
const (
	authorizeTime = 10 * time.Minute // until a user must have signed in
	maxScopes     = 20
	maxScopeBytes = 200
	maxClientID   = 500 // bytes
)

const (
	// earlyRefresh is how long before its end a token is replaced.
	earlyRefresh = 30 * time.Second
	// refreshClaim is how long an instance has for getting a token.
	refreshClaim = 30 * time.Second
	refreshPause = 200 * time.Millisecond
)

// The grants.
const (
	grantCode        = "authorization_code"
	grantCredentials = "client_credentials"
)

// OAuth is how the service gets a token for a server.
type OAuth struct {
	Grant        string   `json:"grant,omitempty"`
	ClientID     string   `json:"clientId,omitempty"`
	ClientSecret string   `json:"clientSecret,omitempty"` // name of a secret
	Scopes       []string `json:"scopes,omitempty"`
	Issuer       string   `json:"issuer,omitempty"`
}

// complete sets the defaults of empty settings and checks them. Errors: Invalid.
func (o *OAuth) complete() error {
	if o.Grant == "" {
		o.Grant = grantCode
	}
	switch {
	case o.Grant != grantCode && o.Grant != grantCredentials:
		return fault.Field("oauth.grant", "must be %s or %s", grantCode, grantCredentials)
	case o.Grant == grantCredentials && (o.ClientID == "" || o.ClientSecret == ""):
		return fault.Field("oauth.clientId", "and clientSecret are required by the grant %s", grantCredentials)
	case o.ClientSecret != "" && (o.Issuer == "" || o.ClientID == ""):
		return fault.Field("oauth.issuer", "and clientId are required with clientSecret, which is sent to the issuer alone")
	case len(o.Scopes) > maxScopes:
		return fault.Field("oauth.scopes", "must be at most %d, got %d", maxScopes, len(o.Scopes))
	}
	for _, scope := range o.Scopes {
		if scope == "" || len(scope) > maxScopeBytes || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return fault.Field("oauth.scopes", "must be texts of 1 to %d printable characters without spaces", maxScopeBytes)
		}
	}
	if err := textlimit.Check("oauth.clientId", o.ClientID, maxClientID); err != nil {
		return err
	}
	if o.ClientSecret != "" {
		return secret.CheckName("oauth.clientSecret", o.ClientSecret)
	}
	return nil
}

// grant is a token with what is needed to replace it. It is stored as JSON, sealed.
type grant struct {
	For    string                   `json:"for"` // identity of the settings that it belongs to
	Server oauthclient.Server       `json:"server"`
	Client oauthclient.Registration `json:"client"` // without the tenant's own secret
	Token  oauthclient.Token        `json:"token"`
}

// pending is a sign-in that has begun. It is stored as JSON, sealed.
type pending struct {
	For      string                   `json:"for"`
	Server   oauthclient.Server       `json:"server"`
	Client   oauthclient.Registration `json:"client"`
	Redirect string                   `json:"redirect"`
	Verifier string                   `json:"verifier"`
}

// identity identifies the settings for which a token is: it is sent nowhere else.
func (m *MCP) identity() string {
	raw, err := json.Marshal([]any{m.URL, m.OAuth})
	if err != nil {
		panic(err) // texts can always be encoded
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Sealed are the columns with tokens, and with sign-ins that have begun.
var Sealed = []seal.Column{
	{
		Table: "ragd_shared.connector_tokens", Name: "token", Row: "'connectors/' || connector_name",
		BelongsTo: "ARRAY['connector token', tenant_id, connector_name]",
	},
	{
		Table: "ragd_shared.connector_tokens", Name: "pending", Row: "'connectors/' || connector_name || '/pending'",
		BelongsTo: "ARRAY['connector pending', tenant_id, connector_name]", Needed: "pending_until > now()",
	},
}

func tokenOf(id tenant.ID, name string) []string {
	return []string{"connector token", string(id), name}
}

func pendingOf(id tenant.ID, name string) []string {
	return []string{"connector pending", string(id), name}
}

// bearer returns the token for a server, "" if there is none and the settings ask for none. It gets
// another one if the stored one ends soon, or with renew if the server refuses it. Errors: errSignIn;
// those of the authorization server.
func (s *Service) bearer(ctx context.Context, id tenant.ID, name string, m *MCP, renew bool) (string, error) {
	h := s.DB.Handle(id)
	deadline := time.Now().Add(refreshClaim)
	for {
		g, sealed, err := s.stored(ctx, h, name, m)
		if err != nil {
			return "", err
		}
		fixed := m.OAuth != nil && m.OAuth.Grant == grantCredentials
		switch {
		case g == nil && m.OAuth == nil:
			return "", nil
		case g == nil && !fixed:
			return "", errSignIn
		case g != nil && !renew && (g.Token.Expiry.IsZero() || time.Until(g.Token.Expiry) > earlyRefresh):
			return g.Token.Access, nil
		case g != nil && !fixed && g.Token.Refresh == "":
			return "", errSignIn
		}
		claimed, err := claimToken(ctx, h, name, sealed)
		if err != nil {
			return "", err
		}
		if claimed {
			return s.renew(ctx, h, name, m, g, sealed)
		}
		if time.Now().After(deadline) {
			return "", fault.New(fault.Unavailable, "another instance gets a token for the server for too long")
		}
		if err := sleep(ctx, refreshPause); err != nil {
			return "", err
		}
		renew = false // another one has renewed it
	}
}

// stored returns the token that is stored for the settings, nil for none.
func (s *Service) stored(ctx context.Context, h *data.Handle, name string, m *MCP) (*grant, []byte, error) {
	found, err := data.Values[[]byte](ctx, h, `SELECT token FROM ragd_shared.connector_tokens WHERE connector_name = $1 AND token IS NOT NULL`, name)
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	raw, err := s.Keys.Open(found[0], tokenOf(h.Tenant(), name)...)
	if err != nil {
		return nil, found[0], nil //nolint:nilerr // its key is gone, so that a user signs in again
	}
	var g grant
	if err := json.Unmarshal(raw, &g); err != nil {
		return nil, nil, err
	}
	if g.For != m.identity() {
		return nil, found[0], nil
	}
	return &g, found[0], nil
}

// renew gets another token and stores it. The claim of the caller ends.
func (s *Service) renew(ctx context.Context, h *data.Handle, name string, m *MCP, old *grant, sealed []byte) (access string, err error) {
	defer func() {
		if err != nil {
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
			defer cancel()
			if refused := errors.Is(err, oauthclient.ErrRefused) && old != nil; refused && m.grant() == grantCode {
				_, _ = data.Values[string](ending, h, `UPDATE ragd_shared.connector_tokens SET token = NULL WHERE connector_name = $1 AND token = $2 RETURNING connector_name`, name, sealed)
				err = errSignIn
			}
			_, _ = data.Values[string](ending, h, `UPDATE ragd_shared.connector_tokens SET renewing_until = NULL WHERE connector_name = $1 RETURNING connector_name`, name)
		}
	}()
	var next grant
	if old != nil {
		next = *old
	}
	if m.grant() == grantCredentials {
		next, err = s.credentials(ctx, h.Tenant(), m)
	} else {
		client := next.Client
		if client.Secret, err = s.clientSecret(ctx, h.Tenant(), m, next.Server, client.Secret); err != nil {
			return "", err
		}
		next.Token, err = s.oauth.Refresh(ctx, next.Server, client, next.Token.Refresh)
	}
	if err != nil {
		return "", err
	}
	return next.Token.Access, s.keep(context.WithoutCancel(ctx), h, name, next)
}

// grant returns the grant of the settings.
func (m *MCP) grant() string {
	if m.OAuth == nil {
		return grantCode
	}
	return m.OAuth.Grant
}

// credentials gets a token with the secret of the client.
func (s *Service) credentials(ctx context.Context, id tenant.ID, m *MCP) (grant, error) {
	address, err := url.Parse(m.URL)
	if err != nil {
		return grant{}, err
	}
	g := grant{For: m.identity()}
	if g.Server, err = s.oauth.Discover(ctx, address, m.OAuth.Issuer); err != nil {
		return grant{}, err
	}
	secret, err := s.clientSecret(ctx, id, m, g.Server, "")
	if err != nil {
		return grant{}, err
	}
	g.Client = g.Server.Known(m.OAuth.ClientID, secret)
	g.Token, err = s.oauth.Credentials(ctx, g.Server, g.Client, m.scopes(g.Server))
	g.Client.Secret = "" // it is the tenant's
	return g, err
}

// scopes returns the scopes to ask for.
func (m *MCP) scopes(s oauthclient.Server) []string {
	if m.OAuth != nil && len(m.OAuth.Scopes) > 0 {
		return m.OAuth.Scopes
	}
	return s.Scopes
}

// clientSecret returns the secret of the client: that of the tenant if the settings name one, else the
// registered one. Errors: NotFound; Denied for a secret that may not be sent to the server.
func (s *Service) clientSecret(ctx context.Context, id tenant.ID, m *MCP, server oauthclient.Server, registered string) (string, error) {
	if m.OAuth == nil || m.OAuth.ClientSecret == "" {
		return registered, nil
	}
	to, err := url.Parse(server.TokenURL)
	if err != nil {
		return "", err
	}
	values, err := s.Remote.Secrets.Values(ctx, id, []string{m.OAuth.ClientSecret}, to)
	return values[m.OAuth.ClientSecret], err
}

// keep stores a token.
func (s *Service) keep(ctx context.Context, h *data.Handle, name string, g grant) error {
	raw, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = data.Values[string](ctx, h, `
		INSERT INTO ragd_shared.connector_tokens (connector_name, token) VALUES ($1, $2)
		ON CONFLICT (tenant_id, connector_name) DO UPDATE SET token = excluded.token, renewing_until = NULL RETURNING connector_name`,
		name, s.Keys.Seal(raw, tokenOf(h.Tenant(), name)...))
	return err
}

// claimToken reports whether the caller is to get another token in place of the stored one: one caller at a
// time does, as a refresh token may be good for one use.
func claimToken(ctx context.Context, h *data.Handle, name string, sealed []byte) (bool, error) {
	claimed, err := data.Values[string](ctx, h, `
		INSERT INTO ragd_shared.connector_tokens AS t (connector_name, renewing_until) VALUES ($1, now() + $3)
		ON CONFLICT (tenant_id, connector_name) DO UPDATE SET renewing_until = now() + $3
			WHERE (t.renewing_until IS NULL OR t.renewing_until < now()) AND t.token IS NOT DISTINCT FROM $2
		RETURNING connector_name`, name, sealed, refreshClaim)
	return len(claimed) == 1, err
}

// Paths of the service for sign-ins.
const (
	// CallbackPath is where authorization servers send users back.
	CallbackPath = "/connectors/callback"
	// ClientPath is the document about the service as a client.
	ClientPath = "/connectors/client.json"
)

// Authorize begins a sign-in for the server of a connector. It returns the address at which a user signs
// in, and until when. Errors: NotFound; Precondition for a connector without MCP server, for the grant
// client_credentials, without master key, and for a server that cannot be used so; Unavailable.
func (s *Service) Authorize(ctx context.Context, name string) (address string, until time.Time, err error) {
	caller, h, err := s.use(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	r, err := connectors.Get(ctx, h, name)
	if err != nil {
		return "", time.Time{}, err
	}
	c, err := r.connector()
	if err != nil {
		return "", time.Time{}, err
	}
	switch {
	case c.MCP == nil:
		return "", time.Time{}, fault.New(fault.Precondition, "only connectors of MCP servers are authorized")
	case c.MCP.grant() != grantCode:
		return "", time.Time{}, fault.New(fault.Precondition, "the connector signs in by itself, with the grant %s", c.MCP.grant())
	case s.Keys == nil:
		return "", time.Time{}, fault.New(fault.Precondition, "this server cannot store tokens: its operator sets RAGD_MASTER_KEY, with which they are encrypted")
	}
	ctx, leave, err := s.Remote.Enter(ctx, caller)
	if err != nil {
		return "", time.Time{}, err
	}
	defer leave()
	p, err := s.begin(ctx, h.Tenant(), c.MCP)
	if err != nil {
		return "", time.Time{}, err
	}
	state, err := s.keepPending(ctx, h, name, p)
	if err != nil {
		return "", time.Time{}, err
	}
	return oauthclient.AuthorizationURL(p.Server, p.Client.ClientID, p.Redirect, state, p.Verifier, c.MCP.scopes(p.Server)), time.Now().Add(authorizeTime), nil
}

// begin finds the authorization server and makes the service known to it.
func (s *Service) begin(ctx context.Context, id tenant.ID, m *MCP) (pending, error) {
	address, err := url.Parse(m.URL)
	if err != nil {
		return pending{}, err
	}
	settings := m.OAuth
	if settings == nil {
		settings = &OAuth{}
	}
	p := pending{For: m.identity(), Redirect: s.PublicURL + CallbackPath, Verifier: oauth2.GenerateVerifier()}
	if p.Server, err = s.oauth.Discover(ctx, address, settings.Issuer); err != nil {
		return pending{}, err
	}
	switch {
	case p.Server.AuthorizeURL == "":
		return pending{}, fault.New(fault.Precondition, "the authorization server of %s lets no user sign in", address.Host)
	case !p.Server.PKCE:
		return pending{}, fault.New(fault.Precondition, "the authorization server of %s does not support PKCE (S256), which MCP requires", address.Host)
	case settings.ClientID != "":
		secret, err := s.clientSecret(ctx, id, m, p.Server, "")
		if err != nil {
			return pending{}, err
		}
		p.Client = p.Server.Known(settings.ClientID, secret)
		p.Client.Secret = "" // it is read again when it is sent
	case p.Server.Documents && strings.HasPrefix(s.PublicURL, "https://"):
		p.Client = p.Server.Known(s.PublicURL+ClientPath, "")
	default:
		if p.Client, err = s.oauth.Register(ctx, p.Server, "ragd", p.Redirect, m.scopes(p.Server)); err != nil {
			return pending{}, err
		}
	}
	return p, nil
}

// signIn is what the state of a sign-in says. It is sealed, so that strangers can neither read nor make it.
type signIn struct {
	Tenant    tenant.ID `json:"t"`
	Connector string    `json:"c"`
}

// stateOfSignIn is what a sealed state belongs to.
const stateOfSignIn = "connector sign-in"

// keepPending stores a sign-in that begins, in place of an earlier one, and returns its state.
func (s *Service) keepPending(ctx context.Context, h *data.Handle, name string, p pending) (string, error) {
	said, err := json.Marshal(signIn{h.Tenant(), name})
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	state := base64.RawURLEncoding.EncodeToString(s.Keys.Seal(said, stateOfSignIn)) // different each time
	sum := sha256.Sum256([]byte(state))
	_, err = data.Values[string](ctx, h, `
		INSERT INTO ragd_shared.connector_tokens (connector_name, pending, pending_until, state_hash) VALUES ($1, $2, now() + $3, $4)
		ON CONFLICT (tenant_id, connector_name) DO UPDATE SET pending = excluded.pending, pending_until = excluded.pending_until, state_hash = excluded.state_hash
		RETURNING connector_name`, name, s.Keys.Seal(raw, pendingOf(h.Tenant(), name)...), authorizeTime, sum[:])
	return state, err
}

// errExpired says that a state is of no use.
var errExpired = fault.New(fault.Precondition, "this sign-in has expired, was used before, or was not begun here: begin it again")

// opened returns what a state says. Errors: errExpired.
func (s *Service) opened(state string) (signIn, error) {
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err == nil {
		raw, err = s.Keys.Open(raw, stateOfSignIn)
	}
	var said signIn
	if err != nil || json.Unmarshal(raw, &said) != nil {
		return said, errExpired
	}
	return said, nil
}

// finish ends a sign-in with what the authorization server has given the user's browser: it gets the token,
// stores it and makes a run due. Errors: errExpired; Precondition; those of the authorization server.
func (s *Service) finish(ctx context.Context, state, code, issuer string) error {
	said, err := s.opened(state)
	if err != nil {
		return err
	}
	h := s.DB.Handle(said.Tenant)
	sum := sha256.Sum256([]byte(state))
	var sealed []byte
	err = h.Tx(ctx, func(tx *data.Tx) error {
		sealed, err = data.Value[[]byte](ctx, tx, `
			SELECT pending FROM ragd_shared.connector_tokens WHERE connector_name = $1 AND state_hash = $2 AND pending_until > now() FOR UPDATE`, said.Connector, sum[:])
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE ragd_shared.connector_tokens SET pending = NULL, pending_until = NULL, state_hash = NULL WHERE connector_name = $1`, said.Connector)
		return err
	})
	var gone *data.GoneError
	if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &gone) || fault.KindOf(err) == fault.NotFound {
		return errExpired
	}
	if err != nil {
		return err
	}
	raw, err := s.Keys.Open(sealed, pendingOf(said.Tenant, said.Connector)...)
	if err != nil {
		return errExpired
	}
	var p pending
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	return s.exchange(ctx, h, said.Connector, p, code, issuer)
}

// exchange gets the token for the code of a sign-in. It asks the server at which the sign-in began.
func (s *Service) exchange(ctx context.Context, h *data.Handle, name string, p pending, code, issuer string) error {
	if issuer != "" && issuer != p.Server.Issuer || issuer == "" && p.Server.NamesItself { // RFC 9207
		return fault.New(fault.Precondition, "the answer is not that of the authorization server at which the sign-in began")
	}
	r, ok, err := connectors.Find(ctx, h, name)
	if err != nil {
		return err
	}
	c, err := r.connector()
	if !ok || err != nil || c.MCP == nil || c.MCP.identity() != p.For {
		return errors.Join(fault.New(fault.Precondition, "the connector was changed or deleted meanwhile: begin the sign-in again"), err)
	}
	client := p.Client
	if client.Secret, err = s.clientSecret(ctx, h.Tenant(), c.MCP, p.Server, client.Secret); err != nil {
		return err
	}
	token, err := s.oauth.Code(ctx, p.Server, client, code, p.Redirect, p.Verifier)
	if err != nil {
		return err
	}
	if err := s.keep(ctx, h, name, grant{For: p.For, Server: p.Server, Client: p.Client, Token: token}); err != nil {
		return err
	}
	return h.Tx(ctx, func(tx *data.Tx) error {
		now, ok, err := dueAfter(ctx, tx, name, 0)
		if err != nil || !ok { // it is paused
			return err
		}
		return s.wake(ctx, tx, now)
	})
}
