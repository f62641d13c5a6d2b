package httptool

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// prepared is a request that may be sent several times.
type prepared struct {
	url    *url.URL
	header http.Header
	body   []byte
	id     string // of the call, the same in each attempt
	signed []webhook.Secret
}

// prepare builds the request of a call. Errors: Invalid, naming arguments.
func (d *Definition) prepare(lookup func(string) (any, bool), secrets map[string]string) (*prepared, error) {
	p := &prepared{header: http.Header{}, id: "call_" + strings.ToLower(rand.Text())}
	var err error
	if p.url, err = d.address(lookup); err != nil {
		return nil, err
	}
	for _, h := range d.headers {
		if !h.value.template.Complete(lookup) { // half a header misleads
			continue
		}
		value, err := h.value.template.Render(template.NewBudget("the value", maxHeaderBytes), lookup, remote.Header)
		if err != nil {
			return nil, fault.New(fault.Invalid, "header %s: %s", h.name, fault.Public(err))
		}
		p.header.Set(h.name, strings.Trim(value, " \t"))
	}
	if d.body != nil {
		if p.body, err = d.encoding.encode(d.body, lookup); err != nil {
			return nil, err
		}
		p.header.Set("Content-Type", d.encoding.contentType)
	}
	if len(p.body) > maxBodyBytes {
		return nil, fault.New(fault.Invalid, "the body of the request has %d bytes, over the limit of %d: give shorter arguments", len(p.body), maxBodyBytes)
	}
	if name := d.settings.SigningSecret; name != "" {
		signing, err := webhook.ParseSecret("signingSecret", secrets[name])
		if err != nil {
			return nil, fault.New(fault.Precondition, "the secret %q cannot sign: it must be whsec_ and base64 of 24 to 64 bytes, as `ragd secret set %s --generate` makes it", name, name)
		}
		p.signed = []webhook.Secret{signing}
	}
	return p, nil
}

// address returns the address of a call. Values change segments of its path and parameters of
// its query, nothing else.
func (d *Definition) address(lookup func(string) (any, bool)) (*url.URL, error) {
	for _, placeholder := range d.url.Placeholders() {
		field := strings.TrimPrefix(placeholder.Paths[0], "arguments.")
		value, ok := placeholder.Value(lookup)
		if !ok {
			return nil, fault.Field(field, "is needed for the address")
		}
		if _, err := remote.Segment(value); err != nil {
			return nil, fault.Field(field, "%s", fault.Public(err))
		}
	}
	budget := template.NewBudget("the address", maxURLBytes)
	text, err := d.url.Render(budget, lookup, remote.Segment)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != d.host.Scheme || u.Host != d.host.Host || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fault.New(fault.Invalid, "the arguments make no address of the tool's host")
	}
	if len(d.url.Placeholders()) > 0 && slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." }) {
		return nil, fault.New(fault.Invalid, "the arguments lead to another path")
	}
	query := url.Values{}
	for _, q := range d.query {
		value, ok, err := q.value.value(budget, lookup)
		if err != nil {
			return nil, err
		}
		if ok {
			if err := addParameter(query, q.name, value); err != nil {
				return nil, err
			}
		}
	}
	u.RawQuery = query.Encode()
	if len(u.String()) > maxURLBytes {
		return nil, fault.New(fault.Invalid, "the address has more than %d bytes: give shorter arguments", maxURLBytes)
	}
	return u, nil
}

// maxURLBytes is the longest address of a request.
const maxURLBytes = 8 << 10

// request returns the request of an attempt. It has a signature of now, and a token if one is
// given.
func (d *Definition) request(ctx context.Context, p *prepared, depth int, token string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, d.settings.Method, p.url.String(), bytes.NewReader(p.body))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the arguments make no request")
	}
	r.Header = p.header.Clone()
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", d.accept())
	}
	r.Header.Set(access.DepthHeader, strconv.Itoa(depth+1))
	if key := remote.IdempotencyKey(ctx); key != "" {
		r.Header.Set("Idempotency-Key", key)
	} else if d.retries > 0 && !methods[d.settings.Method] {
		r.Header.Set("Idempotency-Key", p.id)
	}
	if len(p.signed) > 0 {
		webhook.Sign(r.Header, p.id, time.Now(), p.body, p.signed...)
	}
	if token != "" {
		if d.settings.Token.Header == "Authorization" {
			token = "Bearer " + token
		}
		r.Header.Set(d.settings.Token.Header, token)
	}
	return r, nil
}

// accept returns the types of answers that the tool can use.
func (d *Definition) accept() string {
	if d.settings.Response.Format == formatMCP {
		return "application/json, " + eventStream
	}
	return "application/json, text/*;q=0.9, image/*;q=0.8, audio/*;q=0.8"
}

// claims returns what the token about a caller says.
func (d *Definition) claims(r *access.Request, tool string, p *prepared, lookup func(string) (any, bool)) identity.Claims {
	bare := *p.url
	bare.RawQuery = ""
	c := identity.Claims{
		Audience: d.audience(), Subject: r.Principal.Subject, Tenant: string(r.Tenant), Tool: tool, Server: r.Server,
		Method: d.settings.Method, URL: bare.String(),
	}
	for _, name := range d.settings.Token.Context {
		if value, ok := lookup("context." + name); ok {
			if c.Context == nil {
				c.Context = map[string]any{}
			}
			c.Context[name] = value
		}
	}
	return c
}
