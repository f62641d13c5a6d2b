package automation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func workflowCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("workflow", "Make and run workflows: sequences of steps that call tools", `
A workflow is kept in versions: each change makes the next. Over MCP it is the tool
run_WORKFLOW. A run is kept with the inputs and outputs of its steps, goes on when
ragd is started again, and can wait for somebody to resume it.`,
		workflowCreate(p), workflowUpdate(p), workflowGet(p), workflowList(p), workflowDelete(p),
		workflowRun(p), workflowRuns(p), workflowShow(p), workflowResume(p), workflowCancel(p),
	))
}

const workflowFileHelp = `The file has the definition in YAML or JSON:

  description: Finds passages and posts them.
  inputSchema: {type: object, properties: {question: {type: string}}, required: [question]}
  steps:
    - id: find
      kind: query
      input:
        indexName: {value: docs}
        queryText: {initData: true, path: question}
    - id: texts
      kind: map
      inputFrom: {expression: "{'texts': steps.find.sources.map(s, s.document)}"}`

// readWorkflow reads a definition from a file in YAML or JSON.
func readWorkflow(p *command.Program, path string) (*structpb.Struct, error) {
	definition := &structpb.Struct{}
	return definition, p.ReadDefinition(path, definition)
}

func workflowCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "create WORKFLOW",
		Short:   "Make a workflow from a file",
		Long:    "Make a workflow from a file. " + workflowFileHelp,
		Example: `  ragd workflow create publish --file publish.yaml`,
		Args:    command.Arguments("WORKFLOW"),
	}
	file := command.DefinitionFlag(cmd, "definition")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Workflow, error) {
		definition, err := readWorkflow(p, *file)
		if err != nil {
			return nil, err
		}
		return c.Workflows.CreateWorkflow(ctx, &ragdv1.CreateWorkflowRequest{WorkflowName: args[0], Definition: definition})
	}, showWorkflow)
	return cmd
}

func workflowUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update WORKFLOW",
		Short: "Replace the definition of a workflow, as its next version",
		Long: `Replace the definition of a workflow. The result is the next version, unless nothing
changes. Runs go on with the version that they began with.`,
		Example: `  ragd workflow update publish --file publish.yaml`,
		Args:    command.Arguments("WORKFLOW"),
	}
	file, etag := command.DefinitionFlag(cmd, "definition"), command.ETagFlag(cmd)
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Workflow, error) {
		definition, err := readWorkflow(p, *file)
		if err != nil {
			return nil, err
		}
		return c.Workflows.UpdateWorkflow(ctx, &ragdv1.UpdateWorkflowRequest{WorkflowName: args[0], Etag: *etag, Definition: definition})
	}, showWorkflow)
	return cmd
}

func showWorkflow(w *ragdv1.Workflow) func(io.Writer) {
	return func(to io.Writer) {
		definition := w.GetDefinition().AsMap()
		output.Field(to, "workflow", w.GetWorkflowName())
		output.Field(to, "version", fmt.Sprint(w.GetVersion()))
		if len(w.GetVersions()) > 1 {
			output.Field(to, "versions", strings.Trim(fmt.Sprint(w.GetVersions()), "[]"))
		}
		output.Field(to, "description", fmt.Sprint(definition["description"]))
		output.Field(to, "created", output.Stamp(w.GetCreateTime()))
		steps, _ := definition["steps"].([]any)
		for _, step := range steps {
			if s, ok := step.(map[string]any); ok {
				output.Field(to, "step", fmt.Sprint(s["id"], " (", s["kind"], ")"))
			}
		}
	}
}

func workflowVersion(cmd *cobra.Command, usage string) *int32 {
	return cmd.Flags().Int32("version", 0, usage)
}

func workflowGet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get WORKFLOW",
		Short:   "Show a version of a workflow; --yaml shows its whole definition",
		Example: `  ragd workflow get publish --yaml > publish.yaml`,
		Args:    command.Arguments("WORKFLOW"),
	}
	alone := command.YAMLFlag(cmd)
	version := workflowVersion(cmd, "number of the version (default the latest)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		w, err := c.Workflows.GetWorkflow(ctx, &ragdv1.GetWorkflowRequest{WorkflowName: args[0], Version: *version})
		if err != nil {
			return err
		}
		if *alone {
			return p.ShowDefinition(w.GetDefinition())
		}
		return p.Out.Show(w, showWorkflow(w))
	})
	return cmd
}

