package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) toolUpdate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update TOOL",
		Short: "Change a tool",
		Long: `Change what is given of a tool and leave the rest. Settings, with index and filter,
are replaced as a whole.`,
		Example: `  ragd tool update ask_handbook --description "What our handbook says."
  ragd tool update ask_handbook --index handbook --settings '{"topK": 8}'`,
		Args: arguments("TOOL"),
	}
	flags := newToolFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		tool, err := c.tools.UpdateTool(cmd.Context(), &ragdv1.UpdateToolRequest{
			ToolName: args[0], Title: given(flags, "title", flags.title), Description: given(flags, "description", flags.description),
			Settings: flags.all(), Arguments: *flags.arguments, Fixed: given(flags, "fixed", flags.fixed),
		})
		if err != nil {
			return err
		}
		return p.show(tool, showTool(tool))
	}
	return cmd
}
