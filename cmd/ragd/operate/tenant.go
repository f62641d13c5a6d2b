package operate

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
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

func (p *program) tenantCommands() *cobra.Command {
	return command.Group("tenant", "Manage tenants, as the operator", `
A tenant is a customer with documents that no other tenant can see. These
commands need the operator's key, which "ragd serve" prints on its first start:
in RAGD_OPERATOR_KEY, in the file of settings, or in client.conf on the machine
of the service.`,
		p.ClientFlags(p.tenantCreate()), p.ClientFlags(p.tenantGet()), p.ClientFlags(p.tenantList()),
		p.ClientFlags(p.tenantUpdate()), p.ClientFlags(p.tenantDelete()), p.ClientFlags(p.tenantRestore()), p.ClientFlags(p.tenantMove()), p.ClientFlags(p.tenantMoves()), p.ClientFlags(p.tenantSleep()), p.ClientFlags(p.tenantWake()), p.ClientFlags(p.tenantReencrypt()), p.tenantRepair(),
	)
}

func showTenant(tenant *ragdv1.Tenant) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "tenant", tenant.GetTenantId())
		output.Field(w, "name", tenant.GetDisplayName())
		output.Field(w, "database", tenant.GetDatabase())
		output.Field(w, "plan", tenant.GetPlanName())
		output.Field(w, "state", tenant.GetState())
		if tenant.GetAsleepTime() != nil {
			output.Field(w, "asleep since", output.Stamp(tenant.GetAsleepTime()))
			output.Field(w, "archive", output.Number(tenant.GetArchivedBytes())+" bytes")
		}
		if tenant.GetEraseTime() != nil {
			output.Field(w, "deleted", output.Stamp(tenant.GetDeleteTime()))
			output.Field(w, "is erased", output.Stamp(tenant.GetEraseTime()))
		}
		output.Field(w, "settings", output.CompactJSON(tenant.GetSettings()))
		output.Field(w, "limits", ownLimits(tenant.GetQuotas()))
		output.Field(w, "created", output.Stamp(tenant.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(tenant.GetUpdateTime()))
	}
}

// ownLimits says the limits of a tenant that are not those of the service, and where they come from.
func ownLimits(quotas []*ragdv1.Quota) string {
	var own []string
	for _, q := range quotas {
		if q.GetSource() != string(quota.FromDefault) {
			own = append(own, q.GetName()+" "+output.Number(q.GetLimit())+" ("+q.GetSource()+")")
		}
	}
	return strings.Join(own, ", ")
}

func (p *program) tenantCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create TENANT",
		Short: "Make a tenant with its own schema and database role",
		Long: `Make a tenant with its own schema and database role. TENANT is 1 to 40
characters of a-z, 0-9 and -, the first a letter.`,
		Example: `  ragd tenant create acme --name "Acme Ltd."
  ragd key create --tenant acme`,
		Args: command.Arguments("TENANT"),
	}
	name := cmd.Flags().String("name", "", "name for people")
	settings := command.ObjectFlag(cmd.Flags(), "settings", "free-form settings")
	plan := cmd.Flags().String("plan", "", "plan of the tenant, see \"ragd plan\" (default: none)")
	database := cmd.Flags().String("database", "", "database in which the tenant lives, see \"ragd databases\" (default: its own, else the smallest)")
	cmd.RunE = command.Show(p.Program, client.ForOperator, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Tenant, error) {
		return c.Tenants.CreateTenant(ctx, &ragdv1.CreateTenantRequest{
			TenantId: args[0], DisplayName: *name, Settings: settings(), Database: *database, PlanName: *plan,
		})
	}, showTenant)
	return cmd
}

func (p *program) tenantGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get TENANT",
		Short:   "Show a tenant",
		Example: `  ragd tenant get acme --json`,
		Args:    command.Arguments("TENANT"),
		RunE: command.Show(p.Program, client.ForOperator, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Tenant, error) {
			return c.Tenants.GetTenant(ctx, &ragdv1.GetTenantRequest{TenantId: args[0]})
		}, showTenant),
	}
}

