package httptool

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// Result is what a call returns.
type Result struct {
	Structured json.RawMessage // a JSON object; nil for none
	Text       string
	// Content has all content blocks in the JSON of MCP; nil if Text and Structured have
	// everything.
	Content json.RawMessage
	// Asked replaces everything else if it is not nil.
	Asked *Asked
}

// Call is a call of a tool.
type Call struct {
	Tool      string          // its name
	Arguments json.RawMessage // JSON; nil for none
	// Request returns values of the request context.
	Request func(path string) (any, bool)
	// Client is what the client has sent with the call, below the placeholder call.
	Client map[string]any
	Events Events
}

// Runner checks and calls tools. Safe for concurrent use.
type Runner struct {
	client *remote.Client
	known  *cache.Cache[definitionKey, *Definition]
}

// New returns a Runner.
func New(client *remote.Client) *Runner {
	return &Runner{client, cache.New(cache.Config[definitionKey, *Definition]{Entries: maxCached})}
}

// Check checks the settings of a tool that the caller creates or changes. Errors: Invalid;
// Precondition for an address inside the operator's network, and for a token without master
// key; NotFound for a secret that does not exist; Denied for a secret that the caller cannot
// use for this address.
func (r *Runner) Check(ctx context.Context, settings map[string]any) (*Definition, error) {
	if err := access.CheckFeature(ctx, quota.ExternalTools); err != nil {
		return nil, err
	}
	d, err := Parse(settings, r.client.Guard)
	if err != nil {
		return nil, err
	}
	for _, s := range []*schema.Schema{d.input, d.output} {
		if s == nil {
			continue
		}
		if err := s.Ready(); err != nil {
			return nil, fault.Under("settings", err)
		}
	}
	if d.needsToken() {
		if err := r.client.Issuer.Check(); err != nil {
			return nil, err
		}
	}
	return d, r.client.Secrets.CheckUse(ctx, d.secrets, d.host)
}

// Call calls a tool for the caller in ctx. Errors: Invalid for arguments that do not match the input schema; those of
// the endpoint, with its status and the beginning of its answer; Unavailable if it does not
// answer in time; Exhausted and Precondition as remote.Client.Enter.
func (r *Runner) Call(ctx context.Context, d *Definition, c Call) (Result, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return Result{}, err
	}
	if err := caller.Quotas.Check(quota.ExternalTools); err != nil {
		return Result{}, err
	}
	if len(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	given, err := schema.Decode(c.Arguments)
	if err != nil {
		return Result{}, fault.Field("arguments", "%s", err)
	}
	if err := d.input.Validate("arguments", given); err != nil {
		return Result{}, err
	}
	ctx, leave, err := r.client.Enter(ctx, caller)
	if err != nil {
		return Result{}, err
	}
	defer leave()
	limited, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	result, err := r.call(limited, caller, d, c, template.Values{Arguments: given, Request: c.Request, Call: c.Client})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fault.Wrap(fault.Unavailable, err, "%s did not answer within %v", d.host.Host, d.timeout)
	}
	return result, err
}

func (r *Runner) call(ctx context.Context, caller *access.Request, d *Definition, c Call, values template.Values) (Result, error) {
	var err error
	if values.Secrets, err = r.client.Secrets.Values(ctx, caller.Tenant, d.secrets, d.host); err != nil {
		return Result{}, err
	}
	prepared, err := d.prepare(values.Lookup, values.Secrets)
	if err != nil {
		return Result{}, err
	}
	client, mask := r.client.HTTP(), remote.NewMask(remote.Hidden(ctx, values.Secrets))
	events := &streamReader{to: c.Events, mask: mask}
	got, err := d.attempts(ctx, func(ctx context.Context) (*answer, error) {
		token := ""
		if d.needsToken() {
			var err error
			if token, err = r.client.Issuer.Token(ctx, d.claims(caller, c.Tool, prepared, values.Lookup)); err != nil {
				return nil, err
			}
		}
		request, err := d.request(ctx, prepared, caller.Depth, token)
		if err != nil {
			return nil, err
		}
		if request.Header.Get("User-Agent") == "" {
			request.Header.Set("User-Agent", r.client.UserAgent())
		}
		return d.fetch(client, request, events)
	})
	if err != nil {
		return Result{}, err
	}
	return d.result(got, mask)
}
