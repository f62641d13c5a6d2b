package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func agentCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("agent", "Make agents that answer with a chat model and tools", `
An agent is a chat model that is offered chosen tools, with instructions and
limits. Its answers cite the passages they rest on. Over MCP it is the tool
ask_AGENT.`,
		agentCreate(p), agentUpdate(p), agentGet(p), agentList(p), agentDelete(p), agentThreads(p), agentThread(p), agentForget(p),
	))
}

func agentCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create AGENT",
		Short: "Make an agent from a file",
		Long: `Make an agent from a file with its definition in YAML or JSON:

  description: Answers questions about our products.
  model: openai/gpt-5-mini
  tools: [vector_query]
  limits: {steps: 6}`,
		Example: `  ragd agent create support --file support.yaml`,
		Args:    command.Arguments("AGENT"),
	}
	file := command.DefinitionFlag(cmd, "definition")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Agent, error) {
		req := &ragdv1.CreateAgentRequest{AgentName: args[0], Definition: &structpb.Struct{}}
		if err := p.ReadDefinition(*file, req.GetDefinition()); err != nil {
			return nil, err
		}
		return c.Agents.CreateAgent(ctx, req)
	}, showAgent)
	return cmd
}

func agentUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "update AGENT",
		Short:   "Replace the definition of an agent",
		Example: `  ragd agent update support --file support.yaml`,
		Args:    command.Arguments("AGENT"),
	}
	file, etag := command.DefinitionFlag(cmd, "definition"), command.ETagFlag(cmd)
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Agent, error) {
		req := &ragdv1.UpdateAgentRequest{AgentName: args[0], Etag: *etag, Definition: &structpb.Struct{}}
		if err := p.ReadDefinition(*file, req.GetDefinition()); err != nil {
			return nil, err
		}
		return c.Agents.UpdateAgent(ctx, req)
	}, showAgent)
	return cmd
}

func showAgent(a *ragdv1.Agent) func(io.Writer) {
	return func(w io.Writer) {
		fields := a.GetDefinition().AsMap()
		output.Field(w, "agent", a.GetAgentName())
		output.Field(w, "description", fmt.Sprint(fields["description"]))
		output.Field(w, "model", fmt.Sprint(fields["model"]))
		if tools, ok := fields["tools"].([]any); ok {
			output.Field(w, "tools", strings.Trim(fmt.Sprint(tools), "[]"))
		}
		output.Field(w, "created", output.Stamp(a.GetCreateTime()))
		output.Field(w, "changed", output.Stamp(a.GetUpdateTime()))
	}
}

func agentGet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get AGENT",
		Short:   "Show an agent; --yaml shows its whole definition",
		Example: `  ragd agent get support --yaml > support.yaml`,
		Args:    command.Arguments("AGENT"),
	}
	alone := command.YAMLFlag(cmd)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		a, err := c.Agents.GetAgent(ctx, &ragdv1.GetAgentRequest{AgentName: args[0]})
		if err != nil {
			return err
		}
		if *alone {
			return p.ShowDefinition(a.GetDefinition())
		}
		return p.Out.Show(a, showAgent(a))
	})
	return cmd
}

