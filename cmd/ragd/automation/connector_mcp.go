package automation

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// mcpFlags are the flags of an MCP server.
type mcpFlags struct {
	headers, templates, scopes          *[]string
	tools, prompts                      *[]string
	prefix                              *string
	withoutResources                    *bool
	flags                               *pflag.FlagSet
	grant, client, clientSecret, issuer *string
	timeout                             *time.Duration
	withoutFollowing                    *bool
}

func newMCPFlags(flags *pflag.FlagSet) *mcpFlags {
	return &mcpFlags{
		flags:            flags,
		tools:            flags.StringSlice("tool", nil, `tool of an MCP server that the tenant's agents may call (repeatable; "*" for all)`),
		prompts:          flags.StringSlice("prompt", nil, `prompt of an MCP server for the tenant's clients (repeatable; "*" for all)`),
		prefix:           flags.String("tool-prefix", "", "what the names of these tools and prompts begin with (default the name of the connector and _)"),
		withoutResources: flags.Bool("no-resources", false, "only lend tools and prompts of an MCP server"),
		headers:          flags.StringArray("header", nil, `header for an MCP server, such as "Authorization: Bearer {{secrets.wiki}}" (repeatable)`),
		templates:        flags.StringArray("template", nil, `resource of an MCP server by a template and its arguments, such as "note://{name} name=one" (repeatable)`),
		timeout:          flags.Duration("timeout", 0, "how long a request to an MCP server may take, at most 1m (default 30s)"),
		withoutFollowing: flags.Bool("no-subscription", false, "do not follow the changes that an MCP server announces"),
		grant:            flags.String("oauth-grant", "", "authorization_code or client_credentials, for an MCP server (default authorization_code)"),
		client:           flags.String("oauth-client", "", "id of the client at the authorization server (default: it is registered)"),
		clientSecret:     flags.String("oauth-secret", "", "name of the secret with the secret of the client"),
		issuer:           flags.String("oauth-issuer", "", "the authorization server (default the one that the MCP server names)"),
		scopes:           flags.StringSlice("oauth-scope", nil, "scope to ask for (repeatable; default those that the MCP server names)"),
	}
}

// offer returns what is offered of the given names; nil for none.
func (f *mcpFlags) offer(names []string) *ragdv1.McpOffer {
	if len(names) == 0 {
		return nil
	}
	o := &ragdv1.McpOffer{Prefix: command.Given(f.flags, "tool-prefix", f.prefix)}
	if !slices.Contains(names, "*") {
		o.Names = names
	}
	return o
}

// source returns the MCP server of the flags at an address.
func (f *mcpFlags) source(address string) (*ragdv1.McpSource, error) {
	m := &ragdv1.McpSource{
		Url: address, Headers: map[string]string{}, TimeoutMs: int32(f.timeout.Milliseconds()),
		Tools: f.offer(*f.tools), Prompts: f.offer(*f.prompts), WithoutResources: *f.withoutResources, WithoutSubscription: *f.withoutFollowing,
	}
	for _, text := range *f.headers {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, misuse.Errorf(`--header must be "NAME: VALUE"`)
		}
		m.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	for _, text := range *f.templates {
		fields := strings.Fields(text)
		if len(fields) == 0 {
			return nil, misuse.Errorf(`--template must be "TEMPLATE NAME=VALUE ..."`)
		}
		t := &ragdv1.McpTemplate{UriTemplate: fields[0], Arguments: map[string]string{}}
		for _, field := range fields[1:] {
			name, value, ok := strings.Cut(field, "=")
			if !ok {
				return nil, misuse.Errorf(`--template must be "TEMPLATE NAME=VALUE ..."`)
			}
			t.Arguments[name] = value
		}
		m.Templates = append(m.Templates, t)
	}
	if *f.grant+*f.client+*f.clientSecret+*f.issuer != "" || len(*f.scopes) > 0 {
		m.Oauth = &ragdv1.McpOAuth{Grant: *f.grant, ClientId: *f.client, ClientSecret: *f.clientSecret, Scopes: *f.scopes, Issuer: *f.issuer}
	}
	return m, nil
}

