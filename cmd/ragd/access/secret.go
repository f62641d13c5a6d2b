package access

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func secretCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("secret", "Keep the keys that tools send to other services", `
A secret is a value that tools of the tenant send, named {{secrets.NAME}} in their
definitions. The service stores it encrypted and never shows it. These commands
need a key of the scope admin.`,
		secretSet(p), secretList(p), secretDelete(p),
	))
}

func secretSet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set SECRET",
		Short: "Store a secret, or replace its value",
		Long: `Store a secret, or replace its value. The value comes from standard input or a file,
without the newline at its end; or the service generates a secret for signatures,
which is printed once.

With --host the value is sent to these hosts only, and who may write may use it in
tools. Without, only who may administrate makes and changes tools with it.`,
		Example: `  ragd secret set orders_key --host api.example.com < orders.key
  ragd secret set orders_key --file orders.key
  ragd secret set orders_signing --generate --host api.example.com`,
		Args: command.Arguments("SECRET"),
	}
	file := cmd.Flags().String("file", "-", "file with the value, - for standard input")
	hosts := cmd.Flags().StringSlice("host", nil, `host to which the value may be sent, repeatable; "" for any (default: as before, for a new secret any)`)
	generate := cmd.Flags().Bool("generate", false, "generate a secret for signatures by Standard Webhooks")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.SetSecretResponse, error) {
		req := &ragdv1.SetSecretRequest{SecretName: args[0], Generate: *generate}
		if cmd.Flags().Changed("host") {
			req.Hosts = &ragdv1.SecretHosts{}
			for _, host := range *hosts {
				if host != "" {
					req.Hosts.Hosts = append(req.Hosts.Hosts, host)
				}
			}
		}
		if !*generate {
			value, err := p.ReadSecret(*file)
			if err != nil {
				return nil, err
			}
			req.Value = value
		}
		return c.Secrets.SetSecret(ctx, req)
	}, showSecret)
	return cmd
}

func showSecret(res *ragdv1.SetSecretResponse) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "secret", res.GetSecret().GetSecretName())
		output.Field(w, "hosts", hostsOf(res.GetSecret()))
		if res.GetGeneratedValue() != "" {
			output.Field(w, "value", res.GetGeneratedValue()+" (shown this once)")
		}
		output.Field(w, "created", output.Stamp(res.GetSecret().GetCreateTime()))
		output.Field(w, "updated", output.Stamp(res.GetSecret().GetUpdateTime()))
	}
}

func hostsOf(s *ragdv1.Secret) string {
	if len(s.GetHosts()) == 0 {
		return "any"
	}
	return strings.Join(s.GetHosts(), ", ")
}

func secretList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the secrets in the order of their names, without values",
		Example: `  ragd secret list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		secrets := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Secret, string, error) {
			page, err := c.Secrets.ListSecrets(ctx, &ragdv1.ListSecretsRequest{PageSize: size, PageToken: token})
			return page.GetSecrets(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "secrets", secrets, "SECRET UPDATED HOSTS", func(s *ragdv1.Secret) []any {
			return []any{s.GetSecretName(), output.Stamp(s.GetUpdateTime()), hostsOf(s)}
		})
	})
	return cmd
}

func secretDelete(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "delete SECRET",
		Short:   "Delete a secret",
		Long:    `Delete a secret. Calls of tools that name it fail from then on.`,
		Example: `  ragd secret delete orders_key`,
		Args:    command.Arguments("SECRET"),
		RunE: command.Delete(p, client.ForTenant, "secret", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeleteSecretResponse, error) {
			return c.Secrets.DeleteSecret(ctx, &ragdv1.DeleteSecretRequest{SecretName: args[0]})
		}),
	}
}
