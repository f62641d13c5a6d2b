package toolset

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// observedRun runs a call and tells the observer of it, if that wants to hear of it.
func (s *Set) observedRun(ctx context.Context, t *tool, c Call, arguments accepted) (Result, error) {
	if s.observer == nil || !s.observer.Wants(ctx) {
		return t.run(ctx, c, arguments)
	}
	return s.observed(ctx, t, c, arguments)
}

// observed runs a call and tells the observer of it.
func (s *Set) observed(ctx context.Context, t *tool, c Call, arguments accepted) (Result, error) {
	e := Event{Phase: Input, CallID: rand.Text(), Tool: t.definition, Index: indexOf(ctx, t, arguments), Arguments: c.Arguments}
	if t.definition.ofMemory() { // events would keep what is forgotten
		e.Arguments = nil
	}
	s.observer.Observe(ctx, e)
	began := time.Now()
	result, err := t.run(ctx, c, arguments)
	e.Phase, e.Took = Output, time.Since(began)
	if e.Result, e.Err = result, err; err != nil {
		e.Phase = Failed
	}
	if t.definition.ofMemory() {
		e.Result = Result{Question: result.Question}
	}
	s.observer.Observe(ctx, e)
	return result, err
}

// indexOf returns the name of the index that a call is over, or "".
func indexOf(ctx context.Context, t *tool, arguments accepted) string {
	if r, ok := access.FromContext(ctx); ok && !t.fixed && r.Overrides.IndexName != nil {
		return *r.Overrides.IndexName
	}
	index, _ := t.indexIn(ctx)
	var given struct {
		IndexName json.RawMessage `json:"indexName"`
	}
	if err := json.Unmarshal(arguments.json, &given); err != nil {
		return index
	}
	return cmp.Or(textOf(given.IndexName), index)
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

type insideKey struct{}

// deeper returns the context of a call. For a call within a call of this process, the depth of
// the request is one more, which counts those of other processes too. Errors: Precondition for
// too many.
func deeper(ctx context.Context) (context.Context, error) {
	r, ok := access.FromContext(ctx)
	if !ok {
		return ctx, nil
	}
	if ctx.Value(insideKey{}) != nil {
		changed := *r
		changed.Depth++
		r = &changed
		ctx = access.NewContext(ctx, r)
	}
	if r.Depth >= maxDepth {
		return ctx, fault.New(fault.Precondition, "tools call each other in a circle, or are nested deeper than %d calls", maxDepth)
	}
	return context.WithValue(ctx, insideKey{}, true), nil
}
