package access

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

func keyCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("key", "Manage the API keys of a tenant", `
An API key is what a client of a tenant shows with its calls. The operator
manages the keys of every tenant and names it with --tenant, or means the one of
client.conf; an admin of a tenant manages its own with RAGD_API_KEY and no
--tenant.`,
		keyCreate(p), keyList(p), keyRevoke(p),
	))
}

func keyCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make an API key and show its secret, once",
		Long: `Make an API key and show its secret. The service keeps only a hash of it: write
it down now. Scopes are read, write and admin of the tenant, and operator of the
service; each includes those before it.

A key with --index may use these indexes alone: for it there are no others, and
it can create no others. A key with --tool or --mcp-server may only call tools, these
tools or those of these MCP servers. Several names have commas between them, and
need not exist yet. --attribute describes who uses the key, for templates and filters.

A key with --origin is for web pages, such as those with the answer box: it is
accepted from pages of these origins alone. As everybody can read it, it has the
scope read, needs --index, and may search and ask. --tool names the agents that it
may ask, as ask_NAME; without it, none.`,
		Example: `  ragd key create --tenant acme --name "search frontend" --scopes read
  ragd key create --tenant acme --scopes read --index handbook --attribute team=legal
  ragd key create --tenant acme --origin https://docs.example.com --index handbook
  ragd key create --tenant acme --expires 720h --filter '{"team": "legal"}'
  export RAGD_API_KEY=$(ragd key create --tenant acme --json | jq -r .secret)`,
		Args: command.Arguments(),
	}
	flags := cmd.Flags()
	name := flags.String("name", "", "name for people")
	scopes := flags.StringSlice("scopes", nil, "what the key may do (default read,write; read with --origin)")
	expires := flags.Duration("expires", 0, "how long the key is valid, such as 720h (default for ever)")
	filter := command.ObjectFlag(flags, "filter", "filter that every read with this key is subject to")
	servers := flags.StringSlice("mcp-server", nil, "MCP server that the key may use (default all)")
	indexes := flags.StringSlice("index", nil, "index that the key may use (default all)")
	tools := flags.StringSlice("tool", nil, "tool that the key may use (default all)")
	prompts := flags.StringSlice("prompt", nil, "prompt that the key may use (default all)")
	origins := flags.StringSlice("origin", nil, "web origin whose pages may use the key, such as https://docs.example.com (default none: for programs)")
	attributes := flags.StringArray("attribute", nil, "attribute of who uses the key, as name=value; a value that is JSON, such as 7 or [\"a\"], is taken as such, others as text")
	cmd.RunE = p.Call(client.ForKeys, func(ctx context.Context, c *client.Client, _ []string) (err error) {
		req := &ragdv1.CreateApiKeyRequest{
			TenantId: c.Access.Tenant, DisplayName: *name, Scopes: *scopes, MandatoryFilter: filter(),
			Servers: command.AllowedNames(*servers), Indexes: command.AllowedNames(*indexes), Tools: command.AllowedNames(*tools), Prompts: command.AllowedNames(*prompts),
			Origins: *origins,
		}
		if len(*attributes) > 0 {
			if req.Attributes, err = parseAttributes(*attributes); err != nil {
				return err
			}
		}
		if slices.Contains(*scopes, "operator") && p.Access.Tenant == "" {
			req.TenantId = "" // an operator's key belongs to no tenant
		}
		if *expires != 0 {
			req.ExpireTime = timestamppb.New(time.Now().Add(*expires))
		}
		res, err := c.Tenants.CreateApiKey(ctx, req)
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) {
			key := res.GetApiKey()
			output.Field(w, "key", key.GetApiKeyId())
			output.Field(w, "tenant", key.GetTenantId())
			output.Field(w, "name", key.GetDisplayName())
			output.Field(w, "scopes", strings.Join(key.GetScopes(), ", "))
			output.Field(w, "filter", output.CompactJSON(key.GetMandatoryFilter()))
			for _, bound := range bounds(key) {
				output.Field(w, bound.name, strings.Join(bound.names, ", "))
			}
			output.Field(w, "origins", strings.Join(key.GetOrigins(), ", "))
			output.Field(w, "attributes", output.CompactJSON(key.GetAttributes()))
			output.Field(w, "expires", output.Stamp(key.GetExpireTime()))
			output.Field(w, "secret", res.GetSecret())
			output.Note(p.Out.Stderr, "the secret is shown this once")
		})
	})
	return cmd
}