func connectorAuthorize(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "authorize CONNECTOR",
		Short: "Begin to sign in at an MCP server",
		Long: `Print the address at which a user signs in, so that the connector can read with the
account of the user. The connector runs when the user has agreed. The address works once,
for ten minutes.`,
		Example: `  ragd connector authorize wiki`,
		Args:    command.Arguments("CONNECTOR"),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			res, err := c.Connectors.AuthorizeConnector(ctx, &ragdv1.AuthorizeConnectorRequest{ConnectorName: args[0]})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) {
				output.Field(w, "open", res.GetAuthorizationUrl())
				output.Field(w, "until", output.Stamp(res.GetExpireTime()))
			})
		}),
	}
}

func connectCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("connect", "Connect a source in one step", `
Create a connector, sign in if its source asks for it, and wait for its first run.
"ragd connector" has everything else about connectors.`, connectMCP(p)))
}

func connectMCP(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp URL",
		Short: "Keep the resources of an MCP server as documents",
		Long: `Create a connector for the resources of an MCP server and wait for its first run. If the
server wants a user to sign in, the address for that is printed.`,
		Example: `  ragd connect mcp https://mcp.example.com/mcp --index docs`,
		Args:    command.Arguments("URL"),
	}
	flags := newMCPFlags(cmd.Flags())
	index := cmd.Flags().String("index", "", "index of the documents (default the only one)")
	namespace := cmd.Flags().String("namespace", "", "namespace of the documents")
	name := cmd.Flags().String("name", "", "name of the connector (default made from the address)")
	schedule := cmd.Flags().String("schedule", "@daily", `when it runs besides, "" for never`)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		source, err := flags.source(args[0])
		if err != nil {
			return err
		}
		if *name == "" {
			*name = connectorNameOf(args[0])
		}
		made, err := c.Connectors.CreateConnector(ctx, &ragdv1.CreateConnectorRequest{
			ConnectorName: *name, IndexName: *index, Namespace: *namespace, Schedule: *schedule, Source: &ragdv1.CreateConnectorRequest_Mcp{Mcp: source},
		})
		if err != nil {
			return err
		}
		ran, err := awaitRun(ctx, c, made)
		if err != nil {
			now, getErr := c.Connectors.GetConnector(ctx, &ragdv1.GetConnectorRequest{ConnectorName: *name})
			if getErr != nil || now.GetAuthorization() != "needed" {
				return err
			}
			if ran, err = signIn(ctx, p, c, now); err != nil {
				return err
			}
		}
		return p.Out.Show(ran, showConnector(ran))
	})
	return cmd
}

// signIn prints the address at which a user signs in, and waits for the run that follows.
func signIn(ctx context.Context, p *command.Program, c *client.Client, now *ragdv1.Connector) (*ragdv1.Connector, error) {
	res, err := c.Connectors.AuthorizeConnector(ctx, &ragdv1.AuthorizeConnectorRequest{ConnectorName: now.GetConnectorName()})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(p.Out.Stderr, "Open this address to sign in, until %s:\n%s\n", output.Stamp(res.GetExpireTime()), output.OneLine(res.GetAuthorizationUrl()))
	waiting, cancel := context.WithDeadlineCause(ctx, res.GetExpireTime().AsTime(), fmt.Errorf("nobody has signed in: ragd connector authorize %s begins again", now.GetConnectorName()))
	defer cancel()
	ran, err := awaitRun(waiting, c, now)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, context.Cause(waiting)
	}
	return ran, err
}

// maxConnectorName is the length of the longest name of a connector.
const maxConnectorName = 64

var notInName = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// connectorNameOf returns a name made from an address.
func connectorNameOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "mcp"
	}
	name := cmp.Or(strings.Trim(notInName.ReplaceAllString(parsed.Hostname(), "-"), "-"), "mcp")
	return name[:min(len(name), maxConnectorName)]
}
