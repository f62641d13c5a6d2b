package access

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func whoamiCommand(p *command.Program) *cobra.Command {
	return p.ClientFlags(&cobra.Command{
		Use:   "whoami",
		Short: "Show what a key or access token may do",
		Long: `Show the tenant, the scopes and the bounds of the credential with which the other
commands call the service: that of RAGD_API_KEY, which may be an access token
too, or else of client.conf.`,
		Example: `  ragd whoami
  RAGD_API_KEY=... ragd whoami --server https://ragd.example.com --json`,
		Args: command.Arguments(),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
			me, err := c.Tenants.WhoAmI(ctx, &ragdv1.WhoAmIRequest{})
			if err != nil {
				return err
			}
			return p.Out.Show(me, func(w io.Writer) {
				output.Field(w, "subject", me.GetSubject())
				output.Field(w, "tenant", me.GetTenantId())
				output.Field(w, "scopes", strings.Join(me.GetScopes(), ", "))
				if me.GetFiltered() {
					output.Field(w, "filter", "hides documents")
				}
				for _, bound := range bounds(me) {
					output.Field(w, bound.name, strings.Join(bound.names, ", "))
				}
			})
		}),
	})
}
