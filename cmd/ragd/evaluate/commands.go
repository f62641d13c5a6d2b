// Package evaluate holds the commands that measure how well questions are answered whose answers
// are known: at once with questions in a file, or in the service, which keeps the questions and
// the results.
package evaluate

import (
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
)

// Commands returns the commands of this package.
func Commands(p *command.Program) []*cobra.Command {
	return []*cobra.Command{
		evalCommand(p),
	}
}
