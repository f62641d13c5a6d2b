package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

// runner is one run of ragd: what its commands read and print, and the service that they
// call. Tests replace its parts.
type runner struct {
	stdin          io.Reader
	out            output.Printer
	getenv         func(string) string
	interactive    bool // stdin is a terminal: questions can be asked
	stderrTerminal bool // stderr is a terminal: it can show a progress bar

	access clientSettings
	client *client // once connected
}

// describe returns the message of an error with what the user can do.
func (p *runner) describe(err error) string { return describe(p.client, err) }

// jsonFlag adds --json to cmd and the commands below it.
func (p *runner) jsonFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().BoolVar(&p.out.JSON, "json", false, "print JSON")
}

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e exitError) Error() string { return e.err.Error() }

// clientFlags adds the flags of client commands to cmd and its subcommands.
func (p *runner) clientFlags(cmd *cobra.Command) *cobra.Command {
	p.access.register(cmd.PersistentFlags())
	p.jsonFlag(cmd)
	return cmd
}

// connect returns a client with the credential that choose selects from the settings and
// client.conf. Errors of its calls are described by it until the next one is made.
func (p *runner) connect(choose func(credentials) access) (*client, error) {
	c, err := connectTo(p.access, p.getenv, choose)
	if err != nil {
		return nil, err
	}
	p.client = c
	return c, nil
}

// call returns the function of a command that calls the service: it connects as connect
// does and runs do with the arguments of the command.
func (p *runner) call(choose func(credentials) access, do func(ctx context.Context, c *client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(choose)
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args)
	}
}
