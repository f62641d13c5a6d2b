package main

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) keyCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make an API key and show its secret, once",
		Long: `Make an API key and show its secret. The service keeps only a hash of it: write
it down now. Scopes are read, write and admin of the tenant, and operator of the
service; each includes those before it.`,
		Example: `  ragd key create --tenant acme --name "search frontend" --scopes read
  ragd key create --tenant acme --expires 720h --filter '{"team": "legal"}'
  export RAGD_API_KEY=$(ragd key create --tenant acme --json | jq -r .secret)`,
		Args: arguments(),
	}
	flags := cmd.Flags()
	name := flags.String("name", "", "name for people")
	scopes := flags.StringSlice("scopes", nil, "what the key may do (default read,write)")
	expires := flags.Duration("expires", 0, "how long the key is valid, such as 720h (default for ever)")
	filter := objectFlag(flags, "filter", "filter that every read with this key is subject to")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(credentials.forKeys)
		if err != nil {
			return err
		}
		req := &ragdv1.CreateApiKeyRequest{
			TenantId: c.access.tenant, DisplayName: *name, Scopes: *scopes, MandatoryFilter: filter(),
		}
		if slices.Contains(*scopes, "operator") && p.settings.Tenant == "" {
			req.TenantId = "" // an operator's key belongs to no tenant
		}
		if *expires != 0 {
			req.ExpireTime = timestamppb.New(time.Now().Add(*expires))
		}
		res, err := c.tenants.CreateApiKey(cmd.Context(), req)
		if err != nil {
			return err
		}
		return p.show(res, func(w io.Writer) {
			key := res.GetApiKey()
			field(w, "key", key.GetApiKeyId())
			field(w, "tenant", key.GetTenantId())
			field(w, "name", key.GetDisplayName())
			field(w, "scopes", strings.Join(key.GetScopes(), ", "))
			field(w, "filter", compactJSON(key.GetMandatoryFilter()))
			field(w, "expires", stamp(key.GetExpireTime()))
			field(w, "secret", res.GetSecret())
			note(p.stderr, "the secret is shown this once")
		})
	}
	return cmd
}
