package service_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// smallDisk mounts a file system of a size on a folder until the test ends.
func smallDisk(t *testing.T, dir, size string) {
	t.Helper()
	if err := syscall.Mount("ragd-test", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		t.Skipf("mounting is not allowed: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// fill stores a file that leaves a number of bytes of a file system free, and returns a function that
// removes it.
func fill(t *testing.T, dir string, leave int64) (remove func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	must(t, err)
	var st syscall.Statfs_t
	must(t, syscall.Statfs(dir, &st))
	for size, step := int64(0), int64(st.Bavail)*st.Bsize-leave; step >= st.Bsize; { // others store meanwhile
		switch err := syscall.Fallocate(int(f.Fd()), 0, size, step); {
		case err == nil:
			size += step
		case errors.Is(err, syscall.ENOSPC):
			step /= 2
		default:
			t.Fatal(err)
		}
		if leave > 0 {
			break
		}
	}
	must(t, f.Close())
	return func() { must(t, os.Remove(name)) }
}

// wantReads fails the test unless the document "a" is found.
func wantReads(t *testing.T, c servicetest.Client) {
	t.Helper()
	found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "valve"})
	if err != nil || len(found.Sources) != 1 {
		t.Errorf("a query: %v, %v", found, err)
	}
}

// The disk of the embedded database fills up under load: at first beyond the limit of the service, then,
// too fast for it, to the last byte, which may stop PostgreSQL. Then somebody makes room.
func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Default(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	smallDisk(t, dir, "512m")
	const keep = 128 << 20
	s := runService(t, service.Config{DataDir: dir, MinFreeBytes: keep, Logger: slog.New(slog.DiscardHandler), Workers: 2})
	other := s.Tenant(t, "other")
	other.Index(t, "docs")
	other.Upload(t, upload("a"))
	var remove func()
	endure(t, s, service.Config{}, []trouble{
		{name: "the disk is almost full", begin: func() {
			remove = fill(t, dir, keep/2)
			wait.For(t, "writes to be refused", func() bool { _, body := readiness(t, s); return strings.Contains(body, "writes are refused") })
			_, err := other.UploadDocument(t.Context(), upload("b"))
			wantRefused(t, "an upload", err, "min-free-bytes")
			wantReads(t, other)
		}, end: func() {
			remove()
			wait.For(t, "writes to be taken again", func() bool { _, body := readiness(t, s); return !strings.Contains(body, "writes are refused") })
			other.Upload(t, upload("a"))
		}},
		{name: "the disk is full", begin: func() { remove = fill(t, dir, 0) }, end: func() { remove() }},
	})
	wantReads(t, other)
	uploadsSoon(t, other)
}

// uploadsSoon waits until an upload is accepted, which is half a minute after the last statement that
// found the disk full, and until it is ready.
func uploadsSoon(t *testing.T, c servicetest.Client) {
	t.Helper()
	wait.For(t, "an upload to succeed", func() bool {
		_, err := c.UploadDocument(t.Context(), upload("b"))
		return err == nil
	})
	c.AwaitAll(t, "docs")
}

// The disk with the tables of a PostgreSQL server elsewhere is full, which the service learns from its
// errors: writes are refused, and reads go on. They are tried again half a minute later.
func TestAFullDiskOfAServerLosesNothing(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Default(); err != nil {
		t.Skip(err)
	}
	quiet := embedded.Config{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
	server, err := embedded.Start(t.Context(), quiet)
	must(t, err)
	must(t, server.Stop(t.Context()))
	tables := filepath.Join(quiet.DataDir, "cluster", "base")
	must(t, os.Rename(tables, tables+".whole"))
	must(t, os.Mkdir(tables, 0o700))
	smallDisk(t, tables, "256m")
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", tables+".whole/.", tables).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server, err = embedded.Start(t.Context(), quiet)
	must(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	s := runService(t, service.Config{
		DatabaseURL: server.URL(), DatabaseAdminURL: server.AdminURL(), Logger: slog.New(slog.DiscardHandler), Workers: 2,
	})
	other := s.Tenant(t, "other")
	other.Index(t, "docs")
	other.Upload(t, upload("a"))
	large := upload("large")
	large.Source = servicetest.Text(strings.Repeat("The valve opens at nine bar. ", 50_000))
	var remove func()
	endure(t, s, service.Config{}, []trouble{{name: "the disk of the tables is full", begin: func() {
		remove = fill(t, tables, 0)
		_, err := other.UploadDocument(t.Context(), large)
		wantRefused(t, "an upload", err, "disk of the PostgreSQL server is full")
		wantReads(t, other)
	}, end: func() { remove() }}})
	uploadsSoon(t, other)
}
