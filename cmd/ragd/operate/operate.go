// Package operate holds the commands of who runs the service: to start it, bring its database
// up to date, back it up, look after its tenants and its local models, and find out what is
// wrong. Most of them work on the database or the folders of the service themselves, with the
// settings of "ragd serve"; the others call the service as its operator.
package operate

import (
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/settings"
)

// program is what the commands of this package share.
type program struct {
	*command.Program
	settings *settings.Settings
	machine  Machine
}

// Commands returns the commands of this package. They fill s from their flags, and doctor looks
// at machine.
func Commands(p *command.Program, s *settings.Settings, machine Machine) []*cobra.Command {
	return (&program{Program: p, settings: s, machine: machine}).commands()
}

func (p *program) commands() []*cobra.Command {
	return []*cobra.Command{
		p.serveCommand(), p.migrateCommand(), p.databaseCommand(), p.backupCommand(), p.restoreCommand(), p.ClientFlags(p.exportCommand()), p.ClientFlags(p.importCommand()),
		p.tenantCommands(), p.planCommands(), p.databasesCommands(), p.modelCommands(),
		p.consoleCommand(), p.doctorCommand(), p.probeCommand(), p.versionCommand(), p.licensesCommand(), p.parseWorkerCommand(),
	}
}
