package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// Limits of sessions and links.
const (
	// SessionLife is how long a browser stays signed in.
	SessionLife = 12 * time.Hour
	// LinkLife is how long a link that signs in can be used.
	LinkLife = 2 * time.Minute
	// MaxSessions is how many sessions, and how many links, a credential has. A new one ends
	// the oldest.
	MaxSessions = 32

	// MaxFailures is how many sign-ins of an address may fail at once. One more may every
	// failureEvery.
	MaxFailures  = 20
	failureEvery = 3 * time.Second
	// MaxLogins is how many log-ins at the authorization server may be begun from an address at
	// once. One more may every loginEvery.
	MaxLogins  = 60
	loginEvery = time.Second

	// fresh is how long a session is used before its row is read again. One that is signed out
	// on another instance is accepted on this one for up to this time.
	fresh       = 3 * time.Second
	maxCached   = 10_000
	maxBody     = 16 << 10         // bytes of a request
	maxArrival  = 10 * time.Second // of a request
	cookie      = "ragd_session"
	hostPrefix  = "__Host-" // browsers take such a cookie by TLS alone, and from this host alone
	secureNamed = hostPrefix + cookie
)

// Config configures a Handler.
type Config struct {
	// Database reaches the control schema.
	Database control
	// Authenticate returns an error unless a secret is a valid credential.
	Authenticate func(ctx context.Context, secret string) error
	// Refuse answers a request with an error.
	Refuse func(http.ResponseWriter, *http.Request, error)
	// Version is that of the service.
	Version string
	// PublicURL is the address of the service for clients; empty: as each request names it.
	PublicURL string
	// Login offers to sign in at an authorization server. Nil for none.
	Login *Login
}

// Handler serves the page, signs browsers in and lets their calls pass. Safe for concurrent
// use.
type Handler struct {
	config Config
	store  store
	known  *cache.Cache[string, signIn] // by the secret of the session
	mux    *http.ServeMux
	files  sync.Map // content by name, of files that were asked for
	// publicHost is the host of PublicURL if that is an https address.
	publicHost string

	ended    atomic.Int64 // sessions that ended here
	failures *attempts    // of sign-ins
	logins   *attempts    // that were begun at the authorization server
	provided provided
	renewals singleflight.Group // by the secret of the session
	renewing chan struct{}      // has an entry for each renewal that is running
}

// New returns a Handler.
func New(config Config) *Handler {
	h := &Handler{
		config: config, store: store{config.Database}, mux: http.NewServeMux(),
		known:    cache.New(cache.Config[string, signIn]{Entries: maxCached, TTL: fresh}),
		failures: newAttempts(MaxFailures, failureEvery), logins: newAttempts(MaxLogins, loginEvery),
		renewing: make(chan struct{}, maxRenewing),
	}
	if u, err := url.Parse(config.PublicURL); err == nil && u.Scheme == "https" {
		h.publicHost = u.Host
	}
	h.mux.HandleFunc("GET /console/session", h.describe)
	h.mux.HandleFunc("POST /console/session", h.signIn)
	h.mux.HandleFunc("DELETE /console/session", h.signOut)
	h.mux.HandleFunc("POST /console/links", h.createLink)
	h.mux.HandleFunc("POST /console/links/redeem", h.redeemLink)
	h.mux.HandleFunc("GET "+loginPath+"start", h.startLogin)
	h.mux.HandleFunc("GET "+loginPath+"callback", h.finishLogin)
	h.mux.HandleFunc("GET /console/licenses", h.licenses)
	return h
}

// ServeHTTP implements http.Handler for the paths below /console/. Everything else is answered
// by Page.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	h.mux.ServeHTTP(w, r)
}

// Authorize returns a handler that calls next, with the credential of the browser's session in
// Authorization if a call of the API has none. Requests of other origins, and for other paths,
// pass as they are.
func (h *Handler) Authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret := h.cookieOf(r)
		if secret == "" || !strings.HasPrefix(r.URL.Path, "/ragd.v1.") || len(r.Header.Values("Authorization")) > 0 || !h.sameOrigin(r) {
			next.ServeHTTP(w, r)
			return
		}
		c, err := h.find(r.Context(), secret)
		if errors.Is(err, errUnknown) {
			next.ServeHTTP(w, r) // which finds no credential
			return
		}
		if err != nil {
			h.config.Refuse(w, r, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store") // caches know of Authorization alone that an answer is for one caller
		r = r.Clone(credential.WithSession(r.Context(), func(ctx context.Context) error {
			_, err := h.find(ctx, secret)
			if errors.Is(err, errUnknown) {
				return errEnded
			}
			return err
		}))
		r.Header.Del("Cookie")
		r.Header.Set("Authorization", "Bearer "+c.Secret)
		next.ServeHTTP(w, r)
	})
}

// find returns the credential of a session, from memory if it was read just now.
func (h *Handler) find(ctx context.Context, secret string) (signIn, error) {
	if c, ok := h.known.Get(secret); ok {
		return c, nil
	}
	read, ended := time.Now(), h.ended.Load()
	c, _, err := h.store.find(ctx, secret)
	if err == nil {
		c, err = h.renew(ctx, secret, c)
	}
	if err == nil {
		h.known.PutLoaded(secret, c, read)
		if h.ended.Load() != ended { // the session may have ended after the read
			h.known.Remove(secret)
		}
	}
	return c, err
}

