package credential

import (
	"context"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// keyCacheTTL is how long a key is cached. A key that is revoked on another instance
	// is accepted on this one for up to this time.
	keyCacheTTL  = 3 * time.Second
	keyCacheSize = 10_000
	// maxSecretBytes is the longest secret that is hashed and looked up as an API key.
	maxSecretBytes = 512
)

// Authenticator resolves secrets to principals. Safe for concurrent use.
type Authenticator struct {
	store        *store
	operatorHash *[sha256.Size]byte
	keys         *cache.Cache[[sha256.Size]byte, cachedKey] // by the hash of the secret
	tokens       Tokens                                     // nil when only API keys are taken
	tenants      *cache.Cache[string, tenant.Record]        // that were seen, by name
	issuers      *cache.Cache[tenant.ID, []OwnIssuer]
	origins      *cache.Cache[string, struct{}] // that keys have
	now          func() time.Time
	forgotten    atomic.Int64        // calls of forget
	declared     access.DeclaredFunc // nil for none
	asleep       AsleepFunc          // nil if no tenant sleeps
	pages        pagination.Tokens
	links        cipher.AEAD
	databases    Databases // nil if there is only the first one
	contact      string    // quota.Limits.Contact
}

type cachedKey struct {
	key    APIKey
	caller caller
}

// caller is who makes a request, and what the settings of the principal's tenant say.
type caller struct {
	principal access.Principal
	settings  tenantSettings
}

func newAuthenticator(s *store, config Config, pages pagination.Tokens, links cipher.AEAD) *Authenticator {
	a := &Authenticator{
		store: s, tokens: config.Tokens, now: config.Now, pages: pages, links: links, databases: config.Databases,
		contact: config.PlanContact,
		keys:    cache.New(cache.Config[[sha256.Size]byte, cachedKey]{Entries: keyCacheSize, TTL: keyCacheTTL, Now: config.Now}),
		tenants: cache.New(cache.Config[string, tenant.Record]{Entries: keyCacheSize, TTL: existsFor, Now: config.Now}),
		issuers: cache.New(cache.Config[tenant.ID, []OwnIssuer]{Entries: keyCacheSize, TTL: keyCacheTTL, Now: config.Now}),
		origins: cache.New(cache.Config[string, struct{}]{Entries: keyCacheSize, TTL: keyCacheTTL, Now: config.Now}),
	}
	if config.OperatorKey != "" {
		hash := hashSecret(config.OperatorKey)
		a.operatorHash = &hash
	}
	return a
}

// Authenticate returns the principal of a secret, which is an API key or, if the service
// accepts them, an access token. Errors: Unauthenticated for a key that is unknown,
// expired or revoked, with the same message for all three, or for none; Denied for a key with origins, which is used
// through Middleware alone; Unavailable if the database or the issuer of tokens does not answer.
func (a *Authenticator) Authenticate(ctx context.Context, secret string) (access.Principal, error) {
	c, err := a.authenticate(ctx, secret, "")
	if err == nil && c.principal.OfPages() {
		err = c.principal.Origins.Check(nil)
	}
	return c.principal, err
}

// authenticate returns the caller of a request that names a tenant, or none.
func (a *Authenticator) authenticate(ctx context.Context, secret, named string) (caller, error) {
	if secret == "" {
		return caller{}, access.ErrNoCredential
	}
	if len(secret) > maxSecretBytes {
		return a.authenticateToken(ctx, secret, named)
	}
	hash := hashSecret(secret)
	if a.operatorHash != nil && subtle.ConstantTimeCompare(hash[:], a.operatorHash[:]) == 1 {
		return caller{principal: access.Principal{Subject: "operator", Scopes: []access.Scope{access.Operator}}}, nil
	}
	if cached, ok := a.keys.Get(hash); ok {
		if !cached.key.usable(a.now()) {
			return caller{}, errUnauthenticated
		}
		return cached.caller, nil
	}
	return a.lookUp(ctx, secret, named, hash)
}

