package mcptool

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tool/mcpclient"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// Runner checks and calls tools. Safe for concurrent use.
type Runner struct {
	// TakeOver stores what a server says about a tool that has changed; nil for nothing. It must
	// leave title and description as they are.
	TakeOver func(ctx context.Context, toolName string, d Description)

	client *remote.Client
	pool   *pool
}

// New returns a Runner. Close must follow.
func New(client *remote.Client) *Runner {
	return &Runner{client: client, pool: &pool{entries: map[poolKey]*entry{}}}
}

// Parse returns the tool with settings that Check returned. Errors: as the function Parse.
func (r *Runner) Parse(settings map[string]any) (*Definition, error) {
	return Parse(settings, r.client.Guard)
}

// Close closes the sessions that no call uses, and lets no new one open.
func (r *Runner) Close() { r.pool.close() }

// Result is what a call returns.
type Result struct {
	Structured json.RawMessage // a JSON object; nil for none
	Text       string
	// Content has all content blocks in the JSON of MCP; nil if Text has everything.
	Content json.RawMessage
	// Asked are requests of the server for input by id, in the JSON of MCP; AskedState comes back with the
	// answers. Everything else is empty then.
	Asked      map[string]json.RawMessage
	AskedState string
	// Fresh is what the server says about the tool, if it differs from the definition.
	Fresh *Description
}

// Check checks the settings of a tool that the caller creates or changes, and asks the server
// about the tool. It returns the settings with what the server says. Errors: Invalid; NotFound
// if the server has no such tool, or for a secret that does not exist; Denied for a secret
// that the caller cannot use for this address; Precondition for an address inside the
// operator's network; Unavailable if the server does not answer.
func (r *Runner) Check(ctx context.Context, settings map[string]any, lookup func(path string) (any, bool)) (map[string]any, *Definition, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, nil, err
	}
	if err := caller.Quotas.Check(quota.ExternalTools); err != nil {
		return nil, nil, err
	}
	settings = maps.Clone(settings)
	delete(settings, "tool")
	d, err := Parse(settings, r.client.Guard)
	if err != nil {
		return nil, nil, err
	}
	if err := r.client.Secrets.CheckUse(ctx, d.connection.Secrets, d.connection.URL); err != nil {
		return nil, nil, err
	}
	err = r.within(ctx, caller, d, lookup, func(ctx context.Context, u use) error {
		found, err := toolOf(ctx, u.session, d.toolName)
		if err == nil {
			d.Tool, err = Describe(found, u.mask)
		}
		return err
	}, With{})
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(d.Tool)
	if err != nil {
		return nil, nil, err
	}
	var stored any
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, nil, err
	}
	settings["tool"] = stored
	return settings, d, nil
}

// Limits of what is taken over.
const (
	maxTitleBytes       = 200
	maxDescriptionBytes = 4 << 10
)

// Describe returns what is stored of a server's tool, without secrets. Errors: Precondition for
// a schema that is too large, or that is none of an object: clients refuse a whole list of tools
// for one.
func Describe(t mcp.Tool, mask remote.Mask) (*Description, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if raw, err = mask.JSON(raw); err != nil {
		return nil, fault.New(fault.Precondition, "the description of the server's tool %s", err)
	}
	var d Description
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fault.Wrap(fault.Precondition, err, "the server describes its tool in a way that MCP does not allow")
	}
	d.Title, d.Description = textlimit.Cut(d.Title, maxTitleBytes), textlimit.Cut(d.Description, maxDescriptionBytes)
	for field, s := range map[string]*json.RawMessage{"inputSchema": &d.InputSchema, "outputSchema": &d.OutputSchema} {
		if len(*s) > schema.MaxBytes {
			return nil, fault.New(fault.Precondition, "the %s of the server's tool has %d bytes, over the limit of %d", field, len(*s), schema.MaxBytes)
		}
		if *s, err = ofObject(field, *s); err != nil {
			return nil, err
		}
	}
	if len(d.InputSchema) == 0 || string(d.InputSchema) == "null" {
		d.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	return &d, nil
}

