package main

import "github.com/spf13/cobra"

// accessCommands returns the commands of this package.
func (p *program) accessCommands() []*cobra.Command {
	return []*cobra.Command{
		p.keyCommands(), p.issuerCommands(), p.secretCommands(), p.endpointCommands(), p.whoamiCommand(), p.auditCommand(),
	}
}
