package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/automation/workflow"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// CreateWorkflow implements WorkflowService.
func (h *Handlers) CreateWorkflow(ctx context.Context, req *ragdv1.CreateWorkflowRequest) (*ragdv1.Workflow, error) {
	definition, err := definitionOf(req.GetDefinition())
	if err != nil {
		return nil, err
	}
	made, err := h.Workflows.Create(ctx, req.GetWorkflowName(), definition)
	return workflowMessage(made, err)
}

// definitionOf returns the JSON of a definition.
func definitionOf(definition *structpb.Struct) ([]byte, error) {
	if definition == nil {
		return nil, fault.Field("definition", "is missing")
	}
	return objectJSON(definition)
}

// objectJSON returns the JSON of an object, nil for none.
func objectJSON(object *structpb.Struct) ([]byte, error) {
	if object == nil {
		return nil, nil
	}
	raw, err := jsonmessage.Append(nil, object)
	if err != nil {
		return nil, fmt.Errorf("write an object: %w", err)
	}
	return raw, nil
}

// GetWorkflow implements WorkflowService.
func (h *Handlers) GetWorkflow(ctx context.Context, req *ragdv1.GetWorkflowRequest) (*ragdv1.Workflow, error) {
	found, err := h.Workflows.Get(ctx, req.GetWorkflowName(), int(req.GetVersion()))
	return workflowMessage(found, err)
}

// ListWorkflows implements WorkflowService.
func (h *Handlers) ListWorkflows(ctx context.Context, req *ragdv1.ListWorkflowsRequest) (*ragdv1.ListWorkflowsResponse, error) {
	found, next, err := h.Workflows.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	all, err := convertAll(ctx, found, func(w workflow.Workflow) (*ragdv1.Workflow, error) { return workflowMessage(w, nil) })
	return &ragdv1.ListWorkflowsResponse{Workflows: all, NextPageToken: next}, err
}

// UpdateWorkflow implements WorkflowService.
func (h *Handlers) UpdateWorkflow(ctx context.Context, req *ragdv1.UpdateWorkflowRequest) (*ragdv1.Workflow, error) {
	definition, err := definitionOf(req.GetDefinition())
	if err != nil {
		return nil, err
	}
	changed, err := h.Workflows.Update(ctx, req.GetWorkflowName(), req.GetEtag(), definition)
	return workflowMessage(changed, err)
}

// DeleteWorkflow implements WorkflowService.
func (h *Handlers) DeleteWorkflow(ctx context.Context, req *ragdv1.DeleteWorkflowRequest) (*ragdv1.DeleteWorkflowResponse, error) {
	return &ragdv1.DeleteWorkflowResponse{}, h.Workflows.Delete(ctx, req.GetWorkflowName(), int(req.GetVersion()))
}

// StartWorkflow implements WorkflowService.
func (h *Handlers) StartWorkflow(ctx context.Context, req *ragdv1.StartWorkflowRequest) (*ragdv1.WorkflowRun, error) {
	input, err := objectJSON(req.GetInput())
	if err != nil {
		return nil, err
	}
	started, err := h.Workflows.Start(ctx, req.GetWorkflowName(), int(req.GetVersion()), input)
	return runMessage(started, err)
}

// RunWorkflow implements WorkflowService.
func (h *Handlers) RunWorkflow(ctx context.Context, req *ragdv1.RunWorkflowRequest, stream *connect.ServerStream[ragdv1.RunWorkflowEvent]) error {
	started, err := h.StartWorkflow(ctx, &ragdv1.StartWorkflowRequest{WorkflowName: req.GetWorkflowName(), Version: req.GetVersion(), Input: req.GetInput()})
	if err != nil {
		return err
	}
	if err := stream.Send(&ragdv1.RunWorkflowEvent{Event: &ragdv1.RunWorkflowEvent_Run{Run: started}}); err != nil {
		return err
	}
	return h.watchRun(ctx, started.GetRunId(), stream)
}

// WatchRun implements WorkflowService.
func (h *Handlers) WatchRun(ctx context.Context, req *ragdv1.WatchRunRequest, stream *connect.ServerStream[ragdv1.RunWorkflowEvent]) error {
	run, err := h.GetRun(ctx, &ragdv1.GetRunRequest{RunId: req.GetRunId()})
	if err != nil {
		return err
	}
	run.Steps = nil
	if err := stream.Send(&ragdv1.RunWorkflowEvent{Event: &ragdv1.RunWorkflowEvent_Run{Run: run}}); err != nil {
		return err
	}
	return h.watchRun(ctx, req.GetRunId(), stream)
}

