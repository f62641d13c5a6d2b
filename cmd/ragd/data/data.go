// Package data holds the commands about a tenant's documents: to make indexes, upload documents
// and follow the work on them, ask questions, look at the graph between chunks, and see how much
// of it was used.
package data

import (
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
)

// Commands returns the commands of this package.
func Commands(p *command.Program) []*cobra.Command {
	return []*cobra.Command{
		indexCommands(p), documentCommands(p), jobCommands(p), storeCommands(p), profileCommands(p),
		ingestCommand(p), queryCommand(p), countCommand(p), tableCommands(p), suggestCommand(p), graphCommand(p), researchCommand(p), groundCommand(p), chunkCommand(p), usageCommand(p), quotasCommand(p),
	}
}
