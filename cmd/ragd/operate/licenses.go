package operate

import (
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/internal/operate/notices"
)

func (p *program) licensesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "licenses",
		Short: "Print the licences of the libraries in this binary",
		Long: `Print which works of others this binary contains, and their licences: the modules of
Go, the libraries in the compiled PDF reader, and the packages in the console.`,
		Example: `  ragd licenses > THIRD_PARTY_NOTICES`,
		Args:    command.Arguments(),
		RunE: func(*cobra.Command, []string) error {
			_, err := p.Out.Stdout.Write(notices.Text)
			return err
		},
	}
}
