package pgtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
)

// settings trade durability for speed: the data of tests need not survive a crash.
var settings = map[string]string{
	"autovacuum":         "off", // statistics change only when a test runs ANALYZE
	"fsync":              "off",
	"full_page_writes":   "off",
	"max_connections":    "400", // the tests of several packages run at once
	"max_wal_size":       "256MB",
	"random_page_cost":   "1.1", // as docs/how-to/postgres.md says
	"shared_buffers":     "128MB",
	"synchronous_commit": "off",
}

// memoryDir is a file system in memory, on Linux. Creating a database takes 8 ms there and
// 150 ms on a disk.
const (
	memoryDir  = "/dev/shm"
	memoryFree = 2 << 30 // bytes that must be free for it to be used
)

// tempDir returns the parent of temporary folders: memoryDir if it has enough free space.
func tempDir() string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(memoryDir, &st); err == nil && int64(st.Bavail)*int64(st.Bsize) >= memoryFree { //nolint:unconvert // another type on other platforms
		return memoryDir
	}
	if os.Geteuid() == 0 {
		return "/tmp" // the server runs as another user, who may have no access to a folder of root
	}
	return os.TempDir()
}

// stopScript stops the server of the folder $1, waits until the server has removed its pid
// file, and removes the folder.
const stopScript = `
	pid=$1/cluster/postmaster.pid
	kill -QUIT "$(head -n 1 "$pid")"
	for i in $(seq 100); do [ -e "$pid" ] || break; sleep 0.05; done
	rm -rf "$1"`

func startQuiet(ctx context.Context, dir string) (*embedded.Server, error) {
	return embedded.Start(ctx, embedded.Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler), Settings: settings})
}

// cacheDir returns the folder of what test processes keep for later ones.
func cacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // an environment without HOME
	}
	cache = filepath.Join(cache, "ragd", "pgtest")
	return cache, os.MkdirAll(cache, 0o755)
}

// cachedCluster returns the data directory of a stopped cluster with the template
// database. The first test process that needs it creates it: initdb takes a second, a copy
// of its result a tenth of that.
func cachedCluster(ctx context.Context, cache string, install embedded.Installation) (string, error) {
	final := filepath.Join(cache, fmt.Sprintf("postgres-%s-vector-%s", install.Version, install.Vector))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	work, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := fillCluster(ctx, work); err != nil {
		return "", fmt.Errorf("create a cluster for tests: %w", err)
	}
	err = os.Rename(filepath.Join(work, "cluster"), final)
	if _, serr := os.Stat(final); serr == nil {
		return final, nil // this process's, or that of another one that was faster
	}
	return "", err
}

func fillCluster(ctx context.Context, dir string) error {
	srv, err := startQuiet(ctx, dir)
	if err != nil {
		return err
	}
	s, err := openServer(ctx, srv.AdminURL(), nil)
	if err == nil {
		s.admin.Close()
	}
	return errors.Join(err, srv.Stop(ctx))
}
