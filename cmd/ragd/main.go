// Command ragd is the retrieval service and its client: `ragd serve` runs the service,
// most other commands call one over the public API. `ragd help` lists the commands.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	color := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	p := &program{
		stdin: os.Stdin, out: output.Printer{Stdout: os.Stdout, Stderr: os.Stderr, Color: color},
		getenv: os.Getenv, environ: os.Environ,
		interactive:    term.IsTerminal(int(os.Stdin.Fd())),
		stderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		localChecks: []check{
			{"PostgreSQL here", checkPostgres},
		},
		install: embedded.Install,
	}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// program is one run of ragd with the parts of its environment that tests replace. Its
// run method may be called once.
type program struct {
	stdin          io.Reader
	out            output.Printer
	getenv         func(string) string
	environ        func() []string
	interactive    bool    // stdin is a terminal: questions can be asked
	stderrTerminal bool    // stderr is a terminal: it can show a progress bar
	localChecks    []check // checks of this machine, for doctor
	// install installs what the embedded database needs.
	install func(context.Context, io.Writer) error

	settings settings
	client   *client // once connected
	parsed   bool    // the command line was parsed without an error
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
