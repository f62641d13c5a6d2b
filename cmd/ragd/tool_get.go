package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) toolGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get TOOL",
		Short:   "Show a tool",
		Example: `  ragd tool get ask_handbook --json`,
		Args:    arguments("TOOL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(credentials.forTenant)
			if err != nil {
				return err
			}
			tool, err := c.tools.GetTool(cmd.Context(), &ragdv1.GetToolRequest{ToolName: args[0]})
			if err != nil {
				return err
			}
			return p.show(tool, showTool(tool))
		},
	}
}
