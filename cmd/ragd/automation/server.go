package automation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func serverCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("server", "Compose MCP servers of one's own for agents", `
An MCP server has a name, under which agents reach it at /mcp/NAME, and shows them
chosen tools, prompts and indexes, with instructions of its own. The server
"default" is the one at /mcp.`,
		serverCreate(p), serverUpdate(p), serverGet(p), serverList(p), serverDelete(p), serverDocument(p),
	))
}

// serverFlags are the flags that create and update have in common.
type serverFlags struct {
	flags                                                         *pflag.FlagSet
	version, title, description, instructions, instructionsFile   *string
	website, repository, repositorySource, registryName           *string
	icons, tools, prompts, indexes, renames                       *[]string
	allTools, allPrompts, allIndexes, noTools, noPrompts, noIndex *bool
	noResources                                                   *bool
	presented                                                     *command.MessageFlag
	defaults, fixed                                               func() *structpb.Struct
}

func newServerFlags(flags *pflag.FlagSet) *serverFlags {
	f := &serverFlags{
		flags:            flags,
		version:          flags.String("version", "", "version for clients (default 1.0.0)"),
		title:            flags.String("title", "", "name for people"),
		description:      flags.String("description", "", "for people: what the server is for"),
		instructions:     flags.String("instructions", "", "for models: how to use the server"),
		instructionsFile: flags.String("instructions-file", "", "file with the instructions, - for standard input"),
		website:          flags.String("website", "", "address of a page about the server"),
		repository:       flags.String("repository", "", "address of the source"),
		repositorySource: flags.String("repository-source", "github", "hosting service of the source"),
		registryName:     flags.String("registry-name", "", "name in the registry document, such as com.example/handbook"),
		icons:            flags.StringArray("icon", nil, "https address of an icon, or a file of at most 48 kB"),
		tools:            flags.StringSlice("tool", nil, "tool to show (default all)"),
		prompts:          flags.StringSlice("prompt", nil, "prompt to show (default all)"),
		indexes:          flags.StringSlice("index", nil, "index that calls may use and see (default all)"),
		renames:          flags.StringSlice("rename", nil, "tool to show under another name, as TOOL=NAME"),
		noTools:          flags.Bool("no-tools", false, "show no tools"),
		noPrompts:        flags.Bool("no-prompts", false, "show no prompts"),
		noIndex:          flags.Bool("no-indexes", false, "show no indexes"),
		noResources:      flags.Bool("no-resources", false, "serve no resources"),
		presented:        &command.MessageFlag{Msg: &ragdv1.PresentedTools{}},
		defaults:         command.ObjectFlag(flags, "context", `request context of calls that set nothing else, such as {"topK": 5}`),
		fixed:            command.ObjectFlag(flags, "fixed-context", `request context that callers cannot change, such as {"filter": {"audience": "public"}}`),
	}
	flags.Var(f.presented, "presented", `tools with other names and texts, such as {"tools": [{"toolName": "search", "name": "find_rule", "description": "..."}]}`)
	return f
}

// names returns the names that a list flag gives, an empty list if none are to be shown, and
// nil if neither was given.
func names(given []string, none bool) *ragdv1.AllowedNames {
	if none {
		return &ragdv1.AllowedNames{}
	}
	return command.AllowedNames(given)
}

// presentedTools returns --presented and --rename, nil if neither was given.
func (f *serverFlags) presentedTools() (*ragdv1.PresentedTools, error) {
	all := f.presented.Msg.(*ragdv1.PresentedTools)
	for _, rename := range *f.renames {
		tool, name, ok := strings.Cut(rename, "=")
		if !ok || tool == "" || name == "" {
			return nil, misuse.Errorf("--rename takes TOOL=NAME, not %q", rename)
		}
		all.Tools = append(all.Tools, &ragdv1.PresentedTool{ToolName: tool, Name: name})
	}
	if !f.presented.Given && len(*f.renames) == 0 {
		return nil, nil
	}
	return all, nil
}

// maxIconBytes is the largest file that fits into the data URIs of a server's icons.
const maxIconBytes = 48 << 10