func (a *Authenticator) lookUp(ctx context.Context, secret, named string, hash [sha256.Size]byte) (caller, error) {
	id, ok := APIKeyIDOf(secret)
	if !ok {
		return a.authenticateToken(ctx, secret, named)
	}
	// The time is taken before the read, so that what is cached is never older
	// than it says.
	now, forgotten := a.now(), a.forgotten.Load()
	key, stored, settings, err := a.store.apiKeyWithHash(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return caller{}, errUnauthenticated
	}
	if err != nil {
		return caller{}, err
	}
	if subtle.ConstantTimeCompare(hash[:], stored) != 1 || !key.usable(now) {
		return caller{}, errUnauthenticated
	}
	c := caller{access.Principal{
		Subject: key.APIKeyID, Tenant: key.TenantID, Scopes: key.Scopes, MandatoryFilter: key.MandatoryFilter.Trusted(),
		Bounds: key.Bounds, Origins: key.Origins, Attributes: key.Attributes,
	}, settings}
	if settings.asleep { // such a key is not cached: its tenant may be awake a moment later
		return c, a.wake(ctx, key.TenantID)
	}
	a.keys.PutLoaded(hash, cachedKey{key, c}, now)
	if a.forgotten.Load() != forgotten { // the key may have been revoked after the read
		a.keys.Remove(hash)
	}
	return c, nil
}

// authenticateToken returns the caller with an access token. A secret that looks like an
// API key is never sent to the issuer.
func (a *Authenticator) authenticateToken(ctx context.Context, secret, named string) (caller, error) {
	if a.tokens == nil || strings.HasPrefix(secret, secretPrefix) {
		return caller{}, errUnauthenticated
	}
	return a.fromToken(ctx, secret, named)
}

// Forget clears the caches, after a key was revoked or a tenant changed on this instance, or
// the deletion of a tenant has begun.
func (a *Authenticator) Forget() {
	a.forgotten.Add(1)
	a.keys.Clear()
	a.tenants.Clear()
	a.issuers.Clear()
	a.origins.Clear()
}

// Middleware authenticates every request and puts its Request into the context of the next
// handler. For a request that is rejected it calls refuse instead, which answers with the
// error in the caller's protocol.
func (a *Authenticator) Middleware(refuse func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := WithClient(r.Context(), r.RemoteAddr)
			request, err := a.resolve(withCall(ctx, r), r.Header)
			if err != nil {
				refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, r.WithContext(access.NewContext(ctx, request)))
		})
	}
}

// Recheck returns an error if the credential of an accepted request is no longer valid. It wakes no tenant: a stream
// that stays open is no use of it.
func (a *Authenticator) Recheck(ctx context.Context, header http.Header) error {
	_, err := a.resolve(context.WithValue(ctx, recheckKey{}, true), header)
	return err
}

type recheckKey struct{}

// AsleepFunc returns the error for a request of a tenant that was asleep when it was looked up, nil if it is awake by now.
// wake says whether the request wakes it.
type AsleepFunc func(ctx context.Context, id tenant.ID, wake bool) error

// OnAsleep sets what is called for requests of tenants that are asleep. Call it before the first request.
func (a *Authenticator) OnAsleep(asleep AsleepFunc) { a.asleep = asleep }

// wake returns an error unless a tenant that was asleep is awake by now.
func (a *Authenticator) wake(ctx context.Context, id tenant.ID) error {
	if a.asleep == nil {
		return data.Asleep(id, nil)
	}
	recheck, _ := ctx.Value(recheckKey{}).(bool)
	return a.asleep(ctx, id, !recheck)
}

type sessionKey struct{}

// WithSession returns a context for a request whose credential comes from a session. check returns
// an error once that has ended; the Recheck of the request calls it too.
func WithSession(ctx context.Context, check func(context.Context) error) context.Context {
	return context.WithValue(ctx, sessionKey{}, check)
}

