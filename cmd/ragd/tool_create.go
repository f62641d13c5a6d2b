package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) toolCreate() *cobra.Command {
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
		Args: arguments("TOOL"),
	}
	kind := cmd.Flags().String("kind", "vector_query", "vector_query, graph_rag or document_chunker")
	flags := newToolFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		tool, err := c.tools.CreateTool(cmd.Context(), &ragdv1.CreateToolRequest{
			ToolName: args[0], Kind: *kind, Title: *flags.title, Description: *flags.description,
			Settings: flags.all(), Arguments: *flags.arguments, Fixed: *flags.fixed,
		})
		if err != nil {
			return err
		}
		return p.show(tool, showTool(tool))
	}
	return cmd
}