// ofObject returns a schema with the type object. Errors: Precondition for another type.
func ofObject(field string, raw json.RawMessage) (json.RawMessage, error) {
	var top map[string]json.RawMessage
	if len(raw) == 0 || string(raw) == "null" {
		return raw, nil
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		return nil, fault.Wrap(fault.Precondition, err, "the %s of the server's tool is no JSON Schema of an object", field)
	}
	switch said := string(top["type"]); said {
	case `"object"`:
		return raw, nil
	case "", "null", `""`:
		top["type"] = json.RawMessage(`"object"`)
		return json.Marshal(top)
	}
	return nil, fault.New(fault.Precondition, "the %s of the server's tool must have the type object, it has %s", field, textlimit.OneLine(string(top["type"]), 50))
}

// use is a session while a call uses it.
type use struct {
	session *mcpclient.Session
	opened  bool // for this call
	mask    remote.Mask
}

// hidden returns a part of an answer as JSON without secrets. Errors: Precondition.
func hidden(part any, mask remote.Mask) (json.RawMessage, error) {
	raw, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	if raw, err = mask.JSON(raw); err != nil {
		return nil, fault.New(fault.Precondition, "the answer of the server cannot be used: it %s", err)
	}
	return raw, nil
}

// Progress hears how far a call has come.
type Progress func(done, total float64, message string)

// With is what a caller takes part in while a call is under way. Zero is nothing.
type With struct {
	Progress Progress
	// Log hears the server's log messages; the level is one of MCP's.
	Log func(level string, data any)
	// Elicits says that the caller's client can ask its user, and Opens that it can open addresses for them.
	Elicits, Opens bool
	// Input has the answers to an earlier Result.Asked; nil if the caller cannot be asked so.
	Input *mcpclient.Input
	// Ask asks the user of the client at once; nil if that is not possible.
	Ask mcpclient.Elicitation
}

// Call calls a tool for the caller in ctx with arguments in JSON. lookup returns values of the
// request context; progress may be nil. Errors: Invalid for arguments that do not match the
// input schema; Precondition with the text of the server for a call that failed there;
// Unavailable if it cannot be reached or does not answer in time; Exhausted and Precondition as
// remote.Client.Enter.
func (r *Runner) Call(ctx context.Context, d *Definition, arguments json.RawMessage, lookup func(path string) (any, bool), progress Progress) (Result, error) {
	return r.CallWith(ctx, d, arguments, lookup, With{Progress: progress})
}

// CallWith is Call for a caller that takes part.
func (r *Runner) CallWith(ctx context.Context, d *Definition, arguments json.RawMessage, lookup func(path string) (any, bool), w With) (Result, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return Result{}, err
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := validate("arguments", d.input(), arguments); err != nil {
		return Result{}, err
	}
	var result Result
	err = r.within(ctx, caller, d, lookup, func(ctx context.Context, u use) error {
		var fresh *Description
		if u.opened {
			found, err := toolOf(ctx, u.session, d.toolName)
			if err != nil {
				return err
			}
			if fresh, err = Describe(found, u.mask); err != nil {
				return err
			}
		}
		if result, err = d.call(ctx, u.session, arguments, w, u.mask); err != nil {
			return err
		}
		if fresh != nil && !same(fresh, d.Tool) {
			result.Fresh = fresh
		}
		return nil
	}, w)
	return result, err
}

// input returns the input schema, nil if it is not known.
func (d *Definition) input() json.RawMessage {
	if d.Tool == nil {
		return nil
	}
	return d.Tool.InputSchema
}