func workflowList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the latest versions of the workflows in the order of their names",
		Example: `  ragd workflow list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		workflows := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Workflow, string, error) {
			page, err := c.Workflows.ListWorkflows(ctx, &ragdv1.ListWorkflowsRequest{PageSize: size, PageToken: token})
			return page.GetWorkflows(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "workflows", workflows, "WORKFLOW VERSION DESCRIPTION", func(w *ragdv1.Workflow) []any {
			return []any{w.GetWorkflowName(), w.GetVersion(), w.GetDefinition().GetFields()["description"].GetStringValue()}
		})
	})
	return cmd
}

func workflowDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete WORKFLOW",
		Short:   "Delete a workflow with all its versions, or one version, and cancel their runs",
		Example: `  ragd workflow delete publish`,
		Args:    command.Arguments("WORKFLOW"),
	}
	version := workflowVersion(cmd, "number of the version to delete, which is not the latest (default all)")
	cmd.RunE = command.Delete(p, client.ForTenant, "workflow", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeleteWorkflowResponse, error) {
		return c.Workflows.DeleteWorkflow(ctx, &ragdv1.DeleteWorkflowRequest{WorkflowName: args[0], Version: *version})
	})
	return cmd
}

func workflowRun(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run WORKFLOW",
		Short: "Run a workflow and show its steps and its result",
		Long: `Run a workflow. Its steps are printed to standard error as they change, and its result
