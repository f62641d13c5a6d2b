package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

const (
	// maxTime bounds the time of all policies of a phase of a call. A call that they take longer for is denied.
	maxTime = 5 * time.Second
	// decodeCost is the memory that a byte of JSON takes when it is decoded, about.
	decodeCost = 8
	// maxShownBytes bounds the arguments that a user is shown.
	maxShownBytes = 2000
)

// subject is a call to which policies are applied.
type subject struct {
	tool      toolset.Definition
	arguments any // decoded
	caller    map[string]any
	server    string
	result    *result // nil before the call
}

// result is the result of a call.
type result struct {
	toolset.Result
	structured any    // decoded; nil for none
	text       string // of an error, or as conditions see it
	isError    bool
}

// values returns the variables of expressions.
func (c *subject) values() map[string]any {
	hint := func(said *bool, otherwise bool) bool {
		if said == nil {
			return otherwise
		}
		return *said
	}
	hints := c.tool.Annotations
	values := map[string]any{
		"tool": map[string]any{
			"name": c.tool.Source, "kind": c.tool.Kind, "host": c.tool.Host, "builtin": c.tool.Builtin,
			// What is not known is as MCP has it.
			"readOnly": hint(hints.ReadOnlyHint, false), "destructive": hint(hints.DestructiveHint, true),
			"idempotent": hint(hints.IdempotentHint, false), "openWorld": hint(hints.OpenWorldHint, true),
		},
		"arguments": c.arguments, "caller": c.caller, "server": c.server,
	}
	if r := c.result; r != nil {
		said := map[string]any{"text": r.text, "isError": r.isError}
		if r.structured != nil {
			said["structured"] = r.structured
		}
		values["result"] = said
	}
	return values
}

// callerOf returns the caller of a request as expressions see it.
func callerOf(r *access.Request) map[string]any {
	scopes := []any{}
	for _, scope := range r.Principal.AllScopes() {
		scopes = append(scopes, string(scope))
	}
	values := map[string]any{}
	for _, v := range r.Context() {
		if !v.Secret {
			values[v.Name] = v.Value
		}
	}
	object := func(m map[string]any) map[string]any {
		if m == nil {
			m = map[string]any{}
		}
		return m
	}
	return map[string]any{
		"subject": r.Principal.Subject, "issuer": r.Principal.Issuer, "scopes": scopes,
		"claims": object(r.Principal.Claims), "attributes": object(r.Principal.Attributes), "context": values,
	}
}

// decision is what a rule does to a call.
type decision struct {
	rule     *rule
	applies  bool
	redacted bool
	failed   error // why the condition or the redaction could not be evaluated
}

// apply applies rules to a call, one after the other, and returns what each does. It ends with the first that
// denies, which is the last decision then. Errors: that of ctx, and those that say nothing about a rule.
func (s *Service) apply(ctx context.Context, rules []*rule, c *subject) (all []decision, err error) {
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	for _, r := range rules {
		d := decision{rule: r, failed: r.invalid}
		if d.failed == nil {
			d.applies, d.failed = r.holds(limited, c)
		}
		if d.failed == nil && d.applies && r.Action == Redact {
			d.redacted, d.failed = s.redact(limited, r, c)
		}
		if d.failed != nil {
			if ctx.Err() != nil {
				return all, ctx.Err()
			}
			if kind := fault.KindOf(d.failed); kind == fault.Exhausted || kind == fault.Unavailable { // of the service, not of the rule
				return all, d.failed
			}
		}
		all = append(all, d)
		if d.denies() {
			break
		}
	}
	return all, nil
}

// holds reports whether the condition of a rule is true.
func (r *rule) holds(ctx context.Context, c *subject) (bool, error) {
	if r.condition == nil {
		return true, ctx.Err()
	}
	return r.condition.Bool(ctx, c.values())
}

func (d decision) denies() bool { return d.failed != nil || d.applies && d.rule.Action == Deny }

// reason returns why a rule that could not be evaluated could not, without what callers must not see.
func (d decision) reason() string {
	switch {
	case d.failed == nil:
		return ""
	case errors.Is(d.failed, context.DeadlineExceeded):
		return fmt.Sprintf("it takes longer than %s", maxTime)
	}
	return fault.Public(d.failed)
}

// denial returns the error for a call that a decision denies. The reason of a failure may show values that others
// have redacted, so that only those who manage policies get it, by Explain.
func (d decision) denial(phase Phase, tool string) *fault.Error {
	what := "does not allow this call of"
	if phase == After {
		what = "withholds the result of this call of"
	}
	if d.failed != nil {
		return fault.New(fault.Denied, "policy %q %s %q, because it could not be evaluated: ask who manages the policies of this tenant", d.rule.Name, what, tool)
	}
	return fault.New(fault.Denied, "policy %q %s %q%s", d.rule.Name, what, tool, after(": ", d.rule.Message))
}

