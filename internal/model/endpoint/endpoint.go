// Package endpoint calls the HTTP endpoints at which models are served. An endpoint
// is an address with a key. Its Client gives each attempt a deadline, bounds the
// calls in flight in total and per tenant, retries with backoff that honours
// Retry-After, and returns errors of a kind that a caller can act on.
//
// Requests and answers are encoded and decoded by embed, llm and rerank.
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
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"golang.org/x/time/rate"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
)

// Config describes an endpoint. A zero field means the default that its comment ends
// with.
type Config struct {
	// APIKey is sent as a bearer token; empty for servers that want none. It
	// never appears in errors.
	APIKey string
	// BaseURL is the address up to the version, such as
	// http://localhost:11434/v1. Empty means the provider's public one, if it has one.
	BaseURL string
	// MaxAttempts bounds how often one call is tried. 4.
	MaxAttempts int
	// MaxConcurrent bounds the calls in flight at once; further calls wait. 32.
	MaxConcurrent int
	// MaxConcurrentPerTenant bounds the calls in flight of one tenant, so that slow calls
	// of one do not delay the others. Half of MaxConcurrent, rounded up.
	MaxConcurrentPerTenant int
	// MaxWait is the longest wait before another attempt. An endpoint that asks for a
	// longer one ends the call. 20 s.
	MaxWait time.Duration
	// MinWait is the wait after the first failed attempt; it doubles with each. 250 ms.
	MinWait time.Duration
	// Declared describes models that are not well known, or otherwise than well known.
	Declared []Model
	// Guard checks the addresses that are dialled, for an endpoint that a tenant chose. Answers
	// are shorter then, and calls fail at once while the endpoint keeps failing. Nil allows
	// all addresses.
	Guard *outbound.Guard
	// Headers are sent with each request. Their values never appear in errors.
	Headers map[string]string
	// Models are the names of the models that callers may choose, in which * stands for
	// any characters. Upper and lower case are equal. Empty allows all.
	Models []string
	// RequestsPerSecond bounds the rate of requests, with those that are retried; further ones
	// wait. No bound.
	RequestsPerSecond float64
	// Setting is the name with which the settings of the endpoint begin, such as "openai",
	// for errors that say where to look. Empty if there are none.
	Setting string
	// Timeout bounds one attempt, from sending to the last byte. 30 s.
	Timeout time.Duration

	kind Kind
	rate *rate.Limiter // of all clients of the endpoint; nil without a bound
}

// Model describes an embedding model at an endpoint. A zero field is not known.
type Model struct {
	Name      string `json:"model"`
	Dimension int    `json:"dimension,omitempty"`  // of its vectors, if it is not asked for another
	MaxTokens int    `json:"max_tokens,omitempty"` // the longest text that it reads
	// Matryoshka says that the first values of a vector are a vector of a smaller dimension.
	Matryoshka bool `json:"matryoshka,omitempty"`
	// The prefixes of texts that the model was trained with.
	DocumentPrefix string `json:"document_prefix,omitempty"`
	QuestionPrefix string `json:"question_prefix,omitempty"`
}

