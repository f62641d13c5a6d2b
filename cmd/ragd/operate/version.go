package operate

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/build"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
)

func (p *program) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: `  ragd version --json | jq -r .revision`,
		Args:    command.Arguments(),
		RunE: func(*cobra.Command, []string) error {
			if p.Out.JSON {
				return p.Out.Value(build.Read())
			}
			_, err := fmt.Fprintln(p.Out.Stdout, build.Read())
			return err
		},
	}
	p.JSONFlag(cmd)
	return cmd
}
