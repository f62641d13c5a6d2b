package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/expression"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// The variables of expressions.
const (
	varInput    = "initData" // the input of the workflow
	varSteps    = "steps"    // outputs of steps by their ids
	varContext  = "context"  // the request context
	varPrevious = "previous" // the output of the step before
	varItem     = "item"     // of the innermost foreach
	varIndex    = "index"    // of the item, from 0
	varError    = "error"    // {kind, message, step} in the steps of onError
)

var variables = []string{varInput, varSteps, varContext, varPrevious, varItem, varIndex, varError}

// plan is a definition that is ready to run. It is not changed, and safe for concurrent use.
type plan struct {
	input, output *schema.Schema // nil allows everything
	steps         []*node
	result        *mapping // nil: the output of the last step
}

// node is a step that is ready to run.
type node struct {
	Step

	input    *mapping // nil: the output of the step before
	items    *source
	schema   *schema.Schema // of a resume
	timeout  time.Duration
	branches []branch
	other    []*node
	inner    []*node
	onError  []*node
}

type branch struct {
	id    string
	when  *expression.Expression
	steps []*node
}

// schemas returns the input and output schemas of what a step calls; nil for unknown ones. Errors:
// NotFound or Invalid for what a step cannot call.
type schemas func(field string, s Step) (in, out shape, err error)

// shown returns an error for a path of the request context at which steps can never find a value.
type shown func(field, path string) error

// compiler turns a definition into a plan and checks it.
type compiler struct {
	env     *expression.Environment
	schemas schemas
	shown   shown
	ids     map[string]bool
	count   int
}

// visible is what steps at a position can refer to.
type visible struct {
	input    shape
	steps    map[string]shape // outputs by id
	previous shape
	item     bool
	failed   bool // within onError
	depth    int
}

// compile returns the plan of a definition. Errors: Invalid, naming the field; those of find and show.
func compile(env *expression.Environment, d Definition, find schemas, show shown) (*plan, error) {
	c := &compiler{env: env, schemas: find, shown: show, ids: map[string]bool{}}
	p := &plan{}
	var err error
	if len(d.InputSchema) > 0 {
		if p.input, err = schema.Compile("definition.inputSchema", d.InputSchema); err != nil {
			return nil, err
		}
	}
	if len(d.OutputSchema) > 0 {
		if p.output, err = schema.Compile("definition.outputSchema", d.OutputSchema); err != nil {
			return nil, err
		}
	}
	at := visible{input: shapeOf(d.InputSchema), previous: shapeOf(d.InputSchema)}
	if p.steps, at, err = c.sequence("definition.steps", d.Steps, at); err != nil {
		return nil, err
	}
	result := at.previous
	if p.result, result, err = c.mapping("definition.output", d.Output, d.OutputFrom, at, result); err != nil {
		return nil, err
	}
	return p, fit("definition.output", result, shapeOf(d.OutputSchema), 0)
}

// sequence compiles steps one after the other. It returns what steps after them see.
func (c *compiler) sequence(field string, steps []Step, at visible) ([]*node, visible, error) {
	if len(steps) == 0 {
		return nil, at, fault.Field(field, "must have at least one step")
	}
	if at.depth++; at.depth > maxNesting {
		return nil, at, fault.Field(field, "steps are nested deeper than %d levels", maxNesting)
	}
	at.steps = maps.Clone(at.steps)
	if at.steps == nil {
		at.steps = map[string]shape{}
	}
	nodes := make([]*node, len(steps))
	for i, s := range steps {
		n, out, err := c.step(fmt.Sprintf("%s[%d]", field, i), s, &at)
		if err != nil {
			return nil, at, err
		}
		at.steps[s.ID], at.previous = out, out
		nodes[i] = n
	}
	at.depth--
	return nodes, at, nil
}

