// Command container is a PostgreSQL server in a container:
//
//	container [name=value of a setting]...
//
// The image is RAGD_TEST_IMAGE, which is fetched if the engine does not have it. The program announces the
// server's URL when the container runs, perhaps before the server accepts connections, and removes the
// container when it ends.
package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"github.com/ragdhq/ragd/hack/testservers/internal/announce"
)

const (
	defaultImage  = "pgvector/pgvector:pg17"
	containerPort = "5432/tcp"
	memoryMount   = "/memory"
	password      = "ragd"
)

func main() {
	ctx := context.Background()
	if err := checkEngine(ctx); err != nil {
		announce.Missing(err)
	}
	container, address, err := start(ctx, os.Args[1:])
	if err != nil {
		_ = testcontainers.TerminateContainer(container)
		announce.Failed(err)
	}
	announce.Ready(address)
	if err := testcontainers.TerminateContainer(container); err != nil {
		announce.Failed(err)
	}
}

// start starts the container, and returns it, if it has been made, and the server's URL.
func start(ctx context.Context, settings []string) (testcontainers.Container, string, error) {
	image := cmp.Or(os.Getenv("RAGD_TEST_IMAGE"), defaultImage)
	args := []string{"postgres"}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	c, err := testcontainers.Run(ctx, image,
		testcontainers.WithLogger(log.NewNoopLogger()),
		testcontainers.WithEnv(map[string]string{"POSTGRES_USER": "ragd", "POSTGRES_PASSWORD": password, "PGDATA": memoryMount + "/data"}),
		testcontainers.WithTmpfs(map[string]string{memoryMount: "rw,mode=1777"}), // writable for any user that the server may run as
		testcontainers.WithExposedPorts(containerPort),
		testcontainers.WithCmd(args...))
	if err != nil {
		return c, "", fmt.Errorf("start a container of %s: %w", image, err)
	}
	host, err := c.Host(ctx)
	if err != nil {
		return c, "", err
	}
	port, err := c.MappedPort(ctx, containerPort)
	if err != nil {
		return c, "", err
	}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("ragd", password), Host: net.JoinHostPort(host, port.Port()),
		Path: "/ragd", RawQuery: "sslmode=disable",
	}
	return c, u.String(), nil
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
