package httptool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"github.com/ragdhq/ragd/internal/tool/template"
	"net/http"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// maxCached is how many definitions are kept in memory.
const maxCached = 1000

// definitionKey is the hash of settings.
type definitionKey [sha256.Size]byte

// definition returns the definition of a stored tool. Errors: as Parse.
func (r *Runner) definition(t *ragdv1.Tool) (*Definition, error) {
	given := t.GetSettings().AsMap()
	raw, err := json.Marshal(given) // in the order of names
	if err != nil {
		return nil, err
	}
	key := definitionKey(sha256.Sum256(raw))
	if d, ok := r.known.Get(key); ok {
		return d, nil
	}
	d, err := Parse(given, r.client.Guard)
	if err == nil {
		r.known.Put(key, d)
	}
	return d, err
}

// Define implements toolset.Runner. A tool whose settings are no longer valid takes any
// arguments; its calls fail.
func (r *Runner) Define(t *ragdv1.Tool, into *toolset.Definition) error {
	into.InputSchema = anyObject
	d, err := r.definition(t)
	if err != nil {
		return nil //nolint:nilerr // Run returns it
	}
	into.InputSchema, into.OutputSchema, into.Host = d.Input, d.Output, d.host.Host
	if d.settings.NeedsTask {
		into.NeedsTask, into.Timeout = true, d.timeout
	}
	hint := func(to **bool, value bool) {
		if *to == nil {
			*to = &value
		}
	}
	hint(&into.Annotations.OpenWorldHint, true)
	switch d.settings.Method {
	case http.MethodGet:
		hint(&into.Annotations.ReadOnlyHint, true)
	case http.MethodPut, http.MethodDelete:
		hint(&into.Annotations.IdempotentHint, true)
	}
	return nil
}

// Run implements toolset.Runner.
func (r *Runner) Run(ctx context.Context, t *ragdv1.Tool, c toolset.Call) (toolset.Result, error) {
	d, err := r.definition(t)
	if err != nil {
		return toolset.Result{}, err
	}
	call := Call{Tool: t.GetToolName(), Arguments: c.Arguments, Request: template.RequestValues(ctx)}
	if call.Client, err = clientValues(c.Client); err != nil {
		return toolset.Result{}, err
	}
	if c.Progress != nil {
		call.Events.Progress = func(done, total float64, message string) {
			c.Progress(ctx, toolset.Progress{Done: done, Total: total, Message: message})
		}
	}
	if c.Log != nil {
		call.Events.Log = func(level string, data any) { c.Log(ctx, toolset.LogMessage{Level: level, Data: data}) }
	}
	got, err := r.Call(ctx, d, call)
	if err != nil {
		return toolset.Result{}, err
	}
	result := toolset.Result{Structured: got.Structured, Text: got.Text, Content: got.Content}
	if got.Asked != nil {
		result.Asked = &toolset.Asked{Requests: got.Asked.Requests, State: got.Asked.State}
	}
	if result.Structured == nil && result.Content == nil {
		result.Content, err = json.Marshal([]map[string]any{{"type": "text", "text": got.Text}})
	}
	return result, err
}

// clientValues returns the values below the placeholder call. Errors: Invalid.
func clientValues(c *toolset.Client) (map[string]any, error) {
	if c == nil {
		return nil, nil
	}
	values := map[string]any{}
	if len(c.Responses) > 0 {
		responses := map[string]any{}
		for id, raw := range c.Responses {
			value, err := schema.Decode(raw)
			if err != nil {
				return nil, fault.Field("inputResponses", "%s", err)
			}
			responses[id] = value
		}
		values["inputResponses"] = responses
	}
	if c.State != "" {
		values["requestState"] = c.State
	}
	if len(c.Capabilities) > 0 {
		value, err := schema.Decode(c.Capabilities)
		if err != nil {
			return nil, fault.Field("clientCapabilities", "%s", err)
		}
		values["clientCapabilities"] = value
	}
	return values, nil
}