func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// redact replaces what a rule names in the arguments or in the result of a call.
func (s *Service) redact(ctx context.Context, r *rule, c *subject) (changed bool, err error) {
	x := &redactor{rule: r, ctx: ctx, enter: s.enter}
	if c.result == nil {
		c.arguments = x.value(c.arguments)
	} else {
		c.result.redact(x)
	}
	return x.changed, x.err
}

// redact replaces what a redactor finds in a result.
func (r *result) redact(x *redactor) {
	if r.isError {
		r.text = x.text(r.text, 0)
		return
	}
	found := x.changed
	x.changed = false
	if r.structured != nil {
		r.structured = x.atPaths(r.structured)
	}
	if x.changed { // the text has the same values, in words that are not known
		r.Text, r.Content = x.encode(r.structured), nil
	}
	x.changed = x.changed || found
	if r.structured != nil {
		r.structured = x.inTexts(r.structured, 0)
		r.Structured = json.RawMessage(x.encode(r.structured))
	}
	r.Text = x.whole(r.Text)
	if r.Content != nil {
		r.Content = x.blocks(r.Content)
	}
	if r.Meta != nil {
		r.Meta, _ = x.inTexts(r.Meta, 0).(map[string]any)
	}
	r.text = r.shown()
}

// whole returns a text of a result with what the paths name replaced where it is JSON, and what the patterns match.
func (x *redactor) whole(text string) string {
	if value, ok := jsonIn(text); ok && len(x.paths) > 0 {
		if redacted, changed := x.inside(value, x.atPaths); changed {
			text = redacted
		}
	}
	return x.text(text, 0)
}

// blocks returns content blocks with their texts redacted.
func (x *redactor) blocks(raw json.RawMessage) json.RawMessage {
	decoded, err := schema.Decode(raw)
	list, ok := decoded.([]any)
	if err != nil || !ok {
		x.err = fault.New(fault.Precondition, "the content of the result is no list of blocks")
		return nil
	}
	for i, item := range list {
		block, ok := item.(map[string]any)
		if !ok {
			list[i] = x.inTexts(item, 0)
			continue
		}
		for name, value := range block {
			text, isText := value.(string)
			switch {
			case name == "type", name == "mimeType", name == "data" && block["type"] != "text": // base64
			case name == "text" && isText:
				block[name] = x.whole(text)
			case name == "resource":
				block[name] = x.resource(value)
			default:
				block[name] = x.inTexts(value, 0)
			}
		}
	}
	return json.RawMessage(x.encode(list))
}

// resource returns an embedded resource with its texts redacted.
func (x *redactor) resource(value any) any {
	resource, ok := value.(map[string]any)
	if !ok {
		return x.inTexts(value, 0)
	}
	for name, value := range resource {
		text, isText := value.(string)
		switch {
		case name == "blob", name == "mimeType":
		case name == "text" && isText:
			resource[name] = x.whole(text)
		default:
			resource[name] = x.inTexts(value, 0)
		}
	}
	return resource
}

