package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// withClock restarts the PostgreSQL server of a data directory with a clock that is the machine's plus
// an offset, such as "+3600" seconds, which jump changes. It skips the test without libfaketime.
func withClock(t *testing.T, server *embedded.Server, dataDir string) (jump func(offset string)) {
	t.Helper()
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if len(libraries) == 0 {
		t.Skip("there is no libfaketime (Debian's package is faketime)")
	}
	cluster := filepath.Join(dataDir, "cluster")
	pidFile, err := os.ReadFile(filepath.Join(cluster, "postmaster.pid"))
	must(t, err)
	pid, _, _ := strings.Cut(string(pidFile), "\n")
	line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	must(t, err)
	command := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	program, err := os.Readlink(filepath.Join("/proc", pid, "exe"))
	must(t, err)
	must(t, server.Stop(t.Context()))

	owner, err := os.Stat(cluster)
	must(t, err)
	user := owner.Sys().(*syscall.Stat_t)
	shown, err := os.MkdirTemp("", "ragd-clock") // a folder that the user of the server may read
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(shown) })
	must(t, os.Chmod(shown, 0o755))
	clock := filepath.Join(shown, "offset")
	jump = func(offset string) {
		t.Helper()
		must(t, os.WriteFile(clock+".new", []byte(offset+"\n"), 0o644))
		must(t, os.Rename(clock+".new", clock))
	}
	jump("+0")
	reached, err := os.Open(cluster) // as the third file, which the command names
	must(t, err)
	defer reached.Close()
	cmd := exec.Command(program, command[1:]...)
	cmd.Dir, cmd.ExtraFiles = "/", []*os.File{reached}
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+libraries[0], "FAKETIME_TIMESTAMP_FILE="+clock, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user.Uid, Gid: user.Gid}
	}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		_ = cmd.Wait()
	})
	wait.For(t, "the server to answer", func() bool {
		conn, err := pgx.Connect(t.Context(), server.AdminURL())
		if err == nil {
			must(t, conn.Close(context.WithoutCancel(t.Context())))
		}
		return err == nil
	})
	return jump
}

// The clock of the database jumps an hour ahead and back under load, then an hour back and ahead.
func TestJumpsOfTheClockLoseNothing(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Default(); err != nil {
		t.Skip(err)
	}
	quiet := embedded.Config{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
	server, err := embedded.Start(t.Context(), quiet)
	must(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	jump := withClock(t, server, quiet.DataDir)
	s := runService(t, service.Config{
		DatabaseURL: server.URL(), DatabaseAdminURL: server.AdminURL(), Logger: slog.New(slog.DiscardHandler), Workers: 2,
	})
	clocks := func() {
		conn, err := pgx.Connect(t.Context(), server.AdminURL())
		must(t, err)
		defer func() { must(t, conn.Close(context.WithoutCancel(t.Context()))) }()
		var differ bool
		must(t, conn.QueryRow(t.Context(), `SELECT abs(extract(epoch FROM clock_timestamp()) - $1::double precision) > 3000`, float64(time.Now().Unix())).Scan(&differ))
		if !differ {
			t.Error("the clock of the database is the machine's")
		}
	}
	var troubles []trouble
	for _, hour := range []string{"+3600", "-3600"} {
		troubles = append(troubles, trouble{name: fmt.Sprintf("the clock is %s s away", hour), writesGoOn: true,
			begin: func() { jump(hour); clocks() }, end: func() { jump("+0") }})
	}
	endure(t, s, service.Config{}, troubles)
}
