// Package automation holds the commands about what works on a tenant's documents by itself, or
// lets others do so: tools, MCP servers, prompts and the request context that they read, agents
// and workflows that use them, connectors that fetch documents, and hooks and events that tell
// what happened.
package automation

import (
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
)

// Commands returns the commands of this package.
func Commands(p *command.Program) []*cobra.Command {
	return []*cobra.Command{
		toolCommands(p), serverCommands(p), policyCommands(p), promptCommands(p), contextCommands(p), mcpCommand(p),
		agentCommands(p), askCommand(p), memoryCommands(p), workflowCommands(p),
		connectorCommands(p), connectCommands(p), hookCommands(p), alertCommands(p), eventCommands(p),
	}
}
