package main

import "github.com/spf13/cobra"

// operateCommands returns the commands of this package.
func (p *program) operateCommands() []*cobra.Command {
	return []*cobra.Command{
		p.serveCommand(), p.migrateCommand(), p.databaseCommand(), p.backupCommand(), p.restoreCommand(), p.clientFlags(p.exportCommand()), p.clientFlags(p.importCommand()),
		p.tenantCommands(), p.databasesCommands(), p.modelCommands(),
		p.consoleCommand(), p.doctorCommand(), p.probeCommand(), p.versionCommand(), p.licensesCommand(), p.parseWorkerCommand(),
	}
}
