package operate

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) tenantSleep() *cobra.Command {
	return &cobra.Command{
		Use:   "sleep TENANT",
		Short: "Put a tenant to sleep until its next call",
		Long: `Put a tenant to sleep: its data is written to an encrypted archive in the storage
of the setting sleep-storage, read back, and dropped from the database. The tenant
keeps its keys, and the first call with one of them wakes it. A tenant with work
that has not ended, or is scheduled, cannot be put to sleep.

The setting sleep-after, and sleepAfter in the settings of a tenant, put unused
tenants to sleep without this command.`,
		Example: `  ragd tenant sleep acme`,
		Args:    command.Arguments("TENANT"),
		RunE: command.Show(p.Program, client.ForOperator, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Tenant, error) {
			return c.Tenants.SleepTenant(ctx, &ragdv1.SleepTenantRequest{TenantId: args[0]})
		}, showTenant),
	}
}

func (p *program) tenantWake() *cobra.Command {
	return &cobra.Command{
		Use:   "wake TENANT",
		Short: "Wake a tenant that is asleep",
		Long: `Wake a tenant that is asleep, and wait until it is awake. Its next call would do the
same. If the archive cannot be read, the error says why.`,
		Example: `  ragd tenant wake acme`,
		Args:    command.Arguments("TENANT"),
		RunE: command.Show(p.Program, client.ForOperator, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Tenant, error) {
			return c.Tenants.WakeTenant(ctx, &ragdv1.WakeTenantRequest{TenantId: args[0]})
		}, showTenant),
	}
}
