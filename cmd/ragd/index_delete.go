package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) indexDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete INDEX",
		Short: "Delete an index with its documents",
		Long: `Delete an index with its documents and chunks. It cannot be undone, so it asks
for the index's name unless --yes is given.`,
		Example: `  ragd index delete handbook --yes`,
		Args:    arguments("INDEX"),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := p.confirm(cmd.Context(), *yes, args[0], "This deletes index %s with its documents.", args[0]); err != nil {
			return err
		}
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		res, err := c.indexes.DeleteIndex(cmd.Context(), &ragdv1.DeleteIndexRequest{IndexName: args[0]})
		if err != nil {
			return err
		}
		return p.show(res, func(w io.Writer) { fmt.Fprintf(w, "deleted index %s\n", args[0]) })
	}
	return cmd
}
