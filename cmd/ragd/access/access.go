// Package access holds the commands about who may call the service, and with which credentials
// the service calls others for a tenant: API keys, issuers of access tokens, secrets, endpoints
// of models with their keys, and the audit log of who did what.
package access

import (
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
)

// Commands returns the commands of this package.
func Commands(p *command.Program) []*cobra.Command {
	return []*cobra.Command{
		keyCommands(p), issuerCommands(p), secretCommands(p), endpointCommands(p), whoamiCommand(p), auditCommand(p),
	}
}
