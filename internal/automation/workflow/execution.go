package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// execution runs the steps of one run in one attempt.
type execution struct {
	service *Service
	handle  *data.Handle
	runID   string
	context map[string]any // the request context, without secrets

	mu   sync.Mutex
	done map[string]StepRun // steps that have begun in this attempt or an earlier one
}

// frame is what a step sees at its position. It is copied for inner steps.
type frame struct {
	prefix   string         // of paths
	input    any            // of the workflow
	steps    map[string]any // outputs of steps that have run
	previous any
	within   map[string]any // item, index and error
	depth    int            // of workflows within each other
}

var (
	// errWaits is returned by a step that waits to be resumed.
	errWaits = errors.New("a step waits")
	// errMissing is the error of a source that has no value.
	errMissing = errors.New("there is no value")
)

// storeError is an error of the database. The attempt fails, not the step.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// stops reports whether an error ends the attempt, so that no onError runs.
func stops(ctx context.Context, err error) bool {
	var store storeError
	return errors.Is(err, errWaits) || errors.As(err, &store) || ctx.Err() != nil
}

// values are the variables of expressions.
func (x *execution) values(f frame) map[string]any {
	values := map[string]any{varInput: f.input, varSteps: f.steps, varContext: x.context, varPrevious: f.previous}
	maps.Copy(values, f.within)
	return values
}

// sequence runs steps one after the other. It returns the frame after them.
func (x *execution) sequence(ctx context.Context, nodes []*node, f frame) (frame, error) {
	f.steps = maps.Clone(f.steps)
	if f.steps == nil {
		f.steps = map[string]any{}
	}
	for _, n := range nodes {
		out, inner, err := x.step(ctx, n, f)
		if err != nil {
			return f, err
		}
		maps.Copy(f.steps, inner)
		f.steps[n.ID], f.previous = out, out
	}
	return f, nil
}

// step runs a step, or the steps of its onError when it has failed. It returns the output, and
// those of inner steps that later ones can refer to.
func (x *execution) step(ctx context.Context, n *node, f frame) (out any, inner map[string]any, err error) {
	out, inner, err = x.try(ctx, n, f)
	if err == nil || len(n.onError) == 0 || stops(ctx, err) {
		return out, inner, err
	}
	f.within = maps.Clone(f.within)
	if f.within == nil {
		f.within = map[string]any{}
	}
	f.within[varError] = map[string]any{"kind": fault.KindOf(err).String(), "message": fault.Public(err), "step": n.ID}
	after, err := x.sequence(ctx, n.onError, f)
	return after.previous, after.steps, err
}

