package automation

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/build"
	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/mcpclient"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/nearest"
)

// clientIDs returns the names of the known MCP clients on the command line.
func clientIDs() (ids []string) {
	for _, m := range mcpclient.Clients {
		ids = append(ids, m.ID)
	}
	return ids
}

// chosenClients returns the MCP clients that are named, without names those that are installed.
func chosenClients(p *command.Program, names []string) ([]mcpclient.Client, error) {
	if mcpclient.Home(p.Getenv) == "" {
		return nil, misuse.Errorf("there is no home folder: set HOME")
	}
	var chosen []mcpclient.Client
	for _, name := range names {
		found := false
		for _, m := range mcpclient.Clients {
			if m.ID == name {
				chosen, found = append(chosen, m), true
			}
		}
		if !found {
			return nil, misuse.Errorf("unknown client %q, known are %s%s", name, strings.Join(clientIDs(), ", "), nearest.Hint(name, clientIDs()))
		}
	}
	if len(names) > 0 {
		return chosen, nil
	}
	if chosen = mcpclient.Installed(p.Getenv); len(chosen) == 0 {
		return nil, misuse.Errorf("no MCP client was found on this machine: name one of %s", strings.Join(clientIDs(), ", "))
	}
	return chosen, nil
}

// mcpOptions are the options of `ragd mcp` that an installed server is started with.
type mcpOptions struct {
	server, results, name *string
}

func newMCPOptions(flags *pflag.FlagSet) mcpOptions {
	return mcpOptions{
		server:  flags.String("mcp-server", "", "MCP server of the tenant (default the one at /mcp)"),
		results: flags.String("results", "", "form of tool results that the client reads: text or structured (default both)"),
	}
}

// list returns the options as arguments.
func (o mcpOptions) list() (list []string) {
	if *o.server != "" {
		list = append(list, "--mcp-server", *o.server)
	}
	if *o.results != "" {
		list = append(list, "--results", *o.results)
	}
	return list
}

// entry returns the name of the server in the settings of clients.
func (o mcpOptions) entry() string {
	switch {
	case *o.name != "":
		return *o.name
	case *o.server != "":
		return mcpclient.Default + "-" + *o.server
	}
	return mcpclient.Default
}

func mcpInstall(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install [CLIENT]...",
		Short: "Add this service to the settings of MCP clients",
		Long: `Add this service to the settings of MCP clients on this machine: those that are named, else
all that are found. Known are ` + strings.Join(clientIDs(), ", ") + `.
What else is in the settings stays as it is. The client starts "ragd mcp" with this
program; start the client again afterwards. A key from RAGD_API_KEY is written to the
settings, readable for you alone in a new file; the key of client.conf is not.`,
		Example: `  ragd mcp install
  ragd mcp install cursor vscode --mcp-server handbook
  RAGD_API_KEY=... ragd mcp install claude-desktop --server https://ragd.example.com`,
	}
	options := newMCPOptions(cmd.Flags())
	options.name = cmd.Flags().String("name", "", `name in the settings (default "ragd", or "ragd-" and the MCP server)`)
	dry := cmd.Flags().Bool("dry-run", false, "print what would be added, and change nothing")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		chosen, err := chosenClients(p, args)
		if err != nil {
			return err
		}
		who, err := c.Tenants.WhoAmI(ctx, &ragdv1.WhoAmIRequest{})
		if err != nil {
			return err // rather now than in the client
		}
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the path of ragd: %w", err)
		}
		how := mcpclient.Connection{Program: program, Name: options.entry(), Options: options.list()}
		if p.Access.Server != "" || c.Access.Source != "client.conf" {
			how.Server = c.Server
		}
		switch {
		case slices.Contains(who.GetScopes(), "operator"):
			return misuse.Errorf("a client must not have the key of the operator: `ragd key create --scopes read` makes one for it, RAGD_API_KEY sets it")
		case c.Access.Source == "client.conf":
		case *dry:
			how.Key = mcpclient.KeyPlaceholder
		default:
			how.Key = c.Access.Key
		}
		return eachClient(p, chosen, func(m mcpclient.Client) (string, error) {
			if *dry {
				return m.Where + "\n" + m.Snippet(how), nil
			}
			done, err := m.Install(mcpclient.Home(p.Getenv), how)
			switch {
			case err != nil:
				return "", err
			case !done.Changed:
				return "has it already: " + done.Path, nil
			case done.Had:
				return "replaced in " + done.Path, nil
			}
			return "added to " + done.Path, nil
		})
	})
	return cmd
}

func mcpUninstall(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "uninstall [CLIENT]...",
		Short: "Remove this service from the settings of MCP clients",
		Long: `Remove what "ragd mcp install" has added to the settings of the MCP clients that are
named, else of all that are found on this machine.`,
		Example: "  ragd mcp uninstall\n  ragd mcp uninstall cursor --name ragd-handbook",
	}
	name := cmd.Flags().String("name", mcpclient.Default, "name in the settings")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		chosen, err := chosenClients(p, args)
		if err != nil {
			return err
		}
		return eachClient(p, chosen, func(m mcpclient.Client) (string, error) {
			done, err := m.Uninstall(mcpclient.Home(p.Getenv), *name)
			switch {
			case err != nil:
				return "", err
			case !done.Had:
				return fmt.Sprintf("has no server %q: %s", *name, done.Path), nil
			}
			return "removed from " + done.Path, nil
		})
	}
	return cmd
}

// eachClient prints what do says of each client. A client that fails does not keep the others from it.
func eachClient(p *command.Program, chosen []mcpclient.Client, do func(mcpclient.Client) (string, error)) error {
	var failed error
	for _, m := range chosen {
		said, err := do(m)
		if err != nil {
			failed = fmt.Errorf("%s: %w", m.Name, err)
			output.Note(p.Out.Stderr, "%v", failed)
			continue
		}
		output.Note(p.Out.Stdout, "%s: %s", m.Name, said)
	}
	return failed
}

func mcpBundle(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Write an extension file (.mcpb) that desktop clients install by a double click",
		Long: `Write an extension file (.mcpb) for Claude Desktop and other clients that install such files by a
double click. It holds this program, for this kind of machine, and asks its user for the address
and the key, which the client keeps.`,
		Example: "  ragd mcp bundle --output ragd.mcpb --server https://ragd.example.com",
		Args:    command.Arguments(),
	}
	options := newMCPOptions(cmd.Flags())
	to := cmd.Flags().StringP("output", "o", "ragd.mcpb", "file to write")
	cmd.RunE = func(*cobra.Command, []string) error {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the path of ragd: %w", err)
		}
		bundle := mcpclient.Bundle{Program: program, Version: build.Read().Version, Server: p.Access.Server, Options: options.list()}
		if err := output.ReplaceFile(*to, 0o644, func(w io.Writer) error { return bundle.Write(w) }); err != nil {
			return err
		}
		output.Note(p.Out.Stdout, "wrote %s", *to)
		return nil
	}
	return cmd
}
