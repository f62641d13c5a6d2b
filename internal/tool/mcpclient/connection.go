package mcpclient

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/secret"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// Limits.
const (
	maxHeaders     = 16
	maxHeaderBytes = 8 << 10
	maxNameBytes   = 128
	minTimeout     = 100 * time.Millisecond
	maxTimeout     = time.Minute
	defaultTimeout = 30 * time.Second
)

// Settings are how a tenant describes a connection to a server.
type Settings struct {
	URL       string
	Headers   map[string]string // templates
	TimeoutMS int               // of one request; 0 means 30 seconds
}

// Connection is how a server is reached. Safe for concurrent use.
type Connection struct {
	URL     *url.URL
	Timeout time.Duration
	Secrets []string // names of the secrets in the headers

	headers []header
}

type header struct {
	name  string
	value *template.Template
}

// Parse returns the connection with these settings. Errors: Invalid, naming url, timeoutMs and headers;
// Precondition for an address that the guard refuses.
func Parse(s Settings, guard *outbound.Guard) (*Connection, error) {
	if err := guard.CheckURL("url", s.URL); err != nil {
		return nil, err
	}
	address, err := url.Parse(s.URL)
	if err != nil || strings.Contains(s.URL, "{{") {
		return nil, fault.Field("url", "must be a constant address such as https://mcp.example.com/mcp")
	}
	c := &Connection{URL: address, Timeout: time.Duration(s.TimeoutMS) * time.Millisecond}
	if s.TimeoutMS == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Timeout < minTimeout || c.Timeout > maxTimeout {
		return nil, fault.Field("timeoutMs", "must be between %d and %d, got %d", minTimeout.Milliseconds(), maxTimeout.Milliseconds(), s.TimeoutMS)
	}
	return c, c.parseHeaders(s.Headers)
}

func (c *Connection) parseHeaders(given map[string]string) error {
	if len(given) > maxHeaders {
		return fault.Field("headers", "must be at most %d, got %d", maxHeaders, len(given))
	}
	for name, value := range given {
		canonical, err := remote.HeaderName("headers", name, maxNameBytes, "Accept", "Last-Event-Id", "Mcp-")
		if err != nil {
			return err
		}
		switch {
		case c.Has(canonical):
			return fault.Field("headers", "has %s twice", canonical)
		case len(value) > maxHeaderBytes || !httpguts.ValidHeaderFieldValue(value):
			return fault.Field("headers."+name, "must be at most %d bytes on one line, without control characters", maxHeaderBytes)
		}
		template, err := template.Parse("headers."+name, value)
		if err != nil {
			return err
		}
		if err := c.checkPaths("headers."+name, template.Paths()); err != nil {
			return err
		}
		c.headers = append(c.headers, header{canonical, template})
	}
	slices.SortFunc(c.headers, func(a, b header) int { return strings.Compare(a.name, b.name) })
	return nil
}

func (c *Connection) checkPaths(field string, paths []string) error {
	for _, path := range paths {
		root, rest, _ := strings.Cut(path, ".")
		if root == "arguments" {
			return fault.Field(field, "has {{%s}}: headers belong to the connection and have no arguments of a call", path)
		}
		if root != "secrets" {
			continue
		}
		if err := secret.CheckName(field, rest); err != nil {
			return err
		}
		if !slices.Contains(c.Secrets, rest) {
			c.Secrets = append(c.Secrets, rest)
		}
	}
	return nil
}

// Has reports whether the settings give a header, by its name as HTTP writes it.
func (c *Connection) Has(name string) bool {
	return slices.ContainsFunc(c.headers, func(h header) bool { return h.name == name })
}

// Render returns the headers of requests. Headers with a value that is missing are left out.
func (c *Connection) Render(lookup func(string) (any, bool)) (map[string]string, error) {
	headers := map[string]string{}
	for _, h := range c.headers {
		if !h.value.Complete(lookup) {
			continue
		}
		value, err := h.value.Render(template.NewBudget("the value", maxHeaderBytes), lookup, remote.Header)
		if err != nil {
			return nil, fault.New(fault.Invalid, "header %s: %s", h.name, fault.Public(err))
		}
		headers[h.name] = value
	}
	return headers, nil
}