func agentList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the agents in the order of their names",
		Example: `  ragd agent list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		agents := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Agent, string, error) {
			page, err := c.Agents.ListAgents(ctx, &ragdv1.ListAgentsRequest{PageSize: size, PageToken: token})
			return page.GetAgents(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "agents", agents, "AGENT MODEL DESCRIPTION", func(a *ragdv1.Agent) []any {
			fields := a.GetDefinition().GetFields()
			return []any{a.GetAgentName(), fields["model"].GetStringValue(), fields["description"].GetStringValue()}
		})
	})
	return cmd
}

func agentDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete AGENT",
		Short:   "Delete an agent with its threads",
		Example: `  ragd agent delete support`,
		Args:    command.Arguments("AGENT"),
	}
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		_, err := c.Agents.DeleteAgent(ctx, &ragdv1.DeleteAgentRequest{AgentName: args[0]})
		return err
	})
	return cmd
}

func agentThreads(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "threads AGENT",
		Short:   "List your conversations with an agent",
		Example: `  ragd agent threads support`,
		Args:    command.Arguments("AGENT"),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		threads := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Thread, string, error) {
			page, err := c.Agents.ListThreads(ctx, &ragdv1.ListThreadsRequest{AgentName: args[0], PageSize: size, PageToken: token})
			return page.GetThreads(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "threads", threads, "THREAD CREATED CHANGED", func(t *ragdv1.Thread) []any {
			return []any{t.GetThreadId(), output.Stamp(t.GetCreateTime()), output.Stamp(t.GetUpdateTime())}
		})
	})
	return cmd
}

func agentThread(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "thread AGENT THREAD",
		Short:   "Show one of your conversations with an agent",
		Example: `  ragd agent thread support 2025-07-cables`,
		Args:    command.Arguments("AGENT", "THREAD"),
	}
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		thread, err := c.Agents.GetThread(ctx, &ragdv1.GetThreadRequest{AgentName: args[0], ThreadId: args[1]})
		if err != nil {
			return err
		}
		return p.Out.Show(thread, func(w io.Writer) {
			for _, m := range thread.GetMessages() {
				fmt.Fprintf(w, "%s:\n   %s\n\n", m.GetRole(), strings.ReplaceAll(output.Printable(m.GetText()), "\n", "\n   "))
			}
		})
	})
	return cmd
}

func agentForget(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "forget AGENT THREAD",
		Short:   "Delete one of your conversations with an agent",
		Example: `  ragd agent forget support 2025-07-cables`,
		Args:    command.Arguments("AGENT", "THREAD"),
	}
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		_, err := c.Agents.DeleteThread(ctx, &ragdv1.DeleteThreadRequest{AgentName: args[0], ThreadId: args[1]})
		return err
	})
	return cmd
}

func askCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ask AGENT QUESTION",
		Short: "Ask an agent and print its answer as it comes, with citations",
		Example: `  ragd ask support "How long is the warranty?"
  ragd ask support "And abroad?" --thread warranty
  ragd ask support "How do I start?" --context '{"language": "German"}'`,
		Args: command.Arguments("AGENT", "QUESTION"),
	}
	thread := cmd.Flags().String("thread", "", "id of a conversation to continue or begin")
	within := command.ContextFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		stream, err := c.Agents.AskAgentStream(within(ctx), &ragdv1.AskAgentStreamRequest{Ask: &ragdv1.AskAgentRequest{AgentName: args[0], Message: args[1], ThreadId: *thread}})
		if err != nil {
			return err
		}
		return followAnswer(p, stream)
	})
	return p.ClientFlags(cmd)
}

// followAnswer prints the text of an answer as it comes, then its citations.
func followAnswer(p *command.Program, stream *connect.ServerStreamForClient[ragdv1.AskAgentEvent]) error {
	defer stream.Close()
	said := false
	for stream.Receive() {
		switch e := stream.Msg().GetEvent().(type) {
		case *ragdv1.AskAgentEvent_Text:
			if !p.Out.JSON {
				said = true
				fmt.Fprint(p.Out.Stdout, output.Printable(e.Text))
			}
		case *ragdv1.AskAgentEvent_ToolCall:
			if said { // before it called tools
				fmt.Fprintln(p.Out.Stdout)
				said = false
			}
			fmt.Fprintf(p.Out.Stderr, "%s %s\n", e.ToolCall.GetToolName(), output.CompactJSON(e.ToolCall.GetArguments()))
		case *ragdv1.AskAgentEvent_ToolResult:
			if e.ToolResult.GetError() != "" {
				fmt.Fprintf(p.Out.Stderr, "%s failed: %s\n", e.ToolResult.GetToolName(), output.Printable(e.ToolResult.GetError()))
			}
		case *ragdv1.AskAgentEvent_Answer:
			return p.Out.Show(e.Answer, showAnswer(e.Answer, said))
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	return errors.New("the service ended the answer too early")
}

// showAnswer prints an answer, only its citations if the text has been printed.
func showAnswer(a *ragdv1.AskAgentResponse, said bool) func(io.Writer) {
	return func(w io.Writer) {
		if !said {
			fmt.Fprint(w, output.Printable(a.GetText()))
		}
		fmt.Fprintln(w)
		for i, c := range a.GetCitations() {
			if i == 0 {
				fmt.Fprintln(w)
			}
			title, document := c.GetTitle(), cmp.Or(c.GetUri(), c.GetDocumentId())
			if title == "" {
				fmt.Fprintf(w, "[%d] %s (bytes %d to %d)\n", c.GetNumber(), output.Printable(document), c.GetStartByte(), c.GetEndByte())
				continue
			}
			fmt.Fprintf(w, "[%d] %s (%s, bytes %d to %d)\n", c.GetNumber(), output.Printable(title), output.Printable(document), c.GetStartByte(), c.GetEndByte())
		}
	}
}
