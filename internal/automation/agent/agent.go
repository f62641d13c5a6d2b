// Package agent stores the agents that tenants define and lets them answer: a chat model that is
// offered chosen tools, in a loop with bounds. Answers cite passages, which are checked.
//
// What a tool returns is data to the model, never an instruction, and each call has the rights,
// the mandatory filter and the bounds on indexes of the caller. A tool that may change something is
// offered only if the agent names it in mayWrite.
package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tool/expression"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// ToolPrefix begins the names of the tools that ask agents.
const ToolPrefix = "ask_"

// ToolKind is the kind of the tools that ask agents.
const ToolKind = "agent"

// Agent is an agent of a tenant.
type Agent struct {
	Name string
	Definition
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Definition is what a tenant has set of an agent. Empty fields mean the defaults.
type Definition struct {
	Title       string `json:"title,omitempty"` // for people; by default the name
	Description string `json:"description"`     // for those who choose an agent; required
	// Instructions are a template over the request context. By default the agent answers from the
	// passages it finds alone, and cites them.
	Instructions string `json:"instructions,omitempty"`
	Model        string `json:"model"` // endpoint/model
	// Tools are the names of the tools that the model is offered; nil for those that search.
	Tools []string `json:"tools,omitzero"`
	// MayWrite are those of Tools that may change something and are offered all the same.
	MayWrite []string `json:"mayWrite,omitempty"`
	// Indexes are the indexes that calls of tools may use; nil for those of the caller.
	Indexes  []string `json:"indexes,omitzero"`
	Sampling Sampling `json:"sampling,omitzero"`
	Limits   Limits   `json:"limits,omitzero"`
	// Prices are needed for Limits.Cost.
	Prices Prices `json:"prices,omitzero"`
	// OutputSchema asks for answers in JSON of this schema instead of text.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Grounding says what is done about sentences of answers that nothing supports that the tools have found; GroundingOff if empty.
	Grounding Grounding `json:"grounding,omitempty"`
	Rules     Rules     `json:"rules,omitzero"`
}

// Sampling is how the model chooses tokens.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
	Stop        []string `json:"stop,omitempty"`
	MaxTokens   int      `json:"maxTokens,omitempty"` // of one turn
}

// Limits end a run.
type Limits struct {
	Steps   int     `json:"steps,omitempty"`   // turns of the model
	Tokens  int     `json:"tokens,omitempty"`  // of input and output of all turns
	Seconds int     `json:"seconds,omitempty"` // from the question to the answer
	Cost    float64 `json:"cost,omitempty"`    // by Prices; 0 for no limit
}

// Prices are what a million tokens cost, in any currency.
type Prices struct {
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
}

// Rules choose by the request. The first rule of a list that applies gives the value; if none
// does, that of the definition holds.
type Rules struct {
	Instructions []Rule[string]   `json:"instructions,omitempty"`
	Model        []Rule[string]   `json:"model,omitempty"`
	Tools        []Rule[[]string] `json:"tools,omitempty"`
}

// Rule gives a value if a condition holds: an expression over context, tenant, subject, server,
// claims and key.
type Rule[T any] struct {
	When  string `json:"when"`
	Value *T     `json:"value"` // nil in none that is stored
}

// Limits of definitions.
const (
	maxAgents            = 100 // of a tenant
	maxDefinitionBytes   = 128 << 10
	maxTitleBytes        = 200
	maxDescriptionBytes  = 4 << 10
	maxInstructionsBytes = 32 << 10
	maxTools             = 64
	maxIndexes           = 200
	maxRules             = 32 // in each list
	maxStops             = 4
	maxSteps             = 50
	maxTokens            = 10_000_000
	maxTurnTokens        = 128_000
	maxSeconds           = 600

	defaultSteps   = 8
	defaultTokens  = 200_000
	defaultSeconds = 120
)

// variables are those of conditions.
var variables = []string{"context", "tenant", "subject", "server", "claims", "key"}

// Parse reads a definition. Errors: Invalid, naming the field, for what is no definition or has
// unknown fields.
func Parse(raw []byte) (Definition, error) {
	const field = "definition"
	var d Definition
	if len(raw) > maxDefinitionBytes {
		return d, fault.Field(field, "must be at most %d bytes of JSON, got %d", maxDefinitionBytes, len(raw))
	}
	return d, schema.Into(field, raw, &d)
}

// check checks an agent without looking at what it names. Errors: Invalid, naming the field.
func (a *Agent) check(env *expression.Environment) error {
	if err := catalog.CheckName("agentName", a.Name, 60); err != nil { // it fits into the name of a tool behind its prefix
		return err
	}
	if strings.TrimSpace(a.Description) == "" {
		return fault.Field("definition.description", "is missing: it tells models and people what to ask the agent")
	}
	if a.Model == "" {
		return fault.Field("definition.model", "is missing: name a chat model such as openai/gpt-5-mini")
	}
	for _, check := range []func() error{a.checkTexts, a.checkNames, a.checkSampling, a.checkLimits, a.checkOutput, a.checkGrounding, func() error { return a.checkRules(env) }} {
		if err := check(); err != nil {
			return fault.Under("definition", err)
		}
	}
	return nil
}