// step compiles a step and adds the inner steps that later ones may refer to. It returns the shape
// of its output.
func (c *compiler) step(field string, s Step, at *visible) (*node, shape, error) {
	if c.count++; c.count > maxSteps {
		return nil, nil, fault.Field("definition.steps", "must be at most %d steps, inner ones included", maxSteps)
	}
	switch {
	case !idPattern.MatchString(s.ID):
		return nil, nil, fault.Field(field+".id", "must be 1 to 64 letters, digits, _ and -, the first a letter")
	case c.ids[s.ID]:
		return nil, nil, fault.Field(field+".id", "there is another step %q", s.ID)
	}
	c.ids[s.ID] = true
	n := &node{Step: s}
	if err := n.check(field); err != nil {
		return nil, nil, err
	}
	var given shape
	var err error
	if n.input, given, err = c.mapping(field+".input", s.Input, s.InputFrom, *at, at.previous); err != nil {
		return nil, nil, err
	}
	out, err := c.kind(field, n, given, at)
	if err != nil || len(s.OnError) == 0 {
		return n, out, err
	}
	inside := *at
	inside.failed = true
	var after visible
	if n.onError, after, err = c.sequence(field+".onError", s.OnError, inside); err != nil {
		return nil, nil, err
	}
	at.merge(after)
	return n, nil, nil // of either
}

// merge makes the steps of another position known, of which some may not run.
func (v *visible) merge(other visible) {
	for id, out := range other.steps {
		if _, known := v.steps[id]; !known {
			v.steps[id] = out
		}
	}
}

// fields are the fields that only some kinds have, with whether a step has them.
func (s Step) fields() map[string]bool {
	return map[string]bool{
		"tool": s.Tool != "", "agent": s.Agent != "", "workflow": s.Workflow != "", "settings": s.Settings != nil,
		"branches": s.Branches != nil, "otherwise": s.Otherwise != nil, "steps": s.Steps != nil, "items": s.Items != nil,
		"concurrency": s.Concurrency != 0, "message": s.Message != "", "schema": s.Schema != nil, "retry": s.Retry != nil,
	}
}

// needs are the fields that a step of a kind must have, then those that it may have.
var needs = map[Kind][2][]string{
	Tool: {{"tool"}, {"retry"}}, Agent: {{"agent"}, {"retry"}}, Nested: {{"workflow"}, {"retry"}}, HTTP: {{"settings"}, {"retry"}},
	Query: {nil, {"retry"}}, Graph: {nil, {"retry"}}, Chunk: {nil, {"retry"}}, Upload: {nil, {"retry"}}, Rerank: {nil, {"retry"}},
	Map: {}, Choose: {{"branches"}, {"otherwise"}}, Parallel: {{"branches"}, nil}, ForEach: {{"steps"}, {"items", "concurrency"}},
	Wait: {{"message"}, {"schema"}},
}

// check checks the fields of a step, without those of inner steps, and sets its timeout.
func (n *node) check(field string) error {
	allowed, ok := needs[n.Kind]
	if !ok {
		var kinds []string
		for kind := range needs {
			kinds = append(kinds, string(kind))
		}
		slices.Sort(kinds)
		return fault.Field(field+".kind", "%q is unknown: it is one of %s%s", textlimit.Shorten(string(n.Kind), 50), strings.Join(kinds, ", "), nearest.Hint(string(n.Kind), kinds))
	}
	for name, has := range n.fields() {
		switch {
		case slices.Contains(allowed[0], name) && !has:
			return fault.Field(field+"."+name, "is missing: a step of kind %s needs it", n.Kind)
		case has && !slices.Contains(allowed[0], name) && !slices.Contains(allowed[1], name):
			return fault.Field(field+"."+name, "is not for steps of kind %s", n.Kind)
		}
	}
	if err := textlimit.Check(field+".message", n.Message, maxTextBytes); err != nil {
		return err
	}
	if n.Kind == Map && n.Input == nil && n.InputFrom == nil {
		return fault.Field(field+".input", "is missing: a step of kind map needs input or inputFrom")
	}
	if r := n.Retry; r != nil && (r.Attempts < 1 || r.Attempts > maxAttempts || r.BackoffSeconds < 0 || r.BackoffSeconds > maxBackoff.Seconds()) {
		return fault.Field(field+".retry", "attempts must be 1 to %d, and backoffSeconds 0 to %v", maxAttempts, maxBackoff.Seconds())
	}
	if c := n.Concurrency; c < 0 || c > maxConcurrency {
		return fault.Field(field+".concurrency", "must be 1 to %d, got %d", maxConcurrency, c)
	}
	return n.setTimeout(field)
}