func keyList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List a tenant's keys, newest first, revoked ones included",
		Example: `  ragd key list --tenant acme`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForKeys, func(ctx context.Context, c *client.Client, _ []string) error {
		keys := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.ApiKey, string, error) {
			page, err := c.Tenants.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{
				TenantId: c.Access.Tenant, PageSize: size, PageToken: token,
			})
			return page.GetApiKeys(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "keys", keys, "KEY PREFIX NAME SCOPES BOUND CREATED USED STATE", func(k *ragdv1.ApiKey) []any {
			return []any{
				k.GetApiKeyId(), k.GetPrefix(), k.GetDisplayName(), strings.Join(k.GetScopes(), ","), boundsColumn(k),
				output.Stamp(k.GetCreateTime()), lastUse(k), keyState(k, time.Now()),
			}
		})
	})
	return cmd
}

// bound is a list of the names that a key may use.
type bound struct {
	name  string
	names []string
}

// bounded is a message about a credential with bounds.
type bounded interface {
	GetServers() *ragdv1.AllowedNames
	GetIndexes() *ragdv1.AllowedNames
	GetTools() *ragdv1.AllowedNames
	GetPrompts() *ragdv1.AllowedNames
}

// bounds returns the lists that bound a credential.
func bounds(key bounded) []bound {
	var lists []bound
	for _, b := range []struct {
		name string
		list *ragdv1.AllowedNames
	}{{"servers", key.GetServers()}, {"indexes", key.GetIndexes()}, {"tools", key.GetTools()}, {"prompts", key.GetPrompts()}} {
		switch {
		case b.list == nil:
		case len(b.list.GetNames()) == 0:
			lists = append(lists, bound{b.name, []string{"none"}})
		default:
			lists = append(lists, bound{b.name, b.list.GetNames()})
		}
	}
	return lists
}

// boundsColumn returns what a key is bound to in a few characters, such as indexes:handbook,faq.
func boundsColumn(key *ragdv1.ApiKey) string {
	var columns []string
	for _, b := range bounds(key) {
		columns = append(columns, b.name+":"+strings.Join(b.names, ","))
	}
	if len(key.GetOrigins()) > 0 {
		columns = append(columns, "origins:"+strings.Join(key.GetOrigins(), ","))
	}
	return strings.Join(columns, " ")
}

// parseAttributes returns the attributes that are given as name=value. A value that
// is JSON is taken as such, others as text.
func parseAttributes(pairs []string) (*structpb.Struct, error) {
	attributes := map[string]any{}
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, misuse.Errorf("--attribute takes name=value, not %q", pair)
		}
		if _, twice := attributes[name]; twice {
			return nil, misuse.Errorf("--attribute %s is given twice", name)
		}
		var value any = text
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		attributes[name] = value
	}
	return structpb.NewStruct(attributes)
}

// lastUse returns the time at which a key was last used, as far as the service has noted it.
func lastUse(key *ragdv1.ApiKey) string {
	if key.GetLastUseTime() == nil {
		return "never"
	}
	return output.Stamp(key.GetLastUseTime())
}

// keyState returns whether a key is valid, expired or revoked, with the time.
func keyState(key *ragdv1.ApiKey, now time.Time) string {
	expires := key.GetExpireTime()
	switch {
	case key.GetRevokeTime() != nil:
		return "revoked " + output.Stamp(key.GetRevokeTime())
	case key.GetUnusableReason() != "":
		return "unusable: " + key.GetUnusableReason()
	case expires == nil:
		return "valid"
	case expires.AsTime().Before(now):
		return "expired " + output.Stamp(expires)
	}
	return "valid until " + output.Stamp(expires)
}

func keyRevoke(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke KEY",
		Short: "End a key",
		Long: `End a key: at once on the instance that answers, within seconds on all others.
KEY is the id that "ragd key list" shows, or the whole key, of which only the id
is sent. It does not ask, so that a leaked key is ended quickly.`,
		Example: `  ragd key revoke --tenant acme 01hx3e8g`,
		Args:    command.Arguments("KEY"),
		RunE: p.Call(client.ForKeys, func(ctx context.Context, c *client.Client, args []string) error {
			id := args[0]
			if of, ok := credential.APIKeyIDOf(id); ok {
				id = of
			}
			res, err := c.Tenants.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: id})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) { fmt.Fprintf(w, "revoked key %s\n", id) })
		}),
	}
}