// shown returns the text of a result: of its content blocks, if it has some.
func (r *result) shown() string {
	if r.Content == nil {
		return r.Text
	}
	var blocks []struct {
		Text     string
		Resource struct{ Text string }
	}
	if err := json.Unmarshal(r.Content, &blocks); err != nil {
		return r.Text
	}
	var texts []string
	for _, b := range blocks {
		for _, text := range []string{b.Text, b.Resource.Text} {
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// decodeObject returns decoded JSON; an empty object for none. Errors: Invalid, naming the field; those of
// admission.Grow.
func decodeObject(ctx context.Context, field string, raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	if err := admission.Grow(ctx, decodeCost*int64(len(raw))); err != nil {
		return nil, err
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return nil, fault.Field(field, "%s", err)
	}
	return value, nil
}

// Before implements toolset.Policies.
func (s *Service) Before(ctx context.Context, d toolset.Definition, arguments json.RawMessage) (toolset.Verdict, error) {
	var verdict toolset.Verdict
	r, rules, err := s.rulesFor(ctx, Before, d.Source)
	if err != nil || len(rules) == 0 {
		return verdict, err
	}
	c := &subject{tool: d, caller: callerOf(r), server: r.Server}
	if c.arguments, err = decodeObject(ctx, "arguments", arguments); err != nil {
		return verdict, err
	}
	decisions, err := s.apply(ctx, rules, c)
	if err != nil {
		return verdict, err
	}
	if err := s.note(ctx, Before, d, decisions); err != nil {
		return verdict, err
	}
	// What was decided about is what the tool gets: other readers may take the first of two members of a name.
	if verdict.Arguments, err = json.Marshal(c.arguments); err != nil {
		return verdict, err
	}
	verdict.Approval, err = s.approval(d, c, decisions)
	return verdict, err
}

// After implements toolset.Policies.
func (s *Service) After(ctx context.Context, d toolset.Definition, arguments json.RawMessage, got toolset.Result, failed error) (toolset.Result, error) {
	var said *fault.Error
	if failed != nil && (fault.KindOf(failed) == fault.Internal || ctx.Err() != nil) {
		return got, failed // it tells nothing
	}
	r, rules, err := s.rulesFor(ctx, After, d.Source)
	if err != nil {
		return toolset.Result{}, err
	}
	if len(rules) == 0 {
		return got, failed
	}
	c := &subject{tool: d, caller: callerOf(r), server: r.Server, result: &result{Result: got, isError: failed != nil}}
	if c.arguments, err = decodeObject(ctx, "arguments", arguments); err != nil {
		return toolset.Result{}, err
	}
	if err := c.result.read(ctx, failed); err != nil {
		return toolset.Result{}, err
	}
	decisions, err := s.apply(ctx, rules, c)
	if err != nil {
		return toolset.Result{}, err
	}
	if err := s.note(ctx, After, d, decisions); err != nil {
		return toolset.Result{}, err
	}
	redacted := slices.ContainsFunc(decisions, func(d decision) bool { return d.redacted })
	switch {
	case !redacted:
		return got, failed
	case failed == nil:
		return c.result.Result, nil
	}
	changed := fault.New(fault.KindOf(failed), "%s", c.result.text) // without fields, which say the same
	if errors.As(failed, &said) {
		changed.RetryAfter, changed.Quota = said.RetryAfter, said.Quota
	}
	return toolset.Result{}, changed
}

// read decodes what conditions and redactions see of a result.
func (r *result) read(ctx context.Context, failed error) (err error) {
	if r.isError {
		r.text = fault.Public(failed)
		return nil
	}
	if r.Structured != nil {
		if r.structured, err = decodeObject(ctx, "result", r.Structured); fault.KindOf(err) == fault.Invalid {
			err = fault.New(fault.Precondition, "policies cannot read the result of this call: %s", fault.Public(err))
		}
	}
	r.text = r.shown()
	return err
}

// rulesFor returns the rules for calls of a tool by the caller in ctx, who is nil without any.
func (s *Service) rulesFor(ctx context.Context, phase Phase, tool string) (*access.Request, []*rule, error) {
	r, ok := access.FromContext(ctx)
	if !ok || r.Tenant == "" {
		return nil, nil, nil
	}
	all, err := s.rules(ctx, r.Tenant)
	var found []*rule
	for _, rule := range all {
		if rule.isFor(phase, tool) {
			found = append(found, rule)
		}
	}
	return r, found, err
}

// note records decisions, and returns the error of a call that is denied.
func (s *Service) note(ctx context.Context, phase Phase, tool toolset.Definition, decisions []decision) error {
	for _, d := range decisions {
		switch {
		case d.denies():
			s.record(ctx, d.rule.Name, tool.Source, Denied)
			return d.denial(phase, tool.Name)
		case d.redacted:
			s.record(ctx, d.rule.Name, tool.Source, Redacted)
		}
	}
	return nil
}

// approval returns the approval that a call needs by decisions, nil for none.
func (s *Service) approval(tool toolset.Definition, c *subject, decisions []decision) (*toolset.Approval, error) {
	var asking []*rule
	for _, d := range decisions {
		if d.applies && d.rule.Action == Approve {
			asking = append(asking, d.rule)
		}
	}
	if len(asking) == 0 {
		return nil, nil
	}
	arguments, err := json.Marshal(c.arguments) // in the order of names
	if err != nil {
		return nil, err
	}
	message := question(tool, asking, arguments)
	bound := []string{tool.Source, string(arguments)}
	var names []string
	for _, r := range asking {
		bound = append(bound, r.ETag())
		names = append(names, r.Name)
	}
	return &toolset.Approval{
		Message: message, Key: hashOf(bound),
		Decided: func(ctx context.Context, approved bool) {
			did := Declined
			if approved {
				did = Approved
			}
			for _, name := range names {
				s.record(ctx, name, tool.Source, did)
			}
		},
		Refused: func(why string) error {
			return fault.New(fault.Denied, "policy %q asks for an approval of this call of %q%s: %s", names[0], tool.Name, after(", ", asking[0].Message), why)
		},
	}, nil
}

// question returns what a user is asked who has to approve a call.
func question(tool toolset.Definition, asking []*rule, arguments []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Approve the call of %s?", tool.Name)
	for _, r := range asking {
		if r.Message != "" {
			b.WriteString("\n" + r.Message)
		}
	}
	b.WriteString("\nArguments: " + textlimit.OneLine(string(arguments), maxShownBytes))
	return b.String()
}
