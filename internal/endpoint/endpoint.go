// Package endpoint is what every call to a model provider has in common,
// whatever is asked of it: an address and a key, a deadline for each attempt, a
// bound on calls in flight for all and for one tenant, retries with backoff that
// honour Retry-After, and errors of a kind the caller can act on. What the calls
// say is up to embed, llm and rerank.
package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/limit"
)

// Config describes one provider. Fields at zero mean the default given.
type Config struct {
	// APIKey is sent as a bearer token; empty for servers that want none. It
	// never appears in errors.
	APIKey string
	// BaseURL is the address up to the version, such as
	// http://localhost:11434/v1. Empty means the provider's own, if it has one.
	BaseURL string
	// MaxAttempts bounds how often one call is tried. 4.
	MaxAttempts int
	// MaxConcurrent bounds the calls in flight at once; more of them wait. 16.
	MaxConcurrent int
	// MaxConcurrentPerTenant bounds those of one tenant. MaxConcurrent.
	MaxConcurrentPerTenant int
	// MaxWait is the longest wait before another attempt; a provider that asks
	// for more patience than this ends the call. 20 s.
	MaxWait time.Duration
	// MinWait is the wait after the first failed attempt; it doubles with each. 250 ms.
	MinWait time.Duration
	// Timeout bounds one attempt, from sending to the last byte. 30 s.
	Timeout time.Duration
}

// Validate returns Invalid when a field makes no sense. The error does not show
// the address, which may hold a password.
func (c Config) Validate() error {
	if c.BaseURL == "" {
		return nil
	}
	address, err := url.Parse(c.BaseURL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return fault.Field("baseUrl", "must be an address such as https://api.example.com/v1")
	}
	return nil
}

// Configured reports whether the operator has said anything about the provider.
func (c Config) Configured() bool { return c.APIKey != "" || c.BaseURL != "" }

func (c Config) withDefaults() Config {
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 4)
	c.MaxConcurrent = cmp.Or(c.MaxConcurrent, 16)
	c.MaxConcurrentPerTenant = cmp.Or(c.MaxConcurrentPerTenant, c.MaxConcurrent)
	c.MaxWait = cmp.Or(c.MaxWait, 20*time.Second)
	c.MinWait = cmp.Or(c.MinWait, 250*time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	return c
}

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	name   string
	config Config
	calls  *limit.Limiter[string] // by tenant
	http   *http.Client
}

// New returns a client. The name is how callers are told about the provider:
// "the embedding provider openai".
func New(name string, config Config) *Client {
	config = config.withDefaults()
	return &Client{
		name:   name,
		config: config,
		calls:  limit.New[string](int64(config.MaxConcurrent), int64(config.MaxConcurrentPerTenant)),
		http: &http.Client{
			// A span for each attempt of a traced request; the provider is not told of it.
			Transport: otelhttp.NewTransport(newTransport(config.MaxConcurrent),
				otelhttp.WithPropagators(propagation.NewCompositeTextMapPropagator())),
			// What tenants send goes to the address configured and to no other.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Name is how callers are told about the provider.
func (c *Client) Name() string { return c.name }

// Do makes a call: it waits for a free place among the calls of all and of the
// tenant, then attempts until an attempt succeeds, fails for good, or attempts
// or time run out. It keeps its place while it waits for the next attempt, so
// that a provider in trouble gets fewer calls and not more. The context of an
// attempt ends after the configured timeout.
// Whether to try again is read from the attempt's error:
//
//   - a *fault.Error is returned as it is;
//   - a *StatusError is tried again for 408, 409, 425, 429 and 5xx;
//   - a *NonsenseError is tried once more;
//   - anything else is the network's fault and tried again.
//
// Errors by kind: Precondition when the key is refused or the model unknown,
// Invalid when the request is refused, Exhausted with RetryAfter when the
// provider limits us, Unavailable when it is down, slow or talks nonsense; the
// error of ctx when that ends first. The cause is for logs.
func (c *Client) Do(ctx context.Context, tenant string, attempt func(context.Context) error) error {
	if err := c.calls.Acquire(ctx, tenant); err != nil {
		return fmt.Errorf("wait for a free call to %s: %w", c.name, err)
	}
	defer c.calls.Release(tenant, 1)
	for n := 1; ; n++ {
		err := c.once(ctx, attempt)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("call %s: %w", c.name, ctx.Err())
		}
		wait, again := c.retry(err, n)
		if !again || !sleep(ctx, wait) {
			return c.classify(err)
		}
	}
}

func (c *Client) once(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	return attempt(ctx)
}

// retry says whether, and after which wait, to follow the n-th attempt with
// another.
func (c *Client) retry(err error, n int) (time.Duration, bool) {
	if n >= c.config.MaxAttempts {
		return 0, false
	}
	wait := c.config.MinWait << (n - 1)
	wait = wait/2 + rand.N(wait/2+1) // so that those who failed together do not come back together
	var (
		known    *fault.Error
		status   *StatusError
		nonsense *NonsenseError
	)
	switch {
	case errors.As(err, &known):
		return 0, false
	case errors.As(err, &status):
		wait = max(wait, status.RetryAfter)
		return wait, status.transient() && wait <= c.config.MaxWait
	case errors.As(err, &nonsense):
		return wait, n == 1
	}
	return min(wait, c.config.MaxWait), true
}

// sleep waits for d, or reports false at once if ctx cannot last that long.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// classify turns the last attempt's error into one with a kind.
func (c *Client) classify(err error) error {
	var (
		known    *fault.Error
		status   *StatusError
		nonsense *NonsenseError
		address  *url.Error
	)
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &status):
		return c.classifyStatus(status)
	case errors.As(err, &nonsense):
		return fault.Wrap(fault.Unavailable, err, "%s gave an answer that makes no sense", c.name)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Unavailable, "%s did not answer within %v", c.name, c.config.Timeout)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(fault.Unavailable, "%s broke off in the middle of its answer", c.name)
	case errors.As(err, &address):
		err = address.Err // the address itself may hold a password
	}
	return fault.Wrap(fault.Unavailable, err, "%s cannot be reached", c.name)
}

func (c *Client) classifyStatus(e *StatusError) error {
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return fault.Wrap(fault.Precondition, e, "%s refused its API key", c.name)
	case e.Status == http.StatusPaymentRequired || e.Code == codeNoQuota:
		return fault.Wrap(fault.Exhausted, e, "%s has no quota left", c.name)
	case e.Status == http.StatusNotFound || e.Status < 400:
		return fault.Wrap(fault.Precondition, e, "%s does not have this model, or not at this address", c.name)
	case e.Status == http.StatusTooManyRequests:
		out := fault.Wrap(fault.Exhausted, e, "%s limits how often it may be called", c.name)
		out.RetryAfter = e.RetryAfter
		return out
	case e.transient():
		out := fault.Wrap(fault.Unavailable, e, "%s is failing", c.name)
		out.RetryAfter = e.RetryAfter
		return out
	}
	return fault.Wrap(fault.Invalid, e, "%s refused the request", c.name)
}