// try runs a step, unless it has ended in an earlier attempt: then it returns what it returned.
func (x *execution) try(ctx context.Context, n *node, f frame) (out any, inner map[string]any, err error) {
	path := f.prefix + n.ID
	known, begun := x.recorded(path)
	reenters := n.Kind == Choose || n.Kind == Parallel // for the outputs of inner steps
	switch {
	case known.Status == Succeeded && !reenters:
		out, err = decode(known.Output)
		return out, nil, err
	case known.Status == Failed:
		return nil, nil, recordedError(known)
	case known.Status == Waiting:
		return nil, nil, x.overdue(ctx, known)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !begun {
		known = StepRun{Path: path, Kind: n.Kind}
	}
	input, err := x.inputOf(ctx, n, f)
	if err != nil {
		return nil, nil, x.failed(ctx, known, err)
	}
	out, inner, err = x.run(ctx, n, &known, input, f)
	if err != nil {
		return nil, nil, x.failed(ctx, known, err)
	}
	if known.Status == Succeeded { // it has before
		return out, inner, nil
	}
	return out, inner, x.succeeded(ctx, known, out)
}

// run does what a step is for.
func (x *execution) run(ctx context.Context, n *node, s *StepRun, input any, f frame) (out any, inner map[string]any, err error) {
	limited, cancel := ctx, func() {}
	if n.timeout > 0 && n.Kind != Wait {
		limited, cancel = context.WithTimeout(ctx, n.timeout)
	}
	defer cancel()
	switch n.Kind {
	case Map:
		return input, nil, nil
	case Wait:
		return nil, nil, x.wait(ctx, n, *s)
	case Choose:
		out, inner, err = x.choose(limited, n, s, f)
	case Parallel:
		out, inner, err = x.parallel(limited, n, s, f)
	case ForEach:
		out, err = x.forEach(limited, n, s, input, f)
	case Nested:
		out, err = x.nested(limited, n, s, input, f)
	default:
		out, err = x.call(limited, n, s, input)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil && !errors.Is(err, errWaits) {
		err = fault.Wrap(fault.Deadline, err, "step %s did not end within %v", s.Path, n.timeout)
	}
	return out, inner, err
}

// recorded returns what is known of a step.
func (x *execution) recorded(path string) (StepRun, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, ok := x.done[path]
	return s, ok
}

// memoryFactor is how many bytes of memory a byte of a step's input and output takes, as a text and
// as the values of expressions.
const memoryFactor = 4

// save stores the state of a step. Errors: storeError.
func (x *execution) save(ctx context.Context, s StepRun) error {
	x.mu.Lock()
	_, known := x.done[s.Path]
	tooMany := !known && len(x.done) >= maxRunSteps
	x.done[s.Path] = s
	x.mu.Unlock()
	if tooMany {
		return fault.New(fault.Exhausted, "a run may have %d steps, those of each item included", maxRunSteps)
	}
	if err := admission.Grow(ctx, memoryFactor*int64(s.added())); err != nil {
		return err
	}
	if err := saveStep(ctx, x.handle, x.runID, s); err != nil {
		if errors.Is(err, errRunTooLarge) {
			return err
		}
		return storeError{fmt.Errorf("store step %s: %w", s.Path, err)}
	}
	return nil
}

// started stores that a step has begun, with its input if that is not nil.
func (x *execution) started(ctx context.Context, s *StepRun, input json.RawMessage) error {
	if s.Status == Running || s.Status == Succeeded {
		return nil
	}
	s.Status, s.Input = Running, input
	return x.save(ctx, *s)
}

func (x *execution) succeeded(ctx context.Context, s StepRun, out any) error {
	raw, err := marshal(out)
	if err != nil {
		return x.failed(ctx, s, fault.Wrap(fault.Invalid, err, "the output of step %s is not JSON", s.Path))
	}
	if len(raw) > maxOutputBytes {
		return x.failed(ctx, s, fault.New(fault.Exhausted, "the output of step %s has %d bytes, but may have %d", s.Path, len(raw), maxOutputBytes))
	}
	s.Status, s.Output, s.Error, s.ErrorKind = Succeeded, raw, "", ""
	return x.save(ctx, s)
}

// failed stores the failure of a step and returns its error. What ends the attempt is no failure.
func (x *execution) failed(ctx context.Context, s StepRun, cause error) error {
	if stops(ctx, cause) {
		return cause
	}
	s.Status, s.Output = Failed, nil
	s.ErrorKind, s.Error = fault.KindOf(cause).String(), textlimit.Shorten(fault.Public(cause), maxTextBytes)
	if err := x.save(ctx, s); err != nil {
		return err
	}
	if fault.KindOf(cause) == fault.Internal {
		x.service.Logger.ErrorContext(ctx, "step of a workflow failed", "tenant", x.handle.Tenant(), "run", x.runID, "step", s.Path, "err", cause)
	}
	return cause
}

// recordedError returns the error of a step that failed in an earlier attempt.
func recordedError(s StepRun) error {
	for kind := fault.Internal; kind <= fault.Deadline; kind++ {
		if kind.String() == s.ErrorKind {
			return fault.New(kind, "%s", s.Error)
		}
	}
	return errors.New(s.Error)
}

// overdue returns errWaits for a step that waits, or its failure if it has waited too long.
func (x *execution) overdue(ctx context.Context, s StepRun) error {
	if s.WaitUntil != nil && time.Now().After(*s.WaitUntil) {
		s.WaitUntil = nil
		return x.failed(ctx, s, fault.New(fault.Deadline, "step %s was not resumed in time", s.Path))
	}
	return errWaits
}

func (x *execution) wait(ctx context.Context, n *node, s StepRun) error {
	until := time.Now().Add(n.timeout)
	s.Status, s.Message, s.Schema, s.WaitUntil = Waiting, n.Message, n.Schema, &until
	if err := x.save(ctx, s); err != nil {
		return err
	}
	return errWaits
}

// inputOf returns the input of a step.
func (x *execution) inputOf(ctx context.Context, n *node, f frame) (any, error) {
	if n.items != nil {
		return x.read(ctx, n.items, f)
	}
	return x.made(ctx, n.input, f)
}

// made returns the value of a mapping; without one, the output of the step before.
func (x *execution) made(ctx context.Context, m *mapping, f frame) (any, error) {
	switch {
	case m == nil:
		return f.previous, nil
	case m.whole != nil:
		value, err := x.read(ctx, m.whole, f)
		if errors.Is(err, errMissing) {
			return nil, nil
		}
		return value, err
	}
	object := make(map[string]any, len(m.fields))
	for name, s := range m.fields {
		value, err := x.read(ctx, s, f)
		if errors.Is(err, errMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, nil
}

// read returns the value of a source. Errors: errMissing; those of expressions; Invalid for a value
// that does not fit the schema of the source.
func (x *execution) read(ctx context.Context, s *source, f frame) (any, error) {
	var value any
	var err error
	ok := true
	switch {
	case s.expression != nil:
		value, err = s.expression.JSON(ctx, x.values(f))
	case len(s.Step) > 0:
		ok = false
		for _, id := range s.Step {
			if out, ran := f.steps[id]; ran {
				value, ok = template.Below(out, s.Path)
				break
			}
		}
	case s.InitData:
		value, ok = template.Below(f.input, s.Path)
	case s.RequestContextPath != "":
		value, ok = template.Below(any(x.context), s.RequestContextPath)
	default:
		value = s.value
	}
	switch {
	case err != nil:
		return nil, err
	case s.schema != nil:
		err = s.schema.Validate(s.field, value)
	}
	if err == nil && !ok {
		err = errMissing
	}
	return value, err
}

func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return schema.Decode(raw)
}

// choose runs the steps of the first branch whose condition is true.
func (x *execution) choose(ctx context.Context, n *node, s *StepRun, f frame) (any, map[string]any, error) {
	if err := x.started(ctx, s, nil); err != nil {
		return nil, nil, err
	}
	steps := n.other
	for _, b := range n.branches {
		is, err := b.when.Bool(ctx, x.values(f))
		if err != nil {
			return nil, nil, err
		}
		if is {
			steps = b.steps
			break
		}
	}
	if steps == nil {
		return f.previous, nil, nil
	}
	after, err := x.sequence(ctx, steps, f)
	return after.previous, after.steps, err
}

// parallel runs the steps of all branches at once. When one fails, the others are cancelled; when
// one waits, they go on.
func (x *execution) parallel(ctx context.Context, n *node, s *StepRun, f frame) (any, map[string]any, error) {
	if err := x.started(ctx, s, nil); err != nil {
		return nil, nil, err
	}
	after := make([]frame, len(n.branches))
	err := together(ctx, len(n.branches), maxConcurrency, func(ctx context.Context, i int) (err error) {
		after[i], err = x.sequence(ctx, n.branches[i].steps, f)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	out, inner := map[string]any{}, map[string]any{}
	for i, b := range n.branches {
		out[b.id] = after[i].previous
		maps.Copy(inner, after[i].steps)
	}
	return out, inner, nil
}

// forEach runs steps for each item of a list.
func (x *execution) forEach(ctx context.Context, n *node, s *StepRun, input any, f frame) (any, error) {
	items, ok := input.([]any)
	if !ok {
		return nil, fault.New(fault.Invalid, "step %s needs a list of items, but got another value: set items", s.Path)
	}
	if len(items) > maxItems {
		return nil, fault.New(fault.Exhausted, "step %s has %d items, but may have %d", s.Path, len(items), maxItems)
	}
	if err := x.started(ctx, s, nil); err != nil {
		return nil, err
	}
	out := make([]any, len(items))
	err := together(ctx, len(items), max(n.Concurrency, 1), func(ctx context.Context, i int) error {
		inside := f
		inside.prefix = fmt.Sprintf("%s[%d].", s.Path, i)
		inside.previous = items[i]
		inside.within = maps.Clone(f.within)
		if inside.within == nil {
			inside.within = map[string]any{}
		}
		inside.within[varItem], inside.within[varIndex] = items[i], json.Number(fmt.Sprint(i))
		after, err := x.sequence(ctx, n.inner, inside)
		out[i] = after.previous
		return err
	})
	return out, err
}

// together runs do for 0 to n-1, at most so many at once. The first error but errWaits ends the
// others; errWaits is returned when they have ended.
func together(ctx context.Context, n, atOnce int, do func(ctx context.Context, i int) error) error {
	group, inside := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var mu sync.Mutex
	waits := false
	for i := range n {
		if inside.Err() != nil {
			break
		}
		group.Go(func() error {
			err := do(inside, i)
			if errors.Is(err, errWaits) {
				mu.Lock()
				defer mu.Unlock()
				waits = true
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if waits {
		return errWaits
	}
	return ctx.Err()
}

// nested runs the steps of another workflow, always of the version that it began with.
func (x *execution) nested(ctx context.Context, n *node, s *StepRun, input any, f frame) (any, error) {
	if f.depth++; f.depth >= maxDepth {
		return nil, fault.New(fault.Precondition, "workflows run each other in a circle, or are nested deeper than %d", maxDepth)
	}
	if !access.BoundsOf(ctx).MayUseTool(ToolPrefix + n.Workflow) {
		return nil, workflows.NotFoundAmong(n.Workflow, nil)
	}
	w, ok, err := version(ctx, x.handle, n.Workflow, s.Version)
	if err != nil {
		return nil, storeError{err}
	}
	if !ok {
		return nil, workflows.NotFoundAmong(n.Workflow, nil)
	}
	raw, err := marshal(input)
	if err != nil {
		return nil, err
	}
	s.Version = w.Version
	if err := x.started(ctx, s, raw); err != nil {
		return nil, err
	}
	p, err := x.service.planOf(ctx, w)
	if err != nil {
		return nil, err
	}
	return x.workflow(ctx, p, input, frame{prefix: s.Path + "/", depth: f.depth})
}

// workflow runs the steps of a plan with an input, and returns the result.
func (x *execution) workflow(ctx context.Context, p *plan, input any, f frame) (any, error) {
	if p.input != nil {
		if err := p.input.Validate("input", input); err != nil {
			return nil, err
		}
	}
	f.input, f.previous = input, input
	after, err := x.sequence(ctx, p.steps, f)
	if err != nil {
		return nil, err
	}
	out, err := x.made(ctx, p.result, after)
	if err != nil || p.output == nil {
		return out, err
	}
	return out, p.output.Validate("output", out)
}
