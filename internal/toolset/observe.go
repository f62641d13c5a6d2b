package toolset

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// observed runs a call and tells the observer of it.
func (s *Set) observed(ctx context.Context, t *tool, c Call, arguments accepted) (Result, error) {
	e := Event{Phase: Input, CallID: rand.Text(), Tool: t.definition, Source: t.source, Index: indexOf(ctx, t, arguments), Arguments: c.Arguments}
	s.observer.Observe(ctx, e)
	began := time.Now()
	result, err := t.run(ctx, c, arguments)
	e.Phase, e.Took = Output, time.Since(began)
	if e.Result, e.Err = result, err; err != nil {
		e.Phase = Failed
	}
	s.observer.Observe(ctx, e)
	return result, err
}

// indexOf returns the name of the index that a call is over, or "".
func indexOf(ctx context.Context, t *tool, arguments accepted) string {
	if r, ok := tenant.FromContext(ctx); ok && !t.fixed && r.Overrides.IndexName != nil {
		return *r.Overrides.IndexName
	}
	var given struct {
		IndexName json.RawMessage `json:"indexName"`
	}
	if err := json.Unmarshal(arguments.json, &given); err != nil {
		return t.index
	}
	return cmp.Or(textOf(given.IndexName), t.index)
}

// textOf returns the text of a JSON value, "" if it is none.
func textOf(raw json.RawMessage) string {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return ""
	}
	return text
}

// maxDepth bounds the calls of tools within calls of tools.
const maxDepth = 8

type depthKey struct{}

// Depth returns how many calls of tools the context is within.
func Depth(ctx context.Context) int {
	depth, _ := ctx.Value(depthKey{}).(int)
	return depth
}

// WithDepth returns a context that is within so many calls of tools, as a caller from outside
// has told.
func WithDepth(ctx context.Context, depth int) context.Context {
	return context.WithValue(ctx, depthKey{}, depth)
}

// deeper returns the context of one more call. Errors: Invalid for too many.
func deeper(ctx context.Context) (context.Context, error) {
	depth := Depth(ctx) + 1
	if depth > maxDepth {
		return ctx, fault.New(fault.Invalid, "tools called each other %d times: a call ends there, as it may never end by itself", maxDepth)
	}
	return WithDepth(ctx, depth), nil
}
