package service_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// On a real file system that fills up.
func TestAFullFileSystem(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Default(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := syscall.Mount("ragd-test", dir, "tmpfs", 0, "size=512m"); err != nil {
		t.Skipf("mounting is not allowed: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	const keep = 128 << 20
	s := runService(t, service.Config{DataDir: dir, MinFreeBytes: keep, Logger: slog.New(slog.DiscardHandler)})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	c.Upload(t, upload("a"))

	var st syscall.Statfs_t
	must(t, syscall.Statfs(dir, &st))
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	must(t, err)
	must(t, syscall.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize-keep/2))
	must(t, f.Close())
	wait.For(t, "writes to be refused", func() bool { _, body := readiness(t, s); return strings.Contains(body, "writes are refused") })
	_, err = c.UploadDocument(t.Context(), upload("b"))
	wantRefused(t, "an upload", err, "min-free-bytes")
	if found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "valve"}); err != nil || len(found.Sources) != 1 {
		t.Errorf("a query: %v, %v", found, err)
	}
	must(t, os.Remove(filler))
	wait.For(t, "writes to be taken again", func() bool { _, body := readiness(t, s); return !strings.Contains(body, "writes are refused") })
	c.Upload(t, upload("b"))
}
