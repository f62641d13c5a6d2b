// Package httptool runs the tools of tenants that are requests to HTTP services: it builds a
// request from the arguments of a call, sends it, and turns the answer into a result.
package httptool

import (
	"encoding/json"
	"github.com/ragdhq/ragd/internal/tool/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/secret"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Limits.
const (
	maxParameters   = 64 // of the query, and of the headers
	maxHeaderBytes  = 8 << 10
	maxTemplate     = 8 << 10
	maxBodyBytes    = 1 << 20 // of a request
	minTimeout      = 100 * time.Millisecond
	maxTimeout      = time.Minute
	maxTaskTimeout  = 10 * time.Minute // of a tool that needs tasks
	maxRetries      = 5
	maxAnswerBytes  = 4 << 20
	maxContextNames = 32

	defaultTimeout = 10 * time.Second
	defaultRetries = 2 // where repeating a request does no harm
	defaultAnswer  = 256 << 10
)

// settings are those of a tool of the kind http, by their JSON names.
type settings struct {
	Method        string            `json:"method"`
	URL           string            `json:"url"`
	Query         map[string]any    `json:"query"`
	Headers       map[string]string `json:"headers"`
	Body          json.RawMessage   `json:"body"`
	ContentType   string            `json:"contentType"`
	InputSchema   json.RawMessage   `json:"inputSchema"`
	OutputSchema  json.RawMessage   `json:"outputSchema"`
	TimeoutMS     int               `json:"timeoutMs"`
	NeedsTask     bool              `json:"needsTask"`
	Retries       *int              `json:"retries"`
	Response      response          `json:"response"`
	SigningSecret string            `json:"signingSecret"`
	Token         *token            `json:"token"`
}

// response says what of an answer becomes the result.
type response struct {
	Format   string `json:"format"`
	Path     string `json:"path"`
	Text     string `json:"text"`
	MaxBytes int    `json:"maxBytes"`
}

// token says how the token about the caller is sent.
type token struct {
	Header  string   `json:"header"`
	Context []string `json:"context"`
}

// Definition is a tool that can be called. Safe for concurrent use.
type Definition struct {
	// Input and Output are the JSON Schemas of arguments and structured results. Output is
	// nil if there is none.
	Input, Output json.RawMessage

	settings       settings
	url            *template.Template
	host           *url.URL // scheme and host, which no value changes
	query, headers []parameter
	body           *node // nil for none
	encoding       encoding
	input, output  *schema.Schema
	text           *template.Template // of the result; nil for JSON
	timeout        time.Duration
	retries        int
	secrets        []string
}

// parameter is a header, or a parameter of the query.
type parameter struct {
	name  string
	value *node
}

// methods are those that a tool may use, and whether repeating one does no harm.
var methods = map[string]bool{
	http.MethodGet: true, http.MethodPut: true, http.MethodDelete: true, http.MethodPost: false, http.MethodPatch: false,
}

var anyObject = json.RawMessage(`{"type":"object"}`)

// Parse returns the tool with these settings, whose schemas are compiled when they are used.
// Errors: Invalid, naming fields below settings;
// Precondition for an address that the guard refuses.
func Parse(given map[string]any, guard *outbound.Guard) (*Definition, error) {
	d := &Definition{}
	if err := remote.DecodeSettings(given, &d.settings, known); err != nil {
		return nil, err
	}
	for _, parse := range []func() error{
		d.parseMethod, func() error { return d.parseURL(guard) }, d.parseSchemas, d.parseQuery, d.parseHeaders, d.parseBody,
		d.parseLimits, d.parseResponse, d.parseToken, d.checkPaths,
	} {
		if err := parse(); err != nil {
			return nil, fault.Under("settings", err)
		}
	}
	return d, nil
}

// known are the names of settings.
const known = "method, url, query, headers, body, contentType, inputSchema, outputSchema, timeoutMs, needsTask, retries, response (format, path, text, maxBytes), signingSecret and token (header, context)"

func (d *Definition) parseMethod() error {
	d.settings.Method = strings.ToUpper(d.settings.Method)
	if _, ok := methods[d.settings.Method]; !ok {
		return fault.Field("method", "must be GET, POST, PUT, PATCH or DELETE, got %q", d.settings.Method)
	}
	return nil
}

// parseURL checks the address. Placeholders may be in its path alone, so that no value changes
// where a request goes.
func (d *Definition) parseURL(guard *outbound.Guard) error {
	var err error
	if d.url, err = template.Parse("url", d.settings.URL); err != nil {
		return err
	}
	const stand = "x"
	plain, err := d.url.Render(template.NewBudget("the address", maxURLBytes), func(string) (any, bool) { return stand, true }, remote.Segment)
	if err != nil {
		return err
	}
	if err := guard.CheckURL("url", plain); err != nil {
		return err
	}
	constant, _, some := strings.Cut(d.settings.URL, "{{")
	_, rest, _ := strings.Cut(constant, "://")
	if some && !strings.Contains(rest, "/") {
		return fault.Field("url", "may have placeholders after the host only, such as https://api.example.com/orders/{{arguments.id}}")
	}
	parsed, err := url.Parse(plain)
	if err != nil {
		return fault.Field("url", "must be an address such as https://api.example.com/orders")
	}
	d.host = &url.URL{Scheme: parsed.Scheme, Host: parsed.Host}
	return nil
}

func (d *Definition) parseSchemas() (err error) {
	d.Input, d.Output = d.settings.InputSchema, d.settings.OutputSchema
	if len(d.Input) == 0 {
		d.Input = anyObject
	}
	if d.input, err = objectSchema("inputSchema", d.Input); err != nil {
		return err
	}
	if len(d.Output) > 0 {
		d.output, err = objectSchema("outputSchema", d.Output)
	}
	return err
}

// objectSchema returns a schema of objects, as MCP demands it. It is compiled when it is used.
func objectSchema(field string, raw json.RawMessage) (*schema.Schema, error) {
	var top struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(raw, &top); err != nil || top.Type != "object" {
		return nil, fault.Field(field, `must be a JSON Schema with "type": "object"`)
	}
	return schema.Later(field, raw), nil
}

func (d *Definition) parseQuery() error {
	if len(d.settings.Query) > maxParameters {
		return fault.Field("query", "must have at most %d parameters, got %d", maxParameters, len(d.settings.Query))
	}
	for name, value := range d.settings.Query {
		n, err := parseNode("query."+name, value)
		if err != nil {
			return err
		}
		if name == "" || strings.Contains(name, "{{") {
			return fault.Field("query", "names of parameters must not be empty or have placeholders")
		}
		d.query = append(d.query, parameter{name, n})
	}
	slices.SortFunc(d.query, byName)
	return nil
}

func byName(a, b parameter) int { return strings.Compare(a.name, b.name) }

// headerName returns the name of a header as HTTP writes it.
func headerName(field, name string) (string, error) {
	return remote.HeaderName(field, name, maxParameters, "Idempotency-Key", "Webhook-")
}

func (d *Definition) parseHeaders() error {
	if len(d.settings.Headers) > maxParameters {
		return fault.Field("headers", "must be at most %d, got %d", maxParameters, len(d.settings.Headers))
	}
	for name, value := range d.settings.Headers {
		canonical, err := headerName("headers", name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(d.headers, func(p parameter) bool { return p.name == canonical }) {
			return fault.Field("headers", "has %s twice", canonical)
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return fault.Field("headers."+name, "must be on one line, without control characters")
		}
		n, err := parseNode("headers."+name, value)
		if err != nil {
			return err
		}
		d.headers = append(d.headers, parameter{canonical, n})
	}
	slices.SortFunc(d.headers, byName)
	return nil
}

// wholeArguments is the body of a tool that says nothing of it.
var wholeArguments = json.RawMessage(`"{{arguments}}"`)

// wholeCall is wholeArguments for a tool that answers in the form of MCP.
var wholeCall = json.RawMessage(`{"arguments": "{{arguments}}", "inputResponses": "{{call.inputResponses}}", "requestState": "{{call.requestState}}", "clientCapabilities": "{{call.clientCapabilities}}"}`)

func (d *Definition) parseBody() (err error) {
	raw := d.settings.Body
	if len(raw) == 0 {
		switch d.settings.Method {
		case http.MethodGet, http.MethodDelete:
			return nil
		}
		raw = wholeArguments
		if d.settings.Response.Format == formatMCP {
			raw = wholeCall
		}
	}
	if d.settings.Method == http.MethodGet {
		return fault.Field("body", "is not sent with GET: use query, or another method")
	}
	if d.encoding, err = encodingOf(d.settings.ContentType); err != nil {
		return err
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return fault.Field("body", "%s", err)
	}
	if d.body, err = parseNode("body", value); err != nil {
		return err
	}
	return d.encoding.check(d.body)
}

func (d *Definition) parseLimits() error {
	s := d.settings
	d.timeout, d.retries = time.Duration(s.TimeoutMS)*time.Millisecond, 0
	if s.TimeoutMS == 0 {
		d.timeout = defaultTimeout
	}
	if methods[s.Method] {
		d.retries = defaultRetries
	}
	if s.Retries != nil {
		d.retries = *s.Retries
	}
	longest := maxTimeout
	if s.NeedsTask {
		longest = maxTaskTimeout
	}
	switch {
	case d.timeout < minTimeout || d.timeout > longest:
		return fault.Field("timeoutMs", "must be between %d and %d (%d with needsTask), got %d", minTimeout.Milliseconds(), maxTimeout.Milliseconds(), maxTaskTimeout.Milliseconds(), s.TimeoutMS)
	case d.retries < 0 || d.retries > maxRetries:
		return fault.Field("retries", "must be between 0 and %d, got %d", maxRetries, d.retries)
	}
	return nil
}

func (d *Definition) parseResponse() (err error) {
	r := &d.settings.Response
	if r.MaxBytes == 0 {
		r.MaxBytes = defaultAnswer
	}
	if r.MaxBytes < 1 || r.MaxBytes > maxAnswerBytes {
		return fault.Field("response.maxBytes", "must be between 1 and %d, got %d", maxAnswerBytes, r.MaxBytes)
	}
	if r.Format != "" && r.Format != formatMCP {
		return fault.Field("response.format", "must be %s, or left out, got %q", formatMCP, textlimit.Shorten(r.Format, 50))
	}
	if r.Format == formatMCP && r.Text != "" {
		return fault.Field("response.text", "is not used with the format %s, whose content has texts", formatMCP)
	}
	if r.Path != "" && !strings.HasPrefix(r.Path, "/") {
		return fault.Field("response.path", "must be a JSON pointer such as /data/items, or empty for the whole answer")
	}
	if r.Text != "" {
		d.text, err = template.ParseResult("response.text", r.Text)
	}
	return err
}

// DefaultTokenHeader is the header with the token about the caller, unless the tool names
// another.
const DefaultTokenHeader = "Ragd-Token"

func (d *Definition) parseToken() error {
	t := d.settings.Token
	if d.settings.SigningSecret != "" {
		if err := secret.CheckName("signingSecret", d.settings.SigningSecret); err != nil {
			return err
		}
		d.secrets = append(d.secrets, d.settings.SigningSecret)
	}
	if t == nil {
		return nil
	}
	if len(t.Context) > maxContextNames {
		return fault.Field("token.context", "must be at most %d, got %d", maxContextNames, len(t.Context))
	}
	if t.Header == "" || strings.EqualFold(t.Header, DefaultTokenHeader) {
		t.Header = DefaultTokenHeader
		return nil
	}
	canonical, err := headerName("token.header", t.Header)
	if err == nil && slices.ContainsFunc(d.headers, func(p parameter) bool { return p.name == canonical }) {
		err = fault.Field("token.header", "%s is among headers too", canonical)
	}
	t.Header = canonical
	return err
}

// checkPaths checks what the placeholders of each position refer to.
func (d *Definition) checkPaths() error {
	named := d.argumentNames()
	calls := d.settings.Response.Format == formatMCP
	check := func(field string, paths []string, body, secrets bool) error {
		for _, path := range paths {
			root, rest, _ := strings.Cut(path, ".")
			switch {
			case root == "secrets" && !secrets:
				return fault.Field(field, "has {{%s}}: secrets are sent in headers and bodies only, because addresses are logged on their way", path)
			case root == "secrets":
				if err := secret.CheckName(field, rest); err != nil {
					return err
				}
				if !slices.Contains(d.secrets, rest) {
					d.secrets = append(d.secrets, rest)
				}
			case root == "call" && (!body || !calls || !slices.Contains(callPaths, rest)):
				return fault.Field(field, "has {{%s}}: what begins with call is %s, in the body of a tool with the response.format %s", path, strings.Join(callPaths, ", "), formatMCP)
			case root == "arguments" && rest != "" && named != nil:
				first, _, _ := strings.Cut(rest, ".")
				if !slices.Contains(named, first) {
					return fault.Field(field, "has {{%s}}, but inputSchema has no property %q", path, first)
				}
			}
		}
		return nil
	}
	if err := check("url", d.url.Paths(), false, false); err != nil {
		return err
	}
	for _, p := range d.query {
		if err := check("query."+p.name, p.value.paths(), false, false); err != nil {
			return err
		}
	}
	for _, p := range d.headers {
		if err := check("headers."+p.name, p.value.paths(), false, true); err != nil {
			return err
		}
	}
	if d.body == nil {
		return nil
	}
	return check("body", d.body.paths(), true, true)
}

// argumentNames returns the properties of the input schema, nil if others are possible that
// it does not list.
func (d *Definition) argumentNames() []string {
	var top struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(d.Input, &top); err != nil || len(top.Properties) == 0 {
		return nil
	}
	names := []string{}
	for name := range top.Properties {
		names = append(names, name)
	}
	return names
}

// Host returns the scheme and host that the tool calls.
func (d *Definition) Host() *url.URL { return d.host }

// Secrets returns the names of the secrets that the tool sends, or signs with.
func (d *Definition) Secrets() []string { return d.secrets }

// audience returns the audience of tokens: the origin of the endpoint.
func (d *Definition) audience() string { return d.host.String() }

// needsToken reports whether a token about the caller is sent.
func (d *Definition) needsToken() bool { return d.settings.Token != nil }
