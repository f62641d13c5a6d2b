package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// toolOf returns the name of the tool that a step calls, "" for none.
func toolOf(s Step) string {
	switch s.Kind {
	case Tool:
		return s.Tool
	case Agent:
		return agent.ToolPrefix + s.Agent
	}
	return builtin[s.Kind]
}

// call calls the tool of a step, again after failures that may pass if the step says so.
func (x *execution) call(ctx context.Context, n *node, s *StepRun, input any) (any, error) {
	arguments, err := argumentsOf(n.Step, input)
	if err != nil {
		return nil, err
	}
	if len(arguments) > maxInputBytes {
		return nil, fault.New(fault.Exhausted, "the input of step %s has %d bytes, but may have %d", s.Path, len(arguments), maxInputBytes)
	}
	attempts, backoff := 1, time.Duration(0)
	if n.Retry != nil {
		attempts, backoff = n.Retry.Attempts, time.Duration(n.Retry.BackoffSeconds*float64(time.Second))
	}
	ctx = remote.WithIdempotencyKey(ctx, x.runID+"/"+s.Path)
	for s.Status = ""; ; s.Status = "" {
		s.Attempts++
		if err := x.started(ctx, s, arguments); err != nil {
			return nil, err
		}
		out, err := x.service.callTool(ctx, n.Step, arguments)
		if err == nil || s.Attempts >= attempts || ctx.Err() != nil || !passing(err) {
			return out, err
		}
		var said *fault.Error
		pause := backoff
		if errors.As(err, &said) {
			pause = max(pause, min(said.RetryAfter, maxBackoff))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// passing reports whether another attempt may succeed.
func passing(err error) bool {
	switch fault.KindOf(err) {
	case fault.Conflict, fault.Exhausted, fault.Unavailable, fault.Deadline, fault.Internal:
		return true
	}
	return false
}

// argumentsOf returns the arguments with which a step calls its tool.
func argumentsOf(s Step, input any) (json.RawMessage, error) {
	object, ok := input.(map[string]any)
	if !ok {
		return nil, fault.New(fault.Invalid, "step %s needs an object as its input: set input", s.ID)
	}
	if s.Kind == Agent {
		prompt, ok := object["prompt"].(string)
		if !ok {
			return nil, fault.New(fault.Invalid, "step %s needs the text prompt in its input", s.ID)
		}
		object = map[string]any{"message": prompt}
	}
	if s.Kind == Upload && object["waitSeconds"] == nil { // the next step may search the document
		object = maps.Clone(object)
		object["waitSeconds"] = json.Number("50")
	}
	return json.Marshal(object)
}

// callTool calls the tool of a step as the caller in ctx, and returns its output.
func (s *Service) callTool(ctx context.Context, step Step, arguments json.RawMessage) (any, error) {
	var result toolset.Result
	var err error
	if step.Kind == HTTP {
		settings, invalid := structpb.NewStruct(step.Settings)
		if invalid != nil {
			return nil, fault.Wrap(fault.Invalid, invalid, "the settings of step %s are not JSON", step.ID)
		}
		result, err = s.HTTP.Run(ctx, &ragdv1.Tool{ToolName: step.ID, Settings: settings}, toolset.Call{Arguments: arguments})
	} else {
		result, err = s.Tools().Call(ctx, toolset.View{}, toolset.Call{Name: toolOf(step), Arguments: arguments})
	}
	if err != nil {
		return nil, err
	}
	if len(result.Structured) > maxOutputBytes || len(result.Text) > maxOutputBytes {
		return nil, fault.New(fault.Exhausted, "step %s returned more than %d bytes", step.ID, maxOutputBytes)
	}
	if result.Structured == nil {
		return map[string]any{"text": result.Text}, nil
	}
	value, err := schema.Decode(result.Structured)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the result of step %s %s", step.ID, err)
	}
	out, _ := value.(map[string]any)
	if step.Kind == Upload {
		return out, uploadError(out)
	}
	return out, nil
}

// uploadError returns an error for a document whose ingest has failed.
func uploadError(out map[string]any) error {
	document, _ := out["document"].(map[string]any)
	if status := document["status"]; status != "failed" && status != "needs_ocr" {
		return nil
	}
	return fault.New(fault.Precondition, "the document could not be made searchable: %s", fmt.Sprint(document["error"]))
}