// iconList returns the icons, nil if none were given.
func (f *serverFlags) iconList() (*ragdv1.ServerIcons, error) {
	if !f.flags.Changed("icon") {
		return nil, nil
	}
	list := &ragdv1.ServerIcons{}
	for _, icon := range *f.icons {
		if icon == "" { // --icon "" removes all
			continue
		}
		if !strings.Contains(icon, "://") && !strings.HasPrefix(icon, "data:") {
			raw, err := os.ReadFile(icon)
			if err != nil {
				return nil, err
			}
			if len(raw) > maxIconBytes {
				return nil, misuse.Errorf("%s has %d bytes: icons have at most %d, or are at an https address", icon, len(raw), maxIconBytes)
			}
			kind, _, _ := strings.Cut(http.DetectContentType(raw), ";")
			if strings.HasSuffix(icon, ".svg") {
				kind = "image/svg+xml"
			}
			icon = "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(raw)
		}
		list.Icons = append(list.Icons, &ragdv1.ServerIcon{Src: icon})
	}
	return list, nil
}

// serverRequest returns the request that changes what was given.
func serverRequest(p *command.Program, name string, f *serverFlags) (*ragdv1.UpdateServerRequest, error) {
	for one, others := range map[string][]string{"tool": {"no-tools", "all-tools"}, "prompt": {"no-prompts", "all-prompts"}, "index": {"no-indexes", "all-indexes"}} {
		if err := command.Exclusive(f.flags, append(others, one)...); err != nil {
			return nil, err
		}
	}
	req := &ragdv1.UpdateServerRequest{
		ServerName: name, Version: command.Given(f.flags, "version", f.version), Title: command.Given(f.flags, "title", f.title), Description: command.Given(f.flags, "description", f.description),
		Instructions: command.Given(f.flags, "instructions", f.instructions), WebsiteUrl: command.Given(f.flags, "website", f.website), RegistryName: command.Given(f.flags, "registry-name", f.registryName),
		Tools: names(*f.tools, *f.noTools), Prompts: names(*f.prompts, *f.noPrompts), Indexes: names(*f.indexes, *f.noIndex),
		DefaultContext: f.defaults(), FixedContext: f.fixed(),
	}
	if f.flags.Changed("no-resources") {
		req.HideResources = f.noResources
	}
	if *f.instructionsFile != "" {
		text, err := readText(p, *f.instructionsFile)
		if err != nil {
			return nil, err
		}
		req.Instructions = &text
	}
	if f.flags.Changed("repository") {
		req.Repository = &ragdv1.ServerRepository{}
		if *f.repository != "" {
			req.Repository = &ragdv1.ServerRepository{Url: *f.repository, Source: *f.repositorySource}
		}
	}
	var err error
	if req.Icons, err = f.iconList(); err != nil {
		return nil, err
	}
	req.Presented, err = f.presentedTools()
	return req, err
}

// readText returns the text of a file, or of standard input for "-".
func readText(p *command.Program, name string) (string, error) {
	if name == "-" {
		raw, err := io.ReadAll(p.Stdin)
		return string(raw), err
	}
	raw, err := os.ReadFile(name)
	return string(raw), err
}

func showServer(s *ragdv1.Server) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "server", s.GetServerName())
		output.Field(w, "url", s.GetUrl())
		output.Field(w, "version", s.GetVersion())
		output.Field(w, "title", s.GetTitle())
		output.Field(w, "description", s.GetDescription())
		output.Field(w, "instructions", s.GetInstructions())
		output.Field(w, "website", s.GetWebsiteUrl())
		output.Field(w, "repository", s.GetRepository().GetUrl())
		output.Field(w, "tools", shownNames(s.GetTools()))
		output.Field(w, "prompts", shownNames(s.GetPrompts()))
		output.Field(w, "indexes", shownNames(s.GetIndexes()))
		if s.GetHideResources() {
			output.Field(w, "resources", "none")
		}
		for _, t := range s.GetPresented() {
			output.Field(w, "presented", t.GetToolName()+" as "+cmp.Or(t.GetName(), t.GetToolName()))
		}
		output.Field(w, "context", output.CompactJSON(s.GetDefaultContext()))
		output.Field(w, "fixed", output.CompactJSON(s.GetFixedContext()))
		output.Field(w, "icons", fmt.Sprint(len(s.GetIcons())))
		output.Field(w, "created", output.Stamp(s.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(s.GetUpdateTime()))
	}
}

func shownNames(list *ragdv1.AllowedNames) string {
	switch {
	case list == nil:
		return "all"
	case len(list.GetNames()) == 0:
		return "none"
	}
	return strings.Join(list.GetNames(), ", ")
}

func serverCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make an MCP server",
		Long: `Make an MCP server. Without --tool it shows all tools that the key of a caller may
use, also those that are made later; the same holds for prompts and indexes.`,
		Example: `  ragd server create handbook --tool vector_query --index handbook \
      --rename vector_query=find_rule --instructions "Answer from the handbook alone."
  ragd server create public --no-resources --fixed-context '{"filter": {"audience": "public"}}'
  ragd server create default --instructions-file instructions.txt`,
		Args: command.Arguments("NAME"),
	}
	flags := newServerFlags(cmd.Flags())
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Server, error) {
		given, err := serverRequest(p, args[0], flags)
		if err != nil {
			return nil, err
		}
		return c.Servers.CreateServer(ctx, &ragdv1.CreateServerRequest{
			ServerName: args[0], Version: given.GetVersion(), Title: given.GetTitle(), Description: given.GetDescription(),
			Instructions: given.GetInstructions(), Icons: given.GetIcons().GetIcons(), WebsiteUrl: given.GetWebsiteUrl(),
			Repository: given.GetRepository(), Tools: given.Tools, Prompts: given.Prompts, Indexes: given.Indexes,
			HideResources: given.GetHideResources(), Presented: given.GetPresented().GetTools(),
			DefaultContext: given.DefaultContext, FixedContext: given.FixedContext, RegistryName: given.GetRegistryName(),
		})
	}, showServer)
	return cmd
}

func serverUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Change an MCP server",
		Long: `Change what is given of an MCP server and leave the rest. Lists are replaced as a
whole. Agents that are connected are told of it.`,
		Example: `  ragd server update handbook --tool vector_query,graph_rag
  ragd server update handbook --all-indexes --version 1.1.0`,
		Args: command.Arguments("NAME"),
	}
	flags := newServerFlags(cmd.Flags())
	flags.allTools = cmd.Flags().Bool("all-tools", false, "show all tools again")
	flags.allPrompts = cmd.Flags().Bool("all-prompts", false, "show all prompts again")
	flags.allIndexes = cmd.Flags().Bool("all-indexes", false, "show all indexes again")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Server, error) {
		req, err := serverRequest(p, args[0], flags)
		if err != nil {
			return nil, err
		}
		req.AllTools, req.AllPrompts, req.AllIndexes = *flags.allTools, *flags.allPrompts, *flags.allIndexes
		return c.Servers.UpdateServer(ctx, req)
	}, showServer)
	return cmd
}

func serverGet(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "get NAME",
		Short:   "Show an MCP server",
		Example: `  ragd server get handbook`,
		Args:    command.Arguments("NAME"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Server, error) {
			return c.Servers.GetServer(ctx, &ragdv1.GetServerRequest{ServerName: args[0]})
		}, showServer),
	}
}

func serverDocument(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "document NAME",
		Short: "Write the server.json of an MCP server for a registry",
		Long: `Write the document server.json of the MCP registry for an MCP server. Addresses in it
are those of the setting public-url of the service, else the one it was called at.`,
		Example: `  ragd server document handbook > server.json`,
		Args:    command.Arguments("NAME"),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			found, err := c.Servers.GetServer(ctx, &ragdv1.GetServerRequest{ServerName: args[0]})
			if err != nil {
				return err
			}
			return p.Out.Show(found.GetRegistryDocument(), func(w io.Writer) {
				var document bytes.Buffer
				if err := json.Indent(&document, []byte(output.CompactJSON(found.GetRegistryDocument())), "", "  "); err == nil { // it is JSON
					fmt.Fprintln(w, document.String())
				}
			})
		}),
	}
}

func serverList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the MCP servers in the order of their names",
		Example: `  ragd server list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		servers := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Server, string, error) {
			page, err := c.Servers.ListServers(ctx, &ragdv1.ListServersRequest{PageSize: size, PageToken: token})
			return page.GetServers(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "servers", servers, "SERVER VERSION TOOLS INDEXES URL", func(s *ragdv1.Server) []any {
			return []any{s.GetServerName(), s.GetVersion(), shownNames(s.GetTools()), shownNames(s.GetIndexes()), s.GetUrl()}
		})
	})
	return cmd
}

func serverDelete(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete an MCP server",
		Example: `  ragd server delete handbook`,
		Args:    command.Arguments("NAME"),
		RunE: command.Delete(p, client.ForTenant, "server", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeleteServerResponse, error) {
			return c.Servers.DeleteServer(ctx, &ragdv1.DeleteServerRequest{ServerName: args[0]})
		}),
	}
}
