package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) keyList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List a tenant's keys, newest first, revoked ones included",
		Example: `  ragd key list --tenant acme`,
		Args:    arguments(),
	}
	limit := limitFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(credentials.forKeys)
		if err != nil {
			return err
		}
		keys := pages(*limit, func(size int32, token string) ([]*ragdv1.ApiKey, string, error) {
			page, err := c.tenants.ListApiKeys(cmd.Context(), &ragdv1.ListApiKeysRequest{
				TenantId: c.access.tenant, PageSize: size, PageToken: token,
			})
			return page.GetApiKeys(), page.GetNextPageToken(), err
		})
		return list(p, "keys", keys, "KEY PREFIX NAME SCOPES CREATED STATE", func(k *ragdv1.ApiKey) []any {
			return []any{
				k.GetApiKeyId(), k.GetPrefix(), k.GetDisplayName(), strings.Join(k.GetScopes(), ","),
				stamp(k.GetCreateTime()), keyState(k, time.Now()),
			}
		})
	}
	return cmd
}

func keyState(key *ragdv1.ApiKey, now time.Time) string {
	expires := key.GetExpireTime()
	switch {
	case key.GetRevokeTime() != nil:
		return "revoked " + stamp(key.GetRevokeTime())
	case expires == nil:
		return "valid"
	case expires.AsTime().Before(now):
		return "expired " + stamp(expires)
	}
	return "valid until " + stamp(expires)
}
