package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// childVariable is set in a process that TestMain lets use a server, as a test process does, instead of
// running tests.
const childVariable = "RAGD_PGTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := useServer(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// useServer prints the folder of the server, and once it may go on, whether the server answers.
func useServer() error {
	address, err := startInstalled(context.Background())
	if err != nil {
		return err
	}
	at, err := pgx.ParseConfig(address)
	if err != nil {
		return err
	}
	fmt.Println(at.Host)
	_, _ = io.Copy(io.Discard, os.Stdin)
	conn, err := pgx.ConnectConfig(context.Background(), at)
	if err != nil {
		return err
	}
	_ = conn.Close(context.Background())
	fmt.Println("answers")
	return nil
}

// child is a process that uses a server.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
}

func startChild(t *testing.T) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &child{cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
}

func (c *child) line() string {
	c.lines.Scan()
	return c.lines.Text()
}

// The server that a process has started serves others after the process was killed, and stops when the
// last of them has ended.
func TestProcessesWithOneParentShareAServer(t *testing.T) {
	t.Parallel()
	if _, err := embedded.Default(); err != nil {
		t.Skip(err)
	}
	first := startChild(t)
	dir := first.line()
	others := []*child{startChild(t), startChild(t)}
	for _, c := range others {
		if got := c.line(); got != dir {
			t.Fatalf("another process uses the server %q, want %q", got, dir)
		}
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait() // it was killed
	wait.For(t, "the killed process to be no user any more", func() bool {
		users, err := os.ReadDir(filepath.Join(dir, "users"))
		return err == nil && len(users) == len(others)
	})
	for _, c := range others {
		_ = c.stdin.Close()
		if got := c.line(); got != "answers" {
			t.Errorf("after the process that started the server was killed: %q", got)
		}
		if err := c.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	wait.For(t, "the server to stop", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// noProcess is the id of no process: Linux gives at most 2^22.
const noProcess = 1<<31 - 1

// A server whose users were all killed, together with what cleans up after them, is stopped by the next
// process that looks for one, whatever it finds before.
func TestAServerThatWasLeftBehindIsStopped(t *testing.T) {
	t.Parallel()
	install, err := embedded.Default()
	if err != nil {
		t.Skip(err)
	}
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cached, err := cachedCluster(t.Context(), cache, install)
	if err != nil {
		t.Fatal(err)
	}
	first := startChild(t)
	first.line()
	dir := leftBehind(t, cache, cached)
	second := startChild(t)
	second.line()
	wait.For(t, "the server to be stopped", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, fs.ErrNotExist)
	})
	for _, c := range []*child{first, second} {
		_ = c.stdin.Close()
		if err := c.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// leftBehind makes the folder of a server whose one user has ended. Its name comes after those of the
// servers that run.
func leftBehind(t *testing.T, cache, cached string) (dir string) {
	t.Helper()
	unlock, err := lockFile(filepath.Join(cache, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if dir, err = os.MkdirTemp(tempDir(), serverPrefix()+"left-"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "users"), 0o700), enter(dir, noProcess), sameOwner(cached, dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}
