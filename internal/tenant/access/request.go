package access

import (
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// Request is the request context: the data of a request outside its body. It is filled by
// Middleware and read once at the top of a service.
type Request struct {
	Principal Principal
	// Tenant is the tenant whose data the request may use: the principal's, or the one
	// that an operator named. Empty for an operator who named none.
	Tenant tenant.ID
	Quotas quota.Limits // of Tenant
	// Stores are the tenant's own names of its vector store, which a vectorStoreName may be
	// beside those that the service knows. Do not change them; see WithStore.
	Stores []string
	// Server is the name of the tenant's MCP server that the request came through; empty
	// for none.
	Server string
	// Bounds are what the request may use: the principal's.
	Bounds    Bounds
	Overrides Overrides
	// Fixed are overrides that the caller cannot change: those of Server, without a filter,
	// which is part of the principal's mandatory filter instead.
	Fixed Overrides
	// Depth is how many calls of tools the request is within, which call this service in
	// turn: the value of the header Ragd-Depth.
	Depth int
	// WriteToken is the value of the header Ragd-Write-Token: what the request reads contains the
	// writes before it, unless its body has another one.
	WriteToken string

	keys   []*ContextKey  // that the tenant declared
	filled map[string]any // values of declared keys that the edge has filled

	memory  bool                        // see OfMemory
	recheck func(context.Context) error // see Recheck; nil in calls without a credential
	pages   pagination.Tokens           // of the service
}

// NewRequest returns the request of a principal for its own tenant. pages are the page tokens of the
// service. recheck returns an error once the credential is no longer valid; nil for no check.
func NewRequest(p Principal, pages pagination.Tokens, recheck func(context.Context) error) *Request {
	return &Request{Principal: p, Tenant: p.Tenant, Bounds: p.Bounds, pages: pages, recheck: recheck}
}

// DepthHeader is the name of the header with the depth of a request.
const DepthHeader = "Ragd-Depth"

// WriteTokenHeader is the name of the header with the write token: of an answer, for what was
// written before it; of a request, for what it has to read.
const WriteTokenHeader = "Ragd-Write-Token"

// Pages returns the page tokens of a list for the caller of the request in the context. They
// are not accepted from other credentials, nor for another list or other values, which are
// all arguments that select the list's rows.
func Pages(ctx context.Context, list string, values ...string) pagination.Tokens {
	r, ok := FromContext(ctx)
	if !ok {
		r = &Request{}
	}
	return r.pages.For(append([]string{string(r.Tenant), r.Principal.Issuer, r.Principal.Subject, r.Principal.MandatoryFilter.String(), r.Bounds.String(), list}, values...)...)
}

type contextKey struct{}

// NewContext returns a context that carries the request.
func NewContext(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the request that the context carries, or false when the
// call did not come through Middleware.
func FromContext(ctx context.Context) (*Request, bool) {
	r, ok := ctx.Value(contextKey{}).(*Request)
	return r, ok
}

// WithStore returns a context whose request has one more name of the tenant's vector store.
func WithStore(ctx context.Context, name string) context.Context {
	r, ok := FromContext(ctx)
	if !ok || name == "" {
		return ctx
	}
	changed := *r
	changed.Stores = append(slices.Clip(r.Stores), name)
	return NewContext(ctx, &changed)
}
