package mcptool

import (
	"context"
	"encoding/json"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tool/mcpclient"
	"github.com/ragdhq/ragd/internal/tool/template"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

var anyObject = json.RawMessage(`{"type":"object"}`)

// Define implements toolset.Runner. A tool whose settings are no longer valid takes any
// arguments; its calls fail.
func (r *Runner) Define(t *ragdv1.Tool, into *toolset.Definition) error {
	into.InputSchema = anyObject
	d, err := r.Parse(t.GetSettings().AsMap())
	if err != nil {
		return nil //nolint:nilerr // Run returns it
	}
	if into.Host = d.connection.URL.Host; d.Tool == nil {
		return nil
	}
	if into.InputSchema = d.Tool.InputSchema; len(d.Tool.OutputSchema) > 0 {
		into.OutputSchema = d.Tool.OutputSchema
	}
	into.Annotations = Hints(*d.Tool)
	return nil
}

// Hints returns how a tool behaves, as its server says.
func Hints(d Description) toolset.Annotations {
	yes := true
	out := toolset.Annotations{OpenWorldHint: &yes}
	if said := d.Annotations; said != nil {
		out.ReadOnlyHint, out.DestructiveHint, out.IdempotentHint = said.ReadOnlyHint, said.DestructiveHint, said.IdempotentHint
	}
	return out
}

// Run implements toolset.Runner.
func (r *Runner) Run(ctx context.Context, t *ragdv1.Tool, c toolset.Call) (toolset.Result, error) {
	d, err := r.Parse(t.GetSettings().AsMap())
	if err != nil {
		return toolset.Result{}, err
	}
	result, fresh, err := r.run(ctx, d, c)
	if fresh != nil && r.TakeOver != nil {
		r.TakeOver(ctx, t.GetToolName(), *fresh)
	}
	return result, err
}

// RunDefinition runs a call of a tool that is not stored as one.
func (r *Runner) RunDefinition(ctx context.Context, d *Definition, c toolset.Call) (toolset.Result, error) {
	result, _, err := r.run(ctx, d, c)
	return result, err
}

// withOf returns what the caller of a tool takes part in.
func withOf(ctx context.Context, c toolset.Call) With {
	w := With{Ask: c.Elicit, Elicits: c.Elicit != nil}
	if c.Progress != nil {
		w.Progress = func(done, total float64, message string) {
			c.Progress(ctx, toolset.Progress{Done: done, Total: total, Message: message})
		}
	}
	if c.Log != nil {
		w.Log = func(level string, data any) { c.Log(ctx, toolset.LogMessage{Level: level, Data: data}) }
	}
	if c.Client != nil {
		var can struct {
			Elicitation *struct {
				URL *struct{} `json:"url"`
			} `json:"elicitation"`
		}
		_ = json.Unmarshal(c.Client.Capabilities, &can) // it was encoded here
		w.Elicits = w.Elicits || can.Elicitation != nil
		w.Opens = can.Elicitation != nil && can.Elicitation.URL != nil
		w.Input = &mcpclient.Input{Responses: withoutOpened(c.Client.Responses), State: c.Client.State}
	}
	return w
}

func (r *Runner) run(ctx context.Context, d *Definition, c toolset.Call) (toolset.Result, *Description, error) {
	if err := access.CheckFeature(ctx, quota.ExternalTools); err != nil {
		return toolset.Result{}, nil, err
	}
	got, err := r.CallWith(ctx, d, c.Arguments, template.RequestValues(ctx), withOf(ctx, c))
	if err != nil {
		return toolset.Result{}, nil, err
	}
	if got.Asked != nil {
		return toolset.Result{Asked: &toolset.Asked{Requests: got.Asked, State: got.AskedState}}, nil, nil
	}
	result := toolset.Result{Structured: got.Structured, Text: got.Text, Content: got.Content}
	if result.Structured == nil && result.Content == nil {
		result.Content, err = json.Marshal([]map[string]any{{"type": "text", "text": got.Text}})
	}
	return result, got.Fresh, err
}
