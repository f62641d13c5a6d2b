// Package contextkey stores the keys of the request context that tenants declare.
package contextkey

import (
	"context"
	"encoding/json"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Key is a declared key with the times of its declaration.
type Key struct {
	access.ContextKey

	CreatedAt time.Time
	UpdatedAt time.Time
}

// Limits.
const (
	maxKeys             = 50 // of a tenant
	maxDescriptionBytes = 1000
	maxSchemaBytes      = 8 << 10
	maxDefaultBytes     = 4 << 10
	maxFromBytes        = 256
)

const (
	// cacheTTL is how long declarations are used on an instance that misses the event of their
	// change.
	cacheTTL     = 5 * time.Minute
	cacheEntries = 10_000
)

// forbiddenHeaders carry credentials, belong to a connection, or have a meaning here.
var forbiddenHeaders = []string{
	"Authorization", "Connection", "Content-Length", "Content-Type", "Cookie", "Cookie2", "Host", "Keep-Alive", "Last-Event-Id",
	"Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Set-Cookie", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// forbiddenPrefixes are those of headers of this service and its protocols.
var forbiddenPrefixes = []string{"Ragd-", "Mcp-", "Connect-", "Grpc-", "Sec-", "Proxy-"}

// Service declares keys of the calling tenant. Safe for concurrent use.
type Service struct {
	db    *data.DB
	known *cache.Cache[tenant.ID, []*access.ContextKey]
}

// New returns a Service.
func New(db *data.DB) *Service {
	return &Service{db, cache.New(cache.Config[tenant.ID, []*access.ContextKey]{Entries: cacheEntries, TTL: cacheTTL})}
}

// Of returns the keys that a tenant declared. It implements access.DeclaredFunc.
func (s *Service) Of(ctx context.Context, id tenant.ID) ([]*access.ContextKey, error) {
	if declared, ok := s.known.Get(id); ok {
		return declared, nil
	}
	asked := time.Now()
	rows, err := keys.List(ctx, s.db.Handle(id), "", maxKeys)
	if err != nil {
		return nil, err
	}
	var declared []*access.ContextKey
	for _, r := range rows {
		k, err := r.key()
		if err != nil {
			return nil, err
		}
		if err := k.Compile(); err != nil {
			return nil, err
		}
		declared = append(declared, &k.ContextKey)
	}
	s.known.PutLoaded(id, declared, asked)
	return declared, nil
}

// Forget drops the cached declarations of a tenant, of all tenants for an empty id.
func (s *Service) Forget(id tenant.ID) {
	if id == "" {
		s.known.Clear()
		return
	}
	s.known.Remove(id)
}

// Declare stores a key or replaces its declaration. Errors: Invalid; Exhausted when the tenant
// has too many; Denied without the scope admin, with a mandatory filter or with bounds.
func (s *Service) Declare(ctx context.Context, wanted Key) (Key, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return Key{}, err
	}
	fallback, err := wanted.check()
	if err != nil {
		return Key{}, err
	}
	stored, err := put(ctx, s.db.Handle(r.Tenant), wanted, fallback)
	if err != nil {
		return Key{}, err
	}
	s.Forget(r.Tenant)
	return stored.key()
}

// check validates a declaration and returns its default as JSON, nil for none.
func (k *Key) check() (json.RawMessage, error) {
	if err := access.CheckContextKeyName("key.name", k.Name); err != nil {
		return nil, err
	}
	if err := textlimit.Check("key.description", k.Description, maxDescriptionBytes); err != nil {
		return nil, err
	}
	if k.Source == "" {
		k.Source = access.FromCaller
	}
	if err := k.checkSource(); err != nil {
		return nil, err
	}
	if len(k.Schema) > maxSchemaBytes {
		return nil, fault.Field("key.schema", "must be at most %d bytes of JSON, got %d", maxSchemaBytes, len(k.Schema))
	}
	if err := k.Compile(); err != nil {
		return nil, fault.Under("key", err)
	}
	return k.checkDefault()
}

func (k *Key) checkSource() error {
	needs := true
	switch k.Source {
	case access.FromCaller, access.Constant:
		needs = false
	case access.FromHeader, access.FromClaim, access.FromAttribute:
	default:
		return fault.Field("key.source", "must be caller, header, claim, attribute or constant, got %q", textlimit.Shorten(string(k.Source), 64))
	}
	switch {
	case !needs && k.From != "":
		return fault.Field("key.from", "must be empty for the source %s", k.Source)
	case needs && k.From == "":
		return fault.Field("key.from", "is missing: name the %s", k.Source)
	}
	if err := textlimit.Check("key.from", k.From, maxFromBytes); err != nil || k.Source != access.FromHeader {
		return err
	}
	return k.checkHeader()
}

// checkHeader checks the name of a header and writes it in its usual form.
func (k *Key) checkHeader() error {
	if !httpguts.ValidHeaderFieldName(k.From) {
		return fault.Field("key.from", "%q is no name of a header", textlimit.Shorten(k.From, 64))
	}
	k.From = textproto.CanonicalMIMEHeaderKey(k.From)
	begins := func(prefix string) bool { return strings.HasPrefix(k.From, prefix) }
	if slices.Contains(forbiddenHeaders, k.From) || slices.ContainsFunc(forbiddenPrefixes, begins) {
		return fault.Field("key.from", "%s carries a credential or belongs to the connection or the protocol: name a header of your own, such as X-Country", k.From)
	}
	return nil
}

func (k *Key) checkDefault() (json.RawMessage, error) {
	if k.Default == nil {
		if k.Source == access.Constant {
			return nil, fault.Field("key.default", "is missing: it is the value of a constant")
		}
		return nil, nil
	}
	raw, err := json.Marshal(k.Default)
	if err != nil {
		return nil, fault.Field("key.default", "cannot be written as JSON")
	}
	if len(raw) > maxDefaultBytes {
		return nil, fault.Field("key.default", "must be at most %d bytes of JSON, got %d", maxDefaultBytes, len(raw))
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return nil, fault.Field("key.default", "%s", err)
	}
	return raw, k.Check("key.default", value)
}

// Get returns a declared key. Errors: NotFound; Denied.
func (s *Service) Get(ctx context.Context, name string) (Key, error) {
	r, err := access.RequireUnfiltered(ctx, access.Read)
	if err != nil {
		return Key{}, err
	}
	found, err := keys.Get(ctx, s.db.Handle(r.Tenant), name)
	if err != nil {
		return Key{}, err
	}
	return found.key()
}

// List returns a page of the declared keys in the order of their names. Errors: Denied.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Key, string, error) {
	r, err := access.RequireUnfiltered(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := keys.Page(ctx, s.db.Handle(r.Tenant), pageSize, pageToken)
	found, err := catalog.Decoded(rows, err, row.key)
	return found, next, err
}

// Delete deletes the declaration of a key. Errors: NotFound; Denied.
func (s *Service) Delete(ctx context.Context, name string) error {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return err
	}
	defer s.Forget(r.Tenant)
	return keys.Delete(ctx, s.db.Handle(r.Tenant), name)
}