func (h *Handlers) watchRun(ctx context.Context, id string, stream *connect.ServerStream[ragdv1.RunWorkflowEvent]) error {
	ended, err := h.Workflows.Watch(ctx, id, func(s workflow.StepRun) error {
		step, err := stepMessage(s)
		if err != nil {
			return err
		}
		return stream.Send(&ragdv1.RunWorkflowEvent{Event: &ragdv1.RunWorkflowEvent_Step{Step: step}})
	})
	run, err := runMessage(ended, err)
	if err != nil {
		return err
	}
	return stream.Send(&ragdv1.RunWorkflowEvent{Event: &ragdv1.RunWorkflowEvent_Run{Run: run}})
}

// GetRun implements WorkflowService.
func (h *Handlers) GetRun(ctx context.Context, req *ragdv1.GetRunRequest) (*ragdv1.WorkflowRun, error) {
	found, err := h.Workflows.GetRun(ctx, req.GetRunId())
	return runMessage(found, err)
}

// ListRuns implements WorkflowService.
func (h *Handlers) ListRuns(ctx context.Context, req *ragdv1.ListRunsRequest) (*ragdv1.ListRunsResponse, error) {
	found, next, err := h.Workflows.ListRuns(ctx, req.GetWorkflowName(), req.GetStatus(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	all, err := convertAll(ctx, found, func(r workflow.Run) (*ragdv1.WorkflowRun, error) { return runMessage(r, nil) })
	return &ragdv1.ListRunsResponse{Runs: all, NextPageToken: next}, err
}

// CancelRun implements WorkflowService.
func (h *Handlers) CancelRun(ctx context.Context, req *ragdv1.CancelRunRequest) (*ragdv1.WorkflowRun, error) {
	cancelled, err := h.Workflows.Cancel(ctx, req.GetRunId())
	return runMessage(cancelled, err)
}

// ResumeRun implements WorkflowService.
func (h *Handlers) ResumeRun(ctx context.Context, req *ragdv1.ResumeRunRequest) (*ragdv1.WorkflowRun, error) {
	var data json.RawMessage
	if req.GetData() != nil {
		raw, err := json.Marshal(req.GetData().AsInterface())
		if err != nil {
			return nil, fault.Field("data", "cannot be written as JSON")
		}
		data = raw
	}
	resumed, err := h.Workflows.Resume(ctx, req.GetRunId(), req.GetStepPath(), data)
	return runMessage(resumed, err)
}

func workflowMessage(w workflow.Workflow, err error) (*ragdv1.Workflow, error) {
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(w.Definition)
	if err != nil {
		return nil, fmt.Errorf("write a workflow: %w", err)
	}
	definition, err := rawStruct(raw)
	m := &ragdv1.Workflow{WorkflowName: w.Name, Version: int32(w.Version), Definition: definition, CreateTime: timestamp(w.CreatedAt), Etag: w.ETag()}
	for _, version := range w.Versions {
		m.Versions = append(m.Versions, int32(version))
	}
	return m, err
}

func runMessage(r workflow.Run, err error) (*ragdv1.WorkflowRun, error) {
	if err != nil {
		return nil, err
	}
	m := &ragdv1.WorkflowRun{
		RunId: r.RunID, WorkflowName: r.WorkflowName, Version: int32(r.Version), Status: string(r.Status), Error: r.Error, ErrorKind: r.ErrorKind,
		Subject: r.Subject, CreateTime: timestamp(r.CreatedAt), StartTime: optionalTimestamp(r.StartedAt), EndTime: optionalTimestamp(r.EndedAt),
	}
	if m.Input, err = rawStruct(r.Input); err != nil {
		return nil, err
	}
	if m.Output, err = rawValue(r.Output); err != nil {
		return nil, err
	}
	for _, s := range r.Steps {
		step, err := stepMessage(s)
		if err != nil {
			return nil, err
		}
		m.Steps = append(m.Steps, step)
	}
	return m, nil
}

func stepMessage(s workflow.StepRun) (*ragdv1.StepRun, error) {
	m := &ragdv1.StepRun{
		Path: s.Path, Kind: string(s.Kind), Status: string(s.Status), Attempts: int32(s.Attempts), Error: s.Error, ErrorKind: s.ErrorKind,
		StartTime: timestamp(s.StartedAt), EndTime: optionalTimestamp(s.EndedAt), Message: s.Message, WaitUntilTime: optionalTimestamp(s.WaitUntil),
	}
	var err error
	if m.Input, err = rawValue(s.Input); err != nil {
		return nil, err
	}
	if m.Output, err = rawValue(s.Output); err != nil {
		return nil, err
	}
	m.Schema, err = rawStruct(s.Schema)
	return m, err
}

// rawValue converts a JSON value; nil gives nil.
func rawValue(raw json.RawMessage) (*structpb.Value, error) {
	if raw == nil {
		return nil, nil
	}
	value := &structpb.Value{}
	if err := protojson.Unmarshal(raw, value); err != nil {
		return nil, fmt.Errorf("read a value: %w", err)
	}
	return value, nil
}
