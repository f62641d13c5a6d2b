package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/bench/internal/harness"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
)

// calls are clients of a tenant with an agent and a workflow that asks it.
type calls struct {
	agents    ragdv1connect.AgentServiceClient
	workflows ragdv1connect.WorkflowServiceClient
	mcp       *client.Client
	http      *http.Client
	daemon    *daemon.Daemon
	key       string
	model     *model
}

// newCalls makes a tenant with a document, an agent and a workflow.
func newCalls(ctx context.Context, d *daemon.Daemon, id string, callers int, m *model) (*calls, error) {
	http := harness.Connections(callers)
	key, err := harness.Tenant(ctx, d, id, "read", "write")
	if err != nil {
		return nil, err
	}
	own := harness.WithKey(key)
	c := &calls{agents: ragdv1connect.NewAgentServiceClient(http, d.URL(), own), workflows: ragdv1connect.NewWorkflowServiceClient(http, d.URL(), own)}
	if err := c.fill(ctx, ragdv1connect.NewIndexServiceClient(http, d.URL(), own), ragdv1connect.NewDocumentServiceClient(http, d.URL(), own)); err != nil {
		return nil, err
	}
	c.http, c.daemon, c.key, c.model = http, d, key, m
	return c, nil
}

// begin begins an MCP session.
func (c *calls) begin(ctx context.Context) (err error) {
	c.mcp, err = harness.OpenMCP(ctx, c.daemon, c.http, c.key)
	return err
}

// fill makes an index with a document, an agent and a workflow.
func (c *calls) fill(ctx context.Context, indexes ragdv1connect.IndexServiceClient, documents ragdv1connect.DocumentServiceClient) error {
	if _, err := indexes.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "docs"}); err != nil {
		return err
	}
	text := strings.Repeat("The gate opens two hours before high water. ", 20)
	sent, err := documents.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "gate", Source: &ragdv1.UploadDocumentRequest_Text{Text: text}})
	if err != nil {
		return err
	}
	job, err := documents.WatchJob(ctx, &ragdv1.WatchJobRequest{JobId: sent.GetJob().GetJobId()})
	if err != nil {
		return err
	}
	defer job.Close()
	for job.Receive() { // until it has ended
	}
	if err := job.Err(); err != nil {
		return err
	}
	definition, err := structpb.NewStruct(map[string]any{
		"description": "Answers about the harbour.", "model": "openai/slow", "limits": map[string]any{"seconds": 300},
	})
	if err != nil {
		return err
	}
	if _, err := c.agents.CreateAgent(ctx, &ragdv1.CreateAgentRequest{AgentName: "harbour", Definition: definition}); err != nil {
		return err
	}
	definition, err = structpb.NewStruct(map[string]any{
		"description": "Asks about the harbour.",
		"steps":       []any{map[string]any{"id": "ask", "kind": "agent", "agent": "harbour", "input": map[string]any{"prompt": map[string]any{"value": question}}}},
	})
	if err != nil {
		return err
	}
	_, err = c.workflows.CreateWorkflow(ctx, &ragdv1.CreateWorkflowRequest{WorkflowName: "harbour", Definition: definition})
	return err
}

const question = "When does the gate open?"

// check returns an error for a text that is not the answer.
func check(text string, err error) error {
	if err == nil && !strings.Contains(text, answer) {
		err = fmt.Errorf("the answer is %q", text)
	}
	return err
}

func (c *calls) ask(ctx context.Context) error {
	said, err := c.agents.AskAgent(ctx, &ragdv1.AskAgentRequest{AgentName: "harbour", Message: question})
	return check(said.GetText(), err)
}

func (c *calls) stream(ctx context.Context) error {
	events, err := c.agents.AskAgentStream(ctx, &ragdv1.AskAgentStreamRequest{Ask: &ragdv1.AskAgentRequest{AgentName: "harbour", Message: question}})
	if err != nil {
		return err
	}
	defer events.Close()
	var text string
	for events.Receive() {
		text = events.Msg().GetAnswer().GetText()
	}
	return check(text, events.Err())
}

func (c *calls) tool(ctx context.Context) error {
	var call mcpgo.CallToolRequest
	call.Params.Name = "ask_harbour"
	call.Params.Arguments = map[string]any{"message": question}
	result, err := c.mcp.CallTool(ctx, call)
	if err != nil {
		return err
	}
	return check(fmt.Sprint(result.Content), nil)
}

func (c *calls) workflow(ctx context.Context) error {
	started, err := c.workflows.StartWorkflow(ctx, &ragdv1.StartWorkflowRequest{WorkflowName: "harbour"})
	if err != nil {
		return err
	}
	select { // nobody watches while it waits
	case <-ctx.Done():
	case <-c.model.released():
	}
	for ; ctx.Err() == nil; time.Sleep(time.Second) {
		run, err := c.workflows.GetRun(ctx, &ragdv1.GetRunRequest{RunId: started.GetRunId()})
		if err != nil {
			return err
		}
		if status := run.GetStatus(); status != "queued" && status != "running" {
			return check(run.GetOutput().String()+run.GetError(), nil)
		}
	}
	return ctx.Err()
}
