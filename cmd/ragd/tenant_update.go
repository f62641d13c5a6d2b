package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) tenantUpdate() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "update TENANT",
		Short:   "Change a tenant's name or settings",
		Example: `  ragd tenant update acme --name "Acme Inc." --settings '{"plan": "large"}'`,
		Args:    arguments("TENANT"),
	}
	name := cmd.Flags().String("name", "", "name for people")
	settings := objectFlag(cmd.Flags(), "settings", "settings, which replace the present ones as a whole")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		req := &ragdv1.UpdateTenantRequest{TenantId: args[0], Settings: settings()}
		if cmd.Flags().Changed("name") {
			req.DisplayName = name
		}
		if req.DisplayName == nil && req.Settings == nil {
			return usagef("nothing to change: give --name or --settings")
		}
		c, err := p.connect(credentials.forOperator)
		if err != nil {
			return err
		}
		tenant, err := c.tenants.UpdateTenant(cmd.Context(), req)
		if err != nil {
			return err
		}
		return p.show(tenant, showTenant(tenant))
	}
	return cmd
}