func (n *node) setTimeout(field string) error {
	most, normal := maxStepTime, defaultStepTime
	switch n.Kind {
	case Wait:
		most, normal = maxWait, defaultWait
	case Choose, Parallel, ForEach, Nested, Tool, Agent:
		normal = 0 // that of the steps within, of the tool or of the agent
	}
	if n.TimeoutSeconds < 0 || n.TimeoutSeconds > most.Seconds() {
		return fault.Field(field+".timeoutSeconds", "must be more than 0 and at most %v, got %v", most.Seconds(), n.TimeoutSeconds)
	}
	n.timeout = normal
	if n.TimeoutSeconds > 0 {
		n.timeout = time.Duration(n.TimeoutSeconds * float64(time.Second))
	}
	return nil
}

// kind compiles what is particular to a kind, and returns the shape of the output.
func (c *compiler) kind(field string, n *node, given shape, at *visible) (shape, error) {
	var err error
	switch n.Kind {
	case Map:
		return given, nil
	case Choose:
		return nil, c.choose(field, n, at)
	case Parallel:
		return c.parallel(field, n, at)
	case ForEach:
		return c.forEach(field, n, given, at)
	case Wait:
		if len(n.Schema) > 0 {
			n.schema, err = schema.Compile(field+".schema", n.Schema)
		}
		return shapeOf(n.Schema), err
	}
	in, out, err := c.schemas(field, n.Step)
	if err != nil {
		return nil, err
	}
	return out, fit(field+".input", given, in, 0)
}

func (c *compiler) checkBranches(field string, branches []Branch) error {
	if len(branches) == 0 || len(branches) > maxBranches {
		return fault.Field(field, "must be 1 to %d, got %d", maxBranches, len(branches))
	}
	return nil
}

func (c *compiler) choose(field string, n *node, at *visible) error {
	if err := c.checkBranches(field+".branches", n.Branches); err != nil {
		return err
	}
	var all []visible
	for i, b := range n.Branches {
		field := fmt.Sprintf("%s.branches[%d]", field, i)
		when, err := c.expression(field+".when", b.When, *at, true)
		if err != nil {
			return err
		}
		steps, after, err := c.sequence(field+".steps", b.Steps, *at)
		if err != nil {
			return err
		}
		n.branches, all = append(n.branches, branch{id: b.ID, when: when, steps: steps}), append(all, after)
	}
	if n.Otherwise != nil {
		var after visible
		var err error
		if n.other, after, err = c.sequence(field+".otherwise", n.Otherwise, *at); err != nil {
			return err
		}
		all = append(all, after)
	}
	for _, after := range all {
		at.merge(after)
	}
	return nil
}

func (c *compiler) parallel(field string, n *node, at *visible) (shape, error) {
	if err := c.checkBranches(field+".branches", n.Branches); err != nil {
		return nil, err
	}
	var all []visible
	properties := map[string]any{}
	for i, b := range n.Branches {
		field := fmt.Sprintf("%s.branches[%d]", field, i)
		switch {
		case !idPattern.MatchString(b.ID):
			return nil, fault.Field(field+".id", "must be 1 to 64 letters, digits, _ and -, the first a letter")
		case properties[b.ID] != nil:
			return nil, fault.Field(field+".id", "there is another branch %q", b.ID)
		case b.When != "":
			return nil, fault.Field(field+".when", "is for steps of kind branch")
		}
		steps, after, err := c.sequence(field+".steps", b.Steps, *at)
		if err != nil {
			return nil, err
		}
		n.branches, all = append(n.branches, branch{id: b.ID, steps: steps}), append(all, after)
		properties[b.ID] = map[string]any(orEmpty(after.previous))
	}
	for _, after := range all {
		at.merge(after)
	}
	return shape{"type": "object", "properties": properties, "additionalProperties": false}, nil
}

func orEmpty(s shape) shape {
	if s == nil {
		return shape{}
	}
	return s
}

func (c *compiler) forEach(field string, n *node, given shape, at *visible) (shape, error) {
	items := given
	if n.Items != nil {
		var err error
		if n.items, items, err = c.source(field+".items", *n.Items, *at); err != nil {
			return nil, err
		}
	}
	if err := fit(field+".items", items, shape{"type": "array"}, 0); err != nil {
		return nil, err
	}
	inside := *at
	inside.item = true
	inside.previous, _ = items["items"].(map[string]any)
	var after visible
	var err error
	if n.inner, after, err = c.sequence(field+".steps", n.Steps, inside); err != nil {
		return nil, err
	}
	return shape{"type": "array", "items": map[string]any(orEmpty(after.previous))}, nil
}
