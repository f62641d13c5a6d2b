package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// resumeTool is the name of the tool that resumes runs. Tenants with workflows have it.
const resumeTool = "resume_run"

// ToolKind is the kind of the tools that run workflows.
const ToolKind = "workflow"

const (
	// maxToolWait is how long a call of a tool waits for its run.
	maxToolWait = 50 * time.Second
	// answerTime is what is left of the time of a call for its answer.
	answerTime = 2 * time.Second
)

var anyInput = json.RawMessage(`{"type": "object"}`)

var resumeInput = json.RawMessage(`{
	"type": "object",
	"properties": {
		"runId": {"type": "string", "description": "Id of the run, as the tool that started it returned it."},
		"data": {"anyOf": [{"type": "object", "additionalProperties": {}}, {"type": "string"}], "description": "What the waiting step asks for. Leave it out to wait for the run and get its result."},
		"stepPath": {"type": "string", "description": "Path of the waiting step, if several wait."}
	},
	"required": ["runId"]
}`)

// runTools are the tools that run workflows.
type runTools struct{ service *Service }

// Source returns the tools run_NAME of the caller's workflows, and one that resumes their runs.
func (s *Service) Source() toolset.Source { return runTools{s} }

// Tools implements toolset.Source.
func (t runTools) Tools(ctx context.Context) ([]toolset.Definition, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	all, err := t.service.usable(ctx, r, "", maxWorkflows)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	tools := []toolset.Definition{{
		Name: resumeTool, Title: "Resume a run", Kind: ToolKind, InputSchema: resumeInput,
		Description: "Gives a run of a workflow that waits the data it asks for, or waits for a run that goes on, and returns its result.",
	}}
	for _, w := range all {
		d := toolset.Definition{Name: ToolPrefix + w.Name, Title: w.Title, Description: w.Description, Kind: ToolKind, InputSchema: w.InputSchema}
		if len(d.InputSchema) == 0 {
			d.InputSchema = anyInput
		}
		d.Calls = append([]string{}, callsOf(w.Steps)...)
		if !mayWait(w.Steps) { // what a run that waits returns is not its result
			d.OutputSchema = w.OutputSchema
		}
		tools = append(tools, d)
	}
	return tools, nil
}

// mayWait reports whether steps may wait for a resume.
func mayWait(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		return s.Kind == Wait || s.Kind == Nested || mayWait(s.Otherwise) || mayWait(s.Steps) || mayWait(s.OnError) ||
			slices.ContainsFunc(s.Branches, func(b Branch) bool { return mayWait(b.Steps) })
	})
}

// callsOf returns the names of the tools that steps call, "" for a request that may change something.
func callsOf(steps []Step) []string {
	var found []string
	for _, s := range steps {
		switch name := toolOf(s); {
		case name != "":
			found = append(found, name)
		case s.Kind == Nested:
			found = append(found, ToolPrefix+s.Workflow)
		case s.Kind == HTTP && s.Settings["method"] != http.MethodGet:
			found = append(found, "")
		}
		for _, inner := range [][]Step{s.Otherwise, s.Steps, s.OnError} {
			found = append(found, callsOf(inner)...)
		}
		for _, b := range s.Branches {
			found = append(found, callsOf(b.Steps)...)
		}
	}
	return found
}

// Run implements toolset.Source. When the caller leaves before it has an answer, the run that it started is
// cancelled.
func (t runTools) Run(ctx context.Context, d toolset.Definition, c toolset.Call) (toolset.Result, error) {
	if d.Name == resumeTool {
		return t.resume(ctx, c)
	}
	name := strings.TrimPrefix(d.Name, ToolPrefix)
	input, err := canonical(c.Arguments)
	if err != nil {
		return toolset.Result{}, err
	}
	if c.Answers != nil {
		return t.answered(ctx, name, input, c)
	}
	run, err := t.service.Start(ctx, name, 0, input)
	if err != nil {
		return toolset.Result{}, err
	}
	var result toolset.Result
	if c.TakesTask {
		result, err = t.orTask(ctx, run.RunID)
	} else {
		result, err = t.await(ctx, run.RunID, c)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		cancelling, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		if _, err := t.service.Cancel(cancelling, run.RunID); err != nil && fault.KindOf(err) != fault.Precondition {
			t.service.Logger.WarnContext(ctx, "cancel a run whose caller has left", "run", run.RunID, "err", err)
		}
	}
	return result, err
}

// canonical returns JSON in which the members of objects are sorted, so that equal inputs have the
// same text.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return nil, fault.Field("arguments", "%s", err)
	}
	return marshal(value)
}

// answered resumes the run that an earlier call has started and whose question the user has
// answered. An empty answer declines: the run waits on.
func (t runTools) answered(ctx context.Context, name string, input json.RawMessage, c toolset.Call) (toolset.Result, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return toolset.Result{}, err
	}
	id, ok, err := waitingRun(ctx, t.service.DB.Handle(r.Tenant), subjectOf(r), name, input)
	if err != nil {
		return toolset.Result{}, err
	}
	if !ok {
		return toolset.Result{}, fault.New(fault.Precondition, "no run of workflow %q waits for this answer: call the tool again", name)
	}
	if string(c.Answers) != "{}" {
		if _, err := t.service.Resume(ctx, id, "", c.Answers); err != nil {
			return toolset.Result{}, err
		}
	} else {
		c.CanAsk = false
	}
	return t.await(ctx, id, c)
}

