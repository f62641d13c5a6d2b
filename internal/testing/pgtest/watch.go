package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// watchers keeps the writing ends of the watchers' pipes from being collected.
var watchers struct {
	sync.Mutex
	pipes []*os.File
}

// whenProcessEnds runs a shell script, with args as $1 and so on, when this
// process is gone, be it by exit, by a panic or by kill -9: a shell waits on a
// pipe that only we hold open. The testing package has no hook that would do.
func whenProcessEnds(script string, args ...string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", "cat >/dev/null; " + script, "sh"}, args...)...)
	cmd.Stdin = r
	// A group of its own: ^C in the terminal is for the tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return fmt.Errorf("start what cleans up after the tests: %w", err)
	}
	watchers.Lock()
	defer watchers.Unlock()
	watchers.pipes = append(watchers.pipes, w)
	return nil
}