to standard output. The run goes on when the command is interrupted.`,
		Example: `  ragd workflow run publish --input '{"question": "What is new?"}'
  ragd workflow run publish --input @input.json --start
  ragd workflow run publish --context '{"tier": "pro"}'`,
		Args: command.Arguments("WORKFLOW"),
	}
	version := workflowVersion(cmd, "number of the version (default the latest)")
	input := cmd.Flags().String("input", "", "input as a JSON object, or @FILE (default {})")
	start := cmd.Flags().Bool("start", false, "only start the run and print its id")
	within := command.ContextFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		given := &structpb.Struct{}
		if err := readJSON("--input", *input, given.UnmarshalJSON); err != nil {
			return err
		}
		if *start {
			run, err := c.Workflows.StartWorkflow(within(ctx), &ragdv1.StartWorkflowRequest{WorkflowName: args[0], Version: *version, Input: given})
			if err != nil {
				return err
			}
			return p.Out.Show(run, func(w io.Writer) { fmt.Fprintln(w, run.GetRunId()) })
		}
		stream, err := c.Workflows.RunWorkflow(within(ctx), &ragdv1.RunWorkflowRequest{WorkflowName: args[0], Version: *version, Input: given})
		if err != nil {
			return err
		}
		return followRun(p, stream)
	})
	return cmd
}

// readJSON reads JSON that a flag has, or the file that it names after @; nothing for "".
func readJSON(flag, given string, into func([]byte) error) error {
	if given == "" {
		return nil
	}
	raw := []byte(given)
	if path, ok := strings.CutPrefix(given, "@"); ok {
		var err error
		if raw, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	if err := into(raw); err != nil {
		return misuse.Errorf("%s is not the JSON that is needed: %s", flag, command.ProtoReason(err))
	}
	return nil
}

// followRun prints the steps of a run as they change, then its result.
func followRun(p *command.Program, stream *connect.ServerStreamForClient[ragdv1.RunWorkflowEvent]) error {
	defer stream.Close()
	var run *ragdv1.WorkflowRun
	waiting := map[string]string{} // messages by path
	for stream.Receive() {
		if now := stream.Msg().GetRun(); now != nil {
			if run == nil {
				fmt.Fprintf(p.Out.Stderr, "run %s of %s, version %d\n", now.GetRunId(), now.GetWorkflowName(), now.GetVersion())
			}
			run = now
		}
		if step := stream.Msg().GetStep(); step != nil {
			fmt.Fprintf(p.Out.Stderr, "%-9s %s%s\n", step.GetStatus(), step.GetPath(), errorOf(step.GetError()))
			delete(waiting, step.GetPath())
			if step.GetStatus() == "waiting" {
				waiting[step.GetPath()] = step.GetMessage()
			}
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	switch run.GetStatus() {
	case "failed", "cancelled":
		return fmt.Errorf("run %s has %s: %s", run.GetRunId(), run.GetStatus(), run.GetError())
	case "waiting":
		step := ""
		if len(waiting) > 1 {
			step = " --step PATH"
		}
		for _, path := range slices.Sorted(maps.Keys(waiting)) {
			fmt.Fprintf(p.Out.Stderr, "the run waits at %s: %s\n", path, output.Printable(waiting[path]))
		}
		fmt.Fprintf(p.Out.Stderr, "resume it with: ragd workflow resume %s%s --data JSON\n", run.GetRunId(), step)
	}
	return p.Out.Show(run, func(w io.Writer) {
		if run.GetOutput() != nil {
			fmt.Fprintln(w, pretty(run.GetOutput()))
		}
	})
}

func errorOf(text string) string {
	if text == "" {
		return ""
	}
	return ": " + output.Printable(text)
}

// pretty returns JSON in lines.
func pretty(v *structpb.Value) string {
	raw, err := json.MarshalIndent(v.AsInterface(), "", "  ")
	if err != nil {
		return protojson.Format(v)
	}
	return string(raw)
}

func workflowRuns(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs [WORKFLOW]",
		Short: "List runs, the newest first",
		Example: `  ragd workflow runs
  ragd workflow runs publish --status waiting`,
		Args: cobra.MaximumNArgs(1),
	}
	limit := command.LimitFlag(cmd.Flags())
	status := cmd.Flags().String("status", "", "only queued, running, waiting, succeeded, failed or cancelled runs")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		name := strings.Join(args, "")
		runs := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.WorkflowRun, string, error) {
			page, err := c.Workflows.ListRuns(ctx, &ragdv1.ListRunsRequest{WorkflowName: name, Status: *status, PageSize: size, PageToken: token})
			return page.GetRuns(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "runs", runs, "RUN WORKFLOW VERSION STATUS STARTED ERROR", func(r *ragdv1.WorkflowRun) []any {
			return []any{r.GetRunId(), r.GetWorkflowName(), r.GetVersion(), r.GetStatus(), output.Stamp(r.GetCreateTime()), r.GetError()}
		})
	})
	return cmd
}

func showRun(r *ragdv1.WorkflowRun) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "run", r.GetRunId())
		output.Field(w, "workflow", fmt.Sprint(r.GetWorkflowName(), ", version ", r.GetVersion()))
		output.Field(w, "status", r.GetStatus())
		output.Field(w, "error", r.GetError())
		output.Field(w, "started by", r.GetSubject())
		output.Field(w, "created", output.Stamp(r.GetCreateTime()))
		output.Field(w, "ended", output.Stamp(r.GetEndTime()))
		for _, s := range r.GetSteps() {
			text := fmt.Sprint(s.GetPath(), " (", s.GetKind(), ") ", s.GetStatus(), errorOf(s.GetError()))
			if s.GetEndTime() != nil {
				text += fmt.Sprintf(", %d ms", s.GetEndTime().AsTime().Sub(s.GetStartTime().AsTime()).Milliseconds())
			}
			if s.GetStatus() == "waiting" {
				text += ": " + s.GetMessage()
			}
			output.Field(w, "step", text)
		}
		if r.GetOutput() != nil {
			fmt.Fprintf(w, "\n%s\n", pretty(r.GetOutput()))
		}
	}
}

func workflowShow(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show RUN",
		Short:   "Show a run with its steps; --json shows their inputs and outputs",
		Example: `  ragd workflow show 0198f2c4-7d52-7a3e-9c1b-2f6f0a1d3e4b`,
		Args:    command.Arguments("RUN"),
	}
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.WorkflowRun, error) {
		return c.Workflows.GetRun(ctx, &ragdv1.GetRunRequest{RunId: args[0]})
	}, showRun)
	return cmd
}

func workflowResume(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Give a run that waits its data, and follow it",
		Example: `  ragd workflow resume 0198f2c4-7d52-7a3e-9c1b-2f6f0a1d3e4b --data '{"approved": true}'
  ragd workflow resume 0198f2c4-7d52-7a3e-9c1b-2f6f0a1d3e4b --step each[2].ask --data @answer.json`,
		Args: command.Arguments("RUN"),
	}
	data := cmd.Flags().String("data", "", "data as JSON, or @FILE (default {})")
	step := cmd.Flags().String("step", "", "path of the step, if several wait")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		given := structpb.NewStructValue(&structpb.Struct{})
		if err := readJSON("--data", *data, given.UnmarshalJSON); err != nil {
			return err
		}
		if _, err := c.Workflows.ResumeRun(ctx, &ragdv1.ResumeRunRequest{RunId: args[0], StepPath: *step, Data: given}); err != nil {
			return err
		}
		stream, err := c.Workflows.WatchRun(ctx, &ragdv1.WatchRunRequest{RunId: args[0]})
		if err != nil {
			return err
		}
		return followRun(p, stream)
	})
	return cmd
}

func workflowCancel(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cancel RUN",
		Short:   "Cancel a run and stop the step that is running",
		Example: `  ragd workflow cancel 0198f2c4-7d52-7a3e-9c1b-2f6f0a1d3e4b`,
		Args:    command.Arguments("RUN"),
	}
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.WorkflowRun, error) {
		return c.Workflows.CancelRun(ctx, &ragdv1.CancelRunRequest{RunId: args[0]})
	}, showRun)
	return cmd
}
