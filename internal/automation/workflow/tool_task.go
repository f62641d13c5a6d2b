package workflow

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// taskKeep is how long the result of a task can be had at least, unless a tenant begins more than maxRuns runs in
// that time.
const taskKeep = 10 * time.Minute

// freeAnswer is the member of an answer to a step whose schema no form can show: JSON as text.
const freeAnswer = "data"

// orTask returns the result of a run that ends soon, and otherwise the run as a task. A run that waits is one.
func (t runTools) orTask(ctx context.Context, id string) (toolset.Result, error) {
	limited, cancel := context.WithTimeout(ctx, toolset.TaskAfter)
	defer cancel()
	_, err := t.service.Watch(limited, id, func(StepRun) error { return nil })
	if err != nil && (limited.Err() == nil || ctx.Err() != nil) {
		return toolset.Result{}, err
	}
	task, err := t.Task(ctx, id)
	switch {
	case err != nil:
		return toolset.Result{}, err
	case task.Status == toolset.TaskCompleted:
		task.Result.Origin = task.Origin
		return task.Result, task.Err
	}
	structured, err := json.Marshal(map[string]any{"runId": id, "status": task.Status})
	return toolset.Result{Task: &task, Structured: structured, Text: "Run " + id + " goes on."}, err
}

// Task implements toolset.Tasks: the id is that of a run.
func (t runTools) Task(ctx context.Context, id string) (toolset.Task, error) {
	r, err := t.service.GetRun(ctx, id)
	if err != nil {
		return toolset.Task{}, err
	}
	task := toolset.Task{Origin: originOf(r), ID: r.RunID, Status: toolset.TaskWorking, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Keep: taskKeep}
	if n := len(r.Steps); n > 0 && !r.Status.Ended() {
		task.Message = "Step " + r.Steps[n-1].Path + " " + verb(r.Steps[n-1].Status) + "."
	}
	switch r.Status {
	case Queued, Running, Waiting: // of parallel steps some may wait while others run
		task.Questions = map[string]toolset.Question{}
		for _, step := range r.Steps {
			if step.Status == Waiting {
				task.Status, task.Questions[step.Path] = toolset.TaskInputRequired, questionOf(step)
			}
		}
	case Succeeded:
		task.Status = toolset.TaskCompleted
		task.Result, task.Err = resultOf(r.Output)
	case Cancelled:
		task.Status, task.Message = toolset.TaskCancelled, "The run was cancelled."
	default:
		task.Status, task.Err = toolset.TaskCompleted, runError(r)
	}
	return task, nil
}

// originOf returns the call of the tool of a workflow that a run is of.
func originOf(r Run) *toolset.Origin {
	return &toolset.Origin{Tool: ToolPrefix + r.WorkflowName, Arguments: r.Input}
}

// questionOf returns the question of a step that waits.
func questionOf(step StepRun) toolset.Question {
	if form, ok := formOf(step.Schema); ok {
		return toolset.Question{Message: step.Message, Schema: form}
	}
	field := map[string]any{"type": "string", "title": "Answer as JSON"}
	if len(step.Schema) > 0 {
		field["description"] = "JSON that fits " + string(step.Schema)
	}
	return toolset.Question{Message: step.Message, Schema: map[string]any{
		"type": "object", "properties": map[string]any{freeAnswer: field}, "required": []string{freeAnswer},
	}}
}

// formOf returns the form that shows a schema; false if none can.
func formOf(raw json.RawMessage) (map[string]any, bool) {
	wanted := shapeOf(raw)
	properties, ok := wanted["properties"].(map[string]any)
	if !ok {
		return nil, false
	}
	fields, ok := toolset.Form(properties)
	form := map[string]any{"type": "object", "properties": fields}
	if wanted["required"] != nil {
		form["required"] = wanted["required"]
	}
	return form, ok
}

// CancelTask implements toolset.Tasks.
func (t runTools) CancelTask(ctx context.Context, id string) error {
	if _, err := t.service.Cancel(ctx, id); fault.KindOf(err) != fault.Precondition {
		return err
	}
	return nil
}

// AnswerTask implements toolset.Tasks: the key is the path of a step. A user who declines leaves it waiting.
func (t runTools) AnswerTask(ctx context.Context, id, question string, given json.RawMessage) error {
	r, err := t.service.GetRun(ctx, id)
	if err != nil {
		return err
	}
	answer, ok := toolset.Accepted(given)
	if !ok {
		return nil
	}
	for _, step := range r.Steps {
		if step.Path != question || step.Status != Waiting {
			continue
		}
		if _, ok := formOf(step.Schema); !ok {
			var free map[string]string
			if err := json.Unmarshal(answer, &free); err != nil || free[freeAnswer] == "" {
				return fault.Field(freeAnswer, "must be a text of JSON")
			}
			answer = json.RawMessage(free[freeAnswer])
		}
		_, err := t.service.Resume(ctx, id, question, answer)
		if fault.KindOf(err) == fault.Precondition { // somebody else was faster
			err = nil
		}
		return err
	}
	return nil
}
