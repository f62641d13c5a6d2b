package pgtest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

const (
	defaultImage  = "pgvector/pgvector:pg17"
	containerPort = "5432/tcp"
	memoryMount   = "/memory"
	password      = "ragd"
	connectPoll   = 50 * time.Millisecond
)

// removeScript removes the container $1. Testcontainers' own reaper needs an image that
// may not be available.
const removeScript = `docker rm --force --volumes "$1" >/dev/null 2>&1`

// startContainer starts a container of the image, which is fetched if the engine does not
// have it, waits until its server accepts connections, and returns the server's URL.
func startContainer(ctx context.Context) (string, error) {
	if err := checkEngine(ctx); err != nil {
		return "", &missingError{reasons: []string{err.Error()}}
	}
	image := cmp.Or(os.Getenv("RAGD_TEST_IMAGE"), defaultImage)
	args := []string{"postgres"}
	for name, value := range settings {
		args = append(args, "-c", name+"="+value)
	}
	c, err := testcontainers.Run(ctx, image,
		testcontainers.WithLogger(log.NewNoopLogger()),
		testcontainers.WithEnv(map[string]string{"POSTGRES_USER": "ragd", "POSTGRES_PASSWORD": password, "PGDATA": memoryMount + "/data"}),
		testcontainers.WithTmpfs(map[string]string{memoryMount: "rw,mode=1777"}), // writable for any user that the server may run as
		testcontainers.WithExposedPorts(containerPort),
		testcontainers.WithCmd(args...))
	if c != nil {
		if werr := whenProcessEnds(removeScript, c.GetContainerID()); werr != nil {
			return "", werr
		}
	}
	if err != nil {
		return "", fmt.Errorf("start a container of %s: %w", image, err)
	}
	host, err := c.Host(ctx)
	if err != nil {
		return "", err
	}
	port, err := c.MappedPort(ctx, containerPort)
	if err != nil {
		return "", err
	}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("ragd", password), Host: net.JoinHostPort(host, port.Port()),
		Path: "/ragd", RawQuery: "sslmode=disable",
	}
	return u.String(), awaitConnection(ctx, u.String())
}

// checkEngine returns an error if no container engine runs.
func checkEngine(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics if it finds no engine
			err = fmt.Errorf("no container engine runs: %v", r)
		}
	}()
	provider, err := testcontainers.ProviderDocker.GetProvider(testcontainers.WithLogger(log.NewNoopLogger()))
	if err == nil {
		defer provider.Close()
		err = provider.Health(ctx)
	}
	if err != nil {
		return fmt.Errorf("no container engine runs: %w", err)
	}
	return nil
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
