package httptool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"github.com/ragdhq/ragd/internal/template"
	"net/http"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/toolset"
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
	into.InputSchema, into.OutputSchema = d.Input, d.Output
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
	got, err := r.Call(ctx, t.GetToolName(), d, c.Arguments, template.RequestValues(ctx))
	if err != nil {
		return toolset.Result{}, err
	}
	result := toolset.Result{Structured: got.Structured, Text: got.Text}
	if len(got.Blocks) == 0 && got.Structured != nil {
		return result, nil
	}
	blocks := []map[string]any{}
	for _, b := range got.Blocks {
		blocks = append(blocks, map[string]any{"type": "image", "mimeType": b.MIMEType, "data": b.Data})
	}
	if len(blocks) == 0 {
		blocks = append(blocks, map[string]any{"type": "text", "text": got.Text})
	}
	result.Content, err = json.Marshal(blocks)
	return result, err
}
