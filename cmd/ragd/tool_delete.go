package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) toolDelete() *cobra.Command {
	return &cobra.Command{
		Use:     "delete TOOL",
		Short:   "Delete a tool",
		Example: `  ragd tool delete ask_handbook`,
		Args:    arguments("TOOL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(credentials.forTenant)
			if err != nil {
				return err
			}
			res, err := c.tools.DeleteTool(cmd.Context(), &ragdv1.DeleteToolRequest{ToolName: args[0]})
			if err != nil {
				return err
			}
			return p.show(res, func(w io.Writer) { fmt.Fprintf(w, "deleted tool %s\n", args[0]) })
		},
	}
}
