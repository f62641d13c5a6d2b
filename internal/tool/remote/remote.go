// Package remote has what tools that call services elsewhere have in common: guarded
// connections, a bound on calls, secrets, templates, and an end to tools that call each
// other in a circle.
package remote

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// Limits.
const (
	// MaxCalls is how many calls of a tenant to services elsewhere are under way on an
	// instance at once.
	MaxCalls = 32
	// MaxDepth is how many calls of tools may be within each other.
	MaxDepth = 4
	// maxWait is how long a call waits for one of MaxCalls.
	maxWait = 10 * time.Second

	maxIdle = 8 // connections to one host that are kept
)

// Config configures a Client.
type Config struct {
	Guard   *outbound.Guard
	Secrets Secrets
	Issuer  Issuer
	// Gate limits the memory of answers; nil for no limit.
	Gate *admission.Gate
	// Version is that of ragd, for the header User-Agent.
	Version string
}

// Secrets finds the secrets of tenants; secret.Service implements it.
type Secrets interface {
	CheckUse(ctx context.Context, names []string, to *url.URL) error
	Values(ctx context.Context, id tenant.ID, names []string, to *url.URL) (map[string]string, error)
}

// Issuer signs tokens about callers; identity.Issuer implements it.
type Issuer interface {
	Check() error
	Token(ctx context.Context, claims identity.Claims) (string, error)
}

// Client calls services that tenants chose. Safe for concurrent use.
type Client struct {
	Config
	transport *http.Transport
	slots     *limit.Limiter[tenant.ID]
}

// New returns a Client.
func New(config Config) *Client {
	transport := config.Guard.Transport(0) // without a bound, as tenants share the hosts
	transport.MaxIdleConnsPerHost = maxIdle
	transport.MaxIdleConns = maxIdle * MaxCalls
	return &Client{Config: config, transport: transport, slots: limit.New[tenant.ID](0, MaxCalls)}
}

// HTTP returns a client of guarded connections that follows no redirect.
func (c *Client) HTTP() *http.Client {
	return &http.Client{Transport: c.transport, CheckRedirect: outbound.NoRedirect}
}

// UserAgent returns the value of the header User-Agent.
func (c *Client) UserAgent() string { return "ragd/" + c.Version }

// Enter takes one of the tenant's calls; leave returns it. The context is that of the call, whose
// answer takes memory of the tenant. Errors: Precondition for tools that
// call each other in a circle; Exhausted when too many calls are under way for too long.
func (c *Client) Enter(ctx context.Context, r *access.Request) (_ context.Context, leave func(), err error) {
	if r.Depth >= MaxDepth {
		return nil, nil, fault.New(fault.Precondition, "tools call each other in a circle, or are nested deeper than %d calls: the address of this tool leads back to this service", MaxDepth)
	}
	switch err := c.slots.AcquireWithin(ctx, r.Tenant, MaxCalls, maxWait); {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, fault.Retry(maxWait, "%d calls of the tenant's tools to other services are under way: try again later", MaxCalls)
	}
	release := func() {}
	if c.Gate != nil {
		ctx, release = c.Gate.WithMemory(ctx, r.Tenant)
	}
	return ctx, func() { release(); c.slots.Release(r.Tenant, 1) }, nil
}

// Unreachable returns the error for a request that got no answer, without the address, which
// may have arguments in it. host is that of the tool's definition.
func Unreachable(host string, err error) error {
	var broken *url.Error
	if errors.As(err, &broken) {
		err = broken.Err
	}
	var refused *fault.Error
	if errors.As(err, &refused) {
		return fault.Wrap(refused.Kind, err, "%s: %s", host, refused.Message)
	}
	reason := "the connection broke"
	var dns *net.DNSError
	var dial *net.OpError
	switch {
	case errors.As(err, &dns):
		reason = "its name cannot be resolved"
	case errors.As(err, &dial) && dial.Op == "dial":
		reason = "it accepts no connection"
	case isTLS(err):
		reason = "its certificate is not valid, or it speaks no TLS"
	}
	return fault.Wrap(fault.Unavailable, err, "%s cannot be reached: %s", host, reason)
}