// resume resumes a run or waits for it.
func (t runTools) resume(ctx context.Context, c toolset.Call) (toolset.Result, error) {
	var given struct {
		RunID    string          `json:"runId"`
		StepPath string          `json:"stepPath"`
		Data     json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(c.Arguments, &given); err != nil {
		return toolset.Result{}, fmt.Errorf("read the arguments: %w", err)
	}
	if given.Data != nil {
		if _, err := t.service.Resume(ctx, given.RunID, given.StepPath, given.Data); err != nil {
			return toolset.Result{}, err
		}
	}
	if c.TakesTask {
		return t.orTask(ctx, given.RunID)
	}
	c.CanAsk = false // the answer would be taken for that of another call
	return t.await(ctx, given.RunID, c)
}

// await waits until a run has ended or waits, and returns its result.
func (t runTools) await(ctx context.Context, id string, c toolset.Call) (toolset.Result, error) {
	wait := maxToolWait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)-answerTime)
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	done := 0.0
	r, err := t.service.Watch(limited, id, func(s StepRun) error {
		done++
		if c.Progress != nil {
			c.Progress(ctx, toolset.Progress{Done: done, Message: "Step " + s.Path + " " + verb(s.Status) + "."})
		}
		return nil
	})
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return toolset.Result{}, fault.New(fault.Deadline, "run %s has not ended yet and goes on: call %s with this runId for its result", id, resumeTool)
	case err != nil:
		return toolset.Result{}, err
	case r.Status == Waiting:
		return t.waits(ctx, r, c)
	case r.Status != Succeeded:
		return toolset.Result{}, fmt.Errorf("run %s: %w", id, runError(r))
	}
	result, err := resultOf(r.Output)
	result.Origin = originOf(r)
	return result, err
}

func verb(s Status) string {
	switch s {
	case Running:
		return "has begun"
	case Waiting:
		return "waits"
	case Cancelled:
		return "was cancelled"
	}
	return "has " + string(s)
}

// runError returns the error of a run that has not succeeded.
func runError(r Run) error {
	err := recordedError(StepRun{Error: r.Error, ErrorKind: r.ErrorKind})
	var said *fault.Error
	if !errors.As(err, &said) || said.Kind == fault.Internal || said.Kind == fault.Canceled {
		return fault.New(fault.Precondition, "run %s has %s: %s", r.RunID, r.Status, r.Error)
	}
	return fault.New(said.Kind, "run %s has %s: %s", r.RunID, r.Status, r.Error)
}

// resultOf returns the result of a call from that of a run. What is no object becomes the member
// output of one.
func resultOf(output json.RawMessage) (toolset.Result, error) {
	result := toolset.Result{Structured: output, Text: string(output)}
	value, err := schema.Decode(output)
	if err != nil {
		return result, err
	}
	if _, ok := value.(map[string]any); ok {
		return result, nil
	}
	if text, ok := value.(string); ok {
		result.Text = text
	}
	result.Structured, err = json.Marshal(map[string]any{"output": output})
	return result, err
}

// waits returns the question of a run that waits, or what is needed to resume it.
func (t runTools) waits(ctx context.Context, r Run, c toolset.Call) (toolset.Result, error) {
	full, err := t.service.GetRun(ctx, r.RunID)
	if err != nil {
		return toolset.Result{}, err
	}
	step, err := waitingStep(ctx, t.service.DB.Handle(tenantOf(ctx)), full, "")
	if fault.KindOf(err) == fault.Invalid { // several
		i := slices.IndexFunc(full.Steps, func(s StepRun) bool { return s.Status == Waiting })
		step, err = full.Steps[i], nil
		c.CanAsk = false
	}
	if err != nil {
		return toolset.Result{}, err
	}
	if form, ok := formOf(step.Schema); ok && c.CanAsk && c.Answers == nil {
		return toolset.Result{Question: &toolset.Question{Message: step.Message, Schema: form}}, nil
	}
	next := "Ask the user, then"
	if string(c.Answers) == "{}" { // declined
		next = "The user was asked and did not answer; do not ask again unless they want it. To go on later,"
	}
	next += fmt.Sprintf(" call %s with runId %q and the answer as data", resumeTool, r.RunID)
	said := map[string]any{"runId": r.RunID, "status": r.Status, "stepPath": step.Path, "message": step.Message, "next": next + "."}
	if len(step.Schema) > 0 {
		said["schema"] = step.Schema
		said["next"] = next + " that fits the schema."
		next += " that fits " + string(step.Schema)
	}
	structured, err := json.Marshal(said)
	return toolset.Result{Structured: structured, Text: "The run waits: " + step.Message + "\n" + next + "."}, err
}

func tenantOf(ctx context.Context) tenant.ID {
	r, ok := access.FromContext(ctx)
	if !ok {
		return ""
	}
	return r.Tenant
}
