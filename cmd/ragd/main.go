// Command ragd is the retrieval service and the client of it: `ragd serve` runs
// the one, everything else talks to it over the same API that any client has.
// `ragd help` lists the commands.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	p := &program{
		stdin: os.Stdin, out: output.Printer{Stdout: os.Stdout, Stderr: os.Stderr},
		getenv:   os.Getenv,
		asks:     term.IsTerminal(int(os.Stdin.Fd())),
		animates: term.IsTerminal(int(os.Stderr.Fd())),
		localChecks: []check{
			{"PostgreSQL here", checkPostgres},
		},
	}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// program is one run of ragd with everything it touches of its surroundings, so
// that a test can be those. Its run method may be called once.
type program struct {
	stdin       io.Reader
	out         output.Printer
	getenv      func(string) string
	asks        bool // a person at stdin can be asked
	animates    bool // stderr is a terminal that can show a bar
	localChecks []check

	settings settings
	client   *client // once connected
	running  bool    // the command line was understood
}

// Exit codes besides 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run executes a command line and returns the exit code. What goes wrong is one
// line on stderr.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	return p.report(cmd, err)
}
