// Command teams answers mentions in Microsoft Teams, which come by an outgoing webhook, with passages of an index of
// ragd, and records what people say of them as feedback. README.md says how to set it up.
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
		slog.Error("teams", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	for _, name := range []string{"TEAMS_SECURITY_TOKEN", "RAGD_SERVER", "RAGD_API_KEY", "RAGD_INDEX"} {
		if os.Getenv(name) == "" {
			return fmt.Errorf("set %s: README.md says to what", name)
		}
	}
	client, err := ragd.New(ragd.Options{URL: os.Getenv("RAGD_SERVER"), APIKey: os.Getenv("RAGD_API_KEY")})
	if err != nil {
		return fmt.Errorf("RAGD_SERVER and RAGD_API_KEY: %w", err)
	}
	a, err := newApp(config{token: os.Getenv("TEAMS_SECURITY_TOKEN"), ragd: client, index: os.Getenv("RAGD_INDEX"), now: time.Now})
	if err != nil {
		return err
	}
	address := os.Getenv("LISTEN")
	if address == "" {
		address = "127.0.0.1:3001"
	}
	server := &http.Server{Addr: address, Handler: a, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		stopped <- server.Shutdown(limit)
	})
	slog.Info("waiting for mentions", "address", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-stopped
}