// same reports whether two descriptions are alike in what matters to callers. Titles and
// descriptions are left as they were when the tool was created or updated, because models
// follow what they say.
func same(a, b *Description) bool {
	if b == nil {
		return false
	}
	x, errX := json.Marshal(Description{InputSchema: a.InputSchema, OutputSchema: a.OutputSchema, Annotations: a.Annotations})
	y, errY := json.Marshal(Description{InputSchema: b.InputSchema, OutputSchema: b.OutputSchema, Annotations: b.Annotations})
	return errX == nil && errY == nil && equalJSON(x, y)
}

func equalJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	x1, errX := json.Marshal(x)
	y1, errY := json.Marshal(y)
	return errX == nil && errY == nil && bytes.Equal(x1, y1)
}

// validate checks a value against a server's schema. A schema that this service cannot use,
// such as one with a pattern that takes more than linear time, is left to the server.
func validate(field string, with, value json.RawMessage) error {
	decoded, err := schema.Decode(value)
	if err != nil {
		return fault.Field(field, "%s", err)
	}
	if len(with) == 0 {
		return nil
	}
	compiled, err := schema.Compile(field, with)
	if err != nil {
		return nil
	}
	return compiled.Validate(field, decoded)
}

// within runs do with a session, once more with a new one if the server has ended it.
func (r *Runner) within(ctx context.Context, caller *access.Request, d *Definition, lookup func(string) (any, bool), do func(ctx context.Context, u use) error, w With) error {
	ctx, leave, err := r.client.Enter(ctx, caller)
	if err != nil {
		return err
	}
	defer leave()
	secrets, err := r.client.Secrets.Values(ctx, caller.Tenant, d.connection.Secrets, d.connection.URL)
	if err != nil {
		return err
	}
	headers, err := d.connection.Render(template.Values{Request: lookup, Secrets: secrets}.Lookup)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, d.connection.Timeout)
	defer cancel()
	limited, refused := mcpclient.WithRefusal(limited)
	if w.Ask != nil {
		limited = mcpclient.WithElicitation(limited, w.asking(d.connection.URL.Host))
	}
	hidden := maps.Clone(remote.Hidden(ctx, secrets))
	mask := remote.NewMask(hidden)
	renew := false
	for again := false; ; again = true {
		if d.Authorize != nil {
			token, err := d.Authorize(limited, renew)
			if err != nil {
				return err
			}
			if token != "" {
				headers["Authorization"], hidden["token"] = "Bearer "+token, token
				mask = remote.NewMask(hidden)
			}
		}
		key := keyOf(caller.Tenant, d, headers, w)
		if w.Log != nil { // its messages belong to no call that others can tell
			key.own = rand.Text()
		}
		err = r.once(limited, d, key, headers, w.logging(mask), func(ctx context.Context, s *mcpclient.Session, opened bool) error {
			return do(ctx, use{s, opened, mask})
		})
		renew = d.Authorize != nil && mcpclient.NeedsAuthorization(err)
		if again || !renew && !errors.Is(err, transport.ErrSessionTerminated) {
			break
		}
	}
	if reason := refused.Load(); err != nil && reason != nil {
		return *reason // the library does not tell it
	}
	if limited.Err() != nil && ctx.Err() == nil {
		return fault.Wrap(fault.Unavailable, err, "%s did not answer within %v", d.connection.URL.Host, d.connection.Timeout)
	}
	return r.public(ctx, d, err, mask)
}

func (r *Runner) once(ctx context.Context, d *Definition, key poolKey, headers map[string]string, notified func(mcp.JSONRPCNotification), do func(ctx context.Context, s *mcpclient.Session, opened bool) error) error {
	s, opened, leave, err := r.pool.use(ctx, key, func() (*mcpclient.Session, error) {
		return mcpclient.Connect(ctx, r.client, mcpclient.Server{URL: d.connection.URL, Headers: headers, Elicit: key.elicits, Open: key.opens, Notified: notified})
	})
	if err != nil {
		return err
	}
	if opened && key.own != "" {
		err = startLogging(ctx, s)
	}
	if err == nil {
		err = s.Grow(ctx)
	}
	if err == nil {
		err = do(ctx, s, opened)
	}
	leave(key.own != "" || mcpclient.IsBroken(err))
	return err
}

