// Package mcptool runs the tools of tenants that are tools of other MCP servers: it connects
// to the server, takes over the description of the tool, and passes calls on.
package mcptool

import (
	"encoding/json"
	"github.com/ragdhq/ragd/internal/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/outbound"
	"github.com/ragdhq/ragd/internal/remote"
	"github.com/ragdhq/ragd/internal/secret"
	"github.com/ragdhq/ragd/internal/textlimit"
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

// settings are those of a tool of the kind mcp, by their JSON names.
type settings struct {
	URL       string            `json:"url"`
	ToolName  string            `json:"toolName"`
	Headers   map[string]string `json:"headers"`
	TimeoutMS int               `json:"timeoutMs"`
	Tool      *Description      `json:"tool"`
}

// Description is what a server says about a tool. It is stored with the settings.
type Description struct {
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  *Annotations    `json:"annotations,omitempty"`
}

// Schemas returns the schemas and annotations by their JSON names; nil for what there is not.
func (d Description) Schemas() map[string]any {
	all := map[string]any{"inputSchema": d.InputSchema, "outputSchema": nil, "annotations": d.Annotations}
	if len(d.OutputSchema) > 0 {
		all["outputSchema"] = d.OutputSchema
	}
	return all
}

// Annotations tell how a tool behaves, as its server says; nil means unknown.
type Annotations struct {
	ReadOnlyHint    *bool `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool `json:"openWorldHint,omitempty"`
}

// Definition is a tool that can be called. Safe for concurrent use.
type Definition struct {
	// Tool is what the server said when the tool was created or refreshed; nil before.
	Tool *Description

	url      *url.URL
	toolName string
	headers  []header
	secrets  []string
	timeout  time.Duration
}

type header struct {
	name  string
	value *template.Template
}

// Parse returns the tool with these settings. Errors: Invalid, naming fields below settings;
// Precondition for an address that the guard refuses.
func Parse(given map[string]any, guard *outbound.Guard) (*Definition, error) {
	var s settings
	if err := remote.DecodeSettings(given, &s, "url, toolName, headers and timeoutMs"); err != nil {
		return nil, err
	}
	d := &Definition{Tool: s.Tool, toolName: s.ToolName, timeout: time.Duration(s.TimeoutMS) * time.Millisecond}
	if s.TimeoutMS == 0 {
		d.timeout = defaultTimeout
	}
	if d.Tool != nil && string(d.Tool.OutputSchema) == "null" {
		d.Tool.OutputSchema = nil
	}
	if err := d.parse(s, guard); err != nil {
		return nil, fault.Under("settings", err)
	}
	return d, nil
}

func (d *Definition) parse(s settings, guard *outbound.Guard) (err error) {
	if err := guard.CheckURL("url", s.URL); err != nil {
		return err
	}
	if d.url, err = url.Parse(s.URL); err != nil || strings.Contains(s.URL, "{{") {
		return fault.Field("url", "must be a constant address such as https://mcp.example.com/mcp")
	}
	if s.ToolName == "" {
		return fault.Field("toolName", "is missing: name the tool of the server")
	}
	if err := textlimit.Check("toolName", s.ToolName, maxNameBytes); err != nil {
		return err
	}
	if d.timeout < minTimeout || d.timeout > maxTimeout {
		return fault.Field("timeoutMs", "must be between %d and %d, got %d", minTimeout.Milliseconds(), maxTimeout.Milliseconds(), s.TimeoutMS)
	}
	return d.parseHeaders(s.Headers)
}

func (d *Definition) parseHeaders(given map[string]string) error {
	if len(given) > maxHeaders {
		return fault.Field("headers", "must be at most %d, got %d", maxHeaders, len(given))
	}
	for name, value := range given {
		canonical, err := remote.HeaderName("headers", name, maxNameBytes, "Accept", "Last-Event-Id", "Mcp-")
		if err != nil {
			return err
		}
		switch {
		case slices.ContainsFunc(d.headers, func(h header) bool { return h.name == canonical }):
			return fault.Field("headers", "has %s twice", canonical)
		case len(value) > maxHeaderBytes || !httpguts.ValidHeaderFieldValue(value):
			return fault.Field("headers."+name, "must be at most %d bytes on one line, without control characters", maxHeaderBytes)
		}
		template, err := template.Parse("headers."+name, value)
		if err != nil {
			return err
		}
		if err := d.checkPaths("headers."+name, template.Paths()); err != nil {
			return err
		}
		d.headers = append(d.headers, header{canonical, template})
	}
	slices.SortFunc(d.headers, func(a, b header) int { return strings.Compare(a.name, b.name) })
	return nil
}

func (d *Definition) checkPaths(field string, paths []string) error {
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
		if !slices.Contains(d.secrets, rest) {
			d.secrets = append(d.secrets, rest)
		}
	}
	return nil
}

// render returns the headers of a call. Headers with a value that is missing are left out.
func (d *Definition) render(lookup func(string) (any, bool)) (map[string]string, error) {
	headers := map[string]string{}
	for _, h := range d.headers {
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
