package automation

import (
	"context"
	"io"
	"maps"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func toolCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("tool", "Make tools of one's own for agents", `
A tool is a search or a chunker with a name, a description and settings of its own.
Over MCP the agents of the tenant see it beside the builtin ones.`,
		toolCreate(p), toolUpdate(p), toolGet(p), toolList(p), toolDelete(p), toolCall(p),
	))
}

// toolFlags are the flags that create and update have in common.
type toolFlags struct {
	flags                     *pflag.FlagSet
	title, description, index *string
	arguments                 *[]string
	fixed                     *bool
	settings, filter          func() *structpb.Struct
	annotations               *command.MessageFlag
	meta, output              func() *structpb.Struct
}

func newToolFlags(flags *pflag.FlagSet) *toolFlags {
	hints := &command.MessageFlag{Msg: &ragdv1.ToolAnnotations{}}
	flags.Var(hints, "annotations", `hints for clients, such as {"openWorldHint": true} (default those of the kind)`)
	return &toolFlags{
		flags:       flags,
		annotations: hints,
		meta:        command.ObjectFlag(flags, "meta", "additional information for clients, as _meta of MCP"),
		output:      command.ObjectFlag(flags, "output-schema", "JSON Schema of the answer (default that of the kind)"),
		title:       flags.String("title", "", "name for people"),
		description: flags.String("description", "", "for models: what is found here, and when to use it"),
		index:       flags.String("index", "", "index that is searched; short for a setting"),
		filter:      command.ObjectFlag(flags, "filter", "filter that always holds; short for a setting"),
		settings:    command.ObjectFlag(flags, "settings", `other fields of the request, such as {"topK": 5}`),
		arguments:   flags.StringSlice("arguments", nil, "what the model may give (default queryText,topK,filter, or text)"),
		fixed:       flags.Bool("fixed", false, "keep the request context from changing the settings"),
	}
}

// all returns --settings merged with --index and --filter, nil if none was given.
func (f *toolFlags) all() *structpb.Struct {
	settings, filter := f.settings(), f.filter()
	if settings == nil && filter == nil && *f.index == "" {
		return nil
	}
	all := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, value := range settings.GetFields() {
		all.Fields[name] = value
	}
	if *f.index != "" {
		all.Fields["indexName"] = structpb.NewStringValue(*f.index)
	}
	if filter != nil {
		all.Fields["filter"] = structpb.NewStructValue(filter)
	}
	return all
}

// hints returns --annotations, nil if they were not given.
func (f *toolFlags) hints() *ragdv1.ToolAnnotations {
	if !f.annotations.Given {
		return nil
	}
	return f.annotations.Msg.(*ragdv1.ToolAnnotations)
}

// ownSettings returns the settings without what the service has set: the description that another
// server gives of its tool.
func ownSettings(tool *ragdv1.Tool) *structpb.Struct {
	if tool.GetKind() != "mcp" {
		return tool.GetSettings()
	}
	fields := maps.Clone(tool.GetSettings().GetFields())
	delete(fields, "tool")
	return &structpb.Struct{Fields: fields}
}

func showTool(tool *ragdv1.Tool) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "tool", tool.GetToolName())
		output.Field(w, "kind", tool.GetKind())
		output.Field(w, "title", tool.GetTitle())
		output.Field(w, "description", tool.GetDescription())
		output.Field(w, "settings", output.CompactJSON(ownSettings(tool)))
		output.Field(w, "arguments", strings.Join(tool.GetArguments(), ", "))
		output.Field(w, "input schema", output.CompactJSON(tool.GetInputSchema()))
		output.Field(w, "output schema", output.CompactJSON(tool.GetOutputSchema()))
		if tool.GetFixed() {
			output.Field(w, "fixed", "yes")
		}
		output.Field(w, "created", output.Stamp(tool.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(tool.GetUpdateTime()))
	}
}

func toolCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create TOOL",
		Short: "Make a tool",
		Long: `Make a tool. Agents that are connected are told of it. What a call asks for is put
together from the request context, then the model's arguments, then the settings;
filters are joined.`,
		Example: `  ragd tool create ask_handbook --index handbook \
      --description "What our handbook says. Use it for questions about rules and travel."
  ragd tool create public_faq --index faq --filter '{"audience": "public"}' --fixed
  ragd tool create cut_sentences --kind document_chunker --settings '{"chunking": {"strategy": "sentence", "maxSize": 400}}'`,
		Args: command.Arguments("TOOL"),
	}
	kind := cmd.Flags().String("kind", "vector_query", "vector_query, graph_rag, document_chunker, http or mcp")
	flags := newToolFlags(cmd.Flags())
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Tool, error) {
		return c.Tools.CreateTool(ctx, &ragdv1.CreateToolRequest{
			ToolName: args[0], Kind: *kind, Title: *flags.title, Description: *flags.description,
			Settings: flags.all(), Arguments: *flags.arguments, Fixed: *flags.fixed,
			Annotations: flags.hints(), Meta: flags.meta(), OutputSchema: flags.output(),
		})
	}, showTool)
	return cmd
}

func toolUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update TOOL",
		Short: "Change a tool",
		Long: `Change what is given of a tool and leave the rest. Settings, with index and filter,
are replaced as a whole.`,
		Example: `  ragd tool update ask_handbook --description "What our handbook says."
  ragd tool update ask_handbook --index handbook --settings '{"topK": 8}'`,
		Args: command.Arguments("TOOL"),
	}
	flags, etag := newToolFlags(cmd.Flags()), command.ETagFlag(cmd)
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Tool, error) {
		return c.Tools.UpdateTool(ctx, &ragdv1.UpdateToolRequest{
			ToolName: args[0], Etag: *etag, Title: command.Given(flags.flags, "title", flags.title), Description: command.Given(flags.flags, "description", flags.description),
			Settings: flags.all(), Arguments: *flags.arguments, Fixed: command.Given(flags.flags, "fixed", flags.fixed),
			Annotations: flags.hints(), Meta: flags.meta(), OutputSchema: flags.output(),
		})
	}, showTool)
	return cmd
}

func toolGet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get TOOL",
		Short: "Show a tool",
		Example: `  ragd tool get ask_handbook --json
  ragd tool get vector_query --json | jq .inputSchema`,
		Args: command.Arguments("TOOL"),
	}
	through := toolServerFlag(cmd.Flags())
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Tool, error) {
		return c.Tools.GetTool(through(ctx), &ragdv1.GetToolRequest{ToolName: args[0]})
	}, showTool)
	return cmd
}

// toolServerFlag adds --mcp-server. The returned function gives a context for calls through
// that server.
func toolServerFlag(flags *pflag.FlagSet) func(context.Context) context.Context {
	name := flags.String("mcp-server", "", "MCP server of the tenant on which tools have the names that it gives them (default none)")
	return func(ctx context.Context) context.Context {
		if *name == "" {
			return ctx
		}
		ctx, info := connect.NewClientContext(ctx)
		info.RequestHeader().Set(client.ServerHeader, *name)
		return ctx
	}
}

func toolList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tools in the order of their names",
		Example: `  ragd tool list
  ragd tool list --builtin`,
		Args: command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	builtin := cmd.Flags().Bool("builtin", false, "list the builtin tools too")
	through := toolServerFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		tools := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Tool, string, error) {
			page, err := c.Tools.ListTools(through(ctx), &ragdv1.ListToolsRequest{PageSize: size, PageToken: token, IncludeBuiltin: *builtin})
			return page.GetTools(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "tools", tools, "TOOL KIND INDEX DESCRIPTION", func(t *ragdv1.Tool) []any {
			index := t.GetSettings().GetFields()["indexName"].GetStringValue()
			return []any{t.GetToolName(), t.GetKind(), index, t.GetDescription()}
		})
	})
	return cmd
}

func toolDelete(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "delete TOOL",
		Short:   "Delete a tool",
		Example: `  ragd tool delete ask_handbook`,
		Args:    command.Arguments("TOOL"),
		RunE: command.Delete(p, client.ForTenant, "tool", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeleteToolResponse, error) {
			return c.Tools.DeleteTool(ctx, &ragdv1.DeleteToolRequest{ToolName: args[0]})
		}),
	}
}