// resolve returns the Request of the headers Authorization, Ragd-Tenant and Ragd-Context.
func (a *Authenticator) resolve(ctx context.Context, header http.Header) (*access.Request, error) {
	for _, name := range []string{"Authorization", "Ragd-Tenant", "Ragd-Context", access.WriteTokenHeader} {
		if len(header.Values(name)) > 1 {
			return nil, fault.Field(name, "is given %d times, but may be given only once", len(header.Values(name)))
		}
	}
	from, err := a.authenticate(ctx, bearer(header.Get("Authorization")), header.Get("Ragd-Tenant"))
	principal := from.principal
	if principal.Subject != "" { // also of a tenant that is asleep
		if denied := admit(ctx, principal, header); denied != nil {
			return nil, denied
		}
	}
	if err != nil {
		return nil, err
	}
	session, _ := ctx.Value(sessionKey{}).(func(context.Context) error)
	request := access.NewRequest(principal, a.pages, func(ctx context.Context) error {
		if session != nil {
			if err := session(ctx); err != nil {
				return err
			}
		}
		return a.Recheck(ctx, header)
	})
	request.Quotas, request.Stores = from.settings.quotas, from.settings.stores
	request.Depth, request.WriteToken = depthOf(header.Get(access.DepthHeader)), header.Get(access.WriteTokenHeader)
	if named := header.Get("Ragd-Tenant"); named != "" && named != string(principal.Tenant) {
		if !principal.Has(access.Operator) {
			return nil, fault.New(fault.Denied, "only an operator credential may name a tenant in Ragd-Tenant")
		}
		row, err := a.find(ctx, named)
		if err != nil {
			return nil, err
		}
		named := a.settingsOf(row)
		request.Tenant, request.Quotas, request.Stores = row.TenantID, named.quotas, named.stores
	}
	keys, err := a.declaredKeys(ctx, request.Tenant)
	if err != nil {
		return nil, err
	}
	if err := request.Fill(keys, header); err != nil {
		return nil, err
	}
	if raw := header.Get("Ragd-Context"); raw != "" {
		given, err := access.ParseOverrides([]byte(raw))
		if err != nil {
			return nil, err
		}
		if request.Overrides, err = request.Accept(access.OriginHeader, given); err != nil {
			return nil, err
		}
	}
	return request, nil
}

// bearer returns the token of an Authorization header, or "".
func bearer(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// depthOf returns the depth in a header, 0 if there is none. What is no number is as deep as
// can be, because a caller that sends it is no tool of ours.
func depthOf(header string) int {
	if header == "" {
		return 0
	}
	depth, err := strconv.ParseUint(header, 10, 16)
	if err != nil {
		return math.MaxInt16
	}
	return int(depth)
}

// Declare sets where declared keys are found. Call it before the first request.
func (a *Authenticator) Declare(declared access.DeclaredFunc) { a.declared = declared }

// declaredKeys returns the keys of the request context that a tenant declared.
func (a *Authenticator) declaredKeys(ctx context.Context, id tenant.ID) ([]*access.ContextKey, error) {
	if a.declared == nil || id == "" {
		return nil, nil
	}
	return a.declared(ctx, id)
}

// checkMandatory checks that callers cannot choose what the mandatory filter of a new key
// refers to. Errors: Invalid.
func (a *Authenticator) checkMandatory(ctx context.Context, id tenant.ID, f filter.Filter) error {
	if len(f.References()) == 0 {
		return nil
	}
	keys, err := a.declaredKeys(ctx, id)
	if err != nil {
		return err
	}
	return access.CheckMandatory(keys, f)
}

// errUnauthenticated does not say which of the reasons it is.
var errUnauthenticated = fault.New(fault.Unauthenticated, "the API key is not valid: it is wrong, has expired or was revoked; send another as Authorization: Bearer <secret>")