// end ends a session.
func (h *Handler) end(ctx context.Context, secret string) error {
	err := h.store.delete(ctx, secret)
	h.ended.Add(1)
	h.known.Remove(secret)
	return err
}

// described is the answer of GET /console/session.
type described struct {
	SignedIn  bool       `json:"signedIn"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	Issuers   []issuer   `json:"issuers"`
	Version   string     `json:"version"`
	PublicURL string     `json:"publicUrl"`
}

// issuer is an authorization server at which a visitor can sign in.
type issuer struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

func (h *Handler) describe(w http.ResponseWriter, r *http.Request) {
	answer := described{Issuers: []issuer{}, Version: h.config.Version, PublicURL: h.config.PublicURL}
	if l := h.config.Login; l != nil {
		u, _ := url.Parse(l.Issuer) // checked by the package oauth
		answer.Issuers = append(answer.Issuers, issuer{u.Host, l.Issuer})
	}
	if secret := h.cookieOf(r); secret != "" && !h.foreign(r) {
		c, expires, err := h.store.find(r.Context(), secret)
		if err == nil {
			c, err = h.renew(r.Context(), secret, c)
		}
		if err == nil {
			err = h.config.Authenticate(r.Context(), c.Secret)
		}
		switch {
		case err == nil:
			answer.SignedIn, answer.ExpiresAt = true, &expires
		case errors.Is(err, errUnknown) || fault.KindOf(err) == fault.Unauthenticated:
			h.forget(w, r)
		default:
			h.config.Refuse(w, r, err)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // fails only if the caller has disconnected
}

func (h *Handler) signIn(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Key string `json:"key"`
	}
	if err := h.read(w, r, &given); err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	h.signInWith(w, r, signIn{Secret: given.Key})
}

// signInWith begins a session with a credential, if it is valid, and answers the page.
func (h *Handler) signInWith(w http.ResponseWriter, r *http.Request, c signIn) {
	if err := h.try(r, func() error { return h.begin(w, r, c) }); err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// begin begins a session with a credential, if it is valid, and sets its cookie.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request, c signIn) error {
	if err := h.config.Authenticate(r.Context(), c.Secret); err != nil {
		return err
	}
	secret, _, err := h.store.create(r.Context(), session, c, SessionLife)
	if err != nil {
		return err
	}
	if old := h.cookieOf(r); old != "" { // of the credential before
		if err := h.end(r.Context(), old); err != nil {
			return err
		}
	}
	h.set(w, r, secret, SessionLife)
	return nil
}

func (h *Handler) signOut(w http.ResponseWriter, r *http.Request) {
	if !h.sameOrigin(r) {
		h.config.Refuse(w, r, errForeign)
		return
	}
	if secret := h.cookieOf(r); secret != "" {
		if err := h.end(r.Context(), secret); err != nil {
			h.config.Refuse(w, r, err)
			return
		}
	}
	h.forget(w, r)
	w.WriteHeader(http.StatusNoContent)
}

// createLink answers a program that has a key with a secret that signs a browser in once.
func (h *Handler) createLink(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		h.config.Refuse(w, r, fault.New(fault.Denied, "links are made by programs, such as ragd console, and not by pages"))
		return
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		key = ""
	}
	c := signIn{Secret: strings.TrimSpace(key)}
	if err := h.try(r, func() error { return h.config.Authenticate(r.Context(), c.Secret) }); err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	secret, expires, err := h.store.create(r.Context(), link, c, LinkLife)
	if err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"link": secret, "expiresAt": expires}) // fails only if the caller has disconnected
}

func (h *Handler) redeemLink(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Link string `json:"link"`
	}
	if err := h.read(w, r, &given); err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	var c signIn
	err := h.try(r, func() (err error) {
		c, err = h.store.take(r.Context(), link, given.Link)
		if errors.Is(err, errUnknown) {
			err = fault.New(fault.Unauthenticated, "the link was used before, or is older than %.0f minutes: make another one with `ragd console`", LinkLife.Minutes())
		}
		return err
	})
	if err != nil {
		h.config.Refuse(w, r, err)
		return
	}
	h.signInWith(w, r, c)
}

var errEnded = fault.New(fault.Unauthenticated, "the session has ended: sign in again")

var errForeign = fault.New(fault.Denied, "only the console's own page may call this")

// read decodes the JSON body of a request of the page.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, into any) error {
	if !h.sameOrigin(r) {
		return errForeign
	}
	if mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(mediaType) != "application/json" {
		return fault.Field("Content-Type", "want application/json")
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(maxArrival)) // connections without deadlines are not limited
	defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	body.DisallowUnknownFields()
	if err := body.Decode(into); err != nil {
		return fault.New(fault.Invalid, "the body is not the JSON object that this expects, or larger than %d bytes", maxBody)
	}
	return nil
}

// cookieOf returns the secret of the browser's session, or "".
func (h *Handler) cookieOf(r *http.Request) string {
	name := cookie
	if h.secure(r) {
		name = secureNamed
	}
	if found := r.CookiesNamed(name); len(found) == 1 {
		return found[0].Value
	}
	return ""
}

// set gives the browser the secret of its session.
func (h *Handler) set(w http.ResponseWriter, r *http.Request, secret string, life time.Duration) {
	c := &http.Cookie{
		Name: cookie, Value: secret, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if h.secure(r) {
		c.Name, c.Secure = secureNamed, true
	}
	http.SetCookie(w, c)
}

// forget deletes the cookie.
func (h *Handler) forget(w http.ResponseWriter, r *http.Request) { h.set(w, r, "", -time.Second) }