// public returns the error for the caller: what a server says is shown on one line, without
// secrets.
func (r *Runner) public(ctx context.Context, d *Definition, err error, mask remote.Mask) error {
	if err == nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	var known *fault.Error
	if errors.As(err, &known) {
		masked := *known
		masked.Message = textlimit.Shorten(mask.Text(known.Message), mcpclient.MaxErrorBytes)
		if cause := fmt.Sprint(known.Cause); mask.Text(cause) != cause {
			masked.Cause = nil
		}
		return &masked
	}
	switch {
	case mcpclient.NeedsAuthorization(err):
		return fault.New(fault.Precondition, "%s refuses the credential of the tool (401): set the header Authorization by settings.headers and a secret", d.connection.URL.Host)
	case errors.Is(err, client.ErrMaxInputRoundTripsExceeded):
		return fault.New(fault.Precondition, "%s asks its user for input before it runs the tool, which is not passed on: give everything that it needs in the arguments", d.connection.URL.Host)
	}
	return mcpclient.Explain(d.connection.URL.Host, err, mask)
}

// call calls the tool in a session.
func (d *Definition) call(ctx context.Context, s *mcpclient.Session, arguments json.RawMessage, w With, mask remote.Mask) (Result, error) {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = d.toolName, arguments
	if progress := w.Progress; progress != nil {
		token := rand.Text()
		request.Params.Meta = &mcp.Meta{ProgressToken: token}
		defer s.Watch(token, func(n mcp.JSONRPCNotification) {
			fields := n.Params.AdditionalFields
			done, _ := fields["progress"].(float64)
			total, _ := fields["total"].(float64)
			text, _ := fields["message"].(string)
			progress(done, total, textlimit.OneLine(mask.Text(text), mcpclient.MaxErrorBytes))
		})()
	}
	if w.Input != nil {
		ctx = mcpclient.WithInput(ctx, w.Input)
	}
	answer, err := s.CallTool(ctx, request)
	if err != nil && w.Input != nil && w.Input.Asked != nil && errors.Is(err, client.ErrMaxInputRoundTripsExceeded) {
		asked, err := passedOn(d.connection.URL.Host, w.Input.Asked, mask)
		return Result{Asked: asked, AskedState: w.Input.AskedState}, err
	}
	if err != nil {
		if asked, failed := toOpen(d.connection.URL.Host, err, mask); asked != nil || failed != nil {
			return Result{Asked: asked}, failed
		}
		return Result{}, err
	}
	return d.result(answer, mask)
}

// result returns the result of an answer, without secrets. Errors: Precondition with the text of
// a call that failed.
func (d *Definition) result(answer *mcp.CallToolResult, mask remote.Mask) (Result, error) {
	var texts []string
	other := false
	for _, block := range answer.Content {
		if text, ok := block.(mcp.TextContent); ok {
			texts = append(texts, text.Text)
		} else {
			other = true
		}
	}
	result := Result{Text: mask.Text(strings.Join(texts, "\n"))}
	if answer.IsError {
		return Result{}, fault.New(fault.Precondition, "%s", result.Text)
	}
	if other {
		var err error
		if result.Content, err = hidden(answer.Content, mask); err != nil {
			return Result{}, err
		}
	}
	if answer.StructuredContent == nil {
		return result, nil
	}
	raw, err := hidden(answer.StructuredContent, mask)
	if err != nil {
		return Result{}, err
	}
	if d.Tool != nil {
		if err := validate("result", d.Tool.OutputSchema, raw); err != nil {
			return Result{}, fault.Wrap(fault.Precondition, err, "the answer of %s does not match the outputSchema of its tool: %s", d.connection.URL.Host, fault.Public(err))
		}
	}
	if bytes.HasPrefix(raw, []byte("{")) {
		result.Structured = raw
	}
	return result, nil
}
