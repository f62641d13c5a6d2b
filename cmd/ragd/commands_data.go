package main

import "github.com/spf13/cobra"

// dataCommands returns the commands of this package.
func (p *program) dataCommands() []*cobra.Command {
	return []*cobra.Command{
		p.indexCommands(), p.documentCommands(), p.jobCommands(), p.storeCommands(),
		p.ingestCommand(), p.queryCommand(), p.graphCommand(), p.chunkCommand(), p.usageCommand(),
	}
}
