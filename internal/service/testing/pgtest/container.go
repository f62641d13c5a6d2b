package pgtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/service/testing/program"
)

const connectPoll = 50 * time.Millisecond

// startContainer starts a container, whose image is RAGD_TEST_IMAGE, waits until its server accepts
// connections, and returns the server's URL. The container is removed when this process ends.
func startContainer(ctx context.Context) (string, error) {
	var args []string
	for name, value := range settings {
		args = append(args, name+"="+value)
	}
	values, _, err := program.Start(ctx, "container", args...)
	var missing *program.MissingError
	if errors.As(err, &missing) {
		return "", &missingError{reasons: []string{missing.Reason}}
	}
	if err != nil {
		return "", err
	}
	return values[0], awaitConnection(ctx, values[0])
}

// awaitConnection waits until a query over the network succeeds. Log messages would not
// do: an image may start its server twice, first for initialisation, on a socket only.
func awaitConnection(ctx context.Context, address string) error {
	for {
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			err = conn.Ping(ctx)
			_ = conn.Close(ctx)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server in the container does not answer: %w", err)
		case <-time.After(connectPoll):
		}
	}
}
