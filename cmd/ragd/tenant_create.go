package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) tenantCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create TENANT",
		Short: "Make a tenant with its own schema and database role",
		Long: `Make a tenant with its own schema and database role. TENANT is 1 to 40
characters of a-z, 0-9 and -, the first a letter.`,
		Example: `  ragd tenant create acme --name "Acme Ltd."
  ragd key create --tenant acme`,
		Args: arguments("TENANT"),
	}
	name := cmd.Flags().String("name", "", "name for people")
	settings := objectFlag(cmd.Flags(), "settings", "free-form settings")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(credentials.forOperator)
		if err != nil {
			return err
		}
		tenant, err := c.tenants.CreateTenant(cmd.Context(), &ragdv1.CreateTenantRequest{
			TenantId: args[0], DisplayName: *name, Settings: settings(),
		})
		if err != nil {
			return err
		}
		return p.show(tenant, showTenant(tenant))
	}
	return cmd
}
