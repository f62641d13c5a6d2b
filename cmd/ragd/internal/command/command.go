// Package command is what all commands of ragd are made of: what they read and print, how they
// call the service, and the flags and arguments that several of them have.
package command

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

// Program is one run of ragd: what its commands read and print, and the service that they
// call. Tests replace its parts.
type Program struct {
	Stdin          io.Reader
	Out            output.Printer
	Getenv         func(string) string
	Interactive    bool // stdin is a terminal: questions can be asked
	StderrTerminal bool // stderr is a terminal: it can show a progress bar

	Access client.Settings
	Client *client.Client // once connected
}

// Describe returns the message of an error with what the user can do.
func (p *Program) Describe(err error) string { return client.Describe(p.Client, err) }

// JSONFlag adds --json to cmd and the commands below it.
func (p *Program) JSONFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().BoolVar(&p.Out.JSON, "json", false, "print JSON")
}

// ExitError is an error with an exit code of its own.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e ExitError) Error() string { return e.Err.Error() }

// ClientFlags adds the flags of client commands to cmd and its subcommands.
func (p *Program) ClientFlags(cmd *cobra.Command) *cobra.Command {
	p.Access.Register(cmd.PersistentFlags())
	p.JSONFlag(cmd)
	return cmd
}

// Connect returns a client with the credential that choose selects from the settings and
// client.conf. Errors of its calls are described by it until the next one is made.
func (p *Program) Connect(choose func(client.Credentials) client.Access) (*client.Client, error) {
	c, err := client.Connect(p.Access, p.Getenv, p.noteWaiting, choose)
	if err != nil {
		return nil, err
	}
	p.Client = c
	return c, nil
}

// noteWaiting says on stderr why a command waits for the service.
func (p *Program) noteWaiting(reason string) {
	output.Note(p.Out.Stderr, "waiting: %s", output.OneLine(reason))
}

// Call returns the function of a command that calls the service: it connects as Connect
// does and runs do with the arguments of the command.
func (p *Program) Call(choose func(client.Credentials) client.Access, do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := p.Connect(choose)
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args)
	}
}

// Show returns the function of a command that calls the service as Call does, and prints the
// message that do returns: as JSON with --json, else what text writes about it.
func Show[M proto.Message](p *Program, choose func(client.Credentials) client.Access, do func(ctx context.Context, c *client.Client, args []string) (M, error), text func(M) func(io.Writer)) func(*cobra.Command, []string) error {
	return p.Call(choose, func(ctx context.Context, c *client.Client, args []string) error {
		answer, err := do(ctx, c, args)
		if err != nil {
			return err
		}
		return p.Out.Show(answer, text(answer))
	})
}

// Delete returns the function of a command that deletes what its first argument names, and says
// so. kind is what it deletes.
func Delete[M proto.Message](p *Program, choose func(client.Credentials) client.Access, kind string, do func(ctx context.Context, c *client.Client, args []string) (M, error)) func(*cobra.Command, []string) error {
	return p.Call(choose, func(ctx context.Context, c *client.Client, args []string) error {
		answer, err := do(ctx, c, args)
		if err != nil {
			return err
		}
		return p.Out.Show(answer, func(w io.Writer) { fmt.Fprintf(w, "deleted %s %s\n", kind, args[0]) })
	})
}
