package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/internal/parse"
	"github.com/ragdhq/ragd/internal/parse/subprocess"
)

// parseWorker is the command by which the service starts the children that read
// files.
const parseWorker = "parse-worker"

func (p *program) parseWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use: parseWorker, Hidden: true, Args: cobra.NoArgs,
		// It has no settings and must not look for any.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE:              func(*cobra.Command, []string) error { return subprocess.Serve(p.stdin, p.stdout, parse.Parse) },
	}
}

// newSandbox returns readers of files that are children of this program.
func newSandbox() (*subprocess.Pool, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return subprocess.New(subprocess.Config{Command: []string{self, parseWorker}}), nil
}