func (p *program) tenantList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tenants in the order of their ids",
		Example: `  ragd tenant list --json | jq -r .tenantId
  ragd tenant list --state asleep
  ragd tenant list --state deleted`,
		Args: command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	plan := cmd.Flags().String("plan", "", "list tenants with this plan alone (default: all)")
	state := cmd.Flags().String("state", "", "list tenants in this state alone: active, asleep, waking or deleted (default: all but those that are deleted)")
	cmd.RunE = p.Call(client.ForOperator, func(ctx context.Context, c *client.Client, _ []string) error {
		tenants := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Tenant, string, error) {
			page, err := c.Tenants.ListTenants(ctx, &ragdv1.ListTenantsRequest{PageSize: size, PageToken: token, State: *state, PlanName: *plan})
			return page.GetTenants(), page.GetNextPageToken(), err
		})
		if *state == string(provision.Deleted) {
			return output.List(p.Out, "deleted tenants", tenants, "TENANT NAME PLAN DATABASE DELETED ERASED", func(t *ragdv1.Tenant) []any {
				return []any{t.GetTenantId(), t.GetDisplayName(), t.GetPlanName(), t.GetDatabase(), output.Stamp(t.GetDeleteTime()), output.Stamp(t.GetEraseTime())}
			})
		}
		return output.List(p.Out, "tenants", tenants, "TENANT NAME PLAN STATE DATABASE CREATED", func(t *ragdv1.Tenant) []any {
			return []any{t.GetTenantId(), t.GetDisplayName(), t.GetPlanName(), t.GetState(), t.GetDatabase(), output.Stamp(t.GetCreateTime())}
		})
	})
	return cmd
}

func (p *program) tenantUpdate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update TENANT",
		Short: "Change a tenant's name, plan or settings",
		Long: `Change a tenant's name, plan or settings. Settings are free-form JSON, but for
these keys, in place of those of the plan and of the service's standard values:

  maxIndexes          indexes
  requestsPerSecond   requests a second on one instance, over RPC and MCP
  concurrentRequests  requests at once on one instance, besides streams
  sleepAfter          how long it is unused before it is put to sleep, such as
                      720h, or never
  deletedRetention    how long its deleted documents, and itself once it is
                      deleted, can be restored, such as 720h; 0s to erase them
                      at once

A change takes effect at once on the instance that makes it, and within 3 seconds
on the others.`,
		Example: `  ragd tenant update acme --name "Acme Inc." --settings '{"customer": 4711}'
  ragd tenant update acme --plan starter
  ragd tenant update acme --settings '{"requestsPerSecond": 50, "maxIndexes": 10}'`,
		Args: command.Arguments("TENANT"),
	}
	name := cmd.Flags().String("name", "", "name for people")
	settings := command.ObjectFlag(cmd.Flags(), "settings", "settings, which replace the present ones as a whole")
	plan := cmd.Flags().String("plan", "", "plan of the tenant, see \"ragd plan\"; empty for none")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		req := &ragdv1.UpdateTenantRequest{TenantId: args[0], Settings: settings()}
		if cmd.Flags().Changed("plan") {
			req.PlanName = plan
		}
		if cmd.Flags().Changed("name") {
			req.DisplayName = name
		}
		if req.DisplayName == nil && req.Settings == nil && req.PlanName == nil {
			return misuse.Errorf("nothing to change: give --name, --plan or --settings")
		}
		c, err := p.Connect(client.ForOperator)
		if err != nil {
			return err
		}
		tenant, err := c.Tenants.UpdateTenant(cmd.Context(), req)
		if err != nil {
			return err
		}
		return p.Out.Show(tenant, showTenant(tenant))
	}
	return cmd
}

func (p *program) tenantDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete TENANT",
		Short: "Delete a tenant with everything it owns",
		Long: `Delete a tenant with everything it owns: documents, indexes, keys, jobs. Its keys
are rejected at once. "ragd tenant restore" brings it back as it was, as long as
the setting deleted-retention, its plan or its own settings say; then it is
erased. With --erase that is done now, also to a tenant that was deleted before:
it cannot be undone, and the command says what it found and what is left.

It asks for the tenant's id unless --yes is given.`,
		Example: `  ragd tenant delete acme
  ragd tenant delete acme --erase --yes`,
		Args: command.Arguments("TENANT"),
	}
	erase := cmd.Flags().Bool("erase", false, "erase it at once: it cannot be restored")
	yes := command.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		warning := "This deletes tenant %s with everything it owns."
		if *erase {
			warning = "This erases tenant %s with everything it owns. It cannot be undone."
		}
		if err := p.Confirm(cmd.Context(), *yes, args[0], warning, args[0]); err != nil {
			return err
		}
		c, err := p.Connect(client.ForOperator)
		if err != nil {
			return err
		}
		res, err := c.Tenants.DeleteTenant(cmd.Context(), &ragdv1.DeleteTenantRequest{TenantId: args[0], Erase: *erase})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) { showDeletion(w, args[0], res) })
	}
	return cmd
}

func (p *program) tenantRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore TENANT",
		Short: "Bring a deleted tenant back",
		Long: `Bring a deleted tenant back as it was, with its documents, settings and keys; its
work goes on. "ragd tenant list --state deleted" lists those that can be brought
back, and until when.`,
		Example: `  ragd tenant restore acme`,
		Args:    command.Arguments("TENANT"),
		RunE: command.Show(p.Program, client.ForOperator, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Tenant, error) {
			return c.Tenants.RestoreTenant(ctx, &ragdv1.RestoreTenantRequest{TenantId: args[0]})
		}, showTenant),
	}
}

