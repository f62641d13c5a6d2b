package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) tenantList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tenants in the order of their ids",
		Example: `  ragd tenant list --json | jq -r .tenantId`,
		Args:    arguments(),
	}
	limit := limitFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(credentials.forOperator)
		if err != nil {
			return err
		}
		tenants := pages(*limit, func(size int32, token string) ([]*ragdv1.Tenant, string, error) {
			page, err := c.tenants.ListTenants(cmd.Context(), &ragdv1.ListTenantsRequest{PageSize: size, PageToken: token})
			return page.GetTenants(), page.GetNextPageToken(), err
		})
		return list(p, "tenants", tenants, "TENANT NAME CREATED", func(t *ragdv1.Tenant) []any {
			return []any{t.GetTenantId(), t.GetDisplayName(), stamp(t.GetCreateTime())}
		})
	}
	return cmd
}
