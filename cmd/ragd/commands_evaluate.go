package main

import "github.com/spf13/cobra"

// evaluateCommands returns the commands of this package.
func (p *program) evaluateCommands() []*cobra.Command {
	return []*cobra.Command{
		p.evalCommand(),
	}
}
