package rpc

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/grounding"
)

// CreateAgent implements AgentService.
func (h *Handlers) CreateAgent(ctx context.Context, req *ragdv1.CreateAgentRequest) (*ragdv1.Agent, error) {
	definition, err := agentDefinition(req.GetDefinition())
	if err != nil {
		return nil, err
	}
	return agentMessage(h.Agents.Create(ctx, req.GetAgentName(), definition))
}

// agentDefinition returns the JSON of a definition.
func agentDefinition(definition *structpb.Struct) ([]byte, error) {
	if definition == nil {
		return nil, fault.Field("definition", "is missing")
	}
	return objectJSON(definition)
}

// GetAgent implements AgentService.
func (h *Handlers) GetAgent(ctx context.Context, req *ragdv1.GetAgentRequest) (*ragdv1.Agent, error) {
	return agentMessage(h.Agents.Get(ctx, req.GetAgentName()))
}

// ListAgents implements AgentService.
func (h *Handlers) ListAgents(ctx context.Context, req *ragdv1.ListAgentsRequest) (*ragdv1.ListAgentsResponse, error) {
	found, next, err := h.Agents.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	agents, err := convertAll(ctx, found, func(a agent.Agent) (*ragdv1.Agent, error) { return agentMessage(a, nil) })
	return &ragdv1.ListAgentsResponse{Agents: agents, NextPageToken: next}, err
}

// UpdateAgent implements AgentService.
func (h *Handlers) UpdateAgent(ctx context.Context, req *ragdv1.UpdateAgentRequest) (*ragdv1.Agent, error) {
	definition, err := agentDefinition(req.GetDefinition())
	if err != nil {
		return nil, err
	}
	return agentMessage(h.Agents.Update(ctx, req.GetAgentName(), req.GetEtag(), definition))
}

// DeleteAgent implements AgentService.
func (h *Handlers) DeleteAgent(ctx context.Context, req *ragdv1.DeleteAgentRequest) (*ragdv1.DeleteAgentResponse, error) {
	return &ragdv1.DeleteAgentResponse{}, h.Agents.Delete(ctx, req.GetAgentName())
}

// AskAgent implements AgentService.
func (h *Handlers) AskAgent(ctx context.Context, req *ragdv1.AskAgentRequest) (*ragdv1.AskAgentResponse, error) {
	return agentAnswer(h.Agents.Ask(ctx, agent.Question{Agent: req.GetAgentName(), Message: req.GetMessage(), ThreadID: req.GetThreadId()}))
}

// AskAgentStream implements AgentService.
func (h *Handlers) AskAgentStream(ctx context.Context, req *ragdv1.AskAgentStreamRequest, stream *connect.ServerStream[ragdv1.AskAgentEvent]) error {
	ask := req.GetAsk()
	answer, err := agentAnswer(h.Agents.Ask(ctx, agent.Question{
		Agent: ask.GetAgentName(), Message: ask.GetMessage(), ThreadID: ask.GetThreadId(),
		OnEvent: func(e agent.Event) error {
			message, err := agentEvent(e)
			if err != nil {
				return err
			}
			return stream.Send(message)
		},
	}))
	if err != nil {
		return err
	}
	return stream.Send(&ragdv1.AskAgentEvent{Event: &ragdv1.AskAgentEvent_Answer{Answer: answer}})
}

func agentEvent(e agent.Event) (*ragdv1.AskAgentEvent, error) {
	switch e.Kind {
	case agent.StepBegun:
		return &ragdv1.AskAgentEvent{Event: &ragdv1.AskAgentEvent_Step{Step: &ragdv1.AgentStep{Number: int32(e.Step), Model: e.Model}}}, nil
	case agent.ToolCalled:
		arguments, err := rawStruct(e.Arguments)
		return &ragdv1.AskAgentEvent{Event: &ragdv1.AskAgentEvent_ToolCall{ToolCall: &ragdv1.AgentToolCall{
			Step: int32(e.Step), Call: int32(e.Call), ToolName: e.Tool, Arguments: arguments,
		}}}, err
	case agent.ToolEnded:
		return &ragdv1.AskAgentEvent{Event: &ragdv1.AskAgentEvent_ToolResult{ToolResult: &ragdv1.AgentToolResult{
			Step: int32(e.Step), Call: int32(e.Call), ToolName: e.Tool, Error: e.Error, Took: durationpb.New(e.Took),
		}}}, nil
	}
	return &ragdv1.AskAgentEvent{Event: &ragdv1.AskAgentEvent_Text{Text: e.Text}}, nil
}

