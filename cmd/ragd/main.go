// Command ragd is the retrieval service and its client: `ragd serve` runs the service,
// most other commands call one over the public API. `ragd help` lists the commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/operate"
	"github.com/ragdhq/ragd/cmd/ragd/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	color := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	p := &program{
		Program: command.Program{
			Stdin: os.Stdin, Out: output.Printer{Stdout: os.Stdout, Stderr: os.Stderr, Color: color}, Getenv: os.Getenv,
			Interactive:    term.IsTerminal(int(os.Stdin.Fd())),
			StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		},
		environ: os.Environ,
		machine: operate.ThisMachine(),
	}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// program is one run of ragd with the parts of its environment that tests replace. Its
// run method may be called once.
type program struct {
	command.Program
	environ func() []string
	machine operate.Machine

	settings settings.Settings // of the commands that run the service, or work on its database
	parsed   bool              // the command line was parsed without an error
}

// Exit codes besides 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run executes a command line and returns the exit code. An error is printed as one line
// on stderr.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	return p.report(cmd, err)
}
