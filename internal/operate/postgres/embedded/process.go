package embedded

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 30 * time.Second
	readyPoll    = 10 * time.Millisecond
	// lingerWait is how long a start waits for the processes of a killed server, and
	// lingerPause the longest pause between two attempts. A long index build takes a while
	// to notice that its server is gone.
	lingerWait  = 2 * time.Minute
	lingerPause = 2 * time.Second
)

// supervise keeps the server running until ctx ends, and sends the result of the first
// start to started. Its goroutine stays on one thread, as Linux signals the server when
// the thread that started it ends.
func (s *Server) supervise(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer close(s.done)
	p, err := s.launchAfter(ctx)
	started <- err
	if err != nil {
		return
	}
	for p != nil {
		select {
		case <-ctx.Done():
			p.stop()
			return
		case <-p.exited:
			s.log.ErrorContext(ctx, "PostgreSQL exited unexpectedly, restarting it", "err", p.failure())
			p = s.relaunch(ctx)
		}
	}
}

// launchAfter starts the server, and waits up to s.lingerWait for the processes that a
// killed server left behind. Errors: Precondition, with what to do, if they still run.
func (s *Server) launchAfter(ctx context.Context) (*process, error) {
	deadline := time.Now().Add(s.lingerWait)
	p, err := s.launch(ctx)
	if lingering(err) {
		s.log.WarnContext(ctx, "waiting for the remaining processes of a killed PostgreSQL", "dir", s.cluster.dir, "at_most", s.lingerWait)
	}
	for wait := firstBackoff; lingering(err); wait = min(2*wait, lingerPause) {
		if time.Now().After(deadline) {
			return nil, fault.Wrap(fault.Precondition, err,
				"processes of a killed PostgreSQL still use the data directory %s, %v after the start: end them (they are called postgres and work in that directory), then start again",
				s.cluster.dir, s.lingerWait)
		}
		if !pause(ctx, wait) {
			return nil, ctx.Err()
		}
		p, err = s.launch(ctx)
	}
	return p, err
}

// relaunch starts the server and retries until it is ready. It returns nil when ctx ends.
// The first attempts after a killed postmaster may fail, while its backends still run.
func (s *Server) relaunch(ctx context.Context) *process {
	for wait := firstBackoff; ; wait = min(2*wait, lastBackoff) {
		p, err := s.launch(ctx)
		if err == nil {
			s.log.InfoContext(ctx, "PostgreSQL is ready again")
			return p
		}
		if ctx.Err() != nil {
			return nil
		}
		if lingering(err) {
			s.log.WarnContext(ctx, "waiting for the remaining processes of a killed PostgreSQL", "dir", s.cluster.dir)
		} else {
			s.log.ErrorContext(ctx, "PostgreSQL did not start, retrying", "err", err, "wait", wait)
		}
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// lingering reports whether the server did not start because backends of a killed one
// still run: a busy backend notices late that its postmaster died.
func lingering(err error) bool {
	return err != nil && strings.Contains(err.Error(), "pre-existing shared memory block")
}

// pause waits. It returns false if ctx ended meanwhile.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

// launch starts the server and waits until it accepts connections.
func (s *Server) launch(ctx context.Context) (*process, error) {
	cmd, release, err := s.cluster.server()
	if err != nil {
		return nil, err
	}
	defer release()
	dieWithParent(cmd.SysProcAttr)
	p, err := startProcess(cmd, s.log)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.current.Store(p)
	if err := p.awaitReady(ctx, s.cluster.dir); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// process is one run of the postmaster.
type process struct {
	cmd      *exec.Cmd
	exited   chan struct{} // closed once state is set
	state    string        // how the process ended, such as "exit status 1"
	stopping atomic.Bool
	log      *slog.Logger
	tail     tail
}

// startProcess starts cmd and copies its output to the log. It makes its own pipe for the
// output: backends keep it open after the postmaster's death, and with exec's own pipe
// Wait would wait for them.
func startProcess(cmd *exec.Cmd, log *slog.Logger) (*process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	p := &process{cmd: cmd, exited: make(chan struct{}), log: log}
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		p.follow(r)
	}()
	go func() {
		_ = cmd.Wait() // ProcessState has the error
		select {
		case <-logged: // so that failure includes the last lines
		case <-time.After(time.Second):
		}
		p.state = cmd.ProcessState.String()
		close(p.exited)
	}()
	return p, nil
}

func (p *process) signal(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig) // the only error is that it has ended
}

// stop requests a fast shutdown and waits until the process has ended.
func (p *process) stop() {
	p.stopping.Store(true)
	p.signal(syscall.SIGINT)
	<-p.exited
}

// failure returns how the process ended, with the last lines of its log. Call it only
// after exited is closed.
func (p *process) failure() error {
	if lines := p.tail.String(); lines != "" {
		return fmt.Errorf("%s: %s", p.state, lines)
	}
	return fmt.Errorf("%s", p.state)
}

// awaitReady waits until the server's pid file has the status ready. It has no timeout of
// its own, as recovery after a crash may take long.
func (p *process) awaitReady(ctx context.Context, dir string) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		pid, status := readPidFile(dir)
		if pid == p.cmd.Process.Pid && status == "ready" {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("PostgreSQL did not start: %w", p.failure())
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// readPidFile returns the postmaster's pid and status; zero values if there is no pid
// file. The file's lines are pid, directory, start time, port, socket folder, address,
// shared memory, status.
func readPidFile(dir string) (pid int, status string) {
	text, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(text), "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(lines[0])) // 0 if the file is not complete yet
	if len(lines) > 7 {
		status = strings.TrimSpace(lines[7])
	}
	return pid, status
}

// follow writes the server's output to the log, line by line, until the server ends.
func (p *process) follow(r io.ReadCloser) {
	defer r.Close()
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			p.tail.add(line)
			p.log.Log(context.Background(), p.level(line), "postgres: "+line)
		}
		if err != nil {
			return
		}
	}
}

func (p *process) level(line string) slog.Level {
	severity, _, _ := strings.Cut(line, ":")
	switch {
	case p.stopping.Load(), strings.Contains(line, "connection to client lost"):
		return slog.LevelDebug // the end of a client's connection is logged as FATAL
	case severity == "PANIC":
		return slog.LevelError
	case severity == "FATAL", severity == "WARNING", strings.Contains(line, "terminated by signal"):
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// tail keeps the last tailLines lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

const tailLines = 8

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "; ")
}
