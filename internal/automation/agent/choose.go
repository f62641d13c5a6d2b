package agent

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/expression"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// maxRenderedBytes bounds the instructions once their values are filled in.
const maxRenderedBytes = 64 << 10

// chosen is what holds of an agent for one request.
type chosen struct {
	instructions string
	model        string
	tools        []string // nil for the default ones
}

// choose applies the rules and fills in the instructions. Errors: Precondition for a condition that
// cannot be evaluated, and instructions that become too long.
func (s *Service) choose(ctx context.Context, a Agent) (c chosen, err error) {
	defer func() { err = unfit(a, err) }()
	values := valuesOf(ctx)
	if c.instructions, err = first(ctx, s.env, "rules.instructions", a.Rules.Instructions, values, a.Instructions); err != nil {
		return c, err
	}
	if c.model, err = first(ctx, s.env, "rules.model", a.Rules.Model, values, a.Model); err != nil {
		return c, err
	}
	if c.tools, err = first(ctx, s.env, "rules.tools", a.Rules.Tools, values, a.Tools); err != nil {
		return c, err
	}
	parsed, err := template.Parse("instructions", cmp.Or(c.instructions, defaultInstructions))
	if err != nil {
		return c, err
	}
	c.instructions, err = parsed.Render(template.NewBudget("instructions", maxRenderedBytes), template.ShownValues(ctx), template.Text)
	return c, err
}

// unfit returns the error of a definition that does not work for a request: what is Invalid in it is
// no mistake of who asks.
func unfit(a Agent, err error) error {
	if fault.KindOf(err) != fault.Invalid {
		return err
	}
	return fault.Wrap(fault.Precondition, err, "agent %q does not work: %s", a.Name, fault.Public(err))
}

// first returns the value of the first rule that applies.
func first[T any](ctx context.Context, env *expression.Environment, field string, rules []Rule[T], values map[string]any, otherwise T) (T, error) {
	for i, rule := range rules {
		compiled, err := env.For(ctx).CompileCondition(fmt.Sprintf("%s[%d].when", field, i), rule.When)
		if err != nil {
			return otherwise, err
		}
		applies, err := compiled.Bool(ctx, values)
		if err != nil {
			return otherwise, err
		}
		if applies && rule.Value != nil {
			return *rule.Value, nil
		}
	}
	return otherwise, nil
}

// valuesOf returns the variables of conditions, without secrets.
func valuesOf(ctx context.Context) map[string]any {
	given := map[string]any{}
	values := map[string]any{"context": given, "tenant": "", "subject": "", "server": "", "claims": map[string]any{}, "key": map[string]any{}}
	r, ok := access.FromContext(ctx)
	if !ok {
		return values
	}
	for _, v := range r.Context() {
		if !v.Secret {
			given[v.Name] = v.Value
		}
	}
	values["tenant"], values["subject"], values["server"] = string(r.Tenant), r.Principal.Subject, r.Server
	if r.Principal.Claims != nil {
		values["claims"] = r.Principal.Claims
	}
	if r.Principal.Attributes != nil {
		values["key"] = r.Principal.Attributes
	}
	return values
}
