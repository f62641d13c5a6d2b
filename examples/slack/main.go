// Command slack answers mentions in Slack with passages of an index of ragd, in the thread of the mention, and records
// thumbs as feedback. README.md says how to set it up.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	ragd "github.com/ragdhq/ragd/sdk/go"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		slog.Error("slack", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	for _, name := range []string{"SLACK_SIGNING_SECRET", "SLACK_BOT_TOKEN", "RAGD_SERVER", "RAGD_API_KEY", "RAGD_INDEX"} {
		if os.Getenv(name) == "" {
			return fmt.Errorf("set %s: README.md says to what", name)
		}
	}
	client, err := ragd.New(ragd.Options{URL: os.Getenv("RAGD_SERVER"), APIKey: os.Getenv("RAGD_API_KEY")})
	if err != nil {
		return fmt.Errorf("RAGD_SERVER and RAGD_API_KEY: %w", err)
	}
	a := newApp(config{
		secret: os.Getenv("SLACK_SIGNING_SECRET"), token: os.Getenv("SLACK_BOT_TOKEN"), slack: "https://slack.com/api",
		ragd: client, index: os.Getenv("RAGD_INDEX"), now: time.Now,
	})
	address := os.Getenv("LISTEN")
	if address == "" {
		address = "127.0.0.1:3000"
	}
	server := &http.Server{Addr: address, Handler: a, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		stopped <- server.Shutdown(limit)
	})
	slog.Info("waiting for mentions", "address", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	err = <-stopped
	a.wait()
	return err
}