// showDeletion writes what was deleted and what was kept.
func showDeletion(w io.Writer, tenant string, res *ragdv1.DeleteTenantResponse) {
	var deleted []string
	for _, r := range res.GetDeleted() {
		deleted = append(deleted, output.Number(r.GetCount())+" "+r.GetKind())
	}
	fmt.Fprintf(w, "deleted tenant %s", tenant)
	if len(deleted) > 0 {
		fmt.Fprintf(w, ": %s", strings.Join(deleted, ", "))
	}
	fmt.Fprintln(w)
	if until := res.GetEraseTime(); until != nil {
		fmt.Fprintf(w, "until %s it can be brought back: ragd tenant restore %s\n", output.Stamp(until), tenant)
	}
	for _, k := range res.GetKept() {
		fmt.Fprintf(w, "kept %s %s: %s\n", output.Number(k.GetCount()), k.GetKind(), k.GetReason())
	}
}

func (p *program) tenantReencrypt() *cobra.Command {
	return &cobra.Command{
		Use:   "reencrypt",
		Short: "Encrypt the secrets of all tenants with the first master key",
		Long: `Encrypt everything that master keys encrypt with the first master key of the
service: keys of endpoints, secrets, and secrets of hooks of all tenants, and the
keys that sign tokens. Afterwards the service can run without the other master
keys. It may be repeated. If a registered database does not answer, the others are
done and the command fails, naming it: keep the other master keys until it has
succeeded.`,
		Example: `  ragd tenant reencrypt`,
		Args:    command.Arguments(),
		RunE: p.Call(client.ForOperator, func(ctx context.Context, c *client.Client, _ []string) error {
			res, err := c.Tenants.ReencryptSecrets(ctx, &ragdv1.ReencryptSecretsRequest{})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) {
				fmt.Fprintf(w, "encrypted %d secrets anew\n", res.GetReencrypted())
				for _, name := range res.GetLost() {
					if strings.HasPrefix(name, "signing-keys/") {
						fmt.Fprintf(w, "no master key opens %s: the service makes another one\n", name)
					} else {
						fmt.Fprintf(w, "no master key opens %s: its tenant must give it again, or rotate it if it is a hook's\n", name)
					}
				}
			})
		}),
	}
}

func (p *program) tenantRepair() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair [TENANT...]",
		Short: "Create the database roles again that tenants lack",
		Long: `Create the database roles again that tenants lack, and give them their schemas.
That is needed after a backup was restored: a dump of a database contains no
roles. Without arguments it looks at all tenants, and names the registered
databases that it cannot reach. It prints what it did; run again, it finds
nothing to do.

Unlike the other commands for tenants it works on the database itself, with the
settings of "ragd serve" (RAGD_DATABASE_URL, RAGD_DATABASE_ADMIN_URL, and
RAGD_MASTER_KEY if databases are registered), whether or not the service runs.
"ragd serve" and "ragd migrate" do the same when they start; so for a service
with a database of its own, restart it instead.`,
		Example: `  ragd tenant repair
  ragd tenant repair acme`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.repairTenants(cmd, args) },
	}
	p.settings.RegisterService(cmd.Flags(), p.Getenv)
	p.settings.RegisterPlacement(cmd.Flags())
	return cmd
}

func (p *program) repairTenants(cmd *cobra.Command, names []string) error {
	log, err := p.logger()
	if err != nil {
		return err
	}
	cfg, err := p.settings.ServiceConfig(log)
	if err != nil {
		return err
	}
	looked := 0
	left, err := service.Repair(cmd.Context(), cfg, names, func(r provision.Repaired) {
		looked++
		p.showRepaired(r)
	})
	if err != nil {
		return err
	}
	p.showLeftOut(left)
	if looked == 0 && len(left.LeftOut) == 0 {
		output.Note(p.Out.Stdout, "all tenants can be served: nothing to repair")
	}
	return incomplete(left, "repaired")
}

// showRepaired prints the result of repairing a tenant.
func (p *program) showRepaired(r provision.Repaired) {
	switch {
	case r.Err != nil:
		output.Note(p.Out.Stdout, "tenant %s: FAILED: %v", r.Tenant, r.Err)
	case r.Problem == "":
		output.Note(p.Out.Stdout, "tenant %s: nothing to repair", r.Tenant)
	default:
		output.Note(p.Out.Stdout, "tenant %s: repaired: %s", r.Tenant, r.Problem)
	}
}
