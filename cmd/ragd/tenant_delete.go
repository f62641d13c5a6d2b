package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) tenantDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete TENANT",
		Short: "Delete a tenant with everything it owns",
		Long: `Delete a tenant with everything it owns: documents, indexes, keys, jobs. It
cannot be undone, so it asks for the tenant's id unless --yes is given.`,
		Example: `  ragd tenant delete acme --yes`,
		Args:    arguments("TENANT"),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := p.confirm(cmd.Context(), *yes, args[0], "This deletes tenant %s with everything it owns.", args[0]); err != nil {
			return err
		}
		c, err := p.connect(credentials.forOperator)
		if err != nil {
			return err
		}
		res, err := c.tenants.DeleteTenant(cmd.Context(), &ragdv1.DeleteTenantRequest{TenantId: args[0]})
		if err != nil {
			return err
		}
		return p.show(res, func(w io.Writer) { fmt.Fprintf(w, "deleted tenant %s\n", args[0]) })
	}
	return cmd
}
