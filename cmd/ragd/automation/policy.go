package automation

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func policyCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("policy", "Say what may happen when agents call tools", `
A policy denies calls of tools, redacts their arguments or results, or has the user
of an agent approve them, where a condition holds.`,
		policyCreate(p), policyUpdate(p), policyGet(p), policyList(p), policyExplain(p), policyDelete(p),
	))
}

func policyCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create POLICY",
		Short: "Make a policy from a file",
		Long: `Make a policy from a file in YAML or JSON with tools, phase, condition, action,
message, redaction, order, disabled and description:

  tools: [github_*]
  condition: '!tool.readOnly && !("admin" in caller.scopes)'
  action: deny
  message: Only administrators change repositories.`,
		Example: `  ragd policy create keep_repositories --file policy.yaml
  ragd policy create hide_numbers --file - < policy.json`,
		Args: command.Arguments("POLICY"),
	}
	file := command.DefinitionFlag(cmd, "policy")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Policy, error) {
		req := &ragdv1.CreatePolicyRequest{}
		if err := p.ReadDefinition(*file, req); err != nil {
			return nil, err
		}
		req.PolicyName = args[0]
		return c.Policies.CreatePolicy(ctx, req)
	}, showPolicy)
	return cmd
}

func policyUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update POLICY",
		Short: "Change a policy",
		Long: `Change what the file has of a policy, and leave the rest. --disable keeps a policy
without effect, and --enable has it take effect again.`,
		Example: `  ragd policy update keep_repositories --file policy.yaml
  ragd policy update keep_repositories --disable`,
		Args: command.Arguments("POLICY"),
	}
	file, etag := command.DefinitionFlag(cmd, "policy"), command.ETagFlag(cmd)
	enable := cmd.Flags().Bool("enable", false, "have the policy take effect")
	disable := cmd.Flags().Bool("disable", false, "keep the policy without effect")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Policy, error) {
		if *enable && *disable {
			return nil, misuse.Errorf("--enable and --disable exclude each other")
		}
		req := &ragdv1.UpdatePolicyRequest{}
		if *file != "" || !*enable && !*disable {
			if err := p.ReadDefinition(*file, req); err != nil {
				return nil, err
			}
		}
		if *enable || *disable {
			req.Disabled = disable
		}
		req.PolicyName = args[0]
		if *etag != "" {
			req.Etag = *etag
		}
		return c.Policies.UpdatePolicy(ctx, req)
	}, showPolicy)
	return cmd
}

func showPolicy(policy *ragdv1.Policy) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "policy", policy.GetPolicyName())
		output.Field(w, "description", policy.GetDescription())
		output.Field(w, "tools", strings.Join(policy.GetTools(), ", "))
		output.Field(w, "phase", policy.GetPhase())
		output.Field(w, "condition", policy.GetCondition())
		output.Field(w, "action", policy.GetAction())
		output.Field(w, "message", policy.GetMessage())
		output.Field(w, "redaction", output.CompactJSON(policy.GetRedaction()))
		output.Field(w, "order", policy.GetOrder())
		if policy.GetDisabled() {
			output.Field(w, "disabled", "yes")
		}
		output.Field(w, "created", output.Stamp(policy.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(policy.GetUpdateTime()))
	}
}

func policyGet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get POLICY",
		Short:   "Show a policy",
		Example: `  ragd policy get keep_repositories`,
		Args:    command.Arguments("POLICY"),
	}
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Policy, error) {
		return c.Policies.GetPolicy(ctx, &ragdv1.GetPolicyRequest{PolicyName: args[0]})
	}, showPolicy)
	return cmd
}

func policyList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the policies in the order of their names",
		Example: `  ragd policy list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		policies := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Policy, string, error) {
			page, err := c.Policies.ListPolicies(ctx, &ragdv1.ListPoliciesRequest{PageSize: size, PageToken: token})
			return page.GetPolicies(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "policies", policies, "POLICY ORDER PHASE ACTION TOOLS DISABLED", func(m *ragdv1.Policy) []any {
			disabled := ""
			if m.GetDisabled() {
				disabled = "yes"
			}
			return []any{m.GetPolicyName(), m.GetOrder(), m.GetPhase(), m.GetAction(), strings.Join(m.GetTools(), ","), disabled}
		})
	})
	return cmd
}

func policyExplain(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain TOOL",
		Short: "Say what the policies would do to a call, and call nothing",
		Example: `  ragd policy explain github_merge --arguments '{"branch": "main"}'
  ragd policy explain find_customer --result '{"structuredContent": {"name": "Rosa", "phone": "555-0100"}}'
  ragd policy explain github_merge --caller '{"scopes": ["read"], "claims": {"team": "web"}}'`,
		Args: command.Arguments("TOOL"),
	}
	flags := cmd.Flags()
	arguments := command.ObjectFlag(flags, "arguments", "arguments of the call, such as {\"branch\": \"main\"}")
	caller := command.ObjectFlag(flags, "caller", "members of another caller: subject, issuer, scopes, claims, attributes, context (default this one)")
	given := &command.MessageFlag{Msg: &ragdv1.PolicyResult{}}
	flags.Var(given, "result", `what the tool would return: {"structuredContent": {...}, "text": "..."}, or with isError`)
	server := flags.String("server", "", "MCP server of the tenant that the call comes through (default none)")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.ExplainPoliciesResponse, error) {
		req := &ragdv1.ExplainPoliciesRequest{ToolName: args[0], Arguments: arguments(), Caller: caller(), Server: *server}
		if given.Given {
			req.Result = given.Msg.(*ragdv1.PolicyResult)
		}
		return c.Policies.ExplainPolicies(ctx, req)
	}, showExplanation)
	return cmd
}

func showExplanation(res *ragdv1.ExplainPoliciesResponse) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "outcome", res.GetOutcome())
		output.Field(w, "message", output.OneLine(res.GetMessage()))
		output.Field(w, "arguments", output.CompactJSON(res.GetArguments()))
		output.Field(w, "result", output.CompactJSON(res.GetResult()))
		for _, d := range res.GetDecisions() {
			did := "does not apply"
			switch {
			case d.GetError() != "":
				did = "fails: " + d.GetError()
			case d.GetRedacted():
				did = "has redacted something"
			case d.GetApplies() && d.GetAction() == "redact":
				did = "has found nothing to redact"
			case d.GetApplies():
				did = "applies"
			}
			fmt.Fprintf(w, "%s (%s, %s): %s\n", d.GetPolicyName(), d.GetPhase(), d.GetAction(), output.OneLine(did))
		}
	}
}

func policyDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete POLICY",
		Short:   "Delete a policy",
		Example: `  ragd policy delete keep_repositories`,
		Args:    command.Arguments("POLICY"),
	}
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		res, err := c.Policies.DeletePolicy(ctx, &ragdv1.DeletePolicyRequest{PolicyName: args[0]})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) { fmt.Fprintf(w, "deleted policy %s\n", args[0]) })
	})
	return cmd
}
