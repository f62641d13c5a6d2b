package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// Limits of calls.
const (
	maxSameCalls     = 2  // of one tool with equal arguments
	maxStepCalls     = 16 // of one turn
	maxParallelCalls = 4  // of tools that change nothing
)

// pendingCall is a call of a tool that a model asks for.
type pendingCall struct {
	number    int // in the run, from 1
	tool      toolset.Definition
	arguments json.RawMessage // nil if the call is not made

	text   string // what the model reads
	result toolset.Result
	err    error
	took   time.Duration
}

// runCalls runs the calls that a reply asks for and adds their results to the messages. Calls one
// after the other that change nothing run at once.
func (r *run) runCalls(ctx context.Context, reply llm.Reply) error {
	said := []llm.Message{{Role: llm.Assistant, Text: reply.Text, Calls: reply.Calls}}
	for calls := reply.Calls; len(calls) > 0; {
		n := 1
		if r.readsOnly(calls[0]) {
			for n < len(calls) && r.readsOnly(calls[n]) {
				n++
			}
		}
		pending := make([]*pendingCall, n)
		for i, call := range calls[:n] {
			pending[i] = r.prepare(call, len(said) > maxStepCalls)
			said = append(said, llm.Message{Role: llm.ToolRole, CallID: call.ID})
		}
		if err := r.runAll(ctx, pending); err != nil {
			return err
		}
		for i, p := range pending { // in their order, in which passages are numbered
			said[len(said)-n+i].Text = r.readCall(p)
		}
		calls = calls[n:]
	}
	return r.say(ctx, said...)
}

// readsOnly reports whether a call changes nothing.
func (r *run) readsOnly(call llm.ToolCall) bool {
	d := r.tools[call.Name]
	return d.Annotations.ReadOnlyHint != nil && *d.Annotations.ReadOnlyHint
}

// prepare checks a call. One that is not made has a text for the model, which says why.
func (r *run) prepare(call llm.ToolCall, tooMany bool) *pendingCall {
	r.usage.ToolCalls++
	p := &pendingCall{number: r.usage.ToolCalls, tool: r.tools[call.Name]}
	arguments := json.RawMessage(cmp.Or(strings.TrimSpace(call.Arguments), "{}"))
	_, invalid := schema.Decode(arguments)
	key := call.Name + " " + string(arguments)
	switch {
	case tooMany:
		p.text = problem("not called: at most %d calls are made in one step", maxStepCalls)
	case p.tool.Name == "":
		p.text = problem("there is no tool %q; the tools are %s", textlimit.Shorten(call.Name, 100), strings.Join(r.toolNames(), ", "))
	case invalid != nil:
		p.text = problem("the arguments of %s: %s", call.Name, invalid)
	case r.calls[key] >= maxSameCalls:
		p.text = problem("%s was called with these arguments already: use its result, or answer", call.Name)
	default:
		r.calls[key]++
		p.arguments = arguments
	}
	return p
}

func problem(format string, args ...any) string {
	return llm.JSON(map[string]any{"error": fmt.Sprintf(format, args...)})
}

// runAll makes calls at once. Errors: those of Question.OnEvent; that of ctx. What goes wrong in a
// call is in the call.
func (r *run) runAll(ctx context.Context, pending []*pendingCall) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan *pendingCall, len(pending))
	var group errgroup.Group
	defer func() { _ = group.Wait() }() // the calls return no errors
	defer cancel()
	group.SetLimit(maxParallelCalls)
	made := 0
	for _, p := range pending {
		if p.arguments == nil {
			continue
		}
		made++
		if err := r.tell(Event{Kind: ToolCalled, Call: p.number, Tool: p.tool.Name, Arguments: p.arguments}); err != nil {
			return err
		}
		group.Go(func() error {
			began := time.Now()
			p.result, p.err = r.service.Tools().Call(r.callContext(ctx, p.tool), toolset.View{}, toolset.Call{Name: p.tool.Name, Arguments: p.arguments, Form: toolset.StructuredForm})
			p.took = time.Since(began)
			ended <- p
			return nil
		})
	}
	for range made {
		p := <-ended
		if ctx.Err() != nil {
			return cmp.Or(p.err, ctx.Err())
		}
		event := Event{Kind: ToolEnded, Call: p.number, Tool: p.tool.Name, Took: p.took}
		if p.err != nil {
			event.Error = fault.Public(p.err)
			if fault.KindOf(p.err) == fault.Internal {
				r.service.Logger.ErrorContext(ctx, "an agent's call of a tool failed", "tool", p.tool.Name, "err", p.err)
			}
		}
		if err := r.tell(event); err != nil {
			return err
		}
	}
	return nil
}

// readCall returns what the model reads of a call.
func (r *run) readCall(p *pendingCall) string {
	switch {
	case p.arguments == nil:
		return p.text
	case p.err != nil:
		return problem("%s", fault.Public(p.err))
	}
	return r.read(p.tool, p.arguments, p.result)
}

// workflowKind is the kind of the tools that run workflows.
const workflowKind = "workflow"

// callContext returns the context of a call. The steps of a workflow are bound by the tools of the
// caller, not by those of the agent.
func (r *run) callContext(ctx context.Context, d toolset.Definition) context.Context {
	caller, ok := access.FromContext(ctx)
	if !ok || d.Kind != workflowKind {
		return ctx
	}
	changed := *caller
	changed.Bounds.Tools = nil
	if r.bound != nil {
		changed.Bounds.Tools = append(slices.Clone(r.bound), d.Name)
	}
	return access.NewContext(ctx, &changed)
}

func (r *run) toolNames() []string {
	names := make([]string, len(r.offered))
	for i, t := range r.offered {
		names[i] = t.Name
	}
	return names
}
