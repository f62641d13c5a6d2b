package toolset

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Policies decide about the calls of tools of the caller's tenant.
type Policies interface {
	// Before decides about a call before it is made, whose arguments fit the input schema. Errors: Denied; those of
	// the database.
	Before(ctx context.Context, d Definition, arguments json.RawMessage) (Verdict, error)
	// After decides about the result of a call, or about its error. It returns what the caller gets. Errors: Denied;
	// failed, or what is left of it; those of the database.
	After(ctx context.Context, d Definition, arguments json.RawMessage, r Result, failed error) (Result, error)
}

// Verdict is what policies say about a call that they do not deny.
type Verdict struct {
	// Arguments are those with which the tool is called; nil for those that were given.
	Arguments json.RawMessage
	// Approval is what the user has to approve; nil for nothing.
	Approval *Approval
}

// Approval is a question to the user of a client, who has to approve a call.
type Approval struct {
	Message string
	// Key stands for the call with its arguments, and for what asks for the approval.
	Key string
	// Decided hears of the decision.
	Decided func(ctx context.Context, approved bool)
	// Refused returns the error for a call that is not approved.
	Refused func(why string) error
}

// Origin is the call of which a result is, if another call returns it.
type Origin struct {
	Tool      string // the name outside of views
	Arguments json.RawMessage
}

const (
	// approvalKey is the key of the request to approve a call, and the member of its answer.
	approvalKey = "approve"
	// approvalState is what the state of a call begins with that policies have to do with.
	approvalState = "policy:"
	// maxApprovalAge is how long an approval is taken after it was asked for.
	maxApprovalAge = 10 * time.Minute
)

// approvals is the state of a call that was to be approved.
type approvals struct {
	Asked    string    `json:"asked,omitempty"` // the key of the approval that the client is asked for
	At       time.Time `json:"at"`              // when it was asked
	Approved string    `json:"approved,omitempty"`
	State    string    `json:"state,omitempty"` // of the tool
}

func (a approvals) encode() (string, error) {
	raw, err := json.Marshal(a)
	return approvalState + string(raw), err
}

// takeApprovals returns what the state of a call says about approvals, and the call with the state of the tool alone.
func takeApprovals(c Call) (approvals, Call) {
	var a approvals
	if c.Client == nil || !strings.HasPrefix(c.Client.State, approvalState) {
		return a, c
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(c.Client.State, approvalState)), &a); err != nil {
		return approvals{}, c
	}
	client := *c.Client
	client.State = a.State
	c.Client = &client
	return a, c
}

// answer takes the answer to the approval out of the call.
func (a approvals) answer(c Call) (answer json.RawMessage, rest Call) {
	client := *c.Client
	client.Responses = map[string]json.RawMessage{}
	for key, response := range c.Client.Responses {
		if key == approvalKey {
			answer = response
		} else {
			client.Responses[key] = response
		}
	}
	c.Client = &client
	return answer, c
}

// approves reports whether an answer in the JSON of MCP approves.
func approves(answer json.RawMessage) bool {
	content, ok := Accepted(answer)
	var said map[string]any
	return ok && json.Unmarshal(content, &said) == nil && said[approvalKey] == true
}

// approvalForm are the parameters of elicitation/create that ask for an approval.
func approvalForm(message string) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"mode": "form", "message": message, "requestedSchema": map[string]any{
		"type": "object", "required": []string{approvalKey},
		"properties": map[string]any{approvalKey: map[string]any{"type": "boolean", "title": "Approve", "description": "Whether the call is made."}},
	}})
}

// approve asks for an approval unless the call brings it. It returns what the client is asked, nil if the call may be
// made. Errors: those of Approval.Refused.
func (s *Set) approve(ctx context.Context, need *Approval, a *approvals, c *Call) (*Asked, error) {
	fresh := time.Since(a.At) < maxApprovalAge
	switch {
	case fresh && a.Approved == need.Key:
		return nil, nil
	case fresh && a.Asked == need.Key:
		var answer json.RawMessage
		answer, *c = a.answer(*c)
		if approved := approves(answer); !approved {
			need.Decided(ctx, false)
			return nil, need.Refused("the user did not approve it")
		}
		need.Decided(ctx, true)
		a.Asked, a.Approved = "", need.Key
		return nil, nil
	}
	form, err := approvalForm(need.Message)
	if err != nil {
		return nil, err
	}
	if c.Client != nil && c.CanAsk {
		raw, err := json.Marshal(map[string]any{"method": "elicitation/create", "params": form})
		if err != nil {
			return nil, err
		}
		state, err := approvals{Asked: need.Key, At: time.Now()}.encode()
		return &Asked{Requests: map[string]json.RawMessage{approvalKey: raw}, State: state}, err
	}
	ask := userOf(ctx)
	if ask == nil {
		need.Decided(ctx, false)
		return nil, need.Refused("this call comes through no client that can ask its user; call the tool with an MCP client that has the capability elicitation")
	}
	answer, err := ask(ctx, form)
	if approved := err == nil && approves(answer); !approved {
		need.Decided(ctx, false)
		return nil, need.Refused("the user did not approve it")
	}
	need.Decided(ctx, true)
	return nil, nil
}

