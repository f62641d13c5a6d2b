package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// group is a control group with a limit of memory, below the group of this process.
type group struct {
	dir    string
	events string // file with the number of killed processes
}

// newGroup makes a control group, of version 2 or 1.
func newGroup(memory int64) (*group, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		g := &group{}
		var limit string
		switch fields[1] {
		case "": // version 2
			g.dir, g.events, limit = "/sys/fs/cgroup", "memory.events", "memory.max"
		case "memory":
			g.dir, g.events, limit = "/sys/fs/cgroup/memory", "memory.oom_control", "memory.limit_in_bytes"
		default:
			continue
		}
		g.dir = filepath.Join(g.dir, fields[2], fmt.Sprintf("ragd-daemon-%d-%d", os.Getpid(), time.Now().UnixNano()))
		if os.Mkdir(g.dir, 0o755) != nil {
			continue
		}
		if os.WriteFile(filepath.Join(g.dir, limit), fmt.Append(nil, memory), 0o600) == nil {
			return g, nil
		}
		g.remove()
	}
	return nil, errors.New("no control group of memory can be written")
}

// run returns a command that starts the program in the group, or without one if g is nil.
func (g *group) run(ctx context.Context, program string, args ...string) *exec.Cmd {
	if g == nil {
		return exec.CommandContext(ctx, program, args...)
	}
	// The shell enters the group before it becomes the program, so that none of the
	// program's memory is outside.
	script := `echo $$ > "$0" && exec "$@"`
	return exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", script, filepath.Join(g.dir, "cgroup.procs"), program}, args...)...)
}

func (g *group) killed() int {
	if g == nil {
		return 0
	}
	events, err := os.ReadFile(filepath.Join(g.dir, g.events))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(events)) {
		var n int
		if _, err := fmt.Sscanf(line, "oom_kill %d", &n); err == nil {
			return n
		}
	}
	return 0
}

// remove ends the group's processes that are left and removes the group.
func (g *group) remove() {
	if g == nil {
		return
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	wait.Until(ctx, func() bool {
		left, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
		for line := range strings.Lines(string(left)) {
			var pid int
			if _, err := fmt.Sscan(line, &pid); err == nil {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
		}
		err := os.Remove(g.dir)
		return err == nil || os.IsNotExist(err)
	})
}
