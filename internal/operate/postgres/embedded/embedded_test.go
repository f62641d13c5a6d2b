//go:build unix

package embedded

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// helperDir is the environment variable with a data directory. With it the test binary,
// run as a child, acts as a ragd: it starts a server there, prints a line and waits until
// its standard input ends.
const helperDir = "RAGD_EMBEDDED_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		srv, err := Start(context.Background(), Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("ready", srv.AdminURL())
		_, _ = io.Copy(io.Discard, os.Stdin)
		if err := srv.Stop(context.Background()); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	// A cluster has a thousand files: the tests are five times faster in memory.
	if _, err := os.Stat("/dev/shm"); err == nil && !smallSharedMemory() {
		_ = os.Setenv("TMPDIR", "/dev/shm")
	}
	code := m.Run()
	_ = os.RemoveAll(prepared.dir)
	os.Exit(code)
}

// prepared is the data directory of a stopped server. Most tests use a copy of it, as
// initdb takes a second.
var prepared struct {
	sync.Once
	dir string
	err error
}

// clusterDir returns a data directory with a cluster, for the test alone.
func clusterDir(t *testing.T) string {
	t.Helper()
	needServer(t)
	prepared.Do(func() {
		if prepared.dir, prepared.err = os.MkdirTemp("", "ragd-embedded-"); prepared.err != nil {
			return
		}
		var s *Server
		if s, prepared.err = Start(context.Background(), Config{DataDir: prepared.dir, Logger: slog.New(slog.DiscardHandler)}); prepared.err == nil {
			prepared.err = s.Stop(context.Background())
		}
	})
	if prepared.err != nil {
		t.Fatal(prepared.err)
	}
	dir := t.TempDir()
	cluster := filepath.Join(dir, "cluster")
	if err := errors.Join(os.CopyFS(cluster, os.DirFS(filepath.Join(prepared.dir, "cluster"))), os.Chmod(cluster, 0o700)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// needServer skips the test if no PostgreSQL is installed; in CI it fails the test.
func needServer(t *testing.T) {
	t.Helper()
	if _, err := Default(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func start(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// query runs a query on a new connection and returns its only value, as text.
func query(ctx context.Context, url, sql string) (string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var value string
	err = conn.QueryRow(ctx, sql).Scan(&value)
	return value, err
}

func mustQuery(t *testing.T, url, sql string) string {
	t.Helper()
	value, err := query(t.Context(), url, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

const (
	writeNote = `WITH made AS (SELECT 1) SELECT setval('note', 42)::text FROM made`
	readNote  = `SELECT last_value::text FROM note`
)

func makeNote(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `CREATE SEQUENCE note`); err != nil {
		t.Fatal(err)
	}
	mustQuery(t, url, writeNote)
}

func wantNote(t *testing.T, url string) {
	t.Helper()
	if got := mustQuery(t, url, readNote); got != "42" {
		t.Errorf("the database says %s, want 42", got)
	}
}

func postmasterPid(t *testing.T, dir string) int {
	t.Helper()
	pid, _ := readPidFile(filepath.Join(dir, "cluster"))
	if pid == 0 {
		t.Fatal("no pid file")
	}
	return pid
}

func TestStartStopStart(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := filepath.Join(t.TempDir(), "with space", "and 100% + more")
	s := start(t, dir)
	makeNote(t, s.AdminURL())
	for setting, want := range map[string]string{
		"listen_addresses": "", "jit": "off", "server_encoding": "UTF8", "data_checksums": "on", "wal_level": "replica", "fsync": "on",
	} {
		if got := mustQuery(t, s.AdminURL(), `SELECT current_setting('`+setting+`')`); got != want {
			t.Errorf("%s = %q, want %q", setting, got, want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "cluster")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the cluster's folder is %v, %v; want it closed to others", info.Mode(), err)
	}
	stop(t, s)
	if _, err := query(t.Context(), s.AdminURL(), `SELECT 'on'`); err == nil {
		t.Error("the server answers after Stop")
	}
	stop(t, s) // does nothing: it has stopped
	wantNote(t, start(t, dir).AdminURL())
}

func TestSettingsOfTheOperatorOverrideOurs(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, dir)
	conn, err := pgx.Connect(t.Context(), s.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `ALTER SYSTEM SET work_mem = '7MB'`); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
	stop(t, s)
	if got := mustQuery(t, start(t, dir).AdminURL(), `SELECT current_setting('work_mem')`); got != "7MB" {
		t.Errorf("work_mem = %s, want the operator's 7MB", got)
	}
}

func TestSecondInstanceIsRefused(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	start(t, dir)
	_, err := Start(t.Context(), Config{DataDir: dir})
	want := fmt.Sprintf("%s is in use by another ragd (process %d)", dir, os.Getpid())
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want that %s", err, want)
	}
}

// The pid in the file may belong to another program by now. That is common in containers,
// where pids start at 1 each time.
func TestStalePidFileIsIgnored(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, dir)
	makeNote(t, s.AdminURL())
	pidFile := filepath.Join(dir, "cluster", "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	wantNote(t, start(t, dir).AdminURL())
}

func TestKilledPostmasterIsRestarted(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, dir)
	makeNote(t, s.AdminURL())
	for range 2 {
		killed := postmasterPid(t, dir)
		if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for range wait.Poll(t, "the server to be back") {
			if got, err := query(t.Context(), s.AdminURL(), readNote); err == nil && postmasterPid(t, dir) != killed {
				if got != "42" {
					t.Errorf("the database says %s, want 42", got)
				}
				break
			}
		}
	}
}

// ragd is the test binary, running as another ragd on a data directory.
type ragd struct {
	cmd   *exec.Cmd
	stdin io.Closer
	line  string // the first line that it printed
}

func startRagd(t *testing.T, binary, dir string, as *syscall.Credential) *ragd {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
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
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the other ragd printed nothing: %v", err)
	}
	return &ragd{cmd: cmd, stdin: stdin, line: strings.TrimSpace(line)}
}

func TestKilledRagdLeavesTheDirectoryUsable(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	other := startRagd(t, os.Args[0], dir, nil)
	url, ok := strings.CutPrefix(other.line, "ready ")
	if !ok {
		t.Fatal(other.line)
	}
	makeNote(t, url)
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.cmd.Wait()
	wantNote(t, start(t, dir).AdminURL()) // at once: the old server may still be shutting down
}

// startOrphan starts a server that no ragd watches: the state after a ragd died and the
// kernel did not signal its server.
func startOrphan(t *testing.T, c *cluster, edits ...func([]string) []string) *process {
	t.Helper()
	cmd, release, err := c.server()
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range edits {
		cmd.Args = edit(cmd.Args)
	}
	p, err := startProcess(cmd, slog.New(slog.DiscardHandler))
	release()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.signal(syscall.SIGKILL) })
	if err := p.awaitReady(t.Context(), c.dir); err != nil {
		t.Fatal(err)
	}
	return p
}

// loop keeps the backend of a connection busy for a time, and returns when it is.
func loop(t *testing.T, conn *pgx.Conn, duration string) (done <-chan error) {
	t.Helper()
	busy := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), `DO $$ DECLARE stop timestamptz := clock_timestamp() + '`+duration+`'; BEGIN WHILE clock_timestamp() < stop LOOP END LOOP; END $$`)
		busy <- err
	}()
	other, err := pgx.ConnectConfig(t.Context(), conn.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(t.Context()))
	wait.For(t, "the loop to begin", func() (begun bool) {
		if err := other.QueryRow(t.Context(), `SELECT state = 'active' AND query LIKE 'DO%' FROM pg_stat_activity WHERE pid = $1`, conn.PgConn().PID()).Scan(&begun); err != nil {
			t.Fatal(err)
		}
		return begun
	})
	return busy
}

