package main

import "github.com/spf13/cobra"

// automationCommands returns the commands of this package.
func (p *program) automationCommands() []*cobra.Command {
	return []*cobra.Command{
		p.toolCommands(), p.serverCommands(), p.promptCommands(), p.contextCommands(), p.mcpCommand(),
		p.agentCommands(), p.askCommand(), p.workflowCommands(),
		p.connectorCommands(), p.connectCommands(), p.hookCommands(), p.eventCommands(),
	}
}
