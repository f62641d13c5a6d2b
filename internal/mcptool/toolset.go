package mcptool

import (
	"context"
	"encoding/json"
	"github.com/ragdhq/ragd/internal/template"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/toolset"
)

var anyObject = json.RawMessage(`{"type":"object"}`)

// Define implements toolset.Runner. A tool whose settings are no longer valid takes any
// arguments; its calls fail.
func (r *Runner) Define(t *ragdv1.Tool, into *toolset.Definition) error {
	into.InputSchema = anyObject
	d, err := r.Parse(t.GetSettings().AsMap())
	if err != nil || d.Tool == nil {
		return nil //nolint:nilerr // Run returns it
	}
	if into.InputSchema = d.Tool.InputSchema; len(d.Tool.OutputSchema) > 0 {
		into.OutputSchema = d.Tool.OutputSchema
	}
	open := true
	into.Annotations.OpenWorldHint = &open
	if said := d.Tool.Annotations; said != nil {
		into.Annotations.ReadOnlyHint, into.Annotations.DestructiveHint, into.Annotations.IdempotentHint = said.ReadOnlyHint, said.DestructiveHint, said.IdempotentHint
	}
	return nil
}

// Run implements toolset.Runner.
func (r *Runner) Run(ctx context.Context, t *ragdv1.Tool, c toolset.Call) (toolset.Result, error) {
	d, err := r.Parse(t.GetSettings().AsMap())
	if err != nil {
		return toolset.Result{}, err
	}
	var progress Progress
	if c.Progress != nil {
		progress = func(done, total float64, message string) {
			c.Progress(ctx, toolset.Progress{Done: done, Total: total, Message: message})
		}
	}
	got, err := r.Call(ctx, d, c.Arguments, template.RequestValues(ctx), progress)
	if err != nil {
		return toolset.Result{}, err
	}
	if got.Fresh != nil && r.TakeOver != nil {
		r.TakeOver(ctx, t.GetToolName(), *got.Fresh)
	}
	result := toolset.Result{Structured: got.Structured, Text: got.Text, Content: got.Content}
	if result.Structured == nil && result.Content == nil {
		result.Content, err = json.Marshal([]map[string]any{{"type": "text", "text": got.Text}})
	}
	return result, err
}