// keep returns the result of a call with its approvals in the state that comes back with answers. A state of the tool
// that looks like one of approvals is none.
func (a approvals) keep(r Result) (Result, error) {
	if r.Asked == nil || a.Approved == "" && !strings.HasPrefix(r.Asked.State, approvalState) {
		return r, nil
	}
	asked := *r.Asked
	a.State = asked.State
	var err error
	asked.State, err = a.encode()
	r.Asked = &asked
	return r, err
}

type userKey struct{}

// withUser returns a context for calls within a call, whose user they may ask.
func withUser(ctx context.Context, c Call) context.Context {
	if c.Elicit == nil {
		return ctx
	}
	return context.WithValue(ctx, userKey{}, c.Elicit)
}

// userOf returns the function that asks the user of the client of this call, or of the call that it is within; nil
// for none.
func userOf(ctx context.Context) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	ask, _ := ctx.Value(userKey{}).(func(context.Context, json.RawMessage) (json.RawMessage, error))
	return ask
}

// run runs a call whose arguments fit, as far as the policies let it.
func (s *Set) run(ctx context.Context, t *tool, c Call, arguments accepted) (Result, error) {
	if s.policies == nil {
		return s.observedRun(ctx, t, c, arguments)
	}
	known, c := takeApprovals(c)
	verdict, err := s.policies.Before(ctx, t.definition, arguments.json)
	if err != nil {
		return Result{}, err
	}
	if verdict.Arguments != nil { // which must fit too
		c.Arguments = verdict.Arguments
		fitting, err := t.arguments.accept(Call{Arguments: verdict.Arguments})
		if err != nil {
			return Result{}, err
		}
		arguments.json = fitting.json
	}
	if verdict.Approval != nil {
		if asked, err := s.approve(ctx, verdict.Approval, &known, &c); asked != nil || err != nil {
			return Result{Asked: asked}, err
		}
	}
	checked := *t
	checked.run = func(ctx context.Context, c Call, arguments accepted) (Result, error) {
		result, err := t.run(ctx, c, arguments)
		return s.judged(ctx, t.definition, arguments.json, result, err)
	}
	result, err := s.observedRun(ctx, &checked, c, arguments)
	if err != nil {
		return result, err
	}
	return known.keep(result)
}

// judged returns the result of a call as far as policies let its caller have it.
func (s *Set) judged(ctx context.Context, d Definition, arguments json.RawMessage, r Result, failed error) (Result, error) {
	if failed == nil && (r.Question != nil || r.Asked != nil || r.Task != nil) {
		return r, nil // it is not the result yet
	}
	origin := r.Origin
	r, err := s.policies.After(ctx, d, arguments, r, failed)
	if err != nil || origin == nil || origin.Tool == d.Source {
		return r, err
	}
	return s.policies.After(ctx, s.toolNamed(ctx, origin.Tool), origin.Arguments, r, nil)
}

// toolNamed returns the definition of a tool that the caller may not be able to call.
func (s *Set) toolNamed(ctx context.Context, name string) Definition {
	if t, err := s.own.find(ctx, name); err == nil && t != nil {
		return t.definition
	}
	return Definition{Name: name, Source: name}
}

// judgedTask returns a task of a source with its result as far as policies let its caller have it.
func (s *Set) judgedTask(ctx context.Context, t Task) Task {
	if s.policies == nil || t.Status != TaskCompleted || t.Origin == nil {
		return t
	}
	t.Result, t.Err = s.judged(ctx, s.toolNamed(ctx, t.Origin.Tool), t.Origin.Arguments, t.Result, t.Err)
	return t
}
