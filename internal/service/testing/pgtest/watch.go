package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// watchers keeps the write ends of the pipes reachable: the garbage collector closes a file
// that is not.
var watchers struct {
	sync.Mutex
	pipes []*os.File
}

// whenProcessEnds runs a shell script, with args as $1 and so on, when this process has
// ended, even by a panic or kill -9: a shell waits for the end of a pipe that only this
// process has open. The testing package has no such hook.
func whenProcessEnds(script string, args ...string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := detached("cat >/dev/null; "+script, args...)
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return fmt.Errorf("start the shell that cleans up after the tests: %w", err)
	}
	watchers.Lock()
	defer watchers.Unlock()
	watchers.pipes = append(watchers.pipes, w)
	return nil
}

// detached returns the command of a shell script, with args as $1 and so on, in a process group of its
// own, so that Ctrl-C in the terminal does not end it.
func detached(script string, args ...string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}
