// Package daemon runs a built ragd as a process of its own, on a data directory of its
// own, for programs that measure or attack it from outside.
package daemon

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// OperatorKey is the operator's secret of every Daemon.
const OperatorKey = "operator-key-of-a-measurement"

// Config configures a Daemon.
type Config struct {
	// Program is the path of the binary.
	Program string
	// Args are further arguments of "ragd serve".
	Args []string
	// Env holds further variables of its environment, as NAME=value.
	Env []string
	// Dir is the folder of its data, which Stop removes. Default: a temporary folder.
	Dir string
	// Keep makes Stop leave the folder.
	Keep bool
	// Memory limits the bytes that the process and its children use together. Default: no
	// limit. See Limited.
	Memory int64
	// Log gets what the process writes to standard error. Default: os.Stderr.
	Log io.Writer
}

// Daemon is a running ragd.
type Daemon struct {
	Address string // host:port
	Dir     string
	// Limited reports whether Config.Memory applies. It does not on a machine whose
	// control groups cannot be written.
	Limited bool

	config  Config
	command *exec.Cmd
	group   *group        // nil without a limit
	ended   chan struct{} // closed when the process has ended
}

// Start starts the program on a port that is free, and waits until it is ready.
func Start(ctx context.Context, config Config) (*Daemon, error) {
	d := &Daemon{Dir: config.Dir, config: config}
	var err error
	if d.Dir == "" {
		if d.Dir, err = os.MkdirTemp("", "ragd-daemon-"); err != nil {
			return nil, err
		}
	}
	if config.Memory > 0 {
		if d.group, err = newGroup(config.Memory); err == nil {
			d.Limited = true
		}
	}
	if err := d.launch(ctx); err != nil {
		d.Stop()
		return nil, err
	}
	return d, nil
}

// Restart ends the program and starts it again on the same data. It returns the time from
// the second start until the service was ready.
func (d *Daemon) Restart(ctx context.Context) (time.Duration, error) {
	d.end(startPatience) // PostgreSQL writes what it has in memory
	start := time.Now()
	err := d.launch(ctx)
	return time.Since(start), err
}

// startPatience is how long a start, or the end before a restart, may take.
const startPatience = 2 * time.Minute

// launch starts the program, on the address that it had before if it did run, and waits until it is ready.
func (d *Daemon) launch(ctx context.Context) error {
	listen := cmp.Or(d.Address, "127.0.0.1:0")
	args := append([]string{"serve", "--listen", listen, "--data-dir", d.Dir}, d.config.Args...)
	d.command = d.group.run(ctx, d.config.Program, args...)
	command, ended := d.command, make(chan struct{})
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	// Settings of the person who runs the program are not the service's.
	inherited := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RAGD_") })
	command.Env = append(inherited, "RAGD_OPERATOR_KEY="+OperatorKey, "RAGD_OFFLINE=true", "XDG_CONFIG_HOME="+d.Dir,
		"RAGD_MIN_FREE_BYTES=1") // a machine with little space left passes the tests
	command.Env = append(command.Env, d.config.Env...)
	announced := logtest.NewAnnouncement(cmp.Or[io.Writer](d.config.Log, os.Stderr))
	command.Stderr = announced
	d.ended = ended
	if err := command.Start(); err != nil {
		close(ended)
		return err
	}
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	late := fmt.Errorf("%s did not answer within %v", d.config.Program, startPatience)
	select {
	case url := <-announced.Address():
		d.Address = strings.TrimPrefix(url, "http://")
	case <-ended:
		return fmt.Errorf("%s ended before it was ready", d.config.Program)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startPatience):
		return late
	}
	if !d.AwaitReady(ctx, startPatience) {
		return late
	}
	return nil
}

// Process returns the id of its process.
func (d *Daemon) Process() int { return d.command.Process.Pid }

// URL returns the base URL of the service.
func (d *Daemon) URL() string { return "http://" + d.Address }

// AwaitReady waits until the service is ready, and reports whether it became so in time.
func (d *Daemon) AwaitReady(ctx context.Context, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ready := false
	wait.Until(ctx, func() bool {
		ready = d.ready(ctx)
		return ready || !d.Alive()
	})
	return ready
}

func (d *Daemon) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL()+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// Alive reports whether the process has not ended.
func (d *Daemon) Alive() bool {
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

// Cluster returns the folder of the service's own PostgreSQL, which contains its socket.
func (d *Daemon) Cluster() string { return filepath.Join(d.Dir, "postgres", "cluster") }

// DatabaseURL returns the address of the service's own PostgreSQL.
func (d *Daemon) DatabaseURL() string { return "host=" + d.Cluster() + " user=ragd dbname=ragd" }

// Postmaster returns the process id of the service's own PostgreSQL, 0 if it does not run.
func (d *Daemon) Postmaster() int {
	content, err := os.ReadFile(filepath.Join(d.Cluster(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || syscall.Kill(pid, 0) != nil {
		return 0
	}
	return pid
}

// Stop ends the service and its PostgreSQL, by force if they do not end in time, and
// removes its data unless Config.Keep is set.
func (d *Daemon) Stop() {
	const patience = time.Minute
	d.end(patience)
	d.group.remove()
	if !d.config.Keep {
		_ = os.RemoveAll(d.Dir)
	}
}

// end ends the service and its PostgreSQL, by force if they do not end in time.
func (d *Daemon) end(patience time.Duration) {
	if d.command.Process != nil {
		_ = d.command.Process.Signal(os.Interrupt)
		select {
		case <-d.ended:
		case <-time.After(patience):
			_ = d.command.Process.Kill()
			<-d.ended
		}
	}
	if pid := d.Postmaster(); pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGQUIT)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	wait.Until(ctx, func() bool { return d.Postmaster() == 0 })
}
