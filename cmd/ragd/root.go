package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/access"
	"github.com/ragdhq/ragd/cmd/ragd/automation"
	"github.com/ragdhq/ragd/cmd/ragd/data"
	"github.com/ragdhq/ragd/cmd/ragd/declare"
	"github.com/ragdhq/ragd/cmd/ragd/evaluate"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/operate"
	"github.com/ragdhq/ragd/cmd/ragd/quickstart"
	"github.com/ragdhq/ragd/internal/operate/nearest"
)

func (p *program) root() *cobra.Command {
	root := command.Group("ragd", "Retrieval for many tenants: upload documents, ask questions", `
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
		slices.Concat(operate.Commands(&p.Program, &p.settings, p.machine), data.Commands(&p.Program), access.Commands(&p.Program), automation.Commands(&p.Program), declare.Commands(&p.Program), evaluate.Commands(&p.Program), quickstart.Commands(&p.Program, &p.settings.Config))...,
	)
	root.SetIn(p.Stdin)
	root.SetOut(p.Out.Stdout)
	root.SetErr(p.Out.Stderr)
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
		err := config.Fill(cmd, p.settings.Config, p.Getenv)
		if secret := (config.SecretFlagError{}); errors.As(err, &secret) {
			return misuse.Errorf("%w", secret)
		}
		return err
	}
	return root
}

// isGroup reports whether a command only has subcommands and does nothing itself. Those that
// do something have an example.
func isGroup(cmd *cobra.Command) bool { return cmd.HasSubCommands() && cmd.Example == "" }

// flagError returns the error about a flag that is unknown or has a bad value.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return misuse.Errorf("%w", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, "--"+flag.Name)
		}
	})
	return misuse.Errorf("%w%s", err, nearest.Hint("--"+unknown.GetSpecifiedName(), names))
}
