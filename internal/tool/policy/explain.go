package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// Question is a call that is not made.
type Question struct {
	Tool      toolset.Definition
	Arguments json.RawMessage // an object; nil for none
	// Result is what the call would return, IsError that its text is the one of an error; nil for nothing.
	Result  *toolset.Result
	IsError bool
	// Caller replaces members of the caller that expressions see; nil for none.
	Caller map[string]any
	// Server is the server that the call comes through; empty for that of the request.
	Server string
}

// Explanation is what the policies of a tenant do to a call.
type Explanation struct {
	Outcome   Verdict
	Message   string // of a denied call, or for a user who is asked
	Decisions []Decision
	Arguments json.RawMessage // with which the tool is called
	Result    *toolset.Result // for the caller; nil if none was given, or it is withheld
}

// Verdict is the outcome of a call.
type Verdict string

// The verdicts.
const (
	Allowed       Verdict = "allowed"
	NotAllowed    Verdict = "denied"
	NeedsApproval Verdict = "approval"
)

// Decision is what a policy does to a call.
type Decision struct {
	Policy   Policy
	Applies  bool
	Redacted bool
	Error    string // why it could not be evaluated; empty if it could
}

// Explain says what the policies do to a call, and records nothing. Errors: Invalid; Denied with a mandatory
// filter or bounds.
func (s *Service) Explain(ctx context.Context, q Question) (Explanation, error) {
	r, err := access.RequireUnfiltered(ctx, access.Read)
	if err != nil {
		return Explanation{}, err
	}
	c := &subject{tool: q.Tool, caller: callerOf(r), server: r.Server}
	if q.Server != "" {
		c.server = q.Server
	}
	for name, value := range q.Caller {
		if _, known := c.caller[name]; !known {
			return Explanation{}, fault.Field("caller."+name, "is unknown; known are %s", strings.Join(slices.Sorted(maps.Keys(c.caller)), ", "))
		}
		c.caller[name] = value
	}
	if c.arguments, err = decodeObject(ctx, "arguments", q.Arguments); err != nil {
		return Explanation{}, err
	}
	e := Explanation{Outcome: Allowed}
	decisions, err := s.explain(ctx, &e, Before, c)
	if err != nil {
		return e, err
	}
	if e.Arguments, err = json.Marshal(c.arguments); err != nil {
		return e, err
	}
	approval, err := s.approval(q.Tool, c, decisions)
	if err != nil || e.Outcome == NotAllowed {
		return e, err
	}
	if approval != nil {
		e.Outcome, e.Message = NeedsApproval, approval.Message
	}
	if q.Result == nil {
		return e, nil
	}
	c.result = &result{Result: *q.Result, isError: q.IsError}
	var failed error
	if q.IsError {
		failed = fault.New(fault.Precondition, "%s", q.Result.Text)
	}
	if err := c.result.read(ctx, failed); err != nil {
		return e, err
	}
	before := e.Outcome
	if _, err = s.explain(ctx, &e, After, c); err != nil || e.Outcome == NotAllowed && before != NotAllowed {
		return e, err
	}
	if q.IsError {
		c.result.Text = c.result.text
	}
	e.Result = &c.result.Result
	return e, nil
}

// explain adds the decisions of a phase to an explanation.
func (s *Service) explain(ctx context.Context, e *Explanation, phase Phase, c *subject) ([]decision, error) {
	_, rules, err := s.rulesFor(ctx, phase, c.tool.Source)
	if err != nil {
		return nil, err
	}
	decisions, err := s.apply(ctx, rules, c)
	for _, d := range decisions {
		e.Decisions = append(e.Decisions, Decision{Policy: d.rule.Policy, Applies: d.applies, Redacted: d.redacted, Error: d.reason()})
		if d.denies() {
			e.Outcome, e.Message = NotAllowed, d.denial(phase, c.tool.Name).Message
		}
	}
	return decisions, err
}

// hashOf returns a hash of texts, whose lengths come first so that they cannot run into each other.
func hashOf(texts []string) string {
	sum := sha256.New()
	for _, text := range texts {
		sum.Write([]byte(strconv.Itoa(len(text)) + ":" + text))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
