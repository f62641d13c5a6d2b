package quota

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Plan is a named set of quotas and features that tenants may have.
type Plan struct {
	Name string `json:"name"`
	// Settings are quotas and other keys of a tenant's settings, for tenants whose own settings do not have them.
	Settings map[string]any `json:"settings"`
	// Without are the features that the tenants do not have.
	Without []Feature `json:"without"`
	// Models are patterns of the models at endpoints that the tenants may use, such as openai/gpt-*-mini. Empty allows all.
	Models []string `json:"models"`
}

// Feature is something that a plan may leave out.
type Feature string

// The features.
const (
	Agents        Feature = "agents"
	Connectors    Feature = "connectors"
	Workflows     Feature = "workflows"
	ExternalTools Feature = "externalTools" // tools and steps that call other services
)

// Features are all features.
var Features = []Feature{Agents, Connectors, ExternalTools, Workflows}

// settings returns the settings of a plan, which may be nil.
func (p *Plan) settings() map[string]any {
	if p == nil {
		return nil
	}
	return p.Settings
}

// Check returns an error unless the tenant may use a feature. Errors: Denied, naming the feature and the plan.
func (l Limits) Check(f Feature) error {
	if l.Plan == nil || !slices.Contains(l.Plan.Without, f) {
		return nil
	}
	return l.refuse(fmt.Sprintf("the feature %s", f))
}

// CheckModel returns an error unless the tenant may use a model at an endpoint. matches says whether a name matches a
// pattern. Errors: Denied, naming the model and the plan.
func (l Limits) CheckModel(model string, matches func(pattern, name string) bool) error {
	if l.Plan == nil || len(l.Plan.Models) == 0 || slices.ContainsFunc(l.Plan.Models, func(p string) bool { return matches(p, model) }) {
		return nil
	}
	return l.refuse(fmt.Sprintf("the model %q", model))
}

func (l Limits) refuse(what string) error {
	return fault.Wrap(fault.Denied, ErrNotInPlan, "%s is not part of the tenant's plan %q: the operator changes the plan%s", what, l.Plan.Name, l.contact())
}

// ErrNotInPlan is the cause of errors about what the plan of a tenant does not have.
var ErrNotInPlan = errors.New("not part of the plan")