func (a *Agent) checkTexts() error {
	if err := textlimit.Check("title", a.Title, maxTitleBytes); err != nil {
		return err
	}
	if err := textlimit.Check("description", a.Description, maxDescriptionBytes); err != nil {
		return err
	}
	return checkInstructions("instructions", a.Instructions)
}

func checkInstructions(field, text string) error {
	if err := textlimit.Check(field, text, maxInstructionsBytes); err != nil {
		return err
	}
	return template.CheckInstructions(field, text)
}

func (a *Agent) checkNames() error {
	if err := checkTools("tools", a.Tools); err != nil {
		return err
	}
	if err := checkTools("mayWrite", a.MayWrite); err != nil {
		return err
	}
	offered := slices.Clone(a.Tools)
	for _, rule := range a.Rules.Tools {
		if rule.Value != nil {
			offered = append(offered, *rule.Value...)
		}
	}
	for _, name := range a.MayWrite {
		if !slices.Contains(offered, name) {
			return fault.Field("mayWrite", "has %q, which is not one of tools", name)
		}
	}
	if len(a.Indexes) > maxIndexes {
		return fault.Field("indexes", "must be at most %d names, got %d", maxIndexes, len(a.Indexes))
	}
	return nil
}

func checkTools(field string, names []string) error {
	if len(names) > maxTools {
		return fault.Field(field, "must be at most %d names, got %d", maxTools, len(names))
	}
	for i, name := range names {
		if !catalog.IsName(name, 64) {
			return fault.Field(field, "has %q, which is no name of a tool", textlimit.Shorten(name, 100))
		}
		if slices.Contains(names[:i], name) {
			return fault.Field(field, "has %q twice", name)
		}
	}
	return nil
}

func (a *Agent) checkSampling() error {
	s := a.Sampling
	switch {
	case s.Temperature != nil && (*s.Temperature < 0 || *s.Temperature > 2):
		return fault.Field("sampling.temperature", "must be from 0 to 2, got %g", *s.Temperature)
	case s.TopP != nil && (*s.TopP <= 0 || *s.TopP > 1):
		return fault.Field("sampling.topP", "must be above 0 and at most 1, got %g", *s.TopP)
	case len(s.Stop) > maxStops:
		return fault.Field("sampling.stop", "must be at most %d texts, got %d", maxStops, len(s.Stop))
	case s.MaxTokens < 0 || s.MaxTokens > maxTurnTokens:
		return fault.Field("sampling.maxTokens", "must be from 1 to %d, got %d", maxTurnTokens, s.MaxTokens)
	}
	return nil
}

func (a *Agent) checkLimits() error {
	for _, limit := range []struct {
		field     string
		got, most int
	}{{"limits.steps", a.Limits.Steps, maxSteps}, {"limits.tokens", a.Limits.Tokens, maxTokens}, {"limits.seconds", a.Limits.Seconds, maxSeconds}} {
		if limit.got < 0 || limit.got > limit.most {
			return fault.Field(limit.field, "must be from 1 to %d, got %d", limit.most, limit.got)
		}
	}
	switch {
	case a.Limits.Cost < 0:
		return fault.Field("limits.cost", "must not be negative, got %g", a.Limits.Cost)
	case a.Prices.Input < 0 || a.Prices.Output < 0:
		return fault.Field("prices", "must not be negative")
	case a.Limits.Cost > 0 && a.Prices == Prices{}:
		return fault.Field("prices", "is missing: limits.cost needs what a million tokens of input and output cost")
	}
	return nil
}

func (a *Agent) checkOutput() error {
	if a.OutputSchema == nil {
		return nil
	}
	if _, err := schema.Compile("outputSchema", a.OutputSchema); err != nil {
		return err
	}
	var root struct{ Type any }
	if err := json.Unmarshal(a.OutputSchema, &root); err != nil || root.Type != "object" {
		return fault.Field("outputSchema", `must be the schema of an object: {"type": "object", ...}`)
	}
	return nil
}

func (a *Agent) checkRules(env *expression.Environment) error {
	err := checkRules(env, "rules.instructions", a.Rules.Instructions, checkInstructions)
	if err == nil {
		err = checkRules(env, "rules.model", a.Rules.Model, func(field, model string) error {
			if model == "" {
				return fault.Field(field, "is empty")
			}
			return nil
		})
	}
	if err == nil {
		err = checkRules(env, "rules.tools", a.Rules.Tools, checkTools)
	}
	return err
}

func checkRules[T any](env *expression.Environment, field string, rules []Rule[T], check func(string, T) error) error {
	if len(rules) > maxRules {
		return fault.Field(field, "must be at most %d, got %d", maxRules, len(rules))
	}
	for i, rule := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		if rule.When == "" {
			return fault.Field(at+".when", `is missing: it is a condition such as context.tier == "pro"`)
		}
		if _, err := env.CompileCondition(at+".when", rule.When); err != nil {
			return err
		}
		if rule.Value == nil {
			return fault.Field(at+".value", "is missing: the rule needs what holds if its condition is true")
		}
		if err := check(at+".value", *rule.Value); err != nil {
			return err
		}
	}
	return nil
}

// cost returns what tokens cost.
func (p Prices) cost(u llm.Usage) float64 {
	const million = 1e6
	return (p.Input*float64(u.InputTokens) + p.Output*float64(u.OutputTokens)) / million
}
