package pgtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ragdhq/ragd/internal/postgres/embedded"
)

// settings make the server quick and careless: its data is thrown away.
var settings = map[string]string{
	"autovacuum":         "off", // statistics change when a test says ANALYZE
	"fsync":              "off",
	"full_page_writes":   "off",
	"max_connections":    "200",
	"max_wal_size":       "256MB",
	"shared_buffers":     "128MB",
	"synchronous_commit": "off",
}

// memoryDir is a file system in memory, where Linux has one. A database is made
// in 8 ms there, and in 150 ms on a disk.
const (
	memoryDir  = "/dev/shm"
	memoryFree = 2 << 30 // bytes that it must have left
)

// tempDir returns the folder to make temporary folders in.
func tempDir() string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(memoryDir, &st); err == nil && int64(st.Bavail)*st.Bsize >= memoryFree {
		return memoryDir
	}
	return os.TempDir()
}

// stopScript ends the server of the folder $1, which takes its pid file away as
// its last deed, and removes the folder.
const stopScript = `
	pid=$1/cluster/postmaster.pid
	kill -QUIT "$(head -n 1 "$pid")"
	for i in $(seq 100); do [ -e "$pid" ] || break; sleep 0.05; done
	rm -rf "$1"`

// startInstalled starts a server on a copy of the cached cluster.
func startInstalled(ctx context.Context) (string, error) {
	install, err := embedded.Default()
	if err != nil {
		return "", &missingError{reasons: []string{err.Error()}}
	}
	cached, err := cachedCluster(ctx, install)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(tempDir(), "ragd-pgtest-")
	if err != nil {
		return "", err
	}
	if err := whenProcessEnds(stopScript, dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	cluster := filepath.Join(dir, "cluster")
	if err := errors.Join(os.CopyFS(cluster, os.DirFS(cached)), os.Chmod(cluster, 0o700)); err != nil {
		return "", fmt.Errorf("copy the cached cluster: %w", err)
	}
	srv, err := startQuiet(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("start a copy of %s (if that is damaged, remove it): %w", cached, err)
	}
	return srv.URL(), nil
}

func startQuiet(ctx context.Context, dir string) (*embedded.Server, error) {
	return embedded.Start(ctx, embedded.Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler), Settings: settings})
}

// cachedCluster returns a stopped cluster with the template database, made by
// the first test process that needs it. initdb takes a second, a copy of its
// result a tenth of that.
func cachedCluster(ctx context.Context, install embedded.Installation) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // an environment without HOME
	}
	cache = filepath.Join(cache, "ragd", "pgtest")
	final := filepath.Join(cache, fmt.Sprintf("postgres-%s-vector-%s", install.Version, install.Vector))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := fillCluster(ctx, work); err != nil {
		return "", fmt.Errorf("make a cluster for tests: %w", err)
	}
	err = os.Rename(filepath.Join(work, "cluster"), final)
	if _, serr := os.Stat(final); serr == nil {
		return final, nil // ours, or that of a process that was quicker
	}
	return "", err
}

func fillCluster(ctx context.Context, dir string) error {
	srv, err := startQuiet(ctx, dir)
	if err != nil {
		return err
	}
	s, err := openServer(ctx, srv.URL())
	if err == nil {
		s.admin.Close()
	}
	return errors.Join(err, srv.Stop(ctx))
}
