package operate

import (
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/settings"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/subprocess"
)

func (p *program) parseWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use: settings.ParseWorker, Hidden: true, Args: cobra.NoArgs,
		// A child has no settings.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE:              func(*cobra.Command, []string) error { return subprocess.Serve(p.Stdin, p.Out.Stdout, parse.Parse) },
	}
}