func agentAnswer(a agent.Answer, err error) (*ragdv1.AskAgentResponse, error) {
	if err != nil {
		return nil, err
	}
	m := &ragdv1.AskAgentResponse{Text: a.Text, Usage: agentUsage(a.Usage), Grounding: agentGrounding(a.Text, a.Grounding)}
	for _, c := range a.Citations {
		m.Citations = append(m.Citations, &ragdv1.AgentCitation{
			Number: int32(c.Number), Uri: c.URI, DocumentId: c.DocumentID, Title: c.Title, StartByte: c.StartByte, EndByte: c.EndByte, Text: c.Text,
		})
	}
	m.Object, err = rawStruct(a.Object)
	return m, err
}

func agentGrounding(text string, g *agent.Grounded) *ragdv1.AgentGrounding {
	if g == nil {
		return nil
	}
	m := &ragdv1.AgentGrounding{
		Score: g.Score, SupportedCount: int32(g.Supported), PartlyCount: int32(g.Partly), UnsupportedCount: int32(g.Unsupported), RemovedCount: int32(g.Removed),
	}
	for _, s := range g.Sentences {
		one := grounding.Sentence{Span: grounding.Span{Start: s.StartByte, End: s.EndByte}, State: s.State, Score: s.Score}
		for _, missing := range s.Missing {
			one.Missing = append(one.Missing, grounding.Missing{
				Span: grounding.Span{Start: missing.StartByte, End: missing.EndByte}, Kind: missing.Kind, Elsewhere: missing.Elsewhere,
			})
		}
		m.Sentences = append(m.Sentences, groundedSentence(text, nil, one))
	}
	return m
}

func agentUsage(u agent.Usage) *ragdv1.AgentUsage {
	return &ragdv1.AgentUsage{
		Steps: int32(u.Steps), ToolCalls: int32(u.ToolCalls), InputTokens: int32(u.InputTokens), OutputTokens: int32(u.OutputTokens),
		Cost: u.Cost, RemovedCitations: int32(u.RemovedCitations),
	}
}

func agentMessage(a agent.Agent, err error) (*ragdv1.Agent, error) {
	if err != nil {
		return nil, err
	}
	raw, err := a.JSON()
	if err != nil {
		return nil, fmt.Errorf("write an agent: %w", err)
	}
	definition, err := rawStruct(raw)
	return &ragdv1.Agent{AgentName: a.Name, Definition: definition, CreateTime: timestamp(a.CreatedAt), UpdateTime: timestamp(a.UpdatedAt), Etag: a.ETag()}, err
}

// GetThread implements AgentService.
func (h *Handlers) GetThread(ctx context.Context, req *ragdv1.GetThreadRequest) (*ragdv1.Thread, error) {
	found, err := h.Agents.GetThread(ctx, req.GetAgentName(), req.GetThreadId())
	if err != nil {
		return nil, err
	}
	return threadMessage(found), nil
}

// ListThreads implements AgentService.
func (h *Handlers) ListThreads(ctx context.Context, req *ragdv1.ListThreadsRequest) (*ragdv1.ListThreadsResponse, error) {
	found, next, err := h.Agents.ListThreads(ctx, req.GetAgentName(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	threads, err := convertAll(ctx, found, func(t agent.Thread) (*ragdv1.Thread, error) { return threadMessage(t), nil })
	return &ragdv1.ListThreadsResponse{Threads: threads, NextPageToken: next}, err
}

// DeleteThread implements AgentService.
func (h *Handlers) DeleteThread(ctx context.Context, req *ragdv1.DeleteThreadRequest) (*ragdv1.DeleteThreadResponse, error) {
	return &ragdv1.DeleteThreadResponse{}, h.Agents.DeleteThread(ctx, req.GetAgentName(), req.GetThreadId())
}

func threadMessage(t agent.Thread) *ragdv1.Thread {
	m := &ragdv1.Thread{ThreadId: t.ThreadID, CreateTime: timestamp(t.CreatedAt), UpdateTime: timestamp(t.UpdatedAt)}
	for _, said := range t.Messages {
		m.Messages = append(m.Messages, &ragdv1.ThreadMessage{Role: said.Role, Text: said.Text})
	}
	return m
}
