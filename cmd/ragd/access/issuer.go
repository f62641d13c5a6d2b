package access

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func issuerCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("issuer", "Manage the authorization servers of a tenant", `
An issuer is an authorization server whose access tokens a tenant accepts for
itself, beside those of the operator. Its users connect MCP clients to
/t/TENANT/mcp, where the clients find it and log in. Managing issuers needs a
key with the scope admin.`,
		issuerCreate(p), issuerGet(p), issuerList(p), issuerUpdate(p), issuerDelete(p),
	))
}

// issuerSettings are the flags that create and update have in common.
type issuerSettings struct {
	flags                                                      *pflag.FlagSet
	audiences, scopes                                          []string
	jwksURL, scopeClaim, scopePrefix, filterClaim, boundsClaim string
}

func newIssuerSettings(flags *pflag.FlagSet) *issuerSettings {
	s := &issuerSettings{flags: flags}
	flags.StringSliceVar(&s.audiences, "audience", nil, "accepted audiences of tokens, besides the addresses of the tenant (default none)")
	flags.StringSliceVar(&s.scopes, "scopes", nil, "what its tokens can give, of read, write and admin (default read,write)")
	flags.StringVar(&s.jwksURL, "jwks-url", "", "address of its keys (default: from its metadata)")
	flags.StringVar(&s.scopeClaim, "scope-claim", "", "claim with the scopes (default scope)")
	flags.StringVar(&s.scopePrefix, "scope-prefix", "", "what the scopes in its tokens begin with, such as api://ragd/ (default nothing)")
	flags.StringVar(&s.filterClaim, "filter-claim", "", "claim with the mandatory filter, which every token must have then (default: none)")
	flags.StringVar(&s.boundsClaim, "bounds-claim", "", "claim with the servers, indexes, tools and prompts that a token may use, which every token must have then (default: none)")
	return s
}

func showIssuer(i *ragdv1.Issuer) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "issuer", i.GetIssuerName())
		output.Field(w, "url", i.GetUrl())
		output.Field(w, "audiences", strings.Join(i.GetAudiences(), ", "))
		output.Field(w, "keys", i.GetJwksUrl())
		output.Field(w, "scopes", strings.Join(i.GetScopes(), ", "))
		output.Field(w, "scope claim", i.GetScopeClaim())
		output.Field(w, "scope prefix", i.GetScopePrefix())
		output.Field(w, "filter claim", i.GetFilterClaim())
		output.Field(w, "bounds claim", i.GetBoundsClaim())
		output.Field(w, "created", output.Stamp(i.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(i.GetUpdateTime()))
	}
}

func issuerCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create ISSUER URL",
		Short: "Accept the access tokens of an authorization server",
		Long: `Accept the access tokens of an authorization server for the tenant. ISSUER is a
name, 1 to 63 lower case letters, digits and -. URL is the address of the server,
exactly as in the claim iss of its tokens. Whoever gets a token from it that is
issued for the tenant's address has the rights in the token's scopes.`,
		Example: `  ragd issuer create okta https://acme.okta.com/oauth2/default
  ragd issuer create entra https://login.microsoftonline.com/TENANT/v2.0 --audience api://ragd --scope-claim scp`,
		Args: command.Arguments("ISSUER", "URL"),
	}
	s := newIssuerSettings(cmd.Flags())
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Issuer, error) {
		return c.Issuers.CreateIssuer(ctx, &ragdv1.CreateIssuerRequest{
			IssuerName: args[0], Url: args[1], Audiences: s.audiences, JwksUrl: s.jwksURL, ScopeClaim: s.scopeClaim,
			ScopePrefix: s.scopePrefix, Scopes: s.scopes, FilterClaim: s.filterClaim, BoundsClaim: s.boundsClaim,
		})
	}, showIssuer)
	return cmd
}

func issuerGet(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "get ISSUER",
		Short:   "Show an issuer",
		Example: `  ragd issuer get okta`,
		Args:    command.Arguments("ISSUER"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Issuer, error) {
			return c.Issuers.GetIssuer(ctx, &ragdv1.GetIssuerRequest{IssuerName: args[0]})
		}, showIssuer),
	}
}

func issuerList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the issuers of the tenant",
		Example: `  ragd issuer list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		issuers := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Issuer, string, error) {
			page, err := c.Issuers.ListIssuers(ctx, &ragdv1.ListIssuersRequest{PageSize: size, PageToken: token})
			return page.GetIssuers(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "issuers", issuers, "ISSUER URL SCOPES CREATED", func(i *ragdv1.Issuer) []any {
			return []any{i.GetIssuerName(), i.GetUrl(), strings.Join(i.GetScopes(), ","), output.Stamp(i.GetCreateTime())}
		})
	})
	return cmd
}

func issuerUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "update ISSUER",
		Short:   "Change the settings of an issuer that are given",
		Example: `  ragd issuer update okta --scopes read`,
		Args:    command.Arguments("ISSUER"),
	}
	s := newIssuerSettings(cmd.Flags())
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Issuer, error) {
		req := &ragdv1.UpdateIssuerRequest{
			IssuerName: args[0], Scopes: s.scopes, JwksUrl: command.Given(s.flags, "jwks-url", &s.jwksURL), ScopeClaim: command.Given(s.flags, "scope-claim", &s.scopeClaim),
			ScopePrefix: command.Given(s.flags, "scope-prefix", &s.scopePrefix), FilterClaim: command.Given(s.flags, "filter-claim", &s.filterClaim), BoundsClaim: command.Given(s.flags, "bounds-claim", &s.boundsClaim),
		}
		if s.flags.Changed("audience") {
			req.Audiences = &ragdv1.Audiences{Audiences: s.audiences}
		}
		return c.Issuers.UpdateIssuer(ctx, req)
	}, showIssuer)
	return cmd
}

func issuerDelete(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "delete ISSUER",
		Short:   "Accept the tokens of an issuer no longer",
		Example: `  ragd issuer delete okta`,
		Args:    command.Arguments("ISSUER"),
		RunE: command.Delete(p, client.ForTenant, "issuer", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeleteIssuerResponse, error) {
			return c.Issuers.DeleteIssuer(ctx, &ragdv1.DeleteIssuerRequest{IssuerName: args[0]})
		}),
	}
}
