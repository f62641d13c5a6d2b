package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/internal/operate/nearest"
)

func (p *program) root() *cobra.Command {
	root := p.group("ragd", "Retrieval for many tenants: upload documents, ask questions", `
ragd stores documents of many tenants in PostgreSQL and finds the passages that
answer a question, over Connect RPC, MCP and this command line.

Every setting is a flag, a variable in the environment or a line in a file, in
that order of precedence: --server, RAGD_SERVER, or "server = ..." in the file
named by --config (default: ragd.conf in the folder ragd of your configuration
folder, such as ~/.config/ragd). Keys are never flags: they come from the
environment or the file. On the machine on which "ragd serve" runs nothing has
to be set: it leaves its address and keys in client.conf in the same folder.

Commands exit with 0, with 1 if something failed, with 2 if the command line is
wrong, and with 130 if they were interrupted; doctor has codes of its own. With --json they print one JSON
object, and lists print one object a line.`,
		p.serveCommand(), p.migrateCommand(), p.databaseCommand(), p.backupCommand(), p.restoreCommand(), p.clientFlags(p.exportCommand()), p.clientFlags(p.importCommand()), p.mcpCommand(),
		p.tenantCommands(), p.keyCommands(), p.indexCommands(), p.documentCommands(), p.jobCommands(), p.eventCommands(), p.hookCommands(), p.connectorCommands(), p.connectCommands(), p.toolCommands(), p.serverCommands(), p.promptCommands(), p.agentCommands(), p.workflowCommands(), p.endpointCommands(), p.secretCommands(), p.contextCommands(), p.modelCommands(),
		p.ingestCommand(), p.queryCommand(), p.graphCommand(), p.chunkCommand(), p.evalCommand(), p.askCommand(),
		p.issuerCommands(), p.storeCommands(), p.usageCommand(), p.auditCommand(), p.databasesCommands(), p.whoamiCommand(), p.consoleCommand(), p.doctorCommand(), p.probeCommand(), p.versionCommand(), p.licensesCommand(), p.parseWorkerCommand(),
	)
	root.SetIn(p.stdin)
	root.SetOut(p.out.Stdout)
	root.SetErr(p.out.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&p.settings.Config, "config", "", "`FILE` of settings, one \"key = value\" a line")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		p.parsed = true
		if isGroup(cmd) {
			return nil // it only shows its help
		}
		if err := config.CheckEnvironment(root, p.environ()); err != nil {
			return err
		}
		err := config.Fill(cmd, p.settings.Config, p.getenv)
		if secret := (config.SecretFlagError{}); errors.As(err, &secret) {
			return usageError{secret}
		}
		return err
	}
	return root
}

// isGroup reports whether a command only has subcommands and does nothing itself. Those that
// do something have an example.
func isGroup(cmd *cobra.Command) bool { return cmd.HasSubCommands() && cmd.Example == "" }

// group returns a command that only has subcommands.
func (p *program) group(use, short, long string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: strings.TrimSpace(long),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("unknown command %q%s", args[0], nearest.Hint(args[0], commandNames(cmd)))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(children...)
	return cmd
}

// commandNames returns the names of the commands below cmd, without hidden ones.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	return names
}

// flagError returns the error about a flag that is unknown or has a bad value.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError{err}
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, "--"+flag.Name)
		}
	})
	return usagef("%w%s", err, nearest.Hint("--"+unknown.GetSpecifiedName(), names))
}

// arguments checks that a command gets the named arguments. The last name may be
// "NAME..." for one or more. The error about a missing one shows an example.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			missing := strings.TrimSuffix(names[len(args)], "...")
			if example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n"); example != "" {
				return fmt.Errorf("%s is missing, as in: %s", missing, strings.TrimSuffix(example, " \\"))
			}
			return fmt.Errorf("%s is missing", missing)
		}
		more := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "...")
		if len(args) > len(names) && !more {
			return fmt.Errorf("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
