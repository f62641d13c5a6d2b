package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) keyRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke KEY",
		Short: "End a key",
		Long: `End a key: at once on the instance that answers, within seconds on all others.
KEY is the id that "ragd key list" shows, not the secret. It does not ask, so
that a leaked key is ended quickly.`,
		Example: `  ragd key revoke --tenant acme 01hx3e8g`,
		Args:    arguments("KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(credentials.forKeys)
			if err != nil {
				return err
			}
			res, err := c.tenants.RevokeApiKey(cmd.Context(), &ragdv1.RevokeApiKeyRequest{ApiKeyId: args[0]})
			if err != nil {
				return err
			}
			return p.show(res, func(w io.Writer) { fmt.Fprintf(w, "revoked key %s\n", args[0]) })
		},
	}
}