// A busy backend notices late that its postmaster was killed, and until then PostgreSQL
// refuses to start another postmaster.
func TestStartWaitsForTheBackendsOfAKilledServer(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	first := start(t, dir)
	makeNote(t, first.AdminURL())
	stop(t, first)
	orphan := startOrphan(t, first.cluster)
	conn, err := pgx.Connect(t.Context(), first.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	busy := loop(t, conn, "1 second")
	orphan.signal(syscall.SIGKILL)
	<-orphan.exited
	wantNote(t, start(t, dir).AdminURL())
	<-busy // its result does not matter
}

// The wait for the processes of a killed server ends, with an error that says what to do.
func TestStartGivesUpWaitingForTheBackendsOfAKilledServer(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	first := start(t, dir)
	stop(t, first)
	orphan := startOrphan(t, first.cluster)
	conn, err := pgx.Connect(t.Context(), first.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	backend := int(conn.PgConn().PID())
	busy := loop(t, conn, "1 hour")
	orphan.signal(syscall.SIGKILL)
	<-orphan.exited
	_, err = Start(t.Context(), Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler), lingerWait: time.Nanosecond})
	if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), "processes of a killed PostgreSQL still use the data directory "+first.cluster.dir) {
		t.Errorf("error %v, want one that says what to do", err)
	}
	if err := syscall.Kill(backend, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-busy // its result does not matter
	start(t, dir)
}

func TestOrphanIsStopped(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	first := start(t, dir)
	makeNote(t, first.AdminURL())
	stop(t, first)

	orphan := startOrphan(t, first.cluster)
	s := start(t, dir)
	wantNote(t, s.AdminURL())
	select {
	case <-orphan.exited:
	case <-time.After(time.Minute):
		t.Error("the orphan still runs")
	}
}

// A server that an operator started by hand must keep its pid file: without it that
// server would shut down, and a second one could start on the same files.
func TestServerOfAnOperatorKeepsRunning(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	first := start(t, dir)
	stop(t, first)
	manual := startOrphan(t, first.cluster, func(args []string) []string { return args[:len(args)-2] }) // without ragd's mark
	t.Cleanup(manual.stop)
	if _, err := Start(t.Context(), Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), `"postmaster.pid" already exists`) {
		t.Errorf("error %v, want PostgreSQL's error for a second server", err)
	}
	mustQuery(t, first.AdminURL(), `SELECT 'it still answers'`)
}

func TestServerOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	needServer(t)
	if os.Geteuid() != 0 {
		t.Skip("not root: the other tests run as an ordinary user already")
	}
	nobody, err := lookup(user.Lookup("nobody"))
	if err != nil {
		t.Skip(err)
	}
	// The folders of t.TempDir and of the test binary are closed to other users, and
	// /dev/shm may be mounted noexec.
	base, err := os.MkdirTemp("/tmp", "ragd-embedded-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	binary, dir := filepath.Join(base, "ragd"), filepath.Join(base, "data")
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{
		os.Chmod(base, 0o755), os.WriteFile(binary, program, 0o755), os.Mkdir(dir, 0o755), nobody.own(dir),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}

	t.Run("its own directory", func(t *testing.T) {
		r := startRagd(t, binary, dir, nobody.attributes().Credential)
		url, ok := strings.CutPrefix(r.line, "ready ")
		if !ok {
			t.Fatal(r.line)
		}
		makeNote(t, url)
		_ = r.stdin.Close()
		if err := r.cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("then root, as that user", func(t *testing.T) {
		s := start(t, dir)
		wantNote(t, s.AdminURL())
		if s.cluster.account == nil || s.cluster.account.name != "nobody" {
			t.Errorf("runs as %+v, want nobody", s.cluster.account)
		}
	})
	t.Run("a directory of another user", func(t *testing.T) {
		theirs := filepath.Join(base, "theirs")
		if err := os.MkdirAll(filepath.Join(theirs, "cluster"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(theirs, int(nobody.uid), int(nobody.gid)); err != nil {
			t.Fatal(err)
		}
		r := startRagd(t, binary, theirs, nobody.attributes().Credential)
		if !strings.Contains(r.line, "belongs to the user root") {
			t.Errorf("printed %q, want an error that names the owner", r.line)
		}
	})
	t.Run("a directory that it cannot write", func(t *testing.T) {
		r := startRagd(t, binary, "/proc/ragd", nobody.attributes().Credential)
		if !strings.Contains(r.line, "cannot be written") {
			t.Errorf("printed %q, want that the directory cannot be written", r.line)
		}
	})
}

func TestSocketOfALongPathIsInTmp(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 20))
	s := start(t, dir)
	t.Cleanup(func() { _ = os.RemoveAll(s.cluster.socketDir) })
	if !strings.HasPrefix(s.cluster.socketDir, "/tmp/ragd-") {
		t.Errorf("the socket is in %s", s.cluster.socketDir)
	}
	makeNote(t, s.AdminURL())
	stop(t, s)
	wantNote(t, start(t, dir).AdminURL())

	stop(t, s)
	if err := os.Chmod(s.cluster.socketDir, 0o777); err != nil {
		t.Fatal(err)
	}
	c := &cluster{dir: s.cluster.dir, account: s.cluster.account}
	if _, err := c.findSocketDir(); fault.KindOf(err) != fault.Precondition {
		t.Errorf("error %v, want that the open folder is refused", err)
	}
}

func TestDataDirectoryOfAnotherMajorVersionIsRefused(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := t.TempDir()
	version := filepath.Join(dir, "cluster", "PG_VERSION")
	if err := os.Mkdir(filepath.Dir(version), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"9\n": "was made by PostgreSQL 9", "x": "damaged"} {
		if err := os.WriteFile(version, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Start(t.Context(), Config{DataDir: dir})
		if fault.KindOf(err) != fault.Precondition || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestStartReturnsTheErrorOfTheServer(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	_, err := Start(t.Context(), Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler), Settings: map[string]string{"work_mem": "much"}})
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "work_mem"`) {
		t.Errorf("error %v, want PostgreSQL's reason", err)
	}
	start(t, dir) // the directory is unlocked again
}

func TestCanceledStartLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Fatal("initdb took less than 100 ms")
	}
	start(t, dir)
}

func TestStopKillsTheServerWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, dir)
	makeNote(t, s.AdminURL())
	// A postmaster stopped by SIGSTOP reacts only to SIGKILL.
	if err := syscall.Kill(postmasterPid(t, dir), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); fault.KindOf(err) != fault.Deadline {
		t.Errorf("error %v, want the deadline", err)
	}
	wantNote(t, start(t, dir).AdminURL())
}

func TestTheLogContainsNoStatementsAndNoValues(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, err := Start(t.Context(), Config{DataDir: clusterDir(t), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`SELECT 'hunter2'::int::text`, `SELECT hunter2`} {
		if _, err := query(t.Context(), s.AdminURL(), sql); err == nil {
			t.Errorf("%s did not fail", sql)
		}
	}
	stop(t, s)
	if !strings.Contains(log.String(), "ready to accept connections") {
		t.Errorf("the server's log did not arrive: %s", log.String())
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("the log contains a statement: %s", log.String())
	}
}
