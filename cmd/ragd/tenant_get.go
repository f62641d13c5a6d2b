package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) tenantGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get TENANT",
		Short:   "Show a tenant",
		Example: `  ragd tenant get acme --json`,
		Args:    arguments("TENANT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(credentials.forOperator)
			if err != nil {
				return err
			}
			tenant, err := c.tenants.GetTenant(cmd.Context(), &ragdv1.GetTenantRequest{TenantId: args[0]})
			if err != nil {
				return err
			}
			return p.show(tenant, showTenant(tenant))
		},
	}
}
