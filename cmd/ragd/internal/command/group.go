package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/internal/operate/nearest"
)

// Group returns a command that only has subcommands.
func Group(use, short, long string, children ...*cobra.Command) *cobra.Command {
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

// Arguments checks that a command gets the named arguments. The last name may be
// "NAME..." for one or more. The error about a missing one shows an example.
func Arguments(names ...string) cobra.PositionalArgs {
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