// Describe returns what is declared of a model, or false.
func (c Config) Describe(model string) (Model, bool) {
	for _, m := range c.Declared {
		if strings.EqualFold(m.Name, model) {
			return m, true
		}
	}
	return Model{}, false
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

// Configured reports whether the address or the key is set.
func (c Config) Configured() bool { return c.APIKey != "" || c.BaseURL != "" }

func (c Config) withDefaults() Config {
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 4)
	c.MaxConcurrent = cmp.Or(c.MaxConcurrent, 32)
	c.MaxConcurrentPerTenant = cmp.Or(c.MaxConcurrentPerTenant, (c.MaxConcurrent+1)/2)
	c.MaxWait = cmp.Or(c.MaxWait, 20*time.Second)
	c.MinWait = cmp.Or(c.MinWait, 250*time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	return c
}

// Meter counts the calls of models and their tokens, and says who may make more. It is safe for
// concurrent use.
type Meter interface {
	// Admit returns an error if a tenant may use no more tokens.
	Admit(ctx context.Context, tenant string) error
	// Count counts a call of a tenant. model is endpoint/model.
	Count(ctx context.Context, tenant string, use Use, model string, input, output int)
}

// EstimateTokens returns about how many tokens a text of so many bytes has, for endpoints that do
// not say it: one for four bytes.
func EstimateTokens(bytes int) int { return (bytes + 3) / 4 }

// Unmetered is a Meter that counts nothing and allows everything.
type Unmetered struct{}

// Admit implements Meter.
func (Unmetered) Admit(context.Context, string) error { return nil }

// Count implements Meter.
func (Unmetered) Count(context.Context, string, Use, string, int, int) {}

// Client calls one endpoint. Safe for concurrent use.
type Client struct {
	name   string
	config Config
	calls  *limit.Limiter[string] // by tenant
	http   *http.Client
	fuse   *fuse  // nil for the operator's endpoints
	label  string // in metrics: own for those of tenants
}

// New returns a Client. name stands for the endpoint in error messages, such as
// "the embedding provider openai".
func New(name string, config Config) *Client {
	config = config.withDefaults()
	c := &Client{
		name:   name,
		config: config,
		calls:  limit.New[string](int64(config.MaxConcurrent), int64(config.MaxConcurrentPerTenant)),
		http: &http.Client{
			// A span for each attempt of a traced request, without trace headers.
			Transport: otelhttp.NewTransport(newTransport(config),
				otelhttp.WithPropagators(propagation.NewCompositeTextMapPropagator())),
			// What tenants send goes to the configured address only.
			CheckRedirect: outbound.NoRedirect,
		},
	}
	c.label = name[strings.LastIndexByte(name, ' ')+1:]
	if config.Guard != nil {
		c.fuse, c.label = &fuse{name: name}, "own"
	}
	return c
}

// Name returns the endpoint's name in error messages.
func (c *Client) Name() string { return c.name }

// Do makes a call for a tenant. It waits for a slot, then runs attempt until it
// succeeds, fails permanently, or attempts or time run out. The slot is kept between
// attempts, so that an endpoint in trouble gets fewer calls. The context of an
// attempt ends after the configured timeout. The error of an attempt decides whether
// there is another:
//
//   - a *fault.Error is returned as it is;
//   - a *StatusError is retried for 408, 409, 425, 429 and 5xx;
//   - a *BadAnswerError is retried once;
//   - any other error is taken for one of the network and retried.
//
// Errors by kind: Precondition when the key is refused or the model unknown; Invalid
// when the request is refused; Exhausted with RetryAfter when the endpoint limits the
// rate of calls; Unavailable when it is down, slow or answers something unusable; the error of
// ctx when that ends first. The cause is for logs.
func (c *Client) Do(ctx context.Context, tenant string, attempt func(context.Context) error) error {
	return c.do(ctx, tenant, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
		defer cancel()
		return attempt(ctx)
	})
}

// DoStream is Do for attempts that call PostEvents, which have the configured timeout for each
// event instead of for the whole answer.
func (c *Client) DoStream(ctx context.Context, tenant string, attempt func(context.Context) error) error {
	return c.do(ctx, tenant, attempt)
}

func (c *Client) do(ctx context.Context, tenant string, attempt func(context.Context) error) error {
	if err := c.fuse.check(); err != nil {
		return err
	}
	if err := c.calls.Acquire(ctx, tenant); err != nil {
		return fmt.Errorf("wait for a free call to %s: %w", c.name, err)
	}
	defer c.calls.Release(tenant, 1)
	err := c.try(ctx, attempt)
	c.fuse.record(ctx, err)
	return err
}

