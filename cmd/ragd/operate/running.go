package operate

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/settings"
)

// Running is a service that another command runs.
type Running struct {
	// URL is the address at which commands on this machine reach it.
	URL  string
	stop context.CancelFunc
	done chan error
}

// Start runs the service as `ragd serve` does without flags, with the settings of the environment
// and of the file configFile, and returns when it is ready. It logs warnings alone. offline fetches
// no model. The service ends with ctx, or with Stop.
func Start(ctx context.Context, p *command.Program, configFile string, offline bool) (*Running, error) {
	own := &program{Program: &command.Program{
		Stdin: p.Stdin, Out: output.Printer{Stdout: p.Out.Stderr, Stderr: p.Out.Stderr}, Getenv: p.Getenv, StderrTerminal: p.StderrTerminal,
	}, settings: &settings.Settings{Config: configFile}}
	serve := own.serveCommand()
	ready := make(chan string, 1)
	serve.RunE = func(cmd *cobra.Command, _ []string) error {
		log, err := own.logger()
		if err != nil {
			return err
		}
		return own.serve(cmd.Context(), log, func(address string) { ready <- own.clientURL(address) })
	}
	ctx, stop := context.WithCancel(ctx)
	serve.SetContext(ctx)
	err := errors.Join(serve.Flags().Set("log-level", "warn"), config.Fill(serve, configFile, p.Getenv))
	own.settings.Offline = own.settings.Offline || offline
	if err != nil {
		stop()
		return nil, err
	}
	r := &Running{stop: stop, done: make(chan error, 1)}
	go func() { r.done <- serve.RunE(serve, nil) }()
	select {
	case r.URL = <-ready:
		return r, nil
	case err := <-r.done:
		stop()
		return nil, err
	}
}

// Wait returns when the service has ended.
func (r *Running) Wait() error {
	err := <-r.done
	r.done <- err
	return err
}

// Stop ends the service.
func (r *Running) Stop() error {
	r.stop()
	return r.Wait()
}

// Link returns a link that opens the console signed in with the client's credential, once, within
// two minutes. Errors: Unimplemented if the service has no console.
func Link(ctx context.Context, c *client.Client) (string, error) {
	link, err := makeLink(ctx, c)
	if err != nil {
		return "", err
	}
	return link.URL, nil
}
