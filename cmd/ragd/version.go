package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: `  ragd version --json | jq -r .revision`,
		Args:    arguments(),
		RunE: func(*cobra.Command, []string) error {
			if p.out.JSON {
				return p.out.Value(readBuild())
			}
			_, err := fmt.Fprintln(p.out.Stdout, readBuild())
			return err
		},
	}
	p.jsonFlag(cmd)
	return cmd
}
