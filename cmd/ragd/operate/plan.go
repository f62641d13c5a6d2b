package operate

import (
	"context"
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

func (p *program) planCommands() *cobra.Command {
	return p.ClientFlags(command.Group("plan", "Manage plans, the named sets of quotas and features of tenants, as the operator", `
A plan has quotas for tenants whose own settings have none, and says which features
and models they have. "ragd tenant create" and "ragd tenant update" give a tenant a
plan with --plan. These commands need the operator's key.`,
		p.planCreate(), p.planGet(), p.planList(), p.planUpdate(), p.planDelete(),
	))
}

func showPlan(plan *ragdv1.Plan) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "plan", plan.GetPlanName())
		output.Field(w, "name", plan.GetDisplayName())
		output.Field(w, "settings", output.CompactJSON(plan.GetSettings()))
		output.Field(w, "without", strings.Join(plan.GetFeatures().GetWithout(), ","))
		output.Field(w, "models", strings.Join(plan.GetFeatures().GetModels(), ","))
		output.Field(w, "tenants", plan.GetTenants())
		output.Field(w, "created", output.Stamp(plan.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(plan.GetUpdateTime()))
	}
}

const aboutPlanSettings = `The settings are quotas, as those of a tenant:

  maxIndexes          indexes
  maxDocuments        documents
  maxDocumentBytes    bytes of these
  maxTokensPerMonth   tokens of models in a calendar month of UTC
  requestsPerSecond   requests a second on one instance
  concurrentRequests  requests at once on one instance
  sleepAfter          how long a tenant is unused before it is put to sleep, such
                      as 720h, or never
  deletedRetention    how long deleted documents, and the tenant itself once it
                      is deleted, can be restored, such as 720h;
                      0s to erase them at once

--without names what the tenants do not have: agents, connectors, externalTools,
workflows. --models are patterns of the models at endpoints that they may use.`

func (p *program) planCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create PLAN",
		Short: "Make a plan",
		Long: `Make a plan. PLAN is 1 to 40 characters of a-z, 0-9 and -, the first a letter.
` + aboutPlanSettings,
		Example: `  ragd plan create starter --settings '{"maxDocuments": 1000, "maxTokensPerMonth": 1000000}' \
    --without connectors,workflows --models 'openai/gpt-*-mini'
  ragd tenant update acme --plan starter`,
		Args: command.Arguments("PLAN"),
	}
	name := cmd.Flags().String("name", "", "name for people")
	settings := command.ObjectFlag(cmd.Flags(), "settings", "quotas of its tenants")
	without := cmd.Flags().StringSlice("without", nil, "features that its tenants do not have (default: none, they have all)")
	models := cmd.Flags().StringSlice("models", nil, "patterns of the models that its tenants may use (default: all)")
	cmd.RunE = command.Show(p.Program, client.ForOperator, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Plan, error) {
		return c.Plans.CreatePlan(ctx, &ragdv1.CreatePlanRequest{
			PlanName: args[0], DisplayName: *name, Settings: settings(), Features: &ragdv1.PlanFeatures{Without: *without, Models: *models},
		})
	}, showPlan)
	return cmd
}

func (p *program) planGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get PLAN",
		Short:   "Show a plan",
		Example: `  ragd plan get starter --json`,
		Args:    command.Arguments("PLAN"),
		RunE: command.Show(p.Program, client.ForOperator, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Plan, error) {
			return c.Plans.GetPlan(ctx, &ragdv1.GetPlanRequest{PlanName: args[0]})
		}, showPlan),
	}
}

func (p *program) planList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the plans in the order of their names",
		Example: `  ragd plan list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForOperator, func(ctx context.Context, c *client.Client, _ []string) error {
		plans := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Plan, string, error) {
			page, err := c.Plans.ListPlans(ctx, &ragdv1.ListPlansRequest{PageSize: size, PageToken: token})
			return page.GetPlans(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "plans", plans, "PLAN NAME TENANTS SETTINGS WITHOUT", func(plan *ragdv1.Plan) []any {
			return []any{plan.GetPlanName(), plan.GetDisplayName(), plan.GetTenants(), output.CompactJSON(plan.GetSettings()), strings.Join(plan.GetFeatures().GetWithout(), ",")}
		})
	})
	return cmd
}

func (p *program) planUpdate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update PLAN",
		Short: "Change a plan, for all tenants that have it",
		Long: `Change a plan, for all tenants that have it. It is in force at once on the instance
that makes the change, and within 3 seconds on the others; a quota of tokens within
10. Nothing is deleted of tenants that have more than the plan allows.

` + aboutPlanSettings + ` One of
--without and --models replaces both.`,
		Example: `  ragd plan update starter --settings '{"maxDocuments": 2000}'
  ragd plan update starter --without workflows`,
		Args: command.Arguments("PLAN"),
	}
	name := cmd.Flags().String("name", "", "name for people")
	settings := command.ObjectFlag(cmd.Flags(), "settings", "quotas, which replace the present ones as a whole")
	without := cmd.Flags().StringSlice("without", nil, "features that its tenants do not have")
	models := cmd.Flags().StringSlice("models", nil, "patterns of the models that its tenants may use")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		req := &ragdv1.UpdatePlanRequest{PlanName: args[0], Settings: settings()}
		if cmd.Flags().Changed("name") {
			req.DisplayName = name
		}
		if cmd.Flags().Changed("without") || cmd.Flags().Changed("models") {
			req.Features = &ragdv1.PlanFeatures{Without: *without, Models: *models}
		}
		if req.DisplayName == nil && req.Settings == nil && req.Features == nil {
			return misuse.Errorf("nothing to change: give --name, --settings, --without or --models")
		}
		c, err := p.Connect(client.ForOperator)
		if err != nil {
			return err
		}
		plan, err := c.Plans.UpdatePlan(cmd.Context(), req)
		if err != nil {
			return err
		}
		return p.Out.Show(plan, showPlan(plan))
	}
	return cmd
}

func (p *program) planDelete() *cobra.Command {
	return &cobra.Command{
		Use:     "delete PLAN",
		Short:   "Delete a plan that no tenant has",
		Example: `  ragd plan delete starter`,
		Args:    command.Arguments("PLAN"),
		RunE: command.Delete(p.Program, client.ForOperator, "plan", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeletePlanResponse, error) {
			return c.Plans.DeletePlan(ctx, &ragdv1.DeletePlanRequest{PlanName: args[0]})
		}),
	}
}