// try runs attempts until one succeeds, fails permanently, or attempts or time run out.
func (c *Client) try(ctx context.Context, attempt func(context.Context) error) error {
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
	if c.config.rate != nil {
		if err := c.config.rate.Wait(ctx); err != nil {
			return fault.Wrap(fault.Exhausted, err, "%s is limited to %g requests a second, and there was no time to wait", c.name, c.config.RequestsPerSecond)
		}
	}
	start := time.Now()
	err := attempt(ctx)
	if err != nil {
		telemetry.EndpointCall(ctx, c.label, c.classify(err), start)
		return err
	}
	telemetry.EndpointCall(ctx, c.label, nil, start)
	return nil
}

// retry returns whether another attempt follows the n-th, and after which wait.
func (c *Client) retry(err error, n int) (time.Duration, bool) {
	if n >= c.config.MaxAttempts {
		return 0, false
	}
	wait := c.config.MinWait << (n - 1)
	wait = wait/2 + rand.N(wait/2+1) // calls that failed together are retried at different times
	var (
		known     *fault.Error
		status    *StatusError
		badAnswer *BadAnswerError
	)
	switch {
	case errors.As(err, &known):
		return 0, false
	case errors.As(err, &status):
		wait = max(wait, status.RetryAfter)
		return wait, status.transient() && wait <= c.config.MaxWait
	case errors.As(err, &badAnswer):
		return wait, n == 1
	}
	return min(wait, c.config.MaxWait), true
}

// sleep waits for d. It reports false if ctx ends meanwhile, at once if its deadline
// is nearer than d.
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

// classify returns the last attempt's error with a kind.
func (c *Client) classify(err error) error {
	var (
		known     *fault.Error
		status    *StatusError
		badAnswer *BadAnswerError
		address   *url.Error
	)
	switch {
	case errors.As(err, &known) && errors.As(err, &address):
		return fault.Wrap(known.Kind, nil, "%s cannot be called: %s", c.name, known.Message) // of the guard
	case errors.As(err, &known):
		return err
	case errors.As(err, &status):
		return c.classifyStatus(status)
	case errors.As(err, &badAnswer):
		return fault.Wrap(fault.Unavailable, err, "%s gave an answer that makes no sense%s", c.name, c.look("base-url"))
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Unavailable, "%s did not answer within %v", c.name, c.config.Timeout)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(fault.Unavailable, "%s broke off in the middle of its answer", c.name)
	case errors.As(err, &address):
		err = address.Err // the address itself may hold a password
	}
	return fault.Wrap(fault.Unavailable, err, "%s cannot be reached at %s: %s%s", c.name, c.origin(), reason(err), c.look("base-url"))
}

// maxRefusalBytes limits what an error shows of the reason that an endpoint gives.
const maxRefusalBytes = 200

func (c *Client) classifyStatus(e *StatusError) error {
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return fault.Wrap(fault.Precondition, e, "%s refused its API key%s", c.name, c.look("api-key"))
	case e.Status == http.StatusPaymentRequired || e.Code == codeNoQuota:
		return fault.Wrap(fault.Exhausted, e, "%s has no quota left", c.name)
	case e.Status == http.StatusNotFound || e.Status < 400:
		return fault.Wrap(fault.Precondition, e, "%s does not have this model, or not at this address%s", c.name, c.look("base-url"))
	case e.Status == http.StatusTooManyRequests:
		out := fault.Wrap(fault.Exhausted, e, "%s limits how often it may be called%s", c.name, c.limits())
		out.RetryAfter = e.RetryAfter
		return out
	case e.transient():
		out := fault.Wrap(fault.Unavailable, e, "%s is failing", c.name)
		out.RetryAfter = e.RetryAfter
		return out
	}
	if c.config.Guard != nil && e.Message != "" { // the endpoint is the tenant's own
		return fault.Wrap(fault.Invalid, e, "%s refused the request: %s", c.name, textlimit.OneLine(e.Message, maxRefusalBytes))
	}
	return fault.Wrap(fault.Invalid, e, "%s refused the request", c.name)
}
